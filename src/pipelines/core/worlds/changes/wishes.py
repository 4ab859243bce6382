"""Values with which a record is as a sentence asks: those are tried that what is asked itself speaks of. What
a field is to hold is of its type, one of its values, a known id."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice, product

from pipelines.core.english.words import article
from pipelines.core.ledger.ledger import Ledger
from pipelines.core.ledger.ledger_schema import is_of_type
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.vocabulary import Vocabulary
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.worlds.changes.sentences import WrittenValue
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.records.rule_cases import tester_of
from pipelines.core.worlds.records.sides import values_around
from pipelines.core.worlds.shapes import NotUnderstood
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.times import said_state, write_moment

_MOST_TRIED = 4_000  # combinations of values for one part of what is asked


class Wish:
    """What records of a type are to be like."""

    def __init__(
        self, ground: Ground, own: TypeOutline, need: Expr, vocabulary: Vocabulary, now: str
    ) -> None:
        self._ground, self._own, self._need, self._now = ground, own, need, now
        self._kind = vocabulary.kinds[own.name]
        self._parts = need.parts if isinstance(need, n.And) else (need,)
        tests = (m.all_of(*self._parts[: at + 1]) for at in range(len(self._parts)))
        self._tests = [tester_of(test, own.name, vocabulary, now) for test in tests]
        self._ledger = Ledger(ground.world)
        if None in self._tests:
            raise refused(f"whether {a_(own)} is so cannot be told of it alone: “{need}”")

    @property
    def fields(self) -> list[FieldOutline]:
        return [*self._fields(self._need)]

    def holds(self, id: str, record: JsonObject) -> bool:
        test = self._tests[-1]
        return test is not None and test(id, record, self._ledger) is True

    def granted(self, id: str, record: JsonObject, at: int) -> JsonObject:
        """The record as it is asked for, with as few other values as that takes."""
        for part, test in zip(self._parts, self._tests, strict=True):
            tries = islice(self._tries(part, record, at), _MOST_TRIED)
            found = next((one for one in tries if test is not None and test(id, one, self._ledger)), None)
            if found is None:
                names = " and ".join(one.name for one in self.fields) or "its fields"
                raise refused(
                    f"no value of {names} was found with which {a_(self._own)} is so: “{self._need}”"
                )
            record = self._in_state(record, found)
        return record

    def _in_state(self, before: JsonObject, record: JsonObject) -> JsonObject:
        """What has been shipped now is in the state that its date speaks of."""
        status = self._own.status
        for one in self.fields if status is not None and status not in self.fields else ():
            if one.is_moment and before.get(one.name) is None and record.get(one.name) is not None:
                state = said_state(one.name, status.values if status is not None else ())
                record = (
                    {**record, status.name: state} if status is not None and state is not None else record
                )
        return record

    def _tries(self, part: Expr, record: JsonObject, at: int) -> Iterator[JsonObject]:
        fields = [*self._fields(part)]
        values = [[record.get(one.name), *self._values(one, at)] for one in fields]
        for each in product(*values):
            yield {**record, **dict(zip((one.name for one in fields), each, strict=True))}

    def _fields(self, part: Expr) -> Iterator[FieldOutline]:
        """Of the record itself, and those by which it refers to others that are looked at."""
        linked = (self._kind.link_to(path.root) for path in part.refs() if path.root != self._own.name)
        own = (path.keys for path in part.refs() if path.root == self._own.name)
        for keys in dict.fromkeys((*own, *linked)):
            field = self._own.field(keys[0]) if keys is not None and len(keys) == 1 else None
            if field is not None and field.name != self._own.id_field:
                yield field

    def _values(self, one: FieldOutline, at: int) -> list[Json]:
        if one.refers_to is None:
            return values_around(one, self._need, self._now, at)
        ids = [*types_in(self._ground.state).get(one.refers_to, {})]
        turn = at % len(ids) if ids else 0
        return [one.kept(id) for id in (*ids[turn:], *ids[:turn])]


# -- values that a sentence says

_NOTHING = frozenset(("null", "nothing", "none", "empty"))
_SWITCHES: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
_TYPES = {"text": "string", "whole": "integer", "list": "array"}  # others are called as in JSON


def refused(message: str, hint: str | None = None) -> NotUnderstood:
    return NotUnderstood([Problem(path="/prompt", message=message, hint=hint)])


def a_(own: TypeOutline) -> str:
    """`an order`."""
    return f"{article(own.noun).lower()} {own.noun}"


def value_said(
    own: TypeOutline,
    one: FieldOutline,
    said: WrittenValue,
    records: Mapping[str, Mapping[str, JsonObject]],
    now: str,
) -> Json:
    """The value, or a problem that says what it may be."""
    if one.name == own.id_field:
        raise refused(f"{own.id_field} is the id of {a_(own)}: ids are given by the world, and stay")
    if said.text.lower() in _NOTHING and not said.is_quoted and said.text not in one.values:
        return None
    if one.refers_to is not None and one.kind != "list":
        return one.kept(_known_id(one.refers_to, said.text, records))
    seen = (record.get(one.name) for record in records.get(own.name, {}).values())
    known = next((each for each in (*one.values, *seen) if _is_same(each, said.text)), None)
    if known is None and one.values and one.is_closed:
        allowed = ", ".join(map(str, one.values[:12]))
        raise refused(f"{one.name} of {a_(own)} cannot be “{said.text}”", f"it may be {allowed}")
    value = known if known is not None else _typed(one, said, now)
    kind = _TYPES.get(one.kind, one.kind)
    if not is_of_type(value, kind):
        raise refused(f"{one.name} of {a_(own)} must be of type {kind}, not “{said.text}”")
    return value


def _is_same(value: Json, text: str) -> bool:
    return not isinstance(value, list | dict | None) and _loose(str(value)) == _loose(text)


def _loose(text: str) -> str:
    """In any spelling: `in transit`, `IN_TRANSIT`."""
    return re.sub(r"[\s_-]+", "", text).casefold()


def _known_id(kind: str, id: str, records: Mapping[str, Mapping[str, JsonObject]]) -> str:
    known = records.get(kind, {})
    if id not in known:
        raise refused(f"there is no {kind} {id}", f"for example {next(iter(known), 'none')}")
    return id


def _typed(one: FieldOutline, said: WrittenValue, now: str) -> Json:
    if one.is_moment:
        return write_moment(one, _moment(one, said, now))
    if one.kind == "boolean":
        return _SWITCHES.get(said.text.lower(), said.text)
    if one.kind in ("whole", "number"):
        try:
            number = float(said.text.lstrip("$€£").replace(",", ""))
        except ValueError:
            return said.text
        return int(number) if number.is_integer() else number
    return said.text


def _moment(one: FieldOutline, said: WrittenValue, now: str) -> datetime:
    if said.days_ago is not None:
        return datetime.fromisoformat(now).replace(tzinfo=None) - timedelta(days=said.days_ago)
    found = moment_of(said.text)
    if found is None:
        hint = "such as 2026-03-01, or 40 days ago"
        raise refused(f"“{said.text}” is no day or time that {one.name} could hold", hint)
    return found.at.replace(tzinfo=None)
