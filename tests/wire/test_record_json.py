"""Records: JSON and schema follow from one class."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

import pytest

from pipelines.core.text.json_text import Json, dumps
from pipelines.core.text.statistics import Interval
from pipelines.server.document.derived import components
from pipelines.wire.records import (
    FIRST,
    As,
    Flat,
    Hidden,
    Id,
    Moment,
    Named,
    Often,
    Omitted,
    Record,
    Via,
    Without,
    one_of,
    shown,
)


class Colour(StrEnum):
    RED = "red"


def in_euros(cents: int) -> float:
    return cents / 100


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part(Record):
    """A part."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Head(Record, component=""):
    title: str
    secret: str = "kept"


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole(Record, component="Thing"):
    """A thing.

    Not told.
    """

    id: Id
    org_id: Hidden[int]
    head: Annotated[Flat[Head], Without(frozenset({"secret"}))]
    cents: Annotated[int, Named("price"), Via(in_euros), "in euros"]
    colour: Colour | None
    parts: tuple[_Part, ...]
    by_name: Mapping[str, _Part]
    interval: Interval | None
    state: Annotated[str, one_of(("new", "old"))]
    free: Annotated[Json, As(list[str] | None)]
    made_at: Annotated[Often[Moment | None], "null: not yet"]
    hint: Omitted[str | None] = None
    tags: Omitted[tuple[str, ...]] = ()

    @property
    @shown(after="parts")
    def count(self) -> int:
        return len(self.parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Later(Whole, component="Later"):
    note: Annotated[str, FIRST]


def whole(**values: Any) -> Whole:
    given: dict[str, Any] = {
        "id": 1,
        "org_id": 2,
        "head": Head(title="T"),
        "cents": 250,
        "colour": Colour.RED,
        "parts": (_Part(name="a"),),
        "by_name": {"b": _Part(name="b")},
        "interval": Interval(0.0, 1.0),
        "state": "new",
        "free": ["x"],
        "made_at": None,
    }
    return Whole(**given | values)


AS_JSON = (
    b'{"id":1,"title":"T","price":2.5,"colour":"red","parts":[{"name":"a"}],"count":1,"by_name":{"b":{"name":"b"}},'
    b'"interval":[0.0,1.0],"state":"new","free":["x"],"made_at":null}'
)


def test_the_keys_stand_in_the_order_of_the_fields_and_what_is_hidden_is_not_there():
    assert dumps(whole().as_json()) == AS_JSON


def test_what_has_its_default_is_left_out_only_where_the_field_says_so():
    told = whole(hint="h", tags=("t",), colour=None, interval=None).as_json()
    assert (told["hint"], told["tags"], told["colour"], told["interval"]) == ("h", ["t"], None, None)


def test_a_record_below_another_has_its_own_json_whichever_is_written_first():
    values = {name: getattr(whole(), name) for name in Whole.__dataclass_fields__}
    assert [*Later(note="n", **values).as_json()] == ["note", *whole().as_json()]
    assert dumps(whole().as_json()) == AS_JSON


def test_the_schema_tells_of_every_key_what_the_class_says():
    schema = components([Whole])["Thing"]
    told = schema["properties"]
    assert schema["description"] == "A thing."
    assert [*told] == [*whole(hint="h", tags=("t",)).as_json()]
    assert {*schema["required"]} == {*told} - {"hint", "tags", "made_at"}
    assert told["price"] == {"type": "number", "description": "in euros"}
    assert told["colour"] == {"anyOf": [{"type": "string", "enum": ["red"]}, {"type": "null"}]}
    assert told["parts"]["items"] == {
        "type": "object",
        "description": "A part.",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }
    assert told["made_at"] == {
        "type": ["string", "null"],
        "format": "date-time",
        "description": "null: not yet",
    }
    assert told["hint"] == {"type": "string"}


def test_a_type_that_is_written_in_two_ways_needs_to_say_how():
    @dataclass(frozen=True)
    class Mixed(Record):
        value: _Part | tuple[str, ...] = field(default=())

    with pytest.raises(TypeError, match="say with Via how it is written"):
        Mixed().as_json()
