"""What effects and replies mean: each labelled form as a function of the scope and its parts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.language.clauses import condition
from pipelines.core.simulation.rules.language.nouns import NounPhrase, switch_words
from pipelines.core.simulation.rules.language.phrases import (
    Span,
    as_value,
    date,
    number,
    required_restriction,
)
from pipelines.core.simulation.rules.language.scope import BoundValue, CannotResolve, Scope, same_name
from pipelines.core.simulation.rules.vocabulary import Kind


def _changes(s: Scope, p: Any) -> list[r.Form]:
    """Effects and computed fields, under a condition where one is said."""
    forms: list[Any] = p.form(s)
    test = condition(s, p)
    if test is None:
        return forms
    if any(isinstance(one, (r.Keep, r.Sort, r.Take)) for one in forms):
        kind = _listed_kind(s).name
        says = f"move the condition into the filter: `{s.tool.name} returns only {kind}s where …`"
        raise CannotResolve(f"cutting or sorting a list cannot depend on a condition; {says}")
    if any(isinstance(one, r.Drop) for one in forms):
        raise CannotResolve("what the tool itself does is left out of every call, or of none")
    if not all(hasattr(one, "when") for one in forms):
        raise CannotResolve("which fields a reply shows cannot depend on a condition")
    return [replace(one, when=test) for one in forms]


# -- what a call changes ------------------------------------------------------------------------------------


def _set(target: Expr, value: Expr | None) -> r.Set:
    path = n.path_of(target)
    if path is None or path.root == r.ARGS or not path.keys:
        raise CannotResolve(f"`{target}` is not a field of a record that can be changed")
    return r.Set(target=path, value=value)


def field_to_fill(kind: Kind, named: NounPhrase) -> BoundValue:
    """A field to be filled, known or new."""
    known = [keys for keys in kind.fields if same_name(keys[-1], named)]
    keys = min(known, key=len) if known else (named.text,)
    return BoundValue(m.path(kind.name, *keys), f"{kind.name}.{keys[-1]}", kind.fields.get(keys))


def _target(s: Scope, p: Any, name: NounPhrase) -> BoundValue:
    found: BoundValue | None = p.ref(s) if p.ref else s.path(p.path) if p.path else None
    return found or field_to_fill(s.on(p.type).subject, name)


def _setting(s: Scope, p: Any) -> r.Set:
    target = _target(s, p, p.name)
    return _set(target.expr, as_value(p.value(replace(s, of=target))))


def _sets_each(s: Scope, p: Any) -> list[r.Form]:
    """A field of every record of a type for which a condition holds."""
    kind, inner = _each_of(s, p)
    target = field_to_fill(kind, p.field)
    value = as_value(p.value(replace(inner, of=target))) if p.value else None
    return [replace(_set(target.expr, value), where=p.test(inner), before=bool(p.before))]


def _each_of(s: Scope, p: Any) -> tuple[Kind, Scope]:
    kind = s.kind(p.type)
    return kind, s.about(kind.name, n.Name(r.EACH))


def _removes_each(s: Scope, p: Any) -> list[r.Form]:
    kind, inner = _each_of(s, p)
    return [r.Remove(entity_type=kind.name, where=p.test(inner), before=bool(p.before))]


def _drops(s: Scope, p: Any) -> list[r.Form]:
    path = n.path_of(p.ref(s).expr) if p.ref else n.Path(s.kind(p.type).name)
    if path is None:
        raise CannotResolve("this is not a field that a tool can change")
    return [r.Drop(entity_type=path.root, keys=path.keys)]


def _new_value(s: Scope, named: NounPhrase) -> Expr:
    """A word that a field is set to: a value it is known to have, or a new one where it holds words."""
    known = s.of.text_called(named)
    about = s.vocabulary.kinds.get(s.it or s.tool.about or "")
    fields = [keys[-1] for keys in about.fields] if about is not None else []
    is_field = any(same_name(one, named) for one in (*s.tool.arguments, *fields))
    if known is None and (is_field or not s.of.texts()):
        raise CannotResolve(
            f"{s.of.name} is not known to have the value `{named.text}`: put a new text in quotes", named
        )
    return m.constant(known or named.text)


def _marks(s: Scope, p: Any) -> list[r.Form]:
    inner = s.on(p.type)
    kind, named = inner.subject, p.state or p.name
    for keys, one in kind.fields.items() if p.state else ():
        if "boolean" in one.kinds and named.words in switch_words(keys[-1]):
            return [_set(m.path(kind.name, *keys), m.TRUE)]
    if kind.status is None:
        raise CannotResolve(f"no field of {kind.name} holds its state", named)
    of = inner.about(kind.name).bound(kind, kind.status)
    return [_set(of.expr, _new_value(replace(s, of=of), named))]


def _records(s: Scope, p: Any) -> list[r.Form]:
    given = s.argument(p.field)
    forms = _set(_target(s, p, p.name or replace(p.field, text=given.name)).expr, given.expr)
    is_sure = given.name in s.tool.required
    return [forms if is_sure else replace(forms, when=m.is_given(given.expr))]


def _changed_amount(s: Scope, p: Any, sign: Any) -> list[r.Form]:
    """A number that goes up or down, or a date that is put off."""
    target = p.ref(s) if p.ref else s.on(p.type).owned(p.field)
    by = p.by(s)
    if isinstance(by, Span):
        return [_set(target.expr, _later(date(target), by, 1 if sign == "+" else -1))]
    start = m.call("default", number(target), m.constant(0))
    return [_set(target.expr, m.arithmetic(start, sign, as_value(by)))]


def _later(date: Expr, span: Span, way: int) -> Expr:
    if (months := span.months()) is not None:
        return m.call("add_months", date, m.constant(way * months))
    if span.unit in ("hours", "minutes"):
        return m.call("add_minutes", date, m.constant(way * span.count * (60 if span.unit == "hours" else 1)))
    return m.call("add_days", date, m.constant(way * span.count * (7 if span.unit == "weeks" else 1)))


def new_kind(name: str) -> Kind:
    """A type of which the world has no record yet."""
    return Kind(name=name, fields={}, nouns=())


def _adds(s: Scope, p: Any) -> list[r.Form]:
    kind = s.kind(p.type) if p.type else new_kind(p.name.text)
    filled = []
    for one in p.fields:
        of = field_to_fill(kind, replace(one.name, text="_".join(one.name.words)))
        filled.append((of.name.rpartition(".")[2], as_value(one.value(replace(s, of=of)))))
    return [r.Add(entity_type=kind.name, fields=tuple(filled))]


# -- what a reply shows -------------------------------------------------------------------------------------


def _computes(s: Scope, p: Any) -> list[r.Form]:
    forms: list[r.Form] = []
    s = replace(s, in_reply=True)
    for one in p.puts:
        value = one.term(s).expr
        value = m.call("round", value, m.constant(one.digits.value)) if one.digits else value
        forms.append(r.Put(name=one.name.text, value=value))
        s = replace(s, computed=s.computed | {one.name.text})
    return forms


def reply_field(s: Scope, named: NounPhrase) -> str:
    """A field of the reply, by the output schema or by the record that is answered."""
    kinds = (s.vocabulary.kinds.get(one or "") for one in (s.tool.about, s.tool.lists))
    fields = (keys[0] for kind in kinds if kind is not None for keys in kind.fields if len(keys) == 1)
    found = next((name for name in (*s.tool.output, *fields) if same_name(name, named)), None)
    if found is None:
        raise CannotResolve(f"no reply of {s.tool.name} is known to have `{named.text}`", named)
    return found


def _bounded_field(s: Scope, p: Any, function: str, limit: Expr) -> list[r.Form]:
    name = reply_field(s, p.field)
    return [r.Put(name=name, value=m.call(function, m.path(r.REPLY, name), limit))]


def _listed_kind(s: Scope) -> Kind:
    kind = s.vocabulary.kinds.get(s.tool.lists or "")
    if kind is None:
        raise CannotResolve(f"{s.tool.name} returns no known list")
    return kind


def _takes(s: Scope, p: Any) -> list[r.Form]:
    _listed_kind(s)
    take = r.Take(count=p.count.value, pages=bool(p.pages))
    return [take, *([p.order(s)] if p.order else [])]


def _sorts(s: Scope, p: Any) -> list[r.Form]:
    if p.states or p.limit:
        raise CannotResolve("use two sentences: one for what is listed, one for the order", p.type)
    return [p.order(s)]


def _in_list(s: Scope, p: Any) -> Expr:
    kind = _listed_kind(s)
    if s.kind(p.type).name != kind.name:
        raise CannotResolve(f"{s.tool.name} lists {kind.name}", p.type)
    return required_restriction(s.about(kind.name, n.Name(r.EACH)), p)


def by_age(s: Scope, way: str) -> r.Form:
    kind = _listed_kind(s)
    try:
        path = n.path_of(s.about(kind.name).made_at().expr)
    except CannotResolve:  # no date says it: the ledger's own order does
        return r.Sort(latest=bool(way))
    return r.Sort(by=(way + ".".join(path.keys if path else ()),))


def _by_fields(s: Scope, p: Any) -> r.Form:
    inner = s.about(_listed_kind(s).name)
    paths = [(one, n.path_of(inner.owned(one.field).expr)) for one in p.keys]
    return r.Sort(
        by=tuple(("-" if one.down else "") + ".".join(path.keys if path else ()) for one, path in paths)
    )


def _puts_first(s: Scope, p: Any) -> list[r.Form]:
    then = p.order(s) if p.order else r.Sort()
    if then.latest is not None:
        raise CannotResolve("name the field by which the records are sorted")
    return [replace(then, first=_in_list(s, p))]


CHANGES: Mapping[str, Callable[..., Any]] = {
    "changes": _changes,
    "sets": lambda s, p: [replace(_setting(s, one), before=bool(p.before)) for one in p.sets],
    "sets_each": _sets_each,
    "removes_each": _removes_each,
    "drops_changes": _drops,
    "new_value": lambda s, p: _new_value(s, p.name),
    "marks": _marks,
    "records": _records,
    "clears": lambda s, p: [_set(p.ref(s).expr, None)],
    "adds_to": lambda s, p: _changed_amount(s, p, "+"),
    "takes_from": lambda s, p: _changed_amount(s, p, "-"),
    "adds": _adds,
    "removes": lambda s, p: [r.Remove(entity_type=s.kind(p.type).name)],
    "raises_flag": lambda s, p: [r.Flag(flag=p.flag.text, on=True)],
    "lowers_flag": lambda s, p: [r.Flag(flag=p.flag.text, on=False)],
    "computes": _computes,
    "not_negative": lambda s, p: _bounded_field(s, p, "max", m.constant(0)),
    "caps": lambda s, p: _bounded_field(s, p, "min", p.limit(s).expr),
    "takes": _takes,
    "sorts": _sorts,
    "keeps": lambda s, p: [r.Keep(need=_in_list(s, p))],
    "drops": lambda s, p: [r.Keep(need=_in_list(s, p).negated())],
    "puts_first": _puts_first,
    "newest": lambda s, p: by_age(s, "-"),
    "oldest": lambda s, p: by_age(s, ""),
    "by_fields": _by_fields,
    "without": lambda s, p: [r.Without(names=tuple(reply_field(s, one) for one in p.names))],
    "shows_only": lambda s, p: [r.Only(names=tuple(reply_field(s, one) for one in p.names))],
    "masks": lambda s, p: [
        r.Mask(name=reply_field(s, one), count=p.count.value if p.count else 4) for one in p.names
    ],
}
