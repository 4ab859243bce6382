"""Moments of a record in causal order: what happens first, what later, and what a state says has happened."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from pipelines.core.english.stems import stem
from pipelines.core.english.words import tokens, word_set
from pipelines.core.text.json_text import Json
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.outline import FUTURE, MOMENT_ENDS, FieldOutline, TypeOutline

#: What comes before what in the life of a record; the same number: in any order.
_RANKS = {
    word: rank
    for rank, words in enumerate(
        (
            "born birth dob founded",
            "created create joined join registered registration signed signup opened placed ordered order "
            "issued issue booked requested submitted posted hired reported filed published added purchase "
            "purchased sold",
            "approved confirmed accepted assigned paid processed verified picked packed activated checked",
            "shipped dispatched sent departed started boarded admitted collected",
            "delivered arrived completed received closed resolved finished ended fulfilled returned refunded "
            "cancelled canceled rejected declined voided discharged settled terminated",
        )
    )
    for word in words.split()
}
_LATEST = word_set("updated modified last seen changed login activity")
_STARTS = word_set("starts start departure scheduled appointment begin begins from pickup")
#: What follows soon upon the start.
_ENDS = word_set("ends end return arrival eta delivery until")
#: What has happened when somebody speaks of it, and what lasts a year or so.
PAST = word_set("paid loss incident accident occurred happened birth purchase purchased received")
_TAKES_PLACE = word_set("date day")
LONG_TERM = word_set("lease contract policy membership subscription insurance warranty licence license rent")
#: How far a state says that things have gone, in ranks; those that ended things early are in ENDED.
_PROGRESS = {
    word: rank
    for rank, words in (
        (
            1,
            "new draft pending open created placed requested submitted booked scheduled queued planned",
        ),
        (2, "approved confirmed accepted assigned paid processed verified processing in_progress checked_in"),
        (3, "active shipped dispatched sent in_transit started out_for_delivery overdue"),
        (4, "delivered completed closed resolved finished fulfilled returned refunded done settled"),
    )
    for word in words.split()
}
ENDED = word_set("cancelled canceled rejected declined voided void expired no_show denied failed terminated")
INITIAL = word_set("new draft pending open created placed requested submitted queued")


def starts_of(own: TypeOutline) -> frozenset[str]:
    """Whoever stays arrives first, whoever travels departs first: the order of the fields says which."""
    words = [word for one in own.moments for word in one.words if word in ("arrival", "departure")]
    return _STARTS if words != ["arrival", "departure"] else _STARTS - {"departure"} | {"arrival"}


@lru_cache(maxsize=4096)
def rank_of(name: str) -> int | None:
    """Where in a record's life the moment of this name stands; None where its name does not say."""
    words = [word for word in tokens(name) if word not in MOMENT_ENDS]
    if not words or set(words) & (FUTURE | _LATEST):
        return None
    return next((_RANKS[word] for word in words if word in _RANKS), None)


def said_state(name: str, states: Sequence[Json]) -> str | None:
    """The state that the moment of this name is about: `cancelled_at` is when one became cancelled."""
    words = {stem(word) for word in tokens(name) if word not in MOMENT_ENDS}
    for state in states:
        if isinstance(state, str) and words and {stem(word) for word in tokens(state)} <= words:
            return state
    return None


def has_happened(name: str, status: Json, states: Sequence[Json]) -> bool | None:
    """Whether a record in this state has been through what the moment is of; None where nothing says so."""
    if isinstance(status, list | dict):
        return None
    return _has_happened(name, status, tuple(one for one in states if isinstance(one, str)))


@lru_cache(maxsize=4096)
def _has_happened(name: str, status: Json, states: tuple[str, ...]) -> bool | None:
    about = said_state(name, states)
    if about is not None and status == about:
        return True
    word = "_".join(tokens(status)) if isinstance(status, str) else ""
    rank = rank_of(name)
    if rank is None or rank <= 1:
        return None
    reached = 1 if word in ENDED else _PROGRESS.get(word)
    if reached is None:
        return False if about is not None else None
    if about is not None and "_".join(tokens(about)) in ENDED:
        return False
    if rank == 4 and about is None and reached < 4:
        return False
    if about is not None and rank == 4:
        return False  # another end than the one it came to
    return rank <= reached


class Clock:
    """Moments around the world's own day."""

    def __init__(self, now: str, draw: Draw) -> None:
        self.now = datetime.fromisoformat(now).replace(tzinfo=None, microsecond=0)
        self._draw = draw

    def base(self, place: str, share: float, after: datetime | None) -> datetime:
        """When a record came to be: `share` of a year ago, and later than what it refers to."""
        days = 2 + share * 340
        moment = self.now - timedelta(days=days)
        if after is not None and moment <= after:
            # A little later only: of a long chain of references the last must not all be of today.
            later = timedelta(days=1 + 6 * self._draw.unit(f"{place}/after"))
            moment = after + min(later, (self.now - after) * 0.5)
        return self._at_work(moment, place)

    def moments(
        self, own: TypeOutline, place: str, base: datetime, attributes: Mapping[str, Json]
    ) -> dict[str, Json]:
        """A value for each moment of a record, None where it has not come to that."""
        status = own.status
        status_value = attributes.get(status.name) if status is not None else None
        states = status.values if status is not None else ()
        found: dict[str, Json] = {}
        at, last = base, base
        past = [one for one in own.moments if rank_of(one.name) is not None]
        for one in sorted(past, key=lambda one: rank_of(one.name) or 0) if len(past) > 1 else past:
            if rank_of(one.name) == 0:
                years = (0.2 + self._draw.unit(f"{place}/{one.name}")) * 8
                years = 18 + years * 6 if own.is_person else years
                found[one.name] = self._written(one, base - timedelta(days=365.2 * years))
                continue
            if has_happened(one.name, status_value, states) is False:
                found[one.name] = None
                continue
            if found and rank_of(one.name) != 1:
                at = self._later(last, f"{place}/{one.name}")
            found[one.name], last = self._written(one, at), at
        start: datetime | None = None
        for one in sorted(own.moments, key=lambda one: starts_of(own).isdisjoint(one.words)):
            if one.name in found:
                continue
            at = self._other(one, place, base, last, status_value, len(own.moments) == 1)
            if not starts_of(own).isdisjoint(one.words):
                start = at
            elif start is not None and not _ENDS.isdisjoint(one.words):
                hours = self._draw.between(2, 70, f"{place}/{one.name}/after")
                at = start + timedelta(hours=hours, days=365 * (own.last in LONG_TERM))
            found[one.name] = self._written(one, at)
        return self._ordered(own, found)

    def _other(
        self, one: FieldOutline, place: str, base: datetime, last: datetime, status: Json, is_only: bool
    ) -> datetime:
        share = self._draw.unit(f"{place}/{one.name}")
        words = set(one.words)
        word = "_".join(tokens(status)) if isinstance(status, str) else ""
        reached = 4 if word in ENDED else _PROGRESS.get(word, 1)
        # The date of a tour that is only booked is still to come.
        is_ahead = bool(word) and reached < 3 and bool(words & _TAKES_PLACE) and not words & PAST
        if not words & FUTURE and not is_ahead:
            return self._later(last, f"{place}/{one.name}")
        if reached >= 4 or (reached == 3 and words & _STARTS):
            return self._at_work(base + (self.now - base) * (0.3 + 0.6 * share), place)
        # The one moment that a record has is all that tells it from others in time.
        days = 1 + share * (180 if is_only else 30) + (0 if words & _STARTS else 31)
        if word == "overdue" and not words & _STARTS:
            return self._at_work(max(base, self.now - timedelta(days=1 + share * 20)), place)
        return self._at_work(self.now + timedelta(days=days), place)

    def _ordered(self, own: TypeOutline, found: dict[str, Json]) -> dict[str, Json]:
        """What starts does so before it is due or ends."""
        if len(found) < 2:
            return found
        starts = [one for one in own.moments if not starts_of(own).isdisjoint(one.words)]
        ends = [one for one in own.moments if one not in starts and not FUTURE.isdisjoint(one.words)]
        for start in starts:
            for end in ends:
                first, then = found[start.name], found[end.name]
                if isinstance(first, str) and isinstance(then, str) and then[:10] < first[:10]:
                    found[start.name], found[end.name] = then[: len(first)], first[: len(then)]
        return found

    def _later(self, moment: datetime, place: str) -> datetime:
        room = self.now - moment
        step = min(timedelta(hours=3) + timedelta(days=6) * self._draw.unit(place), room * 0.6)
        later = moment + step
        return later.replace(second=0) if later.replace(second=0) > moment else later

    def _at_work(self, moment: datetime, place: str) -> datetime:
        minute = self._draw.below(600, f"{place}/minute")
        at = moment.replace(hour=8, minute=0, second=0) + timedelta(minutes=minute)
        return at if (at < self.now) == (moment < self.now) else moment.replace(second=0)

    def _written(self, field: FieldOutline, moment: datetime) -> Json:
        return write_moment(field, moment)


def write_moment(field: FieldOutline, moment: datetime) -> Json:
    if field.kind == "whole":
        return int((moment - datetime(1970, 1, 1)).total_seconds())
    says = field.description or str(field.said("description") or "")
    is_day = field.said("format") == "date" or (
        field.said("format") is None
        and (
            field.words[-1] in ("on", "day", "dob", "birthday", "birth")
            or "date" in field.words
            or "YYYY-MM-DD" in says
        )
        and "time" not in says.lower()
    )
    if is_day:
        return moment.date().isoformat()
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"
