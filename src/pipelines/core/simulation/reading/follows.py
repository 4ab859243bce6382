"""What else changes with a change, because it always goes together in the seeded records: a number that
counts (seats_taken, of enrolments), a state that follows a number (paid, once nothing is left)."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.core.english.words import tokens
from pipelines.core.simulation.domain.regularities import Counter, Progress
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import (
    Draft,
    any_of,
    arithmetic,
    compare,
    constant,
    entity,
    is_given,
    is_in,
    is_null,
    listed,
)
from pipelines.core.simulation.expr.nodes import ArithmeticSign, Conditional, Constant, Expr, Name, Not
from pipelines.core.simulation.reading.limits import (
    count_of_referring,
    held_by,
    is_called_so,
    is_of_using_up,
    limit_of_counter,
)
from pipelines.core.simulation.reading.records import noun_of
from pipelines.core.simulation.reading.scope import Thing, nouns_of, stems
from pipelines.core.simulation.reading.steps import Drafted, Step, dot, refusal, require, same_id
from pipelines.core.simulation.reading.tool_reading import Reading


def followed(reading: Reading, drafted: Drafted) -> Drafted:
    """The plan, with what goes together; each is a note of the plan."""
    if reading.name.reads() or reading.known.singletons:
        return drafted
    bound = _bound(reading, drafted)
    steps: list[Step] = []
    notes: list[str] = []
    for step in drafted.steps:
        before, after = _with_counters(reading, step, bound, notes)
        full = _held(reading, step, bound, notes)
        step, more = _with_states(reading, step, bound, notes)
        steps += [*full, *before, step, *after, *more]
    return replace(drafted, steps=tuple(steps), notes=(*drafted.notes, *dict.fromkeys(notes)))


def _bound(reading: Reading, drafted: Drafted) -> dict[str, Collection]:
    """The records that the plan speaks of, by the name that each has in it."""
    found: dict[str, Collection] = {}
    for step in drafted.steps:
        for verb in ("find", "add"):
            one = step.get(verb)
            table = reading.known.tables.get(str(one.get("in"))) if isinstance(one, dict) else None
            if isinstance(one, dict) and table is not None and not one.get("all"):
                found[str(one.get("as"))] = table
    return found


# -- numbers that count


def _with_counters(
    reading: Reading, step: Step, bound: dict[str, Collection], notes: list[str]
) -> tuple[list[Step], list[Step]]:
    before: list[Step] = []
    after: list[Step] = []
    added, removed, changed = step.get("add"), step.get("remove"), step.get("set")
    if isinstance(added, dict) and isinstance(attrs := added.get("attrs"), dict):
        table = bound.get(str(added.get("as")))
        for counter in table.counted_by if table is not None else ():
            id, state = attrs.get(counter.path[0]), attrs.get(counter.status or "")
            if isinstance(id, Expr) and (not counter.states or _is_one_of(state, counter.states)):
                before += _room(reading, counter, id)
                after += _moved(reading, counter, id, "+", notes)
    if isinstance(removed, str) and removed in bound:
        before += _unlisted(reading, removed, bound[removed], notes)
        for counter in bound[removed].counted_by:
            moved = _moved(reading, counter, dot(removed, *counter.path), "-", notes)
            before += _if_counted(removed, counter, moved)
    for noun, counter, state in _states_set(changed, bound):
        id = dot(noun, *counter.path)
        moved = _moved(reading, counter, id, "+" if _is_one_of(state, counter.states) else "-", notes)
        is_so = is_in(dot(noun, counter.status or ""), counter.states)
        test = Not(is_so) if _is_one_of(state, counter.states) else is_so
        before.append({"if": test, "then": [*moved]})
    return before, after


def _unlisted(reading: Reading, noun: str, table: Collection, notes: list[str]) -> list[Step]:
    """Whoever lists the id of what goes, and is referred to by it, no longer does."""
    steps: list[Step] = []
    for link in table.links:
        owner = reading.known.tables[link.entity_type]
        for back in owner.list_links:
            if back.entity_type == table.entity_type and len(back.path) == 1:
                holder = f"its_{noun_of(owner)}"
                place = dot(holder, *back.path)
                one = Name("one")
                kept = listed(one, "one", place, Not(same_id(one, dot(noun, "id"))))
                found: Step = {
                    "as": holder,
                    "in": owner.entity_type,
                    "id": dot(noun, *link.path),
                    "optional": True,
                }
                steps += [{"find": found}, {"if": is_given(Name(holder)), "then": [{"set": {place: kept}}]}]
                notes.append("whatever lists the id of the record no longer does")
    return steps


def _is_one_of(state: Draft, states: tuple[str, ...]) -> bool:
    return isinstance(state, Constant) and state.value in states


def _states_set(changed: Draft, bound: dict[str, Collection]) -> Iterator[tuple[str, Counter, Draft]]:
    for noun, table in bound.items() if isinstance(changed, dict) else ():
        for counter in table.counted_by:
            state = changed.get(dot(noun, counter.status)) if counter.status is not None else None
            if counter.states and isinstance(state, Constant) and isinstance(state.value, str):
                yield noun, counter, state


def _if_counted(noun: str, counter: Counter, moved: list[Step]) -> list[Step]:
    if not counter.states or counter.status is None:
        return moved
    return [{"if": is_in(dot(noun, counter.status), counter.states), "then": [*moved]}]


def _counting(reading: Reading, counter: Counter) -> str:
    return f"counting_{noun_of(reading.known.tables[counter.entity_type])}"


def _moved(
    reading: Reading, counter: Counter, id: Expr, sign: ArithmeticSign, notes: list[str]
) -> list[Step]:
    noun = _counting(reading, counter)
    place = dot(noun, counter.field)
    notes.append(
        f"`{counter.field}` of {counter.entity_type} goes by how many refer to each record: it changes, too"
    )
    if counter.is_rest:
        sign = "-" if sign == "+" else "+"
    found: Step = {"find": {"as": noun, "in": counter.entity_type, "id": id, "optional": True}}
    return [
        found,
        {"if": is_given(Name(noun)), "then": [{"set": {place: arithmetic(place, sign, Constant(1))}}]},
    ]


def _room(reading: Reading, counter: Counter, id: Expr) -> list[Step]:
    """Nothing is counted beyond the room there is."""
    noun = _counting(reading, counter)
    table = reading.known.tables[counter.entity_type]
    most = limit_of_counter(_thing(table, noun), counter.field)
    if most is None and not counter.is_rest:
        return []
    place = dot(noun, counter.field)
    has_room = compare(place, "<", most) if most and not counter.is_rest else compare(place, ">", Constant(0))
    full = refusal(f"{noun_of(table)}_full", f"The {noun_of(table).replace('_', ' ')} is full")
    found: Step = {"find": {"as": noun, "in": counter.entity_type, "id": id, "optional": True}}
    return [found, require(any_of(is_null(Name(noun)), has_room), full)]


def _held(reading: Reading, step: Step, bound: dict[str, Collection], notes: list[str]) -> list[Step]:
    """What comes to refer to a record has to find room there."""
    found: list[Step] = []
    for noun, path, id in _references_made(step, bound):
        for link in bound[noun].links:
            table = reading.known.tables[link.entity_type]
            limit = held_by(table) if link.path == path else None
            such = limit.referring if limit is not None else None
            if limit is None or such is None or such.entity_type != bound[noun].entity_type:
                continue
            holder = noun_of(table)
            most = dot(entity(table.entity_type, id), limit.most)
            has_room = compare(count_of_referring(such, id), "<", most)
            full = refusal(f"{holder}_full", f"The {holder.replace('_', ' ')} is full")
            found.append(require(any_of(is_null(id), has_room), full))
            notes.append(
                f"no {holder} has more than its `{limit.most}` of {such.entity_type}: nor afterwards"
            )
    return found


def _references_made(step: Step, bound: dict[str, Collection]) -> Iterator[tuple[str, tuple[str, ...], Expr]]:
    """Of a new record, or of one that changes: the name of the record, the field, and the id set there."""
    added, changed = step.get("add"), step.get("set")
    if isinstance(added, dict) and isinstance(attrs := added.get("attrs"), dict):
        noun = str(added.get("as"))
        yield from (
            (noun, (name,), id) for name, id in attrs.items() if isinstance(id, Expr) and noun in bound
        )
    if isinstance(changed, dict):
        for noun, table in bound.items():
            given = {name: changed.get(dot(noun, name)) for name in table.fields}
            yield from ((noun, (name,), id) for name, id in given.items() if isinstance(id, Expr))


def _thing(table: Collection, noun: str) -> Thing:
    return Thing(value=Name(noun), id=dot(noun, "id"), collection=table, called=nouns_of(table))


# -- states that follow a number


def _with_states(
    reading: Reading, step: Step, bound: dict[str, Collection], notes: list[str]
) -> tuple[Step, list[Step]]:
    changed = step.get("set")
    if not isinstance(changed, dict):
        return step, []
    after: list[Step] = []
    places = dict(changed)
    for noun, one in _progress(reading, bound):
        used, status = dot(noun, one.used), dot(noun, one.status)
        if used in places and status not in places:
            after.append({"set": {status: _state(noun, one)}})
        elif places.get(status) == constant(one.when_all) and used not in places and _is_named_so(one):
            places[used] = dot(noun, one.most)
        else:
            continue
        notes.append(
            f"a record is {one.when_all} exactly where `{one.used}` is all of `{one.most}`: afterwards, too"
        )
    return {**step, "set": places}, after


def _progress(reading: Reading, bound: dict[str, Collection]) -> Iterator[tuple[str, Progress]]:
    """Of the pairs that are so in all records, those that are called so, or of which is told."""
    told = stems(tokens(reading.tool.description or ""))
    for noun, table in bound.items():
        for one in table.progress:
            is_named = _is_named_so(one) or bool(stems(tokens(one.when_all)) & told)
            if is_named and is_called_so(_thing(table, noun), one.most, one.used):
                yield noun, one


def _is_named_so(one: Progress) -> bool:
    """`paid`, of `amount_paid`: a play that is closed was sold out by chance."""
    state, used = tokens(one.when_all), tokens(one.used)
    return bool(stems(state) & stems(used)) or (is_of_using_up(state) and is_of_using_up(used))


def _state(noun: str, one: Progress) -> Expr:
    used, most, status = (dot(noun, name) for name in (one.used, one.most, one.status))
    some = status
    if one.when_some is not None:
        some = Conditional(compare(used, ">", Constant(0)), constant(one.when_some), status)
    return Conditional(compare(used, ">=", most), constant(one.when_all), some)
