"""A plan from what was found: records are named once, then guards, changes and the reply."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning import guards
from pipelines.core.simulation.learning.changes import NEW_ID, Changes, Repeated, Setting
from pipelines.core.simulation.learning.found import Found
from pipelines.core.text.json_text import JsonObject

UNSEEN = 501  # nobody recorded what the backend answers there


@dataclass(kw_only=True, slots=True)
class Draft:
    """The parts of a plan, as found."""

    tree: guards.Tree  # which calls are refused, by label; label 0 is not refused
    refusals: Mapping[int, tuple[int, Found]]  # status and body
    changes: Changes
    reply: Found | None
    was: Mapping[str, n.Expr]
    note: str = ""
    is_error_text: frozenset[int] = field(default_factory=frozenset)  # labels that answer with status 200


def written_plan(draft: Draft) -> JsonObject:
    names = _Names()
    body: list[m.Draft] = [*_refusing(draft.tree, draft, names)]
    is_ever_taken = any(leaf.label not in draft.refusals for leaf in guards.leaves(draft.tree))
    if draft.reply is not None and is_ever_taken:
        body += _seen(draft, names)
        body += _remembered(draft, names)
        body += _changing(draft.changes, names)
        body.append({"return": as_value(names.use(draft.reply.expr))})
    steps = m.plan_text([*names.steps(), *body])
    assert isinstance(steps, list)
    plan: JsonObject = {"steps": steps, "asserted": True}
    return plan | ({"description": draft.note} if draft.note else {})


class _Names:
    """Records that expressions look up get a name each, in the order in which they are needed."""

    def __init__(self) -> None:
        self._known: dict[n.Expr, str] = {}
        self._taken: set[str] = set()

    def use(self, expr: n.Expr) -> n.Expr:
        return self._used(expr, frozenset())

    def _used(self, expr: n.Expr, bound: frozenset[str]) -> n.Expr:
        if isinstance(expr, n.Comprehension):
            bound = bound | {name for loop in expr.loops for name in loop.names}
            loops = tuple(
                n.Loop(
                    one.names, self._used(one.source, bound), tuple(self._used(t, bound) for t in one.tests)
                )
                for one in expr.loops
            )
            return n.Comprehension(expr.shape, tuple(self._used(r, bound) for r in expr.results), loops)
        inner = (
            n.rebuilt(expr, lambda part: self._used(part, bound))
            if not isinstance(expr, n.Constant)
            else expr
        )
        if _is_lookup(inner) and not inner.roots() & bound:
            return n.Name(self._name(inner))
        return inner

    def _name(self, expr: n.Expr) -> str:
        known = self._known.get(expr)
        if known is None:
            assert isinstance(expr, n.Call)
            stem = _word(expr)
            known = stem
            number = 2
            while known in self._taken:
                known, number = f"{stem}_{number}", number + 1
            self._taken.add(known)
            self._known[expr] = known
        return known

    def record(self, expr: n.Expr) -> str:
        """The name of a record that is changed."""
        used = self.use(expr)
        if isinstance(used, n.Name):
            return used.name
        name = f"record_{len(self._known) + 1}"
        self._known[used] = name
        self._taken.add(name)
        return name

    def steps(self) -> Iterator[m.Draft]:
        for expr, name in self._known.items():
            match expr:
                case n.Call(
                    "find", (n.Call("entities", (n.Constant(str(kind)),)), n.Constant(str(key)), value)
                ):
                    where = m.is_equal(m.path(name, key), value)
                    yield {"find": {"as": name, "in": kind, "where": where, "optional": True}}
                case _:
                    yield {"let": {name: expr}}


def _is_lookup(expr: n.Expr) -> bool:
    match expr:
        case n.Call("entity"):
            return True
        case n.Call("find", (n.Call("entities"), *_)):
            return True
    return False


def _word(expr: n.Call) -> str:
    """`the_order` for a record of the type `order`: no field or argument of a plan begins so by chance."""
    first = expr.arguments[0]
    kind = first.arguments[0] if isinstance(first, n.Call) else first
    stem = re.sub(r"\W+", "_", str(kind.value) if isinstance(kind, n.Constant) else "record")
    return f"the_{stem.strip('_').lower() or 'record'}"


# -- refusing


def _refusing(tree: guards.Tree, draft: Draft, names: _Names) -> list[m.Draft]:
    if isinstance(tree, guards.Leaf):
        return [_refusal(tree.label, draft, names)] if tree.label in draft.refusals else []
    test = names.use(tree.test)
    then, otherwise = _refusing(tree.then, draft, names), _refusing(tree.otherwise, draft, names)
    if not then and not otherwise:
        return []
    if not then:
        return [{"if": test.negated(), "then": otherwise}]
    if otherwise and _ends(then):
        return [{"if": test, "then": then}, *otherwise]
    return [{"if": test, "then": then} | ({"else": otherwise} if otherwise else {})]


def _ends(steps: Sequence[m.Draft]) -> bool:
    return bool(steps) and ("fail" in steps[-1] or "return" in steps[-1])


def _refusal(label: int, draft: Draft, names: _Names) -> m.Draft:
    status, body = draft.refusals[label]
    value = as_value(names.use(body.expr))
    if label in draft.is_error_text:
        return {"return": value}
    return {"fail": {"status": status, "error": "refused", "body": value}}


def _seen(draft: Draft, names: _Names) -> list[m.Draft]:
    """Tables have the values that were seen, and no others: another value is a miss that everybody sees."""
    parts = [*draft.changes.found(), *([draft.reply] if draft.reply is not None else [])]
    tests = dict.fromkeys(test for found in parts for test in found.seen)
    told = "No recorded call shows what the backend does with this value"
    failure = {"status": UNSEEN, "error": "not_recorded", "message": told}
    return [{"require": names.use(test), "else": failure} for test in tests]


# -- changing


def _remembered(draft: Draft, names: _Names) -> list[m.Draft]:
    """What the reply says of a value before it is changed."""
    assert draft.reply is not None
    used = draft.reply.expr.roots() & draft.was.keys()
    return [{"let": {name: names.use(draft.was[name])}} for name in draft.was if name in used]


def _changing(changes: Changes, names: _Names) -> list[m.Draft]:
    """All values are computed before the first change, as the backend saw the world when it was called."""
    steps: list[m.Draft] = []
    for number, adding in enumerate(changes.addings):
        id_name = f"new_id_{number + 1}"
        attrs = as_value(names.use(adding.attrs.expr.replaced({NEW_ID.name: n.Name(id_name)})))
        steps.append({"let": {id_name: names.use(adding.id.expr)}})
        steps.append({"let": {f"attrs_{number + 1}": attrs}})
    steps += _setting(changes.settings, names)
    for one in changes.repeated:
        steps.append(_repeating(one, names))
    for number, adding in enumerate(changes.addings):
        step = {
            "add": {
                "in": adding.kind,
                "id": n.Name(f"new_id_{number + 1}"),
                "attrs": n.Name(f"attrs_{number + 1}"),
            }
        }
        steps.append(step if adding.when is None else {"if": names.use(adding.when), "then": [step]})
    for removing in changes.removings:
        take = {"remove": names.record(removing.record)}
        steps.append(take if removing.when is None else {"if": names.use(removing.when), "then": [take]})
    return steps


def _setting(settings: Sequence[Setting], names: _Names) -> list[m.Draft]:
    always: dict[n.Expr, m.Draft] = {}
    steps: list[m.Draft] = []
    unset: list[n.Expr] = []
    for setting in settings:
        name = names.record(setting.record)
        fields = {m.path(name, key): as_value(names.use(found.expr)) for key, found in setting.fields.items()}
        if setting.when is None:
            always |= fields
            unset += [m.path(name, key) for key in setting.unset]
        elif fields:
            steps.append({"if": names.use(setting.when), "then": [{"set": fields}]})
    head: list[m.Draft] = [{"set": always}] if always else []
    return head + steps + ([{"unset": unset}] if unset else [])


def _repeating(one: Repeated, names: _Names) -> m.Draft:
    fields = {m.path(one.name, key): as_value(names.use(found.expr)) for key, found in one.fields.items()}
    return {"for": one.name, "in": names.use(one.records.expr), "do": [{"set": fields}]}


def as_value(expr: n.Expr) -> m.Draft:
    """A mapping as the language of plans has it: readable line by line."""
    if isinstance(expr, n.MappingOf) and expr.entries and _is_plain(expr):
        return {_key(key): as_value(value) for key, value in expr.entries}
    if isinstance(expr, n.MappingOf) and not expr.entries:
        return {}
    if isinstance(expr, n.ListOf) and not any(isinstance(part, n.Spread) for part in expr.parts):
        return [as_value(part) for part in expr.parts]
    return expr


def _key(key: n.Expr | None) -> str:
    return str(key.value) if isinstance(key, n.Constant) else "..."


def _is_plain(expr: n.MappingOf) -> bool:
    keys = [key.value for key, _ in expr.entries if isinstance(key, n.Constant)]
    spreads = sum(key is None for key, _ in expr.entries)
    if len(keys) + spreads != len(expr.entries) or spreads > 1:
        return False
    return all(
        isinstance(key, str) and not key.startswith("[") and key not in ("text", "...") for key in keys
    )
