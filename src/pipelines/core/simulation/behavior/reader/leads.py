"""What stands before the rule: `If the vet is not on duty, …`, `For boats that need a licence, …`."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.complements import Complements
from pipelines.core.simulation.behavior.reader.modality import EXCEPT, WHEN
from pipelines.core.simulation.behavior.reader.said import Said, named
from pipelines.core.simulation.behavior.reader.thing import without_state
from pipelines.core.simulation.behavior.reader.tool_names import named_tools

_OF_THINGS = word_set("for in with at on")
_READY = ("to succeed", "to work", "to go through")


def leads(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    yield from _conditions(guards, at)
    yield from _things(guards, at)
    yield from _states(guards, at)
    yield from _purposes(guards, at)
    yield from _events(guards, at)
    yield Said(), at


def _conditions(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    """`If the vet is not on duty, …`, `While a subscription is past due, …`."""
    cursor = guards.cursor
    for words, is_exception in ((WHEN, False), (EXCEPT, True), (("until",), True)):
        start = cursor.after(at, *words)
        for so, thing, end in guards.conditions(Said()).read(start, []) if start is not None else ():
            things = (thing,) if thing is not None else ()
            lead = Said(exceptions=(so,), things=things) if is_exception else Said(so=(so,), things=things)
            yield lead, end + (cursor.low(end) == ",")


def _things(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    """`For boats that require a licence, …`, `Except for gold customers, …`."""
    cursor = guards.cursor
    excepted = cursor.after(at, *EXCEPT)
    start = excepted or (at + 1 if cursor.low(at) in _OF_THINGS else None)
    for thing, end in guards.phrases.thing(start) if start is not None else ():
        so = m.both(*thing.so)
        if so is not None and cursor.low(end) == ",":
            about = (without_state(thing),)
            yield (
                (Said(exceptions=(so,), things=about) if excepted else Said(so=(so,), things=about)),
                end + 1,
            )


def _states(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    """`Once completed or cancelled, a charter …`: of what the rule goes on to speak of."""
    cursor = guards.cursor
    start = cursor.after(at, *WHEN)
    comma = next((place for place in range(at, cursor.end) if cursor.low(place) == ","), None)
    for stop in range(at, cursor.end):
        if start is None or comma is None:
            return
        if cursor.low(stop) != ",":
            continue
        kinds = dict.fromkeys(thing.kind for thing, _ in guards.phrases.thing(stop + 1) if thing.kind)
        for kind in kinds:
            ways = (*guards.phrases.states(kind, start), *guards.phrases.state_phrase(kind, start))
            for so, end in ways:
                if end == stop:
                    yield Said(so=(so,)), stop + 1
                    return


def _purposes(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    """`To cancel an order,`, `For cancel_order to succeed,`, `When calling cancel_order,`."""
    cursor = guards.cursor
    start = cursor.after(at, "in order to", "to")
    for verbs, end in guards.verbs(start) if start is not None else ():
        for said, last in guards.extended(Said(verbs=verbs), end, is_subject=True):
            if cursor.low(last) == "," and not said.so and not said.needed:
                yield said, last + 1
    start = cursor.after(at, "for", "when calling", "when using", "in", "with")
    found = named_tools(guards.phrases, start if start is not None else at)
    if found is not None:
        tools, end = found
        ready = cursor.after(end, *_READY) or end
        if cursor.low(ready) in (":", ",") and (start is not None or cursor.low(ready) == ":"):
            yield named(tools), ready + 1


def _events(guards: Complements, at: int) -> Iterator[tuple[Said, int]]:
    """`Before a parcel can be handed out, …`, `When booking, …`: which calls are meant."""
    cursor = guards.cursor
    start = cursor.after(at, "before", "when", "whenever", "on", "upon", "if", "every time")
    for event, end in guards.events(start) if start is not None else ():
        lead = replace(event, is_forbidden=False)
        yield lead, end + (cursor.low(end) == ",")
