"""A prompt as words, and what they stand for in a world: types, fields, values, amounts and days.

Nouns and fields are found as the behaviour reader finds them (`behavior/lexicon.py`, `behavior/things.py`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from pipelines.core.english.dates import dates
from pipelines.core.english.numbers import SMALL, readings
from pipelines.core.english.words import article, joined, singular, tokens
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger_schema import is_of_type
from pipelines.core.problems import Problem
from pipelines.core.simulation.behavior.states import may_be_a_status
from pipelines.core.simulation.behavior.things import find_field, loose
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import NotUnderstood
from pipelines.core.worlds.times import is_moment, write_moment
from pipelines.core.worlds.world_outline import types_in

_WORDS = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|'[^']*'(?=[\s,;.]|$)|,|[^\s,]+")
_SENTENCES = re.compile(
    r"\s*(?:;|\n|(?<=[^\d\s])\.(?=\s|$)|(?<=\d)\.(?=\s+[A-Za-z]|\s*$)|,?\s+(?:and\s+)?then\b)\s*"
)
_UNITS = {"day": 1.0, "week": 7.0, "month": 30.44, "quarter": 91.3, "year": 365.25, "hour": 1 / 24}
NOTHING = ("null", "nothing", "none", "empty", "nil")
_TYPES = {
    "text": "string",
    "whole": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "array",
    "object": "object",
}
LONGEST_PROMPT = 4_000


def refused(message: str, hint: str | None = None) -> NotUnderstood:
    return NotUnderstood([Problem(path="/prompt", message=message, hint=hint)])


def a_(own: TypeOutline) -> str:
    """`an order`."""
    return f"{article(own.noun).lower()} {own.noun}"


def sentences(prompt: str) -> list[str]:
    """Quoted text is never cut."""
    kept: list[str] = []
    # Space is single from here on: the pattern looks at every stretch of it from every place.
    prompt = re.sub(r"[^\S\n]+", " ", re.sub(r"\s*\n\s*", "\n", prompt[:LONGEST_PROMPT]))

    def keep(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    masked = re.sub(r"\"[^\"]*\"|“[^”]*”", keep, prompt)
    parts = [part.strip(" ,") for part in _SENTENCES.split(masked)]
    return [re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], part) for part in parts if part]


def words_of(sentence: str) -> list[str]:
    return _WORDS.findall(sentence)


def bare(word: str) -> str:
    return word.strip("\"“”‘’'.")


class Span(NamedTuple):
    """So many words from here on, and what they mean."""

    length: int
    value: Json


@dataclass(frozen=True, slots=True)
class Reader:
    """What words stand for in one world."""

    ground: Ground
    now: datetime

    def records(self, own: TypeOutline) -> dict[str, JsonObject]:
        return types_in(self.ground.state).get(own.name, {})

    # -- nouns

    def type_at(self, words: Sequence[str]) -> tuple[int, TypeOutline] | None:
        """The type that the first words name: `support tickets`, `customers` where there are users."""
        types = self.ground.outline.types
        for length in (3, 2, 1):
            said = [bare(word).lower() for word in words[:length]]
            if len(said) < length or not all(said):
                continue
            run = joined(tokens(" ".join(said)))
            for own in types.values():
                if run == joined(tokens(own.name)) or run in own.nouns:
                    return length, own
        meant = self.ground.lexicon.kind_of(bare(words[0])) if words else None
        return (1, types[meant]) if meant is not None and meant in types else None

    def find_type(self, words: Sequence[str]) -> tuple[int, int, TypeOutline] | None:
        """Where the first noun stands, how many words it has, and its type."""
        for at in range(len(words)):
            found = self.type_at(words[at:])
            if found is not None:
                return at, *found
        return None

    def type_by_value(self, word: str) -> TypeOutline | None:
        """The type of which the word, as a noun, is a value: `dogs`, where pets have a species."""
        said = {loose(bare(word)), loose(singular(bare(word).lower()))} - {""}
        found = [
            own
            for own in self.ground.outline.types.values()
            if any(
                isinstance(value, str) and loose(value) in said
                for one in own.fields
                if one.refers_to is None
                for value in (*one.values, *self.seen(own, one))
            )
        ]
        if len(found) > 1:
            kinds = " or ".join(own.noun for own in found)
            raise refused(f"“{bare(word)}” may be said of more than one type: {kinds}", "name the type too")
        return found[0] if found else None

    # -- fields and values

    def field_at(self, own: TypeOutline, words: Sequence[str]) -> tuple[int, FieldOutline] | None:
        kind = self.ground.lexicon.kinds.get(own.name)
        for length in range(min(4, len(words)), 0, -1):
            said = " ".join(bare(word) for word in words[:length])
            exact = own.field(said) or own.field(said.replace(" ", "_"))
            if exact is not None:
                return length, exact
            path = find_field(kind.fields, said.lower()) if kind is not None and kind.fields else None
            found = own.field(path[0]) if path is not None and len(path) == 1 else None
            if found is not None and _is_meant(found, said):
                return length, found
        return None

    def seen(self, own: TypeOutline, one: FieldOutline) -> list[Json]:
        """The values that the field has here, where they are few."""
        found = dict.fromkeys(
            value
            for record in self.records(own).values()
            if isinstance(value := record.get(one.name), str | bool)
        )
        return list(found) if len(found) <= max(12, len(self.records(own)) // 4) else []

    def state_at(self, own: TypeOutline, words: Sequence[str]) -> tuple[int, FieldOutline, Json] | None:
        """A value that says what a thing is like: `cancelled`, `in transit`, `gold`, `vaccinated`."""
        for length in (3, 2, 1):
            said = loose(" ".join(bare(word) for word in words[:length]))
            if len(words) < length or not said:
                continue
            for one in own.fields:
                for value in (*one.values, *self.seen(own, one)):
                    if isinstance(value, str) and loose(value) == said and one.refers_to is None:
                        return length, one, value
        word = bare(words[0]).lower() if words else ""
        for one in own.fields:
            if one.kind == "boolean" and joined(tokens(one.name)).removeprefix("is").removeprefix("has") in (
                word,
                word.removeprefix("un"),
            ):
                return 1, one, not word.startswith("un")
        status = own.status
        if (
            status is not None
            and word.isalpha()
            and not (status.values and status.is_closed)
            and may_be_a_status(word)
        ):
            return 1, status, word
        return None

    def value(self, own: TypeOutline, one: FieldOutline, said: str) -> Json:
        """What a field is to hold, or a problem that says what it may."""
        text = said.strip()
        plain = text.strip("\"“”‘’'")
        if plain.lower() in NOTHING and text == plain:
            return None
        if one.refers_to is not None and one.kind != "list":
            return self._reference(one, plain)
        if one.values and one.is_closed:
            known = next((each for each in one.values if loose(str(each)) == loose(plain)), None)
            if known is None:
                allowed = ", ".join(map(str, one.values[:12]))
                raise refused(f"{one.name} of {a_(own)} cannot be “{plain}”", f"it may be {allowed}")
            return known
        known = next(
            (each for each in (*one.values, *self.seen(own, one)) if loose(str(each)) == loose(plain)), None
        )
        value = known if isinstance(known, str) else self._typed(own, one, plain)
        if not is_of_type(value, _TYPES[one.kind]):
            raise refused(f"{one.name} of {a_(own)} must be of type {_TYPES[one.kind]}, not “{plain}”")
        return value

    def _reference(self, one: FieldOutline, said: str) -> Json:
        target = self.ground.outline.types[one.refers_to or ""]
        words = words_of(said)
        id = bare(words[-1]) if words else ""
        if id not in self.records(target):
            raise refused(
                f"there is no {target.noun} {id}", f"for example {next(iter(self.records(target)), 'none')}"
            )
        return int(id) if one.kind == "whole" and id.isdecimal() else id

    def _typed(self, own: TypeOutline, one: FieldOutline, said: str) -> Json:
        if one.kind == "boolean":
            return {"true": True, "yes": True, "false": False, "no": False}.get(said.lower(), said)
        if one.kind in ("whole", "number"):
            number = number_of(said)
            return (
                said
                if number is None
                else int(number)
                if one.kind == "whole" or number.is_integer()
                else number
            )
        if is_moment(one):
            moment = self.moment(said)
            if moment is None:
                raise refused(
                    f"“{said}” is no day or time that {one.name} could hold",
                    "such as 2026-03-01, or 40 days ago",
                )
            return write_moment(one, moment)
        return said

    # -- time

    def moment(self, said: str) -> datetime | None:
        """`2026-03-01`, `2026-03-01T10:00:00Z`, `40 days ago`, `in 3 weeks`, `yesterday`."""
        text = said.strip().lower()
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}([t ]\d{2}:\d{2}(:\d{2})?(\.\d+)?(z|\+00:00)?)?", text):
            try:
                return datetime.fromisoformat(text.upper()).replace(tzinfo=None)
            except ValueError:
                return None
        near = {"today": 0, "now": 0, "yesterday": -1, "tomorrow": 1}.get(text)
        if near is not None:
            return self.now + timedelta(days=near)
        days = re.fullmatch(r"(?:in\s+)?(\S+)\s+([a-z]+?)s?(\s+ago)?", text)
        amount = number_of(days[1]) if days is not None else None
        if days is not None and amount is not None and days[2] in _UNITS:
            return self.now + timedelta(days=amount * _UNITS[days[2]] * (-1 if days[3] else 1))
        written = dates(said)
        days_meant = written[0].days if written else frozenset()
        if len(days_meant) == 1 and (found := next(iter(days_meant))).year is not None:
            return datetime(found.year, found.month, found.day, 12)
        return None


def _is_meant(one: FieldOutline, said: str) -> bool:
    """A field that is found by one word out of several was not meant by the others."""
    return len(said.split()) <= len(one.words) + 1


def number_of(said: str) -> float | None:
    """`3`, `1,200`, `$45.50`, `twelve`, `a`."""
    plain = said.strip().lower().lstrip("$€£").rstrip("%")
    if plain in ("a", "an", "another"):
        return 1.0
    if plain in SMALL:
        return float(SMALL[plain])
    if re.fullmatch(r"-?\d+(?:\.\d+)?", plain):
        return float(plain)
    found = readings(plain)
    return float(max(found)) if found else None


def span_days(words: Sequence[str]) -> Span | None:
    """`30 days`, `a year`, `12 months`, `two weeks`."""
    if len(words) < 2:
        return None
    amount, unit = number_of(words[0]), singular(bare(words[1]).lower())
    return Span(2, amount * _UNITS[unit]) if amount is not None and unit in _UNITS else None


def without(words: Sequence[str], skipped: Sequence[str]) -> Iterator[str]:
    return (word for word in words if word.lower() not in skipped)
