"""What a reply shows, tied to one tool: computed fields, lists, hidden fields."""

from dataclasses import replace
from typing import Any

from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.rules import REPLY, Ref, Resolved, RuleKind, text
from pipelines.core.simulation.behavior.scope import Scope, Unresolved
from pipelines.core.simulation.behavior.things import find_field
from pipelines.core.simulation.behavior.truth import amount_of, truth
from pipelines.core.simulation.behavior.words import snake


def compute(clause: c.Compute, scope: Scope) -> list[Resolved]:
    owner, _, last = clause.field.name.rpartition(".")
    is_money = clause.field.name == m.MONEY
    name = scope.worth(None).name if is_money else _own_name(last if owner else clause.field.name, scope)
    value = amount_of(clause.value, scope)
    if not value.refs() and clause.when is None and not isinstance(clause.value, m.Choice):
        raise Unresolved(f"{name} would always be the same")
    current = Ref(REPLY, (name,))
    if clause.when is not None:
        value = text("(", value, ") if ", truth(clause.when, scope), " else ", current)
    operands = list(dict.fromkeys(_operands(clause.value, scope)))
    if operands:
        known = r.joined([text(ref, " != null") for ref in operands], " and ")
        value = text("(", value, ") if ", known, " else ", current)
    keeps = None if scope.tool.reads else scope.tool.makes or scope.kind
    return [Resolved(RuleKind.COMPUTED, r.Put(name, value, keeps))]


def _operands(value: Any, scope: Scope) -> list[Ref]:
    """Fields an amount is worked out from; where one is missing there is nothing to work out."""
    match value:
        case m.Field():
            return scope.place(value).value.refs()
        case m.Sum(_, parts):
            return [ref for part in parts for ref in _operands(part, scope)]
        case _:
            return []


def _own_name(phrase: str, scope: Scope) -> str:
    """The reply's own spelling of a field."""
    kind = scope.kind_named(None)
    for fields in (
        scope.tool.output,
        {path[0]: 1 for path in (kind.fields if kind else {}) if len(path) == 1},
    ):
        spelled = next((name for name in fields if snake(name) == snake(phrase)), None)
        if spelled is not None:
            return spelled
    return snake(phrase) if " " in phrase else phrase


def bound(clause: c.Bound, scope: Scope) -> list[Resolved]:
    name = _known_reply_field(clause.field, scope)
    value = text(Ref(REPLY, (name,)))
    for function, limit in (("max", clause.low), ("min", clause.high)):
        if limit is not None:
            value = text(f"{function}(", value, ", ", amount_of(limit, scope), ")")
    current = Ref(REPLY, (name,))
    return [
        Resolved(
            RuleKind.COMPUTED, r.Put(name, text("(", value, ") if ", current, " != null else ", current))
        )
    ]


def _known_reply_field(field: m.Field, scope: Scope) -> str:
    """A field the reply can have; "a negative balance" of a reply with one computed amount means that
    amount.
    """
    kind = scope.kind_named(field.owner)
    path = find_field(kind.fields, field.name) if kind else None
    if path is not None and len(path) == 1:
        return path[0]
    name = _own_name(field.name, scope)
    if name in scope.tool.output or name in scope.computed:
        return name
    if len(scope.computed) == 1:
        return next(iter(scope.computed))
    if kind is None or not kind.fields:
        return name
    raise Unresolved(f"no reply of {scope.tool.name} has {name}")


def cap_list(clause: c.Cap, scope: Scope) -> list[Resolved]:
    if not scope.tool.reads:
        raise Unresolved(f"{scope.tool.name} lists nothing")
    unless = scope.place(replace(clause.unless, is_argument=True)).name if clause.unless else None
    return [Resolved(RuleKind.LIST, r.Take(clause.most, clause.is_page, unless))]


def put_in_order(clause: c.Order, scope: Scope) -> list[Resolved]:
    kind = scope.kind_named(None)
    if not scope.tool.reads:
        raise Unresolved(f"{scope.tool.name} lists nothing")
    if clause.by is not None:
        path = find_field(kind.fields, clause.by.name.rpartition(".")[2]) if kind else None
        if path is None and not (kind is None or not kind.fields):
            raise Unresolved(f"nothing listed has {clause.by.name}")
        return [
            Resolved(RuleKind.LIST, r.Sort(path[0] if path else snake(clause.by.name), clause.descending))
        ]
    try:
        by = ".".join(scope.birth(kind)) if kind is not None else None
    except Unresolved:
        by = None  # no date: the ledger keeps things in the order in which they came
    return [Resolved(RuleKind.LIST, r.Sort(by, clause.descending))]


def keep_only(clause: c.Keep, scope: Scope) -> list[Resolved]:
    kind = scope.kind_named(clause.noun)
    if not scope.tool.reads or kind is None or (scope.kind != kind.name and clause.noun):
        raise Unresolved(f"{scope.tool.name} lists no {clause.noun or 'such things'}")
    keep = truth(clause.condition, replace(scope, in_list=kind.name))
    if r.EACH not in keep.roots():
        raise Unresolved("it says nothing of what is listed")
    return [Resolved(RuleKind.LIST, r.Filter(keep))]


def put_first(clause: c.First, scope: Scope) -> list[Resolved]:
    [kept] = keep_only(c.Keep(clause.condition), scope)
    assert isinstance(kept.body, r.Filter)
    return [Resolved(RuleKind.LIST, r.SortFirst(kept.body.keep))]


def hide(clause: c.Hide, scope: Scope) -> list[Resolved]:
    return [Resolved(RuleKind.SHAPE, r.Without(tuple(_shown_name(field, scope) for field in clause.fields)))]


def show(clause: c.Show, scope: Scope) -> list[Resolved]:
    return [Resolved(RuleKind.SHAPE, r.Only(tuple(_shown_name(field, scope) for field in clause.fields)))]


def mask(clause: c.Mask, scope: Scope) -> list[Resolved]:
    return [Resolved(RuleKind.SHAPE, r.Masked(_shown_name(clause.field, scope), clause.keep_last))]


def _shown_name(field: m.Field, scope: Scope) -> str:
    kind = scope.kind_named(field.owner)
    is_own = kind is not None and kind.name == scope.kind
    path = find_field(kind.fields, field.name.rpartition(".")[2]) if kind is not None and is_own else None
    if path is not None:
        return path[0]
    name = snake(field.name.rpartition(".")[2])
    if name in scope.tool.output or name == "id":
        return name
    raise Unresolved(f"no reply of {scope.tool.name} has {name}")
