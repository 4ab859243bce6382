"""What is said to have changed, against what did: `from 28 April to 21 April`, `team → business`.

Only told as a change, in a sentence that speaks of one; `from 4 to 7 December` may be a stay.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Day, Timed
from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.json_text import Json
from pipelines.core.verdict.said import NEGATED, named_in
from pipelines.core.verdict.things import Place, Thing, Things, field_words

_TELLS_CHANGE = re.compile(
    r"\b(?:moved?|changed?|changes|went|goes|gone|going|rescheduled|switched|shifted|increased?|rose|risen|raised|dropped?|drops|fell"
    r"|falls|fallen|corrected|adjusted|updated|extended|renewed|lowered|reduced|upgraded|downgraded|postponed|transferred|swapped"
    r"|redirected|rolled|rollback|reassigned|promoted|converted|now|new)\b|→|->"
)
_FROM = re.compile(r"\bfrom\s+(?:[\w']+[\s,]+){0,3}$", re.IGNORECASE)
_TO = re.compile(r"\bto\s+(?:\W*[\w']+[\s,]+){0,3}\W*$", re.IGNORECASE)
_ARROW = re.compile(r"^[^.;]{0,20}(?:→|->)[^.;]{0,12}$")
_INSTEAD = re.compile(
    r"\b(?:instead\s+of|rather\s+than|down\s+from|up\s+from|\(?was|previously|before)\s+(?:[\w']+\s+){0,3}$",
    re.IGNORECASE,
)
LONGEST_BETWEEN = 60


class WrongMove(NamedTuple):
    written: str
    instead: str


_Mention = Dated | Timed | Quantity


def wrong_moves(sentence: str, focus: frozenset[str], things: Things) -> Iterator[WrongMove]:
    """Changes that a sentence tells and that are none, or go the other way."""
    low = sentence.lower()
    if not _TELLS_CHANGE.search(low) or NEGATED.search(low):
        return
    named = things.named(named_in(sentence, things.facts)) or things.named(focus)
    changed = [thing for thing in named if _changes(thing)] or [
        thing for thing in things.named(things.facts.touched) if thing.before
    ]
    pairs = [pair for thing in changed for pair in _changes(thing)]
    read = mentions(sentence)
    kinds: tuple[tuple[_Mention, ...], ...] = (read.days, read.times, read.numbers)
    for kind in kinds:
        for one, other in pairwise(kind):
            yield from _of_pair(sentence, one, other, pairs)
    yield from _of_texts(low, pairs)


class _Change(NamedTuple):
    was: Place
    now: Place


def _changes(thing: Thing) -> list[_Change]:
    """Each field that the run gave another value."""
    return [
        _Change(_place(thing, key, thing.before[key]), _place(thing, key, now))
        for key, now in thing.after.items()
        if thing.before.get(key) not in (None, now) and now is not None
    ]


def _place(thing: Thing, key: str, value: Json) -> Place:
    return Place(thing.id, key, field_words(key), value, True, True)


def _of_pair(sentence: str, one: _Mention, other: _Mention, pairs: list[_Change]) -> Iterator[WrongMove]:
    between = sentence[one.end : other.start]
    if len(between) > LONGEST_BETWEEN:
        return
    lead = sentence[max(0, one.start - LONGEST_BETWEEN) : one.start]
    if (_FROM.search(lead) and _TO.search(between)) or _ARROW.search(between):
        first, second = one, other
    elif _INSTEAD.search(between):
        first, second = other, one
    else:
        return
    of_kind = [pair for pair in pairs if _holds_any(first, pair)]
    fits = any(_holds(first, pair.was) and _holds(second, pair.now) for pair in of_kind)
    is_known = any(_holds(each, place) for each in (first, second) for pair in of_kind for place in pair)
    if of_kind and is_known and not fits:
        told = " and ".join(f"{pair.was.key} {pair.was.value} → {pair.now.value}" for pair in of_kind[:3])
        yield WrongMove(sentence[one.start : other.end], told)


def _holds_any(one: _Mention, pair: _Change) -> bool:
    """Whether the field holds values of this kind at all."""
    return bool(_values(one, pair.was) and _values(one, pair.now))


def _values(one: _Mention, place: Place) -> tuple[Day, ...] | frozenset[int] | set[Decimal]:
    if isinstance(one, Dated):
        return place.days
    return place.minutes if isinstance(one, Timed) else place.numbers


def _holds(one: _Mention, place: Place) -> bool:
    if isinstance(one, Dated):
        return any(day.agrees_with(own) for day in one.days for own in place.days)
    if isinstance(one, Timed):
        return bool(one.minutes & place.minutes)
    return bool({abs(value).normalize() for value in one.values} & place.numbers)


def _of_texts(low: str, pairs: list[_Change]) -> Iterator[WrongMove]:
    """`from 1.14.0 to 1.12.3`, of a service that went to 1.13.2; `from business to team`, the other way."""
    for pair in pairs:
        was, now = pair.was.value, pair.now.value
        if not isinstance(was, str) or not isinstance(now, str) or not 2 < len(was) < LONGEST_BETWEEN:
            continue
        start = rf"\bfrom\s+(?:the\s+|version\s+)?{_spelled(was)}\s+(?:plan\s+|version\s+|class\s+)?"
        start += r"(?:up\s+|down\s+)?to\s+(?:the\s+)?"
        found = re.search(start + r"(?P<end>[\w.-]+(?:\s[\w.-]+){0,3})", low)
        end = found["end"].split()[0].rstrip(".") if found is not None else ""
        if found is not None and any(map(str.isdigit, end)) and not re.match(_spelled(now), found["end"]):
            yield WrongMove(end, f"{pair.now.key} {now}")
        if re.search(
            rf"\bfrom\s+(?:the\s+)?{_spelled(now)}\s+(?:\w+\s+)?to\s+(?:the\s+)?{_spelled(was)}\b", low
        ):
            yield WrongMove(f"from {now} to {was}", f"{pair.now.key} {was} → {now}")


def _spelled(value: str) -> str:
    return re.escape(value.lower()).replace("_", r"[\s_-]")
