"""Functions of a code endpoint: found, called, and what comes of whatever they do."""

import sys
import threading
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from functions_desk import Desk

from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.text.json_text import Json
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.engine.code.code_endpoint import CodeEndpoint
from pipelines.odyssey.tools import tools_schema

SECRET = "wiki-key-7c1f09aa"

SHOP = '''
"""Tools of a shop."""
import asyncio
import dataclasses
import datetime
import enum
import os
from typing import Annotated, Literal

calls = []
NOT_CALLABLE = 3


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Parcel:
    size: Size
    sent_on: datetime.date


def get_price(sku: str, currency: Literal["EUR", "USD"] = "EUR") -> dict:
    """The price of one article.

    Args:
        sku: the article's number
    """
    calls.append(sku)
    print("looked up", sku, len(calls))
    return {"sku": sku, "currency": currency, "calls": len(calls)}


async def get_text(words: Annotated[int, "how many"]) -> str:
    await asyncio.sleep(0)
    return "word " * words


def next_day(parcel: Parcel, /, *, tags: set[str] | None = None) -> Parcel:
    assert isinstance(parcel.size, Size)
    assert tags is None or tags == {"a"}
    return Parcel(parcel.size, parcel.sent_on + datetime.timedelta(days=1))


def places(a: int = 1, b: int = 2, /, *, c: int = 3) -> list[int]:
    return [a, b, c]


def more(first: str, **others: int) -> dict:
    return {"first": first, **others}


def anything(value):
    return value


def odd(what: str):
    return {
        "object": object(),
        "nan": {"a": [1, float("nan")]},
        "keys": {1: 2},
        "bytes": b"x",
        "deep": [{"b": calls.append}],
    }[what]


def large(size: int) -> str:
    return "x" * size


def tell_secret(how: str):
    key = os.environ["WIKI_KEY"]
    if how == "return":
        return {"key": key, "list": [f"Bearer {key}"]}
    if how == "print":
        print("the key is", key)
        return "printed"
    raise ValueError(f"bad key {key}")


def _hidden():
    return "not a tool"


def connect(client: asyncio.AbstractServer):
    return 1


def with_client(query: str, client: asyncio.AbstractServer | None = None) -> str:
    return query
'''


@pytest.fixture(scope="module")
def shop(desk_of_all: Desk) -> CodeEndpoint:
    """One for all tests: calls begin alike."""
    return desk_of_all.endpoint(SHOP, secrets={"WIKI_KEY": SECRET}, is_kept=True)


def test_every_function_of_a_file_is_found_with_its_schemas(desk: Desk, shop: CodeEndpoint) -> None:
    found = desk.discovered(shop)
    tools = {tool.name: tool for tool in found.tools}
    assert sorted(tools) == [
        *("anything", "get_price", "get_text", "large", "more", "next_day", "odd", "places", "tell_secret"),
        "with_client",
    ]
    price = tools["get_price"]
    assert price.description == "The price of one article."
    assert price.input_schema == {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "description": "the article's number"},
            "currency": {"type": "string", "enum": ["EUR", "USD"], "default": "EUR"},
        },
        "required": ["sku"],
        "additionalProperties": False,
    }
    assert price.output_schema == {"type": "object"}
    assert price.call == {"file": "functions.py", "function": "get_price"}
    assert tools["get_text"].input_schema["properties"]["words"]["description"] == "how many"
    assert tools["get_text"].output_schema == {"type": "string"}
    assert tools["anything"].output_schema is None
    assert tools["next_day"].output_schema["properties"]["size"] == {
        "type": "string",
        "enum": ["small", "large"],
    }
    assert [note.partition(" cannot be represented")[0] for note in found.notes] == [
        "connect is not a tool: parameter client: `AbstractServer`",
        "with_client: parameter client is left at its default: `AbstractServer`",
    ]


def test_discovery_says_what_the_sdk_says_of_the_same_functions(
    desk: Desk, shop: CodeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("shop_here")
    monkeypatch.setitem(sys.modules, "shop_here", module)
    here: dict[str, Any] = module.__dict__
    exec(compile(SHOP, "shop_here.py", "exec"), here)
    names = ("get_price", "get_text", "next_day", "anything", "large")
    declared = tools_schema([here[name] for name in names])
    found = {tool.name: tool for tool in desk.discovered(shop).tools}
    for entry in declared:
        tool = found[entry["name"]]
        assert (tool.description, tool.input_schema) == (entry["description"], entry["input_schema"])


def test_a_call_is_answered_and_what_it_prints_is_a_note(desk: Desk, shop: CodeEndpoint) -> None:
    reply = desk.call(shop, "get_price", sku="a1")
    assert reply.status == 200
    assert reply.response == {"sku": "a1", "currency": "EUR", "calls": 1}
    assert reply.notes == ("stdout: looked up a1 1",)


def test_calls_begin_alike_whatever_came_before(desk: Desk, shop: CodeEndpoint) -> None:
    assert [desk.response(shop, "get_price", sku="b")["calls"] for _ in range(3)] == [1, 1, 1]


def test_an_async_function_is_awaited_and_text_stays_text(desk: Desk, shop: CodeEndpoint) -> None:
    assert desk.response(shop, "get_text", words=2) == "word word "


def test_arguments_become_what_the_hints_say_and_results_plain_json(desk: Desk, shop: CodeEndpoint) -> None:
    parcel = {"size": "small", "sent_on": "2026-12-31"}
    assert desk.response(shop, "next_day", parcel=parcel, tags=["a"]) == {
        "size": "small",
        "sent_on": "2027-01-01",
    }


def test_arguments_find_their_places(desk: Desk, shop: CodeEndpoint) -> None:
    assert desk.response(shop, "places", b=5) == [1, 5, 3]
    assert desk.response(shop, "places", c=9, a=7) == [7, 2, 9]
    assert desk.response(shop, "more", first="x", y=1) == {"first": "x", "y": 1}


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "", "{not json", [], {"a": [None]}, "é\u2028\x00"])
def test_every_json_value_comes_back_as_it_is(desk: Desk, shop: CodeEndpoint, value: Json) -> None:
    assert desk.response(shop, "anything", value=value) == value


def test_arguments_that_do_not_fit_are_not_sent(desk: Desk, shop: CodeEndpoint) -> None:
    failed = desk.failure(shop, "get_price", currency="GBP", colour="red")
    assert str(failed).startswith("get_price was not called: the arguments do not fit its input schema: ")
    for said in ("sku", "EUR", "colour"):
        assert said in str(failed)


def test_arguments_are_checked_aside_the_loop(
    desk: Desk, shop: CodeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A schema may take long to compile, and a mebibyte of arguments to be compared with it."""
    threads: list[int] = []

    class Noted(CompiledSchema):
        def compile(self) -> None:
            threads.append(threading.get_ident())
            super().compile()

    async def loop_thread() -> int:
        return threading.get_ident()

    monkeypatch.setattr("pipelines.engine.code.code_endpoint.CompiledSchema", Noted)
    tool = replace(desk.tool(shop, "anything"), description="not called before")
    assert desk.do(shop.call(tool, {"value": 1})).response == 1
    with pytest.raises(LiveCallFailed):
        desk.do(shop.call(tool, {"values": 1}))
    assert len(threads) >= 2
    assert desk.do(loop_thread()) not in threads


ODD = {
    "object": "the result is an object",
    "nan": "the result['a'][1] is nan, which JSON does not have",
    "keys": "the result has the key 1, which is an int and no text",
    "bytes": "the result is a bytes",
    "deep": "the result[0]['b'] is a builtin_function_or_method",
}


@pytest.mark.parametrize("what", ODD)
def test_a_result_that_json_does_not_have_is_refused_with_what_came(
    desk: Desk, shop: CodeEndpoint, what: str
) -> None:
    told = f"odd gave no usable result: what the function returned cannot be written as JSON: {ODD[what]}"
    assert str(desk.failure(shop, "odd", what=what)) == told


def test_a_result_over_one_mebibyte_is_refused(desk: Desk, shop: CodeEndpoint) -> None:
    assert len(desk.response(shop, "large", size=1_000_000)) == 1_000_000
    assert "is over the limit of 1048576 bytes" in str(desk.failure(shop, "large", size=1_100_000))


def test_secrets_are_there_and_do_not_come_out(desk: Desk, shop: CodeEndpoint) -> None:
    masked = "[secret WIKI_KEY]"
    assert desk.response(shop, "tell_secret", how="return") == {"key": masked, "list": [f"Bearer {masked}"]}
    assert desk.call(shop, "tell_secret", how="print").notes == (f"stdout: the key is {masked}",)
    failed = desk.failure(shop, "tell_secret", how="raise")
    assert str(failed) == f"tell_secret raised ValueError: bad key {masked}"
    assert SECRET not in "".join(failed.notes)


def test_the_traceback_is_for_the_trace_and_not_for_the_agent(desk: Desk, shop: CodeEndpoint) -> None:
    failed = desk.failure(shop, "tell_secret", how="raise")
    assert "Traceback" not in str(failed)
    (note,) = failed.notes
    assert note.startswith('Traceback (most recent call last):\n  File "/job/agent/functions.py", line ')
    assert "/sbx/" not in note, "only frames of theirs"


def test_a_variable_has_the_credential_that_it_is_mapped_to(desk: Desk) -> None:
    source = """
        import os
        def show() -> bool:
            return os.environ["KEY"].startswith("wiki-") and "WIKI_KEY" not in os.environ
    """
    endpoint = desk.endpoint(source, secrets={"WIKI_KEY": SECRET}, env_vars={"KEY": "WIKI_KEY"})
    assert desk.response(endpoint, "show") is True


def test_a_credential_that_is_gone_is_named(desk: Desk) -> None:
    endpoint = desk.endpoint("def f(): return 1", env_vars=["GONE"])
    with pytest.raises(LiveCallFailed, match="the org has no credential GONE"):
        desk.discovered(endpoint)


def test_functions_of_several_files_are_called_in_their_package(desk: Desk) -> None:
    endpoint = desk.endpoint(
        {
            "shop/__init__.py": "",
            "shop/prices.py": "from . import rates\nfrom shop.texts import shout\ndef price(n: int) -> int:\n"
            "    return n * rates.RATE\ndef loud(t: str) -> str:\n    return shout(t)\n",
            "shop/rates.py": "RATE = 3\n",
            "shop/texts.py": "def shout(t): return t.upper()\n",
            "json.py": "def mine() -> str: return 'theirs'\n",
        },
        functions=["shop/prices.py:price", "shop/prices.py:loud", "json.py:mine"],
    )
    assert desk.response(endpoint, "price", n=4) == 12
    assert desk.response(endpoint, "loud", t="a") == "A"
    assert desk.response(endpoint, "mine") == "theirs"


BROKEN = {
    "a syntax error": ("def f(:\n", "the code raised SyntaxError: invalid syntax"),
    "a missing package": (
        "import nothing_like_this\n",
        "the code raised ModuleNotFoundError: No module named",
    ),
    "an exit": ("import sys\nsys.exit(3)\n", "the code ended without a result: the code called sys.exit(3)"),
}


@pytest.mark.parametrize(("source", "said"), BROKEN.values(), ids=BROKEN)
def test_code_that_cannot_be_imported_says_why(desk: Desk, source: str, said: str) -> None:
    with pytest.raises(LiveCallFailed) as failed:
        desk.discovered(desk.endpoint(source))
    assert str(failed.value).startswith(said)


def test_a_function_that_is_not_there_is_a_note(desk: Desk) -> None:
    found = desk.discovered(desk.endpoint("def f(): return 1\nX = 1", functions=["f", "g", "X"]))
    assert [tool.name for tool in found.tools] == ["f"]
    assert found.notes == (
        "g is not a tool: functions.py has no function g",
        "X is not a tool: is not a function but an int",
    )


def test_a_config_that_cannot_be_used_is_told(desk: Desk) -> None:
    with pytest.raises(LiveCallFailed, match=r"allow_hosts/0: `10\.0\.0\.1` is an IP address"):
        desk.discovered(desk.endpoint("def f(): return 1", allow_hosts=["10.0.0.1"]))


def test_an_import_that_starts_a_thread_is_called_too(desk: Desk) -> None:
    source = """
        import threading, time
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        calls = []
        def count() -> int:
            calls.append(1)
            return len(calls)
    """
    endpoint = desk.endpoint(source)
    assert [desk.response(endpoint, "count") for _ in range(2)] == [1, 1]
