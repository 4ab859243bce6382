"""Recordings in four formats, read into one record; and what cannot be read, all of it at once."""

import json
from typing import Any

import pytest
from recorded import (
    ANSWER,
    ASKED,
    ATIF,
    MESSAGES,
    SPANS,
    STATE,
    answered,
    call,
    called,
    data,
    lines,
    otlp,
    reply,
    said,
    span,
)

from pipelines.core.recordings.read import read_recording, read_runs
from pipelines.core.recordings.recorded_run import RecordedRun, recorded_from_json
from pipelines.core.text.json_text import dumps, loads_own
from pipelines.core.text.problems import Refused


def one(value: Any) -> RecordedRun:
    (run,) = read_recording(data(value)).runs
    return run


def calls(run: RecordedRun) -> list[tuple[Any, ...]]:
    rows = [row.as_json() for row in run.rows if row.kind == "tool_call"]
    return [(row["tool_name"], row["arguments"], row["response"], row["http_status"]) for row in rows]


def problems(raw: bytes) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as refused:
        read_recording(raw)
    return [(problem.path, problem.message) for problem in refused.value.problems]


REFUND = ("refund_order", {"order_id": "4521"}, {"status": "refunded"}, 200)


@pytest.mark.parametrize(
    ("value", "format"),
    [
        (MESSAGES, "messages"),
        ({"messages": MESSAGES}, "messages"),
        (ATIF, "atif"),
        (SPANS, "otlp"),
    ],
    ids=["a list of messages", "an object with messages", "ATIF", "OTLP"],
)
def test_every_format_tells_the_same_run(value: Any, format: str) -> None:
    run = one(value)
    assert run.format == format
    assert run.user_turns == (ASKED,)
    assert run.responses == (ANSWER,)
    assert calls(run)[-1] == REFUND
    assert [json.loads(row.payload or "") for row in run.rows if row.kind == "system_prompt"] == [
        {"text": "You are the refund desk."}
    ]
    assert not run.has_state
    assert any("inferred" in note for note in run.notes)


@pytest.mark.parametrize("value", [MESSAGES, ATIF, SPANS], ids=["messages", "atif", "otlp"])
def test_a_run_survives_the_way_to_another_process(value: Any) -> None:
    run = one(value)
    assert recorded_from_json(loads_own(dumps(run.as_json()))) == run


def test_json_lines_are_a_run_each() -> None:
    recording = read_recording(lines({"messages": MESSAGES, "task": 1}, {"messages": MESSAGES, "task": 2}))
    assert [run.place for run in recording.runs] == ["line 1", "line 2"]
    assert recording.summary() == "2 runs of OpenAI-style messages"


def test_an_array_of_runs_may_mix_formats() -> None:
    recording = read_recording(data([{"messages": MESSAGES}, ATIF, SPANS]))
    assert [run.format for run in recording.runs] == ["messages", "atif", "otlp"]


def test_flat_tool_calls_are_read_as_nested_ones_are() -> None:
    flat = {"id": "c2", "name": "refund_order", "arguments": {"order_id": "4521"}}
    told = [MESSAGES[1], {"role": "assistant", "tool_calls": [flat]}, MESSAGES[5], MESSAGES[6]]
    assert calls(one(told)) == [REFUND]


ERRORS: dict[str, tuple[dict[str, Any], int]] = {
    "a field `error`": (reply("c", {"error": "no such order"}), 400),
    "text that begins with Error": (reply("c", "Error: no such order"), 400),
    "a status beside it": (reply("c", "no such order", status="error"), 400),
    "is_error beside it": (reply("c", "no such order", is_error=True), 400),
    "a field `error` that is null": (reply("c", {"error": None, "id": 1}), 200),
    "text about errors": (reply("c", "No error was found."), 200),
    "an object": (reply("c", {"status": "paid"}), 200),
}


@pytest.mark.parametrize(("told", "status"), ERRORS.values(), ids=ERRORS)
def test_a_status_is_inferred_from_the_reply(told: dict[str, Any], status: int) -> None:
    run = one([MESSAGES[1], {"role": "assistant", "tool_calls": [call("c", "refund_order")]}, told])
    assert calls(run)[0][3] == status


def test_replies_to_calls_made_together_find_their_calls_in_any_order() -> None:
    made = {"role": "assistant", "tool_calls": [call("a", "first"), call("b", "second")]}
    run = one([MESSAGES[1], made, reply("b", "2"), reply("a", "1"), MESSAGES[6]])
    assert [(name, answer) for name, _, answer, _ in calls(run)] == [("first", "1"), ("second", "2")]


def test_a_call_without_a_reply_is_not_known_to_have_failed_nor_worked() -> None:
    run = one([MESSAGES[1], {"role": "assistant", "tool_calls": [call("c", "refund_order")]}, MESSAGES[6]])
    (row,) = run.rows
    assert (row.error_code, row.http_status, row.response) == ("outcome_unknown", None, None)
    assert any("1 tool call without a recorded reply" in note for note in run.notes)


def line(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


TURNS: dict[str, tuple[list[dict[str, Any]], tuple[str, ...], tuple[str, ...]]] = {
    "two turns": (
        [line("user", "a"), line("assistant", "b"), line("user", "c"), line("assistant", "d")],
        ("a", "c"),
        ("b", "d"),
    ),
    "a greeting before": (
        [line("assistant", "Hi!"), line("user", "a"), line("assistant", "b")],
        ("a",),
        ("b",),
    ),
    "words before the last ones": (
        [line("user", "a"), line("assistant", "wait"), line("assistant", "b")],
        ("a",),
        ("b",),
    ),
    "a farewell that nobody answers": (
        [line("user", "a"), line("assistant", "b"), line("user", "bye")],
        ("a", "bye"),
        ("b",),
    ),
    "no answer": ([line("user", "a")], ("a",), ("",)),
    "two user messages in a row": (
        [line("user", "a"), line("user", "b"), line("assistant", "c")],
        ("a\nb",),
        ("c",),
    ),
}


@pytest.mark.parametrize(("told", "user", "responses"), TURNS.values(), ids=TURNS)
def test_turns_are_what_stands_between_user_messages(
    told: list[dict[str, Any]], user: tuple[str, ...], responses: tuple[str, ...]
) -> None:
    run = one(told)
    assert (run.user_turns, run.responses) == (user, responses)


def test_a_developer_message_is_the_system_s() -> None:
    run = one([{"role": "developer", "content": "Be kind."}, MESSAGES[1], MESSAGES[6]])
    assert [row.kind for row in run.rows] == ["system_prompt"]


# -- ATIF


def test_our_own_trajectory_says_how_each_call_was_answered() -> None:
    own = json.loads(json.dumps(ATIF))
    own["steps"][3]["extra"] = {"source": "injected", "http_status": 503, "latency_ms": 12}
    row = one(own).rows[-1]
    assert (row.source, row.http_status, row.latency_ms) == ("injected", 503, 12)


def test_events_about_the_agent_are_not_its_words() -> None:
    own = json.loads(json.dumps(ATIF))
    own["steps"].append(
        {"step_id": 6, "source": "agent", "message": "noted", "extra": {"event_type": "custom"}}
    )
    assert one(own).responses == (ANSWER,)


# -- OTLP


def test_traces_of_one_conversation_are_one_run() -> None:
    def trace(id: str, number: int, *told: dict[str, Any]) -> dict[str, Any]:
        return span(
            number,
            "chat",
            trace=id * 32,
            gen_ai__operation__name="chat",
            gen_ai__conversation__id="talk",
            gen_ai__input__messages=told[:-1],
            gen_ai__output__messages=told[-1:],
        )

    first = (said("user", "a"), said("assistant", "b"))
    run = one(otlp(trace("1", 1, *first), trace("2", 2, *first, said("user", "c"), said("assistant", "d"))))
    assert (run.name, run.user_turns, run.responses) == ("talk", ("a", "c"), ("b", "d"))


def test_each_trace_is_a_run_of_its_own_where_no_conversation_is_named() -> None:
    def trace(id: str) -> dict[str, Any]:
        return span(
            1,
            "invoke_agent",
            trace=id * 32,
            gen_ai__operation__name="invoke_agent",
            gen_ai__input__messages=[said("user", id)],
            gen_ai__output__messages=[said("assistant", "ok")],
            pipelines__task=f"task-{id}",
        )

    runs = read_recording(lines(otlp(trace("1")), otlp(trace("2")))).runs
    assert [(run.user_turns, run.task.value if run.task else None) for run in runs] == [
        (("1",), "task-1"),
        (("2",), "task-2"),
    ]


def test_messages_tell_the_calls_where_no_tool_spans_do() -> None:
    chat = span(
        1,
        "chat",
        gen_ai__operation__name="chat",
        gen_ai__input__messages=[
            said("user", ASKED),
            called("c2", "refund_order", order_id="4521"),
            answered("c2", {"status": "refunded"}),
        ],
        gen_ai__output__messages=[said("assistant", ANSWER)],
    )
    assert calls(one(otlp(chat))) == [REFUND]


def test_a_tool_span_with_an_error_is_a_failed_call() -> None:
    tool = span(
        2,
        "execute_tool refund_order",
        status=2,
        gen_ai__tool__name="refund_order",
        error__type="TimeoutError",
    )
    words = span(
        1,
        "invoke_agent",
        gen_ai__input__messages=[said("user", ASKED)],
        gen_ai__output__messages=[said("assistant", "It failed.")],
    )
    assert calls(one(otlp(words, tool))) == [("refund_order", {}, {"error": "TimeoutError"}, 400)]


# -- what cannot be read


def test_a_shape_that_nobody_knows_names_the_four() -> None:
    with pytest.raises(Refused) as refused:
        read_recording(lines({"conversation": []}, {"log": 1}))
    (problem,) = refused.value.problems
    assert "not in one of the four supported formats" in problem.message
    for name in ("messages", "ATIF", "OTLP", "odyssey_seed"):
        assert name in (problem.hint or "")


BAD: dict[str, tuple[bytes, list[tuple[str, str]]]] = {
    "truncated JSON": (b'[{"role": "user"', [("", "is not valid JSON")]),
    "a truncated line": (lines(MESSAGES) + b'\n{"messages": [', [("line 2", "is not valid JSON")]),
    "no runs": (b"[]", [("", "has no runs")]),
    "a reply without its call": (
        data([MESSAGES[1], reply("c9", "?"), MESSAGES[6]]),
        [("/1/tool_call_id", "answers the tool call `c9`, which no earlier message makes")],
    ),
    "a second reply to one call": (
        data([*MESSAGES, reply("c2", "again")]),
        [("/7/tool_call_id", "answers the tool call `c2`, which already has a reply")],
    ),
    "a state that is no object": (
        data({"messages": MESSAGES, "state_before": [], "state_after": "refunded"}),
        [("/state_before", "must be a JSON object"), ("/state_after", "must be a JSON object")],
    ),
    "two wrong runs": (
        lines({"messages": [{"role": "robot"}]}, {"messages": [MESSAGES[6]]}),
        [("line 1, /messages/0/role", "must be"), ("line 2, /messages", "has no user message")],
    ),
    "an observation of no call": (
        data({**ATIF, "steps": [ATIF["steps"][1], {**ATIF["steps"][3], "tool_calls": []}]}),
        [("/steps/1/observation/results/0/source_call_id", "which its step does not make")],
    ),
    "spans without words": (
        data(otlp(span(1, "execute_tool x", gen_ai__tool__name="x"))),
        [("", "has no messages")],
    ),
    "an export of a run that goes on": (
        data({"trace": [], "odyssey_seed": {"user_instruction": ASKED}, "status": "running"}),
        [("/status", "must be `completed` or `failed`")],
    ),
    "an export whose updates do not fit": (
        data(
            {
                "trace": [
                    {
                        "sequence": 1,
                        "kind": "tool_call",
                        "updates": [{"op": "remove", "entity_type": "order", "id": "9"}],
                    }
                ],
                "odyssey_seed": {"user_instruction": ASKED, "initial_state": STATE},
                "status": "completed",
            }
        ),
        [("/trace", "do not fit the initial state")],
    ),
}


@pytest.mark.parametrize(("raw", "expected"), BAD.values(), ids=BAD)
def test_all_problems_are_told_at_once_each_with_its_place(
    raw: bytes, expected: list[tuple[str, str]]
) -> None:
    found = problems(raw)
    assert [path for path, _ in found] == [path for path, _ in expected]
    for (_, message), (_, part) in zip(found, expected, strict=True):
        assert part in message


def test_runs_of_a_request_are_told_by_their_index() -> None:
    with pytest.raises(Refused) as refused:
        read_runs([{"messages": MESSAGES}, {"log": 1}, {"messages": "?"}])
    assert [problem.path for problem in refused.value.problems] == ["/runs/1", "/runs/2"]


def test_a_format_that_is_named_is_not_guessed() -> None:
    with pytest.raises(Refused, match="1 problem"):
        read_runs([{"messages": MESSAGES}], format="atif")
