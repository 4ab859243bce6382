"""When something is: `up to 24 hours before they start`, `within 30 days of delivery`, `in the past`."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.words import tokens as words_of
from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import meaning as m
from pipelines.core.simulation.behavior.reader.phrases import Phrases

_STOPS = word_set("the a an its their his her it they that this being be was were is are been has have")
_VERBS = word_set("is are was were been has have")  # then it is a state that is spoken of, not a date
_TO_COME = word_set(
    "start starts begin begins departure departs deadline due pickup checkin end ends ending expires"
)
_BEFORE = ("before", "prior to", "ahead of", "in advance of")
_AFTER = ("after", "of", "from", "since", "following")


def event(phrases: Phrases, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Field, int]]:
    """A moment that a thing keeps, by what happens then: `pickup`, `they start`, `the order being placed`."""
    cursor = phrases.cursor
    start = cursor.past(at, _STOPS)
    if phrases.is_name(start):  # `since shipped_at`
        yield from phrases.amount_field(start, kinds[0] if kinds else None)
    every = [*kinds, *(kind for kind in phrases.words.lexicon.kinds if kind not in kinds)]
    for owner, after in _owners(phrases, start):
        begin = cursor.past(after + (cursor.low(after) == "'s"), _STOPS)
        yield from _dated(phrases, begin, [owner] if owner else every)


def _owners(phrases: Phrases, at: int) -> Iterator[tuple[str, int]]:
    for length in (2, 1):
        said = phrases.cursor.words(at, at + length)
        for kind in phrases.words.kinds_named(said) if len(said) == length else ():
            yield kind, at + length
    yield "", at


def _dated(phrases: Phrases, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Field, int]]:
    for length in (3, 2, 1):
        said = [word for word in phrases.cursor.words(at, at + length) if word not in ("the", "of")]
        for kind in kinds if len(said) == length else ():
            found = phrases.words.dates_of(kind, said)
            if len(found) == 1:
                yield phrases.words.named(kind, found[0]), at + length
                return


def span(phrases: Phrases, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, int]]:
    """How far from an event it is now; true while the words hold."""
    cursor = phrases.cursor
    first = cursor.after(at, "in the first", "during the first")
    if first is not None:
        found = cursor.quantity(first)
        if found is not None and found[0].duration is not None:
            for start in _past_any(phrases, found[1], _AFTER):
                for field, end in event(phrases, start, kinds):
                    yield m.Age(field, "<", found[0].duration), end
        return
    yield from _within(phrases, at, kinds)
    yield from _until(phrases, at, kinds)


def _within(phrases: Phrases, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, int]]:
    """`within 30 days of delivery`, `more than 60 days after`, `less than 12 hours before`."""
    cursor = phrases.cursor
    start = cursor.after(at, "within")
    ops: list[tuple[m.Op, int]] = [("<=", start)] if start is not None else [*cursor.comparison(at)]
    for op, begin in ops:
        found = cursor.quantity(cursor.past(begin, word_set("the first")))
        if found is None or found[0].duration is None:
            continue
        for after in _past_any(phrases, found[1], _AFTER):
            for field, end in event(phrases, after, kinds):
                # `within 48 hours of the start`: what is still to come is near before it, not after it.
                is_ahead = start is not None and bool(_TO_COME & set(words_of(field.name)))
                yield m.Age(field, op, found[0].duration, None, is_ahead), end
        for after in _past_any(phrases, found[1], _BEFORE):
            for field, end in event(phrases, after, kinds):
                # `up to 24 hours before`: from then on it is too late.
                turned: m.Op = ">=" if cursor.after(at, "up to", "no later than") is not None else op
                yield m.Age(field, turned, found[0].duration, None, True), end


def _until(phrases: Phrases, at: int, kinds: Sequence[str]) -> Iterator[tuple[m.Condition, int]]:
    cursor = phrases.cursor
    start = cursor.after(at, "until", "up until", "till")
    found = cursor.quantity(start) if start is not None else None
    if found is not None and found[0].duration is not None:
        for after in _past_any(phrases, found[1], _BEFORE):
            for field, end in event(phrases, after, kinds):
                yield m.Age(field, ">=", found[0].duration, None, True), end
    plain = cursor.after(at, "until", "before", "prior to")
    later = cursor.after(at, "after", "past")
    start = plain if plain is not None else later
    if start is not None:
        for field, end in event(phrases, start, kinds):
            if not any(cursor.low(place) in _VERBS for place in range(start, end)):
                yield m.Compare(field, ">" if plain is not None else "<", m.Now()), end


def _past_any(phrases: Phrases, at: int, words: Sequence[str]) -> Iterator[int]:
    end = phrases.cursor.after(at, *words)
    if end is not None:
        yield end
