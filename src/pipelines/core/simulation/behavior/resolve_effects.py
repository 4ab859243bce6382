"""What a call changes, tied to one tool: which field of which entity, and to what."""

from dataclasses import replace
from typing import Any

from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.rules import ARGUMENTS, Ref, Resolved, RuleKind, Text, text
from pipelines.core.simulation.behavior.scope import Scope, Unresolved, link_field, written_value
from pipelines.core.simulation.behavior.states import OPPOSITES, may_be_a_status
from pipelines.core.simulation.behavior.things import Kind, find_field, has_value, switch_of
from pipelines.core.simulation.behavior.truth import amount_of, truth
from pipelines.core.simulation.behavior.words import snake


def target_of(field: m.Field, scope: Scope) -> Ref:
    """The field of an entity that a call writes: where it is already, else a new one on what the tool is
    about.
    """
    owner, _, name = field.name.rpartition(".")
    kind = scope.kind_named(owner or field.owner) if (owner or field.owner) else None
    name = name if owner else field.name
    if kind is None and (owner or field.owner):
        raise Unresolved(f"nothing here is a {owner or field.owner}")
    if kind is None:
        kind, name = _home(name, scope)
    path = find_field(kind.fields, name) or (snake(name),)
    if kind.role or not scope.reaches(kind.name):
        raise Unresolved(f"{scope.tool.name} has no {kind.name}")
    return Ref(kind.name, path)


def _home(name: str, scope: Scope) -> tuple[Kind, str]:
    first, _, rest = name.partition(" ")
    if rest and scope.lexicon.kind_of(first) is not None and scope.kind_named(first) is not None:
        return scope.kind_named(first), rest  # type: ignore[return-value]
    own = scope.kind_named(None)
    if own is not None and find_field(own.fields, name) is not None:
        return own, name
    others = [
        kind
        for kind in scope.lexicon.kinds.values()
        if kind is not own and scope.reaches(kind.name) and find_field(kind.fields, name) is not None
    ]
    if len(others) == 1:
        return others[0], name
    if own is None or others:
        raise Unresolved(f"it is not clear where {name!r} is")
    return own, name


def _when(condition: m.Condition | None, scope: Scope) -> Text | None:
    return None if condition is None else truth(condition, scope)


def assign(clause: c.Assign, scope: Scope) -> list[Resolved]:
    target = target_of(clause.field, scope)
    value = None if clause.value is None else new_value(clause.value, target, scope)
    return [Resolved(RuleKind.EFFECT, r.Write(target, value, _when(clause.when, scope)))]


def new_value(value: Any, target: Ref, scope: Scope) -> Text:
    one = scope.lexicon.kinds[target.root].fields.get(target.path)
    if isinstance(value, m.Field) and value.owner is None and _is_value_of(value.name, target, scope):
        value = m.Literal_(value.name)  # `delivered`, though an argument may be called so too
    if isinstance(value, m.Literal_) and isinstance(value.value, str):
        known = next(
            (
                v
                for v in (one.values if one else ())
                if isinstance(v, str) and v.casefold() == str(value.value).casefold()
            ),
            None,
        )
        return text(r.literal(known if known is not None else value.value))
    return amount_of(value, scope)


def _is_value_of(word: str, target: Ref, scope: Scope) -> bool:
    kind = scope.lexicon.kinds[target.root]
    if has_value(kind.fields.get(target.path), word):
        return True
    if target.path != kind.status or not may_be_a_status(word):
        return False
    return "_" not in word or (word not in scope.tool.arguments and find_field(kind.fields, word) is None)


def step(clause: c.Step, scope: Scope) -> list[Resolved]:
    target = target_of(clause.field, scope)
    if isinstance(clause.by, m.Duration):
        return [
            Resolved(RuleKind.EFFECT, r.Write(target, _later(target, clause.by), _when(clause.when, scope)))
        ]
    if target.path not in scope.lexicon.kinds[target.root].fields and scope.lexicon.kinds[target.root].fields:
        raise Unresolved(f"no {target.root} has {target.path[-1]} to count")
    by = amount_of(clause.by, scope)
    value = text("default(", target, f", 0) {clause.sign} ", by)
    given = [ref for ref in by.refs() if ref.root == ARGUMENTS]
    if given:
        value = text("default(", target, f", 0) {clause.sign} default(", by, ", 0)")
    return [Resolved(RuleKind.EFFECT, r.Write(target, value, _when(clause.when, scope)))]


def _later(target: Ref, span: m.Duration) -> Text:
    function, each = {
        "minute": ("add_minutes", 1), "hour": ("add_minutes", 60), "day": ("add_days", 1),
        "week": ("add_days", 7), "month": ("add_months", 1), "year": ("add_months", 12),
    }.get(span.unit, ("", 0))  # fmt: skip
    if not function:
        raise Unresolved("seconds are not counted")
    return text(f"{function}(", target, f", {written_value(span.amount * each)})")


def become(clause: c.Become, scope: Scope) -> list[Resolved]:
    kind = scope.kind_named(clause.noun)
    if kind is None or not scope.reaches(kind.name):
        raise Unresolved(f"nothing here can become {clause.word}")
    when = _when(clause.when, scope)
    for word, value in ((clause.word, "true"), (OPPOSITES.get(clause.word, ""), "false")):
        switch = switch_of(kind, word) if word else None
        if switch is not None:
            return [Resolved(RuleKind.EFFECT, r.Write(Ref(kind.name, switch), text(value), when))]
    known = [path for path, one in kind.fields.items() if has_value(one, clause.word)]
    path = kind.status if kind.status in known else next(iter(known), kind.status)
    if path is None and kind.fields:
        raise Unresolved(f"nothing says whether a {kind.name} is {clause.word}")
    target = Ref(kind.name, path or ("status",))
    return [
        Resolved(RuleKind.EFFECT, r.Write(target, new_value(m.Literal_(clause.word), target, scope), when))
    ]


def store_argument(clause: c.StoredArgument, scope: Scope) -> list[Resolved]:
    argument = scope.place(replace(clause.argument, is_argument=True, owner=None))
    kind = scope.kind_named(None)
    if kind is None:
        raise Unresolved("there is nothing to keep it on")
    name = clause.under.name if clause.under else argument.name
    path = find_field(kind.fields, name) or (snake(name),)
    return [
        Resolved(
            RuleKind.EFFECT, r.Write(Ref(kind.name, path), argument.value, text(argument.value, " != null"))
        )
    ]


def raise_flag(clause: c.Raise, scope: Scope) -> list[Resolved]:
    return [Resolved(RuleKind.EFFECT, r.SetFlag(clause.flag, clause.value, _when(clause.when, scope)))]


def restock(clause: c.Restock, scope: Scope) -> list[Resolved]:
    """Which product, how many: from the order itself, or from each of its items."""
    order = scope.kind_named(None)
    for product in scope.lexicon.kinds.values():
        stock = find_field(product.fields, "stock")
        if order is None or product is order or stock is None or "number" not in product.fields[stock].kinds:
            continue
        found = _held(order, product)
        if found is not None:
            product_id, quantity, items = found
            body = r.Refill(order.name, product.name, stock, product_id, quantity, items, clause.sign)
            return [Resolved(RuleKind.EFFECT, body)]
    raise Unresolved("nothing says what was taken from stock")


def _held(order: Kind, product: Kind) -> tuple[str, str | None, str | None] | None:
    direct = link_field(order, product.name)
    if direct is not None:
        quantity = find_field(order.fields, "quantity")
        return direct, quantity[0] if quantity else None, None
    for path, one in order.fields.items():
        if one.keeps == "list" and one.of_records and len(path) == 1:
            inner = Kind(name="item", fields={(name,): part for name, part in one.parts.items()})
            link = link_field(inner, product.name) or next(
                (name for name in ("product_id", "item_id", "sku", "id") if (name,) in inner.fields), None
            )
            if link is not None:
                quantity = find_field(inner.fields, "quantity")
                return link, quantity[0] if quantity else None, path[0]
    return None
