"""Whoever a thing names: `the student who took a lesson`, `the translator the job is assigned to`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m

if TYPE_CHECKING:
    from pipelines.core.simulation.behavior.reader.phrases import Phrases

_ARTICLES = word_set("a an the any that this very same")
_SOMEBODY = word_set("person one somebody someone anyone anybody")
_HELPERS = word_set("has have had is was were are been originally first")
_PARTICLES = word_set("in out up off down over to by for on with")
_IT = word_set("it them")


def related(phrases: "Phrases", at: int) -> Iterator[tuple[m.Related, int]]:
    """Who, by what was done with which thing."""
    cursor = phrases.cursor
    start = cursor.past(at, _ARTICLES | {"only", "by"})
    for person, end in _persons(phrases, start):
        is_whoever = cursor.low(end - 1) == "whoever"
        if is_whoever or cursor.low(end) in ("who", "that"):
            yield from _doing(phrases, person, end + (not is_whoever))
        said = cursor.words(end, end + 1)
        if said and _is_past(said[0]) and cursor.low(end + 1) in _PARTICLES:  # the interviewer assigned to it
            for kind, last in _things(phrases, end + 2):
                yield m.Related(kind, person, said[0]), last
        if not is_whoever:
            yield from _done_to(phrases, person, end + (cursor.low(end) in ("that", "whom", "who")))


def _persons(phrases: "Phrases", at: int) -> Iterator[tuple[str, int]]:
    for kind, end in phrases.kinds_at(at):
        if kind in phrases.words.folk:
            yield kind, end
    if phrases.cursor.low(at) in _SOMEBODY | {"whoever"}:
        yield "", at + 1


def _doing(phrases: "Phrases", person: str, at: int) -> Iterator[tuple[m.Related, int]]:
    """`took a lesson`, `brought them in`, `has requested it`."""
    cursor = phrases.cursor
    start = cursor.past(at, _HELPERS)
    said = cursor.words(start, start + 1)
    if not said or said[0] in _HELPERS or not _is_past(said[0]):
        return
    begin = start + 1 + (cursor.low(start + 1) in _PARTICLES)
    for kind, end in _things(phrases, begin):
        last = end + (cursor.low(end) in ("in", "out", "up", "off"))
        yield m.Related(kind, person, said[0]), last
        if last > end:
            yield m.Related(kind, person, said[0]), end


def _done_to(phrases: "Phrases", person: str, at: int) -> Iterator[tuple[m.Related, int]]:
    """`the job is assigned to`, `it was requested by`."""
    cursor = phrases.cursor
    for kind, end in _things(phrases, at):
        start = cursor.past(end, _HELPERS)
        said = cursor.words(start, start + 1)
        if start > end and said and _is_past(said[0]) and cursor.low(start + 1) in _PARTICLES:
            yield m.Related(kind, person, said[0]), start + 2


def _things(phrases: "Phrases", at: int) -> Iterator[tuple[str, int]]:
    cursor = phrases.cursor
    if cursor.low(at) in _IT:
        yield "", at + 1
    start = cursor.past(at, _ARTICLES)
    for kind, end in phrases.kinds_at(start):
        yield kind, cursor.after(end, "in question", "concerned") or end


def _is_past(word: str) -> bool:
    return word.endswith(
        ("ed", "en", "t", "ght", "ook", "ade", "ave", "id", "old", "ew", "ote", "an", "un", "owns")
    )
