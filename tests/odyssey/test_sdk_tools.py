"""`proxied` and `tools_schema`: any function with hints is a tool, and looks to a framework as it did."""

import asyncio
import dataclasses
import datetime
import enum
import inspect
import typing
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from pipelines.odyssey import NoCurrentEnvelope, ToolFailed
from pipelines.odyssey.doc_params import read_doc
from pipelines.odyssey.hint_schema import schema_of
from pipelines.odyssey.testing import odyssey_run
from pipelines.odyssey.tools import proxied, tools_schema

STATE = {"order": {"4521": {"status": "shipped", "amount": 79.5}}}


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Address:
    city: str
    zip: str = ""
    lines: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Node:
    value: int
    below: "list[Node]"


class Item(TypedDict):
    sku: str
    count: NotRequired[int]


class Inner(BaseModel):
    amount: float


class Outer(BaseModel):
    inner: Inner


ADDRESS = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "zip": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["city"],
    "additionalProperties": False,
}
HINTS = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (bool, {"type": "boolean"}),
    (Any, {}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (typing.Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    (dict, {"type": "object"}),
    (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (typing.Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1], {"enum": ["a", 1]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (datetime.date, {"type": "string", "format": "date"}),
    (Address, ADDRESS),
    (Annotated[str, "As on the receipt."], {"type": "string", "description": "As on the receipt."}),
]


@pytest.mark.parametrize(("hint", "schema"), HINTS, ids=lambda each: str(each)[:40])
def test_a_hint_as_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_records_within_records() -> None:
    assert schema_of(Item)["required"] == ["sku"]
    assert schema_of(Outer)["properties"]["inner"]["properties"]["amount"]["type"] == "number"
    assert schema_of(Node)["properties"]["below"]["items"] == {"type": "object"}


DOCS = {
    "google": """Gets it.

    More.

    Args:
        order_id (str): As on the
            receipt.
        n: How many.

    Returns:
        it
    """,
    "numpy": """Gets it.

    More.

    Parameters
    ----------
    order_id : str
        As on the
        receipt.
    n : int
        How many.

    Returns
    -------
    dict
    """,
    "rest": """Gets it.

    More.

    :param str order_id: As on the
        receipt.
    :param n: How many.
    :returns: it
    """,
}


@pytest.mark.parametrize("style", DOCS)
def test_a_docstring_in_the_three_styles(style: str) -> None:
    doc = read_doc(DOCS[style])
    assert doc.description == "Gets it.\n\nMore."
    assert doc.parameters == {"order_id": "As on the receipt.", "n": "How many."}


def get_order(order_id: str) -> dict[str, Any]:
    """Get an order by its id."""
    return {"real": order_id}


async def refund_order(order_id: str, *, amount: float | None = None) -> dict[str, Any]:
    """Refund an order. The order status will be changed to 'refunded'."""
    return {"real": order_id}


def test_it_looks_as_it_did() -> None:
    for function in (get_order, refund_order):
        made = proxied(function)
        assert (made.__name__, made.__doc__, made.__module__) == (
            function.__name__,
            function.__doc__,
            function.__module__,
        )
        assert inspect.signature(made) == inspect.signature(function)
        assert typing.get_type_hints(made) == typing.get_type_hints(function)
        assert inspect.iscoroutinefunction(made) == inspect.iscoroutinefunction(function)
        assert tools_schema([made]) == tools_schema([function])


def test_calls_go_to_the_run_sync_and_async() -> None:
    tools = [proxied(get_order), proxied(refund_order)]
    with odyssey_run(tools_schema=tools_schema(tools), state=STATE) as run:
        assert tools[0]("4521")["status"] == "shipped"
        assert asyncio.run(tools[1](order_id="4521"))["status"] == "refunded"  # type: ignore[arg-type]
    assert [call["arguments"] for call in run.calls] == [{"order_id": "4521"}, {"order_id": "4521"}]


def test_without_a_run_it_refuses_unless_its_author_says_otherwise() -> None:
    with pytest.raises(NoCurrentEnvelope):
        proxied(get_order)("4521")
    assert proxied(get_order, outside_a_run="call")("4521") == {"real": "4521"}
    assert asyncio.run(proxied(refund_order, outside_a_run="call")("4521")) == {"real": "4521"}  # type: ignore[arg-type]
    with odyssey_run(tools_schema=tools_schema([get_order]), state=STATE):
        assert "real" not in proxied(get_order, outside_a_run="call")("4521")


def test_a_failure_is_raised_or_returned() -> None:
    with odyssey_run(tools_schema=tools_schema([get_order]), state=STATE):
        with pytest.raises(ToolFailed):
            proxied(get_order)("0000")
        assert "error" in proxied(get_order, failures="return")("0000")


class Shop:
    def get_order(self, order_id: str) -> dict[str, Any]:
        """Get an order by its id."""
        raise AssertionError("never runs")

    @proxied
    def refund_order(self, order_id: str) -> dict[str, Any]:
        """Refund an order. The order status will be changed to 'refunded'."""
        raise AssertionError("never runs")


def test_methods_bound_and_in_a_class_body() -> None:
    shop = Shop()
    look = proxied(shop.get_order)
    schema = tools_schema([look, shop.refund_order])
    assert [list(each["input_schema"]["properties"]) for each in schema] == [["order_id"], ["order_id"]]
    with odyssey_run(tools_schema=schema, state=STATE):
        assert look("4521")["status"] == "shipped"
        assert shop.refund_order("4521")["status"] == "refunded"


def test_arguments_are_sent_as_json() -> None:
    def add_order(
        where: Address, colour: Colour, on: datetime.date, item: Inner, n: int = 1, **more: Any
    ) -> dict:  # type: ignore[type-arg]
        """Create an order."""
        raise AssertionError("never runs")

    made = proxied(add_order)
    [entry] = tools_schema([made])
    assert entry["input_schema"]["properties"]["n"] == {"type": "integer", "default": 1}
    assert "additionalProperties" not in entry["input_schema"]
    with odyssey_run(tools_schema=[entry], state=STATE) as run:
        made(Address("Bonn"), Colour.RED, datetime.date(2026, 5, 3), Inner(amount=2), note="x")
    assert run.calls[0]["arguments"] == {
        "where": {"city": "Bonn", "zip": "", "lines": []},
        "colour": "red",
        "on": "2026-05-03",
        "item": {"amount": 2.0},
        "note": "x",
    }


def test_what_cannot_be_a_tool_is_refused_when_it_is_wrapped() -> None:
    def many(*ids: str) -> None: ...
    def strange(thing: Shop) -> None: ...

    with pytest.raises(TypeError, match=r"takes \*ids"):
        proxied(many)
    with pytest.raises(TypeError, match="strange, parameter thing: `Shop` cannot be represented in JSON"):
        proxied(strange)
    with pytest.raises(TypeError, match="is not a function"):
        proxied(Shop)
    with pytest.raises(ValueError, match="two tools are named `get_order`"):
        tools_schema([get_order, proxied(many_named)])


def many_named(ids: list[str]) -> None:
    """Another."""


many_named.__name__ = "get_order"
