"""Of which record and which field a number, day or time is said, and whether it stands there.

mention -> the thing it is said of -> fields of it that hold the value -> is it so now, is it that field.
A value of another field, of another record, or one that the run has changed since, bears out nothing.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.mentions import MARK
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.synonyms import related
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.known import LARGEST_COUNT
from pipelines.core.verdict.said import Said, names_at, says_present
from pipelines.core.verdict.things import Place, Thing, Things, of_one, said_words

LONGEST_LEAD = 5  # words before a mention that may say what it is
SHORT_LEAD = 2  # words before a mention that surely do
_PAST = re.compile(
    r"\b(?:was|were|had|before|previous(?:ly)?|originally|formerly|from|instead|old|used\s+to|rather\s+than|earlier|until"
    r"|no\s+longer|not|n't|would|reduced|original|so\s+far|than|out\s+of|of\s+(?:your|the)|compared)\b|→|->"
)
_COMPARES = re.compile(
    r"\b(?:compared|instead|than|more|less|rather|before|versus|vs|difference|while|other|another)\b|→|->"
)
_CHANGES = re.compile(rf"→|->|\bfrom\s+{MARK}")
_UNTIL = re.compile(r"\b(?:until|till|to|by|before|through)\s*$")
_NEW = re.compile(r"\b(?:new|now)\b")
_CENTS = re.compile(r"[.,]\d\d$")


class Misplaced(NamedTuple):
    written: str
    instead: str  # what the record says, where it says otherwise
    is_false: bool


_Mention = Dated | Timed | Quantity


def misplaced(said: Said, focus: frozenset[str], things: Things) -> Iterator[Misplaced]:
    """The mentions of a clause that do not stand where the clause says."""
    every: list[_Mention] = sorted([*said.days, *said.times, *said.numbers], key=lambda one: one.start)
    leads = dict(said.leads)
    if _RANGE.search(said.text) and len(every) > 1 and _is_same(every[-2], every[-1]):
        yield Misplaced(said.sentence[every[-2].start : every[-1].end], "", False)
    for at, one in enumerate(every):
        bound = things.named(spoken_of(said, one.start, focus, things.facts))
        if not bound:
            continue
        places = [place for thing in bound for place in things.places(thing)]
        following = said.text.split(MARK)[at + 1] if said.text.count(MARK) > at else ""
        written = said.sentence[one.start : one.end]
        around = _Around(leads.get(one.start, ""), following, said.text)
        found = _wrong(one, written, places, around)
        if found is None and not _COMPARES.search(said.text):
            found = _of_another(one, written, bound, things)
        if found is not None:
            is_named_here = bool(names_at(said.sentence, things.facts)) or found.is_own or len(bound) == 1
            yield Misplaced(written, found.instead, found.is_plain and is_named_here and len(bound) == 1)


_RANGE = re.compile(rf"{MARK}\s*(?:to|-|until|→|->)\s*{MARK}")


def _is_same(one: _Mention, other: _Mention) -> bool:
    """From a value to the very same."""
    if isinstance(one, Dated) and isinstance(other, Dated):
        return any(a.agrees_with(b) for a in one.days for b in other.days)
    return isinstance(one, Quantity) and isinstance(other, Quantity) and bool(one.values & other.values)


class _Around(NamedTuple):
    lead: str
    following: str
    clause: str

    @property
    def is_past(self) -> bool:
        return _PAST.search(self.clause) is not None

    @property
    def is_new(self) -> bool:
        return _NEW.search(self.lead) is not None

    def words(self, one: _Mention, longest: int) -> frozenset[str]:
        """What the mention is called: the words before it, and its unit."""
        near = " ".join(self.lead.split()[-longest:])
        unit = one.unit if isinstance(one, Quantity) else ""
        return frozenset(other for word in said_words(f"{near} {unit}") for other in related(word))


def spoken_of(said: Said, start: int, focus: frozenset[str], facts: Facts) -> frozenset[str]:
    """The names of what a mention is said of. Where a sentence gives several things each its own, the one
    that is named last before it."""
    named = names_at(said.sentence, facts)
    if not named:
        return focus
    ids = {name for _, names in named for name in names}
    before = [names for at, names in named if at <= start]
    starts = [one_start for one_start, _ in said.leads]
    is_shared_out = len(named) > 1 and all(
        any(at < other < until for other in starts)
        for (at, _), until in zip(named, [*(at for at, _ in named[1:]), len(said.sentence)], strict=True)
    )
    if is_shared_out and before:
        return before[-1]
    own = frozenset(name for at, names in names_at(said.raw, facts) for name in names)
    return own or frozenset(ids)


def _of_another(one: _Mention, written: str, bound: list[Thing], things: Things) -> "_Wrong | None":
    """A value that none of the things spoken of has, and another of their kind has."""
    kinds = {thing.entity_type for thing in bound}
    if isinstance(one, Quantity) and _is_small(one):
        return None
    near = [place for thing in (*bound, *things.linked(bound)) for place in things.places(thing)]
    if _holding(one, written, near):
        return None
    ids = {thing.id for thing in bound}
    others = [thing for kind in kinds for thing in things.of_type(kind) if thing.id not in ids]
    holding = [place for thing in others for place in _holding(one, written, things.places(thing))]
    keys = {place.key for place in holding}
    instead = [place for place in near if place.key in keys and place.is_so and place.thing in ids]
    return _Wrong(_told(instead), True, False) if instead else None


def _is_small(number: Quantity) -> bool:
    return number.currency is None and all(
        value <= LARGEST_COUNT and value % 1 == 0 for value in number.values
    )


def unfitting(sentence: str, said: list[Said], things: Things) -> Iterator[str]:
    """Of several things of one kind that a sentence names for the same facts, those that hold none."""
    named = [things.named(names) for _, names in names_at(sentence, things.facts)]
    bound = [found[0] for found in named if len(found) == 1]
    if (
        len(bound) < len(named)
        or len({thing.id for thing in bound}) < 2
        or len({t.entity_type for t in bound}) > 1
    ):
        return
    every: list[_Mention] = []
    for each in said:
        every += [*each.days, *each.numbers]
    told = [one for one in every if not (isinstance(one, Quantity) and _is_small(one))]
    held = {
        thing.id: [one for one in told if _holding(one, sentence[one.start : one.end], things.places(thing))]
        for thing in bound
    }
    if told and any(held.values()):
        yield from (id for id, ones in held.items() if not ones and not things.acted_on(id))


class _Wrong(NamedTuple):
    instead: str
    is_plain: bool  # said to be so now, or of the field right before it
    is_own: bool = True  # the value stands elsewhere in the same record


def _wrong(one: _Mention, written: str, places: list[Place], around: _Around) -> _Wrong | None:
    """What the record says instead, or None where the mention may stand."""
    holding = _holding(one, written, places)
    named = _named(one, places, around.words(one, LONGEST_LEAD))
    if holding and not around.is_past and not any(place.is_so for place in holding):
        keys = {place.key for place in holding}
        now = [place for place in places if place.is_so and place.key in keys]
        is_meant = says_present(around.clause) or around.is_new or any(place in named for place in holding)
        return _Wrong(_told(now), around.is_new or says_present(around.clause)) if is_meant else None
    if not named or not holding or any(place in named for place in holding) or _CHANGES.search(around.clause):
        return None
    if isinstance(one, Quantity) and one.unit and one.unit != "%" and not _counts(one.unit, named):
        return None  # it counts something else than the field that is named before it
    if _UNTIL.search(around.lead):
        return None  # `open until …` names the field of the other end
    is_next_to_it = bool(_named(one, places, around.words(one, SHORT_LEAD)))
    return _Wrong(_told([place for place in named if place.is_so] or named), is_next_to_it)


def _counts(unit: str, named: list[Place]) -> bool:
    return not said_words(unit).isdisjoint(word for place in named for word in place.words)


def _holding(one: _Mention, written: str, places: list[Place]) -> list[Place]:
    if isinstance(one, Dated):
        return [place for place in places if any(a.agrees_with(b) for a in one.days for b in place.days)]
    if isinstance(one, Timed):
        return [place for place in places if one.minutes & place.minutes]
    wanted = {abs(value).normalize() for value in one.values}
    is_exact = one.currency is not None or _CENTS.search(written) is not None
    return of_one(places, wanted, is_exact)


def _named(one: _Mention, places: list[Place], words: frozenset[str]) -> list[Place]:
    """The fields of the mention's kind of which every word is among these."""
    alike = [place for place in places if _is_of_kind(one, place) and place.words]
    return [place for place in alike if all(not related(word).isdisjoint(words) for word in place.words)]


def _is_of_kind(one: _Mention, place: Place) -> bool:
    if isinstance(one, Dated):
        return bool(place.days)
    return bool(place.minutes) if isinstance(one, Timed) else bool(place.numbers)


def _told(places: list[Place]) -> str:
    shown = dict.fromkeys(f"{place.key} of {place.thing} is {place.value}" for place in places)
    return " and ".join([*shown][:2])
