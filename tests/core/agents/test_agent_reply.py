"""Reading replies: what arrives as it is, what arrives with a warning, and what is no reply at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.agents.agent_reply import (
    AgentReply,
    BadReply,
    check_response_contract,
    parse_agent_reply,
    read_reply_fields,
)
from pipelines.core.agents.agent_response_schema import RESPONSE_SCHEMA
from pipelines.core.agents.reply_limits import MAX_FINAL_RESPONSE, MAX_REPLY_BYTES
from pipelines.core.agents.transcript import Message, TranscriptCall
from pipelines.core.limits.json_schema import CompiledSchema, schema_problems

FINAL = {"final_response": "The refund of $79.50 has been issued."}
CALL = {"id": "c1", "name": "get_order", "arguments": {"order_id": "4521"}}
NESTED = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_order", "arguments": '{"order_id": "4521"}'},
}
RICH = FINAL | {
    "messages": [
        {"role": "user", "content": "Refund order #4521..."},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"status":"shipped"}'},
        {"role": "assistant", "content": "The refund of $79.50 has been issued."},
    ],
    "metadata": {
        "model": "claude-sonnet-4-5",
        "total_input_tokens": 1842,
        "total_output_tokens": 217,
        "agent_runtime_ms": 4815,
    },
}


def parsed(body, content_type="application/json"):
    return parse_agent_reply(json.dumps(body).encode(), content_type)


def read(body) -> AgentReply:
    reply = parsed(body)
    assert isinstance(reply, AgentReply), reply
    return reply


def test_the_contracts_bare_minimum():
    assert read(FINAL) == AgentReply(final_response="The refund of $79.50 has been issued.")


def test_the_contracts_rich_example():
    reply = read(RICH)
    assert reply.soft_warnings == ()
    assert reply.metadata == RICH["metadata"]
    assert reply.messages is not None
    assert [message.role for message in reply.messages] == ["user", "assistant", "tool", "assistant"]
    assert reply.messages[1].tool_calls == (
        TranscriptCall(id="c1", name="get_order", arguments={"order_id": "4521"}),
    )


@pytest.mark.parametrize("call", [CALL, CALL | {"arguments": '{"order_id": "4521"}'}, NESTED])
def test_every_form_of_a_tool_call_becomes_the_flat_one(call):
    reply = read(FINAL | {"messages": [{"role": "assistant", "tool_calls": [call]}]})
    assert reply.messages_json() == [{"role": "assistant", "content": None, "tool_calls": [CALL]}]


@pytest.mark.parametrize(
    ("arguments", "read_as", "warned"),
    [
        (None, {}, False),
        ("", {}, False),
        ("{}", {}, False),
        ("[1]", "[1]", True),
        ('{"order_id": ', '{"order_id": ', True),
    ],
    ids=["null", "no text", "an empty object", "an array", "JSON cut off"],
)
def test_arguments_that_are_no_object_stay_as_the_model_wrote_them(arguments, read_as, warned):
    reply = read(
        FINAL | {"messages": [{"role": "assistant", "tool_calls": [CALL | {"arguments": arguments}]}]}
    )
    assert reply.messages is not None
    assert reply.messages[0].tool_calls[0].arguments == read_as
    assert bool(reply.soft_warnings) == warned


FINE_MESSAGES = {
    "none at all": [],
    "no content": [{"role": "assistant"}],
    "null in every place": [
        {"role": "user", "content": None, "tool_call_id": None, "tool_calls": None, "thinking": None}
    ],
    "text parts": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
    "a bare string among the parts": [{"role": "user", "content": ["Hello", {"type": "image", "url": "u"}]}],
    "parts of other kinds": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}],
    "thinking": [
        {"role": "assistant", "content": "x", "thinking": [{"type": "text", "text": "hm"}, {"a": 1}]}
    ],
    "keys of other dialects": [{"role": "assistant", "content": "x", "refusal": None, "name": "bot"}],
    "no tool calls on a user": [{"role": "user", "content": "x", "tool_calls": []}],
}


@pytest.mark.parametrize("messages", FINE_MESSAGES.values(), ids=FINE_MESSAGES)
def test_messages_that_are_fine(messages):
    reply = read(FINAL | {"messages": messages})
    assert reply.soft_warnings == ()
    assert reply.messages is not None
    assert len(reply.messages) == len(messages)


MALFORMED = {
    "not a list": ({"role": "user"}, "/messages must be a list of messages, not an object"),
    "text": ("Hello", "/messages must be a list"),
    "no object": (["Hello"], "/messages/0 must be an object, not a string"),
    "no role": ([{"content": "x"}], "/messages/0/role must be `system`"),
    "another role": ([{"role": "developer"}], "not `developer`"),
    "a role that is no text": ([{"role": ["user"]}], "/messages/0/role"),
    "content is a number": ([{"role": "user", "content": 3}], "/messages/0/content must be a list of parts"),
    "content is an object": ([{"role": "user", "content": {}}], "/messages/0/content"),
    "a part is a number": ([{"role": "user", "content": [3]}], "/messages/0/content/0"),
    "a text part without text": (
        [{"role": "user", "content": [{"type": "text"}]}],
        "the `text` of a text part must be a string",
    ),
    "a tool message without id": ([{"role": "tool", "content": "x"}], "/messages/0/tool_call_id is required"),
    "a tool message with an empty id": ([{"role": "tool", "tool_call_id": ""}], "is required"),
    "an id that is a number": ([{"role": "tool", "tool_call_id": 1}], "/messages/0/tool_call_id must be"),
    "tool calls of a user": (
        [{"role": "user", "tool_calls": [CALL]}],
        "are allowed on assistant messages only",
    ),
    "tool calls as an object": ([{"role": "assistant", "tool_calls": CALL}], "/messages/0/tool_calls"),
    "a call without id": ([{"role": "assistant", "tool_calls": [{"name": "x"}]}], "/tool_calls/0/id"),
    "a call without name": ([{"role": "assistant", "tool_calls": [{"id": "x"}]}], "/tool_calls/0/name"),
    "a nested call without name": (
        [{"role": "assistant", "tool_calls": [{"id": "x", "function": {}}]}],
        "/tool_calls/0/name",
    ),
    "a function that is no object": (
        [{"role": "assistant", "tool_calls": [{"id": "x", "function": "f"}]}],
        "/tool_calls/0/function",
    ),
    "arguments as a list": ([{"role": "assistant", "tool_calls": [CALL | {"arguments": []}]}], "/arguments"),
    "thinking as text": ([{"role": "assistant", "thinking": "hm"}], "/messages/0/thinking"),
    "too many": ([{"role": "user"}] * 10_001, "/messages has 10001 messages; at most 10000 are allowed"),
    "five bad ones": ([1, 2, 3, 4, 5], "and 2 more"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_are_dropped_and_said_to_be(name):
    messages, words = MALFORMED[name]
    reply = read(FINAL | {"messages": messages, "metadata": {"model": "m"}})
    assert reply.final_response == FINAL["final_response"]
    assert (reply.messages, reply.metadata) == (None, {"model": "m"})
    [warning] = reply.soft_warnings
    assert warning.startswith("messages was dropped: ")
    assert words in warning


def test_an_answer_to_no_call_is_kept_with_a_warning():
    reply = read(FINAL | {"messages": [{"role": "tool", "tool_call_id": "c9", "content": "x"}]})
    assert reply.messages is not None
    [warning] = reply.soft_warnings
    assert warning == "messages: /messages/0 answers the tool call `c9`, which no earlier message makes"


@pytest.mark.parametrize(
    ("metadata", "kept", "words"),
    [
        ([], None, "metadata was dropped: it must be an object, not an array"),
        ("gpt", None, "metadata was dropped: it must be an object, not a string"),
        ({"model": 5}, {"model": 5}, "metadata.model is not a string"),
        ({"answer": "79.5"}, {"answer": "79.5"}, "metadata.answer is not an object of values by name"),
        ({"total_input_tokens": "5"}, {"total_input_tokens": "5"}, "is not a whole number of 0 or more"),
        ({"total_input_tokens": 1.5}, {"total_input_tokens": 1.5}, "is not a whole number"),
        ({"total_input_tokens": -1}, {"total_input_tokens": -1}, "is not a whole number of 0 or more"),
        ({"total_output_tokens": True}, {"total_output_tokens": True}, "is not a whole number"),
        (
            {"agent_runtime_ms": -1},
            {"agent_runtime_ms": -1},
            "metadata.agent_runtime_ms is not a number of 0",
        ),
    ],
)
def test_metadata_that_does_not_fit(metadata, kept, words):
    reply = read(FINAL | {"metadata": metadata})
    assert reply.metadata == kept
    [warning] = reply.soft_warnings
    assert words in warning
    assert not SCHEMA.accepts(FINAL | {"metadata": metadata})


def test_metadata_may_hold_anything_else():
    metadata = {"model": None, "agent_runtime_ms": 1.5, "total_input_tokens": 2.0, "build": {"sha": "abc"}}
    assert read(FINAL | {"metadata": metadata}) == AgentReply(
        final_response=FINAL["final_response"], metadata=metadata
    )


def test_a_long_final_response_is_cut():
    reply = read({"final_response": "é" * (MAX_FINAL_RESPONSE + 1)})
    assert reply.final_response == "é" * 50_000
    assert reply.soft_warnings == ("final_response was cut at 50000 of 50001 characters",)
    assert read({"final_response": "x" * MAX_FINAL_RESPONSE}).soft_warnings == ()


NO_REPLIES = {
    "nothing": (b"", "the body is empty"),
    "white space": (b" \n", "the body is empty"),
    "plain text": (b"Refunded.", "not valid JSON"),
    "cut off": (b'{"final_response": "Ref', "not valid JSON"),
    "invalid UTF-8": (b'{"final_response": "\xff"}', "not UTF-8 text (byte 20)"),
    "UTF-16": ('{"final_response": "x"}'.encode("utf-16"), "not UTF-8"),
    "a string": (b'"Refunded."', "the reply is a string, not an object"),
    "null": (b"null", "the reply is null"),
    "an array": (b"[]", "the reply is an array"),
    "an empty object": (b"{}", "an empty object"),
    "another envelope": (b'{"output": "x", "usage": {}}', "only `output`, `usage`"),
    "an error": (b'{"error": "boom"}', "only `error`"),
    "the answer to a ping": (b'{"ok": true}', "answers a ping, not a dispatch"),
    "null in it": (b'{"final_response": null}', "`final_response` is null"),
    "an object in it": (b'{"final_response": {"text": "x"}}', "`final_response` is an object"),
    "empty": (b'{"final_response": ""}', "`final_response` is empty"),
    "blank": (b'{"final_response": " \\n"}', "`final_response` is empty"),
    "a page": (b"<!doctype HTML>\n<html><head><title> 502\n Bad </title>", "HTML page titled “502 Bad”"),
    "a page without title": (b"\n<html>", "the reply is an HTML page, not JSON"),
    "too large": (b" " * (MAX_REPLY_BYTES + 1), "over 8 MiB"),
    "deep": (b'{"final_response": "x", "metadata": {"a": ' + b"[" * 64 + b"]" * 64 + b"}}", "nested deeper"),
    "very deep": (b"[" * 1_000_000, "not valid JSON"),
    "deep, with NaN": (b"[NaN," * 70 + b"1" + b"]" * 70, "NaN is not JSON"),
}


@pytest.mark.parametrize("name", NO_REPLIES)
def test_what_is_no_reply_says_what_it_is_instead(name):
    raw, words = NO_REPLIES[name]
    reply = parse_agent_reply(raw, "application/json")
    assert isinstance(reply, BadReply)
    assert words in reply.detail
    assert reply.hint


def test_a_page_is_told_by_its_content_type_too():
    assert "HTML" in str(parse_agent_reply(b"<div>Hello</div>", "text/html; charset=utf-8"))


MENDED = {
    "a byte order mark": (b'\xef\xbb\xbf{"final_response": "x"}', "x", None, []),
    "NaN": (
        b'{"final_response": "x", "metadata": {"score": NaN, "best": -Infinity, "worst": 1e999}}',
        "x",
        {"score": None, "best": None, "worst": None},
        ["read as null"],
    ),
    "half a character": (b'{"final_response": "fine \\ud83d"}', "fine \ufffd", None, ["lone surrogates"]),
    "half a character in a key": (
        b'{"final_response": "x", "metadata": {"\\udc00": "\\ud83d\\ude00"}}',
        "x",
        {"\ufffd": "😀"},
        ["lone surrogates"],
    ),
    "a key twice": (b'{"final_response": "x", "final_response": "y"}', "y", None, ["twice"]),
    "NUL": (b'{"final_response": "a\\u0000b"}', "a\ufffdb", None, ["NUL"]),
    "a large number beside NaN": (
        b'{"final_response": "x", "metadata": {"a": NaN, "b": 123456789012345678901234567890}}',
        "x",
        {"a": None, "b": 1.2345678901234568e29},
        ["read as null"],
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_common_encoders_get_wrong_is_mended_and_said(name):
    raw, final, metadata, words = MENDED[name]
    reply = parse_agent_reply(raw)
    assert isinstance(reply, AgentReply)
    assert (reply.final_response, reply.metadata) == (final, metadata)
    assert len(reply.soft_warnings) == len(words)
    assert all(word in warning for word, warning in zip(words, reply.soft_warnings, strict=True))


def test_another_content_type_is_warned_of_but_read():
    reply = parsed(FINAL, "text/plain")
    assert isinstance(reply, AgentReply)
    assert reply.soft_warnings == ("the reply has content type text/plain; application/json is expected",)
    assert parsed(FINAL, "application/problem+json") == parsed(FINAL, None) == AgentReply(**FINAL)


@given(st.binary() | st.text().map(str.encode))
def test_no_bytes_break_the_reader(raw):
    assert isinstance(parse_agent_reply(raw), BadReply)


CONTRACT = {"response_mode": "rich", "strictness": "strict"}
SAID = {"role": "assistant", "content": "Done."}
CONTRACTS = {
    "no contract": (None, FINAL, None),
    "kept": (CONTRACT, RICH, None),
    "kept by one message": (CONTRACT, FINAL | {"messages": [SAID]}, None),
    "kept by text parts": (
        CONTRACT,
        FINAL | {"messages": [SAID | {"content": [{"type": "text", "text": "x"}]}]},
        None,
    ),
    "no messages": (CONTRACT, FINAL, "the reply has no `messages`"),
    "an empty transcript": (CONTRACT, FINAL | {"messages": []}, "no assistant message"),
    "only the user": (
        CONTRACT,
        FINAL | {"messages": [{"role": "user", "content": "x"}]},
        "no assistant message",
    ),
    "only calls": (CONTRACT, FINAL | {"messages": [{"role": "assistant", "tool_calls": [CALL]}]}, "has text"),
    "only blanks": (CONTRACT, FINAL | {"messages": [SAID | {"content": " "}]}, "has text"),
    "only pictures": (CONTRACT, FINAL | {"messages": [SAID | {"content": [{"type": "image"}]}]}, "has text"),
    "dropped": (CONTRACT, FINAL | {"messages": [SAID, {"role": "bot"}]}, "/messages/1/role must be"),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_response_contract(name):
    contract, body, words = CONTRACTS[name]
    violation = check_response_contract(read(body), contract)
    assert (violation is None) == (words is None)
    if violation is not None:
        assert words in violation.detail
        assert violation.hint


def test_the_schema_is_a_schema():
    assert schema_problems(RESPONSE_SCHEMA, "", "the schema") == []


SCHEMA = CompiledSchema(RESPONSE_SCHEMA)
FINAL_ONLY = {"final_response": st.just("Done.")}
JUNK = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", [], {}, [1], {"a": 1}])


def member(good):
    """Mostly what belongs there, sometimes anything."""
    return st.integers(0, 7).flatmap(lambda draw: JUNK if draw == 7 else good)


PARTS = st.lists(
    member(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["text", "image"])}, optional={"text": member(st.text())}
        )
    ),
    max_size=2,
)
CALLED = {"name": member(st.just("get_order"))}
OPTIONAL_CALLED = {"arguments": member(st.sampled_from([{"a": 1}, "{}"]))}
CALLS = st.lists(
    member(
        st.fixed_dictionaries({"id": member(st.just("c1"))} | CALLED, optional=OPTIONAL_CALLED)
        | st.fixed_dictionaries(
            {
                "id": member(st.just("c1")),
                "function": member(st.fixed_dictionaries(CALLED, optional=OPTIONAL_CALLED)),
            }
        )
    ),
    max_size=2,
)
MESSAGES = st.lists(
    member(
        st.fixed_dictionaries(
            {"role": member(st.sampled_from(["system", "user", "assistant", "tool"]))},
            optional={
                "content": member(st.text() | PARTS),
                "tool_call_id": member(st.just("c1")),
                "tool_calls": member(CALLS),
                "thinking": member(PARTS),
            },
        )
    ),
    max_size=3,
)
NUMBERS = member(st.integers(-1, 5) | st.floats(-1, 5))
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "model": member(st.text()),
        "total_input_tokens": NUMBERS,
        "agent_runtime_ms": NUMBERS,
        "more": JUNK,
    },
)
# Something wrong in one part at most, or what is wrong elsewhere would hide it.
BODIES = (
    st.fixed_dictionaries(FINAL_ONLY | {"messages": MESSAGES})
    | st.fixed_dictionaries(FINAL_ONLY | {"metadata": member(METADATA)})
    | st.fixed_dictionaries({}, optional={"final_response": member(st.just("\n")), "messages": JUNK})
)


@pytest.mark.parametrize("messages", FINE_MESSAGES.values(), ids=FINE_MESSAGES)
def test_the_schema_takes_what_is_fine(messages):
    assert SCHEMA.problems(FINAL | {"messages": messages}) == []


@pytest.mark.parametrize("name", MALFORMED)
def test_the_schema_refuses_what_is_malformed(name):
    assert not SCHEMA.accepts(FINAL | {"messages": MALFORMED[name][0]})


@given(BODIES)
def test_the_schema_tells_what_the_reader_takes_without_a_word(body):
    reply = read_reply_fields(body)
    # What no schema can say.
    beyond = ("messages: ",)
    taken = isinstance(reply, AgentReply) and all(each.startswith(beyond) for each in reply.soft_warnings)
    assert taken == SCHEMA.accepts(body), reply


@given(BODIES)
def test_what_was_read_once_is_read_again_alike(body):
    reply = read_reply_fields(body)
    if isinstance(reply, AgentReply):
        again = read_reply_fields(
            {
                "final_response": reply.final_response,
                "messages": reply.messages_json(),
                "metadata": reply.metadata,
            }
        )
        assert isinstance(again, AgentReply)
        assert (again.messages, again.metadata) == (reply.messages, reply.metadata)


def test_a_message_says_its_text():
    parts = ({"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"})
    assert Message(role="assistant", content=parts).text() == "a\nb"
    assert Message(role="assistant").text() == ""
