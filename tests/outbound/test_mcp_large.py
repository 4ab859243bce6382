"""Large messages of MCP servers: what the package gets to see of them, and what is told of their results."""

import json
from typing import Any

import pytest

from pipelines.outbound.mcp.check_results import AT_ONCE, MOST_ENTRIES, NotAsMcp, check_result
from pipelines.outbound.mcp.large_results import (
    LARGE_BYTES,
    LONGEST_ERROR,
    TAKEN,
    EventCutter,
    is_taken,
    lighten,
    lighten_event,
)

TEXT = {"type": "text", "text": "x"}
LARGE = b"data: " + b"x" * LARGE_BYTES
VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")


def message(**more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, **more}


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_stands_in_a_results_place_is_one_in_every_version(method: str, version: str) -> None:
    light = lighten(message(result={"content": [TEXT]}))
    assert light.result == {"content": [TEXT]}
    assert light.message is not None
    in_its_place: Any = light.message["result"]
    check_result(in_its_place, method, version)
    assert is_taken(in_its_place)
    assert not is_taken({"content": [TEXT]})
    assert not is_taken({"_meta": [TAKEN]})


def test_an_error_keeps_its_code_and_the_beginning_of_its_words() -> None:
    error = {"code": -5, "message": "n" * 2 * LONGEST_ERROR, "data": [1] * 9}
    assert lighten(message(error=error)).message == message(
        error={"code": -5, "message": "n" * LONGEST_ERROR}
    )


def test_a_request_of_the_servers_own_keeps_its_method_and_word_of_something_is_dropped() -> None:
    asked = lighten(message(method="sampling/createMessage", params={"a": "x"}))
    assert asked.message == message(method="sampling/createMessage", params={})
    assert lighten({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}).message is None


# Streams


def cut(*pieces: bytes) -> list[tuple[bytes, bool]]:
    cutter = EventCutter()
    found = [part for piece in pieces for part in cutter.add(piece)]
    rest = cutter.rest()
    return [*found, (rest, False)] if rest else found


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n\r\n"])
def test_events_are_cut_where_they_end_however_they_arrive(end: bytes) -> None:
    stream = b"data: 1" + end + LARGE + end + b"data: 2" + end + b"data: 3" + end
    for size in (1, 5, 4_096, len(stream)):
        found = cut(*(stream[at : at + size] for at in range(0, len(stream), size)))
        assert b"".join(part for part, _ in found) == stream
        large = [part.strip() for part, is_large in found if is_large]
        assert large == [LARGE]


def test_what_never_ends_is_small_or_nothing() -> None:
    assert cut(b"data: 1\n\ndata: {") == [(b"data: 1\n\n", False), (b"data: {", False)]
    assert cut(b"data: 1\n\n" + LARGE) == [(b"data: 1\n\n", False)]


def test_an_event_keeps_its_name_and_number_and_loses_its_result() -> None:
    result = {"content": [TEXT] * 3}
    text = json.dumps(message(result=result), indent=1).encode().replace(b"\n", b"\ndata: ")
    light, taken = lighten_event(b"event: message\nid: 12\ndata: " + text + b"\n\n")
    assert taken == result
    head, _, data = light.partition(b"data: ")
    assert head == b"event: message\nid: 12\n"
    assert data.endswith(b"\n\n")
    assert is_taken(json.loads(data)["result"])


@pytest.mark.parametrize("data", [b"{'a'}", b"[1]", b'{"a": 1, "a": 2}'])
def test_an_event_that_is_no_message_stays_none(data: bytes) -> None:
    assert lighten_event(b"data: " + data + b"\n\n") == (b"data: 0\n\n", None)


# Results


@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_wrong_block_is_told_by_its_place(version: str) -> None:
    blocks: list[Any] = [TEXT] * (3 * AT_ONCE)
    check_result({"content": blocks, "resultType": "complete"}, "tools/call", version)
    blocks[2 * AT_ONCE + 5] = {"type": "text"}
    with pytest.raises(NotAsMcp, match=rf"at content\.{2 * AT_ONCE + 5}\..*: Field required"):
        check_result({"content": blocks, "resultType": "complete"}, "tools/call", "2025-06-18")


@pytest.mark.parametrize(
    "result",
    [
        {"content": "x"},
        {},
        {"content": [TEXT], "isError": "perhaps"},
        {"content": [], "isError": []},
        {"content": [TEXT | {"annotations": {"audience": ["nobody"]}}]},
    ],
)
def test_what_the_package_refuses_is_refused(result: dict[str, Any]) -> None:
    with pytest.raises(NotAsMcp):
        check_result(result, "tools/call", "2025-06-18")


def test_lists_in_a_block_are_checked_by_their_first_entries() -> None:
    audience = ["user"] * MOST_ENTRIES + ["nobody"]
    check_result({"content": [TEXT | {"annotations": {"audience": audience}}]}, "tools/call", "2025-06-18")
