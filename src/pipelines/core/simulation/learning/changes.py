"""What a call changes: for each record that it touches, an expression for each field as it is afterwards.

A call that leaves a field alone in some examples gives it the value that it had, so that a conditional change
is a conditional expression. Only adding and removing records needs steps of its own under a condition.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.core.ledger.ledger import Add, Ledger, Remove, SetFlag, Update
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning import guards
from pipelines.core.simulation.learning.found import Found
from pipelines.core.simulation.learning.lists import Source, element_scene, looped, trace
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.records import best_fields
from pipelines.core.simulation.learning.scene import Scene, Term
from pipelines.core.simulation.learning.search import Search, Target
from pipelines.core.simulation.values import MISSING, Entity

MOST_TARGETS = 4  # records of a type that a call changes without a loop


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Fields of one record, as they are after the call; `when` is the condition under which it is there."""

    record: n.Expr
    fields: Mapping[str, Found]
    unset: Sequence[str] = ()
    when: n.Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Adding:
    kind: str
    id: Found
    attrs: Found
    when: n.Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Removing:
    record: n.Expr
    when: n.Expr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """The same change to each record of a list."""

    records: Found
    name: str
    fields: Mapping[str, Found]


@dataclass(kw_only=True, slots=True)
class Changes:
    settings: list[Setting] = field(default_factory=list)
    addings: list[Adding] = field(default_factory=list)
    removings: list[Removing] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)
    missed: set[int] = field(default_factory=set)  # rows whose changes are not explained

    def found(self) -> Iterator[Found]:
        for setting in self.settings:
            yield from setting.fields.values()
        for adding in self.addings:
            yield from (adding.id, adding.attrs)


Updates = Sequence[Sequence[Add | Remove | Update | SetFlag]]


def explain_changes(
    search: Search, updates: Updates, after: Sequence[Ledger], rows: Sequence[int]
) -> Changes:
    found = Changes()
    kinds = dict.fromkeys(
        update.entity_type for row in rows for update in updates[row] if not isinstance(update, SetFlag)
    )
    found.missed |= {row for row in rows if any(isinstance(update, SetFlag) for update in updates[row])}
    for kind in kinds:
        of_kind = {
            row: [one for one in updates[row] if not isinstance(one, SetFlag) and one.entity_type == kind]
            for row in rows
        }
        _explain_adding(search, found, kind, of_kind, rows)
        _explain_removing(search, found, kind, of_kind, rows)
        _explain_updates(search, found, kind, of_kind, after, rows)
    return found


# -- records that are there


def _explain_updates(
    search: Search,
    found: Changes,
    kind: str,
    of_kind: Mapping[int, Sequence[Add | Remove | Update]],
    after: Sequence[Ledger],
    rows: Sequence[int],
) -> None:
    left = {(row, one.id): one for row in rows for one in of_kind[row] if isinstance(one, Update)}
    for _ in range(MOST_TARGETS):
        if not left:
            return
        named = _naming(search.scene, kind, set(left))
        if named is None:
            break
        term, covered = named
        if len(covered) * 2 < len({row for row, _ in left}) and len(covered) < 2:
            break
        ours = {row: left.pop((row, id)) for row, id in covered}
        found.settings.append(_setting(search, found, term, kind, ours, after, rows))
    _explain_repeated(search, found, kind, left, after)


def _naming(
    scene: Scene, kind: str, wanted: set[tuple[int, str]]
) -> tuple[Term, list[tuple[int, str]]] | None:
    """The term that names most of these records, and in which rows."""
    best: tuple[float, Term, list[tuple[int, str]]] | None = None
    for term in scene.terms:
        covered = [
            (row, value.id)
            for row, value in enumerate(term.values)
            if isinstance(value, Entity) and value.kind == kind and (row, value.id) in wanted
        ]
        if covered:
            worth = 3 * len(covered) - term.cost
            if best is None or worth > best[0]:
                best = worth, term, covered
    return None if best is None else best[1:]


def _setting(
    search: Search,
    found: Changes,
    term: Term,
    kind: str,
    ours: Mapping[int, Update],
    after: Sequence[Ledger],
    rows: Sequence[int],
) -> Setting:
    there = [row for row in rows if isinstance(term.values[row], Entity)]
    later: list[Value] = [MISSING] * search.scene.size
    for row in there:
        state = after[row].get(kind, term.values[row].id)
        later[row] = state if row in ours else term.values[row]
        if later[row] is None:
            later[row] = term.values[row]
    names = dict.fromkeys(name for one in ours.values() for name in one.set)
    fields = {}
    for name in names:
        values = [value.get(name, MISSING) if isinstance(value, dict) else MISSING for value in later]
        fields[name] = search.settle(Target(values=values, rows=there, name=name, is_change=True))
        found.missed |= fields[name].missed
    unset = dict.fromkeys(name for one in ours.values() for name in one.unset)
    is_always = len(there) == len(rows)
    when = None if is_always else m.is_given(term.expr)
    return Setting(record=term.expr, fields=fields, unset=list(unset), when=when)


def _explain_repeated(
    search: Search,
    found: Changes,
    kind: str,
    left: Mapping[tuple[int, str], Update],
    after: Sequence[Ledger],
) -> None:
    """A change to each record that some tests choose."""
    if not left:
        return
    touched = sorted({row for row, _ in left})
    elements = search.scene.entities(kind)
    targets: list[Value] = [[] for _ in range(search.scene.size)]
    for row in touched:
        targets[row] = [one for one in elements[row] if (row, one.id) in left]
    target = Target(values=targets, rows=touched, name=kind)
    source = Source(m.entities(kind), elements, 2.0, kind)
    traced = trace(search, target, source)
    records = looped(search, target, source, traced) if traced is not None else None
    if traced is None or records is None or records.missed:
        found.missed |= set(touched)
        return
    pairs = [(row, at) for row, places in zip(touched, traced.positions, strict=True) for at in places]
    name = "changed_" + re.sub(r"\W+", "_", kind)
    inner = element_scene(search.scene, source, pairs, name)
    deeper = Search(scene=inner, makers=search.makers, is_over=search.is_over, steps=search.steps)
    names = dict.fromkeys(field for update in left.values() for field in update.set)
    fields = {}
    for field_name in names:
        values = []
        for row, at in pairs:
            state = after[row].get(kind, elements[row][at].id) or {}
            values.append(state.get(field_name, MISSING))
        fields[field_name] = deeper.settle(
            Target(values=values, rows=tuple(range(len(pairs))), name=field_name)
        )
        if fields[field_name].missed:
            found.missed |= set(touched)
    found.repeated.append(Repeated(records=records, name=name, fields=fields))


# -- records that come and go


def _explain_adding(
    search: Search,
    found: Changes,
    kind: str,
    of_kind: Mapping[int, Sequence[Add | Remove | Update]],
    rows: Sequence[int],
) -> None:
    added = {row: [one for one in of_kind[row] if isinstance(one, Add)] for row in rows}
    once = [row for row in rows if len(added[row]) == 1]
    found.missed |= {row for row in rows if len(added[row]) > 1}
    if not once:
        return
    when, wrong = _condition(search, once, rows)
    found.missed |= wrong
    ids: list[Value] = [None] * search.scene.size
    attrs: list[Value] = [None] * search.scene.size
    for row in once:
        ids[row], attrs[row] = added[row][0].id, added[row][0].attrs
    id = search.settle(Target(values=ids, rows=once, name="id"))
    target = Target(values=attrs, rows=once, name=kind)
    body = search.explain(target) or best_fields(search, target)
    body = _with_own_id(search, target, ids, body)
    found.missed |= id.missed | body.missed
    found.addings.append(Adding(kind=kind, id=id, attrs=body, when=when))


NEW_ID = n.Name("new_id_value")


def _with_own_id(search: Search, target: Target, ids: Sequence[Value], body: Found) -> Found:
    """A field that repeats the id of its record is that id, also where the id is drawn."""
    if not isinstance(body.expr, n.MappingOf):
        return body
    entries, seen = [], False
    for key, value in body.expr.entries:
        if isinstance(key, n.Constant) and isinstance(key.value, str):
            same = [
                target.values[row].get(key.value) == ids[row] and isinstance(ids[row], str)
                for row in target.rows
            ]
            if all(same) and len({ids[row] for row in target.rows}) > 1:
                value, seen = NEW_ID, True
        entries.append(n.Entry(key, value))
    return body.within(n.MappingOf(tuple(entries))) if seen else body


def _explain_removing(
    search: Search,
    found: Changes,
    kind: str,
    of_kind: Mapping[int, Sequence[Add | Remove | Update]],
    rows: Sequence[int],
) -> None:
    gone = {(row, one.id) for row in rows for one in of_kind[row] if isinstance(one, Remove)}
    if not gone:
        return
    named = _naming(search.scene, kind, gone)
    if named is None:
        found.missed |= {row for row, _ in gone}
        return
    term, covered = named
    found.missed |= {row for row, id in gone if (row, id) not in set(covered)}
    removed = [row for row, _ in covered]
    when, wrong = _condition(search, removed, rows)
    found.missed |= wrong
    if when is None and any(term.values[row] is None for row in rows):
        when = m.is_given(term.expr)
    found.removings.append(Removing(record=term.expr, when=when))


def _condition(
    search: Search, some: Sequence[int], rows: Sequence[int]
) -> tuple[n.Expr | None, frozenset[int]]:
    """The condition under which something happens in `some` of the rows; rows that it gets wrong."""
    if len(some) == len(rows):
        return None, frozenset()
    chosen = set(some)
    tree = guards.separate(search.scene, {row: int(row in chosen) for row in rows})
    return guards.condition_of(tree), guards.missed(tree)
