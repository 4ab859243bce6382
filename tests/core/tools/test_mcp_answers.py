"""What MCP servers say, as our records."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.tools.mcp_answers import (
    UnusableResult,
    discovery_of,
    is_allowed_name,
    local_names,
    reply_of,
    response_of,
)

IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


RESPONSES: dict[str, tuple[dict[str, Any], Any]] = {
    "one text": ({"content": [text("pong")]}, "pong"),
    "an object as text": ({"content": [text(' {"a": 1}')]}, {"a": 1}),
    "an array as text": ({"content": [text("[1, 2]")]}, [1, 2]),
    "a number as text stays text": ({"content": [text("007")]}, "007"),
    "true as text stays text": ({"content": [text("true")]}, "true"),
    "broken JSON stays text": ({"content": [text('{"a": ')]}, '{"a": '),
    "a key twice stays text": ({"content": [text('{"a": 1, "a": 2}')]}, '{"a": 1, "a": 2}'),
    "several blocks": ({"content": [text("a"), text('{"b": 1}'), IMAGE]}, ["a", {"b": 1}, IMAGE]),
    "one image": ({"content": [IMAGE]}, IMAGE),
    "nothing": ({"content": []}, None),
    "structured content is stronger": ({"content": [text("a")], "structuredContent": {"b": 2}}, {"b": 2}),
    "an empty object is content": ({"content": [text("a")], "structuredContent": {}}, {}),
    "no structured content": ({"content": [text("a")], "structuredContent": None}, "a"),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_is_what_a_model_would_have_read(name: str) -> None:
    result, response = RESPONSES[name]
    assert response_of(result) == response


UNUSABLE: dict[str, tuple[Any, str]] = {
    "too large": ("x" * 1_048_577, "answered with 1,048,579 bytes; at most 1,048,576"),
    "half a character": ("\ud800", "answered with a value that is not JSON"),
    "a number past 64 bits": (2**70, "answered with a value that is not JSON"),
    "no number": (float("inf"), "answered with a number that is not JSON"),
    "deep": (json.loads("[" * 65 + "]" * 65), "nested deeper than 64 levels"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_is_no_reply_has_a_reason(name: str) -> None:
    value, reason = UNUSABLE[name]
    with pytest.raises(UnusableResult, match=reason):
        reply_of({"structuredContent": {"v": value} if name != "too large" else value})


@given(st.lists(st.text(min_size=1, max_size=200), unique=True, max_size=30))
def test_every_name_gets_one_of_ours_and_no_two_the_same(names: list[str]) -> None:
    ours = local_names(names)
    assert list(map(is_allowed_name, ours.values())) == [True] * len(names)
    assert len(set(ours.values())) == len(names)
    assert all(ours[name] == name for name in names if is_allowed_name(name))


def test_names_do_not_depend_on_where_others_stand() -> None:
    assert local_names(["a.b", "a_b"]) == local_names(["a_b", "a.b"]) == {"a.b": "a_b_2", "a_b": "a_b"}


def test_what_is_no_tool_is_left_out_with_a_note() -> None:
    found = discovery_of(["x", {"name": ""}, {"name": "a"}, {"name": "b", "inputSchema": {"x": 2**70}}])
    assert found.tools == ()
    assert found.notes == (
        'tool 1 ("") is left out: it has no name',
        'tool 2 ("") is left out: it has no name',
        'tool 3 ("a") is left out: its inputSchema is not an object',
        'tool 4 ("b") is left out: it has values that are not JSON',
    )


@pytest.mark.parametrize(
    ("annotations", "reads"),
    [({"readOnlyHint": True}, True), ({"readOnlyHint": 1}, False), ([], False), (None, False)],
)
def test_a_tool_that_its_server_marks_as_reading_is_known(annotations: Any, reads: bool) -> None:
    (tool,) = discovery_of([{"name": "a", "inputSchema": {}, "annotations": annotations}]).tools
    assert (tool.call == {"name": "a", "read_only": True}) is reads


def test_the_fingerprint_of_a_tool_changes_with_what_a_caller_relies_on() -> None:
    def fingerprint(**more: Any) -> str:
        (tool,) = discovery_of([{"name": "a", "inputSchema": {}, "annotations": {"x": 1}, **more}]).tools
        return tool.fingerprint

    assert fingerprint() == fingerprint(annotations={"x": 2}, icons=[])
    assert (
        len({fingerprint(), fingerprint(description="d"), fingerprint(outputSchema={"type": "object"})}) == 3
    )
