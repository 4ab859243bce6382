"""What becomes of the records around the one that a tool changes, as its description says: "The boat is free
again", "which is at sea from then on", "It goes to storage". Only states that such records have count."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pipelines.core.english.inflection import participle
from pipelines.core.english.stems import stem
from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.roles import states_of, status_path
from pipelines.core.simulation.expr.make import constant, is_given
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.effects import LONGEST_READ
from pipelines.core.simulation.reading.scope import Thing, nouns_of, scope_of, stems
from pipelines.core.simulation.reading.steps import Drafted, Step, dot, id_of, is_part_of, name_for
from pipelines.core.simulation.reading.tool_reading import Reading

_CLAUSES = re.compile(r"[.;:,]\s|[.;]$|\band\b")
_BECOMES = word_set(
    "becomes become goes go returns comes turns moves starts begins stays make makes making mark marks "
    "marked set sets put puts send sends"
)
_IS = word_set("is are gets")
_AFTERWARDS = word_set("then afterwards again now thereafter meanwhile")
_CONDITIONS = word_set("if when unless once until only must cannot while whether where not")
_PRONOUNS = word_set("it which they this that")
_DAYS = word_set("date day start end from until at on time")
_ASIDE = word_set("in on at out of to the a")


class _Said(NamedTuple):
    words: tuple[str, ...]
    state_at: int  # where what something becomes begins


def with_outcomes(reading: Reading, drafted: Drafted) -> Drafted:
    """The plan, with what its description says becomes of a new record, and of those around what changes."""
    at = next((at for at, step in enumerate(drafted.steps) if {"add", "set"} & step.keys()), None)
    if at is None or reading.name.reads() or reading.known.singletons:
        return drafted
    steps, more, notes = [*drafted.steps], [], [*drafted.notes]
    for thing, state in _outcomes(reading, drafted):
        if thing.noun == _made(steps[at]):
            steps[at] = _begun(steps[at], thing, state)
        else:
            more += _set(thing, state)
        notes.append(f"what becomes {state} is read from its description")
    return replace(drafted, steps=(*steps[: at + 1], *more, *steps[at + 1 :]), notes=tuple(notes))


def _outcomes(reading: Reading, drafted: Drafted) -> list[tuple[Thing, str]]:
    things = [*_around(reading, drafted)]
    changed = [place for step in drafted.steps for place in step.get("set", ())]
    found: dict[Expr, tuple[Thing, str]] = {}
    for said in _clauses(reading.tool.description or ""):
        named = [one for one in things if stems(said.words) & one.called]
        meant = named or (things if _PRONOUNS & {*said.words} else [])
        fit = [(one, state) for one in meant if (state := _state(said, one)) is not None]
        # What the plan changes itself is spoken of, too.
        if len(fit) == 1 and not any(is_part_of(place, fit[0][0].value) for place in changed):
            found.setdefault(fit[0][0].value, fit[0])
    done = [(one, state) for one in things if (state := _done(reading, one, changed)) is not None]
    if len(done) == 1:
        found.setdefault(done[0][0].value, done[0])
    return [*found.values()]


def _done(reading: Reading, thing: Thing, changed: Sequence[Expr]) -> str | None:
    """`reserve_boat(boat_id, client_id)`, `assign_job(job_id, driver_id)`: what a verb is done to is so
    afterwards, whatever else is kept of it; on another day not yet, and by an amount only in part."""
    status = status_path(thing.collection.fields) or ()
    is_open = any(
        one.words[-1] in _DAYS or (one.kind == "number" and one.id_noun is None) for one in reading.arguments
    )
    if is_open or thing.is_linked or not status or dot(thing.value, *status) in changed:
        return None
    wanted = joined(tokens(participle(reading.name.verb)))
    states = states_of(thing.collection.fields, status)
    return next((state for state in states if joined(tokens(state)) == wanted), None)


def _around(reading: Reading, drafted: Drafted) -> Iterator[Thing]:
    """The records that the plan makes or finds, and those that one of these refers to."""
    scope = scope_of(reading)
    bound: set[str] = set()
    for step in drafted.steps:
        found, made = step.get("find"), step.get("add")
        bound |= {str(found["as"])} if isinstance(found, dict) else set()
        table = reading.known.tables.get(str(made["in"])) if isinstance(made, dict) else None
        if isinstance(made, dict) and table is not None:
            noun = str(made["as"])
            yield Thing(value=Name(noun), id=id_of(noun), collection=table, called=nouns_of(table))
    own = [one for one in scope.things if one.noun in bound]
    yield from own
    types = {one.collection.entity_type for one in own}
    yield from (one for one in scope.linked if one.collection.entity_type not in types)


def _clauses(description: str) -> Iterator[_Said]:
    for clause in _CLAUSES.split(" ".join(description[:LONGEST_READ].lower().split())):
        words = tokens(clause)
        if _CONDITIONS & {*words}:
            continue
        leads = _BECOMES | _IS if _AFTERWARDS & {*words} else _BECOMES
        at = next((at for at, word in enumerate(words) if word in leads), None)
        if at is not None:
            yield _Said(words, at + 1)


def _state(said: _Said, thing: Thing) -> str | None:
    """The longest state of the thing that the words behind the verb are."""
    status = status_path(thing.collection.fields)
    after = [stem(word) for word in said.words[said.state_at :] if word not in _ASIDE]
    fit = [state for state in states_of(thing.collection.fields, status) if _is_in(tokens(state), after)]
    return max(fit, key=len, default=None)


def _is_in(state: Sequence[str], after: Sequence[str]) -> bool:
    wanted = [stem(word) for word in state if word not in _ASIDE]
    return bool(wanted) and any(
        [*after[at : at + len(wanted)]] == wanted for at in range(len(after) - len(wanted) + 1)
    )


def _made(step: Step) -> str | None:
    added = step.get("add")
    return str(added["as"]) if isinstance(added, dict) else None


def _begun(step: Step, thing: Thing, state: str) -> Step:
    """The new record, in the state that it is said to begin in."""
    added, status = step["add"], status_path(thing.collection.fields) or ()
    if not isinstance(added, dict) or not isinstance(attrs := added["attrs"], dict) or len(status) != 1:
        return step
    return {**step, "add": {**added, "attrs": {**attrs, status[0]: constant(state)}}}


def _set(thing: Thing, state: str) -> list[Step]:
    status = status_path(thing.collection.fields) or ()
    if not thing.is_linked:
        return [{"set": {dot(thing.value, *status): constant(state)}}]
    noun = name_for(f"its_{thing.collection.words[-1]}")
    found: Step = {"as": noun, "in": thing.collection.entity_type, "id": thing.id, "optional": True}
    change: Step = {"set": {dot(noun, *status): constant(state)}}
    return [{"find": found}, {"if": is_given(Name(noun)), "then": [change]}]
