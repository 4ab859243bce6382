"""Changes that the records show: to a state or a switch that the tool's words name, to a state that is given
as an argument, and of a record that is let go of what it refers to (`detach_volume`, `release_locker`)."""

from collections.abc import Mapping

from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.domain.roles import field_at, states_of, valued_fields
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.expr.make import Draft, arg, constant, differs, is_null
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.reading.effects import Change, agrees, evident_change, marked_as
from pipelines.core.simulation.reading.filters import field_for
from pipelines.core.simulation.reading.records import others_of, ownership, record_of
from pipelines.core.simulation.reading.scope import Thing, scope_of
from pipelines.core.simulation.reading.states import status_of
from pipelines.core.simulation.reading.steps import (
    Bound,
    Drafted,
    Step,
    dot,
    refusal,
    require,
    word,
)
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import change_notes, change_reply, coupled

_LETS_GO = word_set(
    "detach release unassign free vacate unlink discharge evict clear unclaim disconnect return"
)
_DECISIONS = word_set("decision outcome verdict result state status")


def read_stated(reading: Reading) -> Drafted | None:
    """A change to what the words name, where no argument says more."""
    return None if any(one.is_required for one in others_of(reading)) else read_evident(reading)


def read_evident(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    change = evident_change(reading, bound.collection)
    if change is None:
        marked = marked_as(reading, bound.collection)
        return stated(reading, bound, marked) if marked is not None else _let_go(reading, bound)
    # Where it is not clear that anything is done at all, name and description have to say the same.
    said = claim_of(reading.tool.description)
    is_told = said.kind in ("reads", "names") and said.verb != "give"  # "Gives a captain VIP standing"
    if reading.name.op is None and (is_told or not (change.by_name and agrees(reading, change))):
        return None
    return stated(reading, bound, change)


def stated(reading: Reading, bound: Bound, change: Change) -> Drafted:
    place = dot(bound.noun, *change.path)
    literal = constant(change.value)
    shown = str(change.value) if isinstance(change.value, str) else change.path[-1].replace("_", " ")
    shown = f"not {shown}" if change.value is False else shown
    noun = bound.noun.replace("_", " ")
    already = refusal(f"already_{word(shown)}", f"The {noun} is already {shown}")
    others = others_of(reading)
    changes: dict[Expr, Draft] = {place: literal if isinstance(change.value, str) else change.value}
    for one in others:
        path = field_for(one, bound.collection)
        if path is not None and path != change.path and field_at(bound.collection.fields, path) is not None:
            changes[dot(bound.noun, *path)] = arg(one.name)
    steps: list[Step] = [
        *bound.steps,
        *ownership(bound, [one for one in others if arg(one.name) not in changes.values()], reading),
        require(differs(place, literal), already),
        {"set": coupled(bound, changes)},
        {"return": change_reply(reading, bound, changed=change.path)},
    ]
    notes = change_notes(reading, bound, changes)
    seen = [value for path, value in valued_fields(bound.collection.fields) if path == change.path]
    if isinstance(change.value, str) and change.value not in seen:
        notes = (f"no record is {change.value} yet: the state is that of name and description", *notes)
    return Drafted(steps=tuple(steps), notes=notes, confidence=0.8)


def read_decided(reading: Reading) -> Drafted | None:
    """`decide_leave(request_id, decision)`: the state is given, and is one that the records have."""
    bound = record_of(reading)
    if bound is None or bound.collection.form != "table":
        return None
    path = status_of(reading, bound.collection)
    states = {joined(tokens(one)) for one in states_of(bound.collection.fields, path)}
    for one in others_of(reading):
        given = {joined(tokens(value)) for value in one.values if isinstance(value, str)}
        is_state = bool(given & states) or (one.words[-1] in _DECISIONS and not given)
        if (
            path is None
            or not one.is_required
            or not is_state
            or field_for(one, bound.collection) is not None
        ):
            continue
        steps: tuple[Step, ...] = (
            *bound.steps,
            {"set": {dot(bound.noun, *path): arg(one.name)}},
            {"return": change_reply(reading, bound, changed=path)},
        )
        note = f"`{one.name}` becomes the state of the record, as it is given"
        return Drafted(steps=steps, notes=(note,), confidence=0.8)
    return None


def read_handed(reading: Reading) -> Drafted | None:
    """`lend_costume(costume_id, student_id)`: of two records, the one that may have the other and has a state
    of its own for that gets it; what somebody has already is refused. Nothing else keeps such pairs."""
    scope = scope_of(reading)
    if len(scope.things) != 2 or reading.said.becomes is not None:
        return None
    found = [
        (one, other, coupling)
        for one, other in (scope.things, scope.things[::-1])
        for coupling in one.collection.couplings
        if coupling.link in _links_between(one, other)
    ]
    types = {one.collection.entity_type for one in scope.things}
    is_kept_apart = any(
        types <= {link.entity_type for link in table.links} for table in reading.known.tables.values()
    )
    if len(found) != 1 or is_kept_apart:
        return None
    one, other, coupling = found[0]
    bound = Bound(steps=(), noun=one.noun, id=one.id, collection=one.collection, holder=one.noun)
    place = dot(one.value, coupling.link)
    taken = refusal(
        f"already_{word(coupling.when_set)}", f"The {one.noun.replace('_', ' ')} is {coupling.when_set}"
    )
    changes: dict[Expr, Draft] = {place: arg(other.argument.name) if other.argument else other.id}
    steps: tuple[Step, ...] = (
        *scope.steps,
        require(is_null(place), taken),
        {"set": coupled(bound, changes)},
        {"return": change_reply(reading, bound)},
    )
    note = f"`{place}` says who has it: nothing else of the two records refers to the other"
    return Drafted(steps=steps, notes=(note, *change_notes(reading, bound, changes)), confidence=0.8)


def _links_between(one: Thing, other: Thing) -> list[str]:
    return [
        link.path[0]
        for link in one.collection.links
        if link.entity_type == other.collection.entity_type and len(link.path) == 1
    ]


def _let_go(reading: Reading, bound: Bound) -> Drafted | None:
    """The one thing that a record may refer to, or not, it no longer does."""
    gives_back = reading.name.verb in _LETS_GO or "back" in tokens(reading.said.summary.lower())
    if not gives_back or any(one.is_required for one in others_of(reading)):
        return None
    fields = bound.collection.fields
    links = {link.path for link in bound.collection.links if _may_be_null(fields, link.path)}
    links |= {(one.link,) for one in bound.collection.couplings}
    if len(links) != 1:
        return None
    link = links.pop()
    place = dot(bound.noun, *link)
    steps: tuple[Step, ...] = (
        *bound.steps,
        {"set": coupled(bound, {place: None})},
        {"return": change_reply(reading, bound, changed=link)},
    )
    note = f"`{place}` is what `{reading.name.verb}` lets go: nothing else of such records may be blank"
    return Drafted(steps=steps, notes=(note, *change_notes(reading, bound, {place: None})), confidence=0.8)


def _may_be_null(fields: Mapping[str, Field], path: tuple[str, ...]) -> bool:
    found = field_at(fields, path)
    return found is not None and "null" in found.kinds
