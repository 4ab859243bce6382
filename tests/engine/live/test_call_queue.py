"""Calls that have to ask first: in order, on record before they ask, and never asked twice."""

import asyncio
import json
import random
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from asking import Dial, Unusable, settled, told
from hypothesis import given, settings
from hypothesis import strategies as st
from test_live_runs import known, read_anew

from pipelines.core.simulation.simulator import Wait
from pipelines.engine.calls import answer_tool_call
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.wire.errors import AskFailed, InternalError
from support.desk import STATE, House, Row, answered, open_house, outage, refused
from support.queued_calls import LONG_MS, MUGS, ORDER, caller_of, late, live_caller, note, stored, storm

pytestmark = pytest.mark.anyio

# -- the order


async def test_calls_behind_a_late_one_are_answered_after_it(house: House) -> None:
    caller = await caller_of(house, failure_rules=[late("add_note", n=1)])
    calls = [caller.call("add_note", note(text)) for text in ("first", "second", "third")]
    calls.append(caller.call("get_order", {"order_id": "7001"}))
    await caller.lines.until_put(1)
    await settled(house)
    assert [call.done() for call in calls] == [False] * 4
    caller.lines.answer(0)
    replies = [await told(call) for call in calls]
    assert [reply["response"].get("notes") for reply in replies] == [
        ["first"],
        ["first", "second"],
        ["first", "second", "third"],
        ["first", "second", "third"],
    ]
    assert [reply["matched_rule_index"] for reply in replies] == [0, None, None, None]
    assert caller.live.queue is None
    await settled(house)
    before = known(caller.live)
    assert known(await read_anew(house, caller.run)) == before


async def test_a_question_that_does_not_read_the_world_is_put_while_earlier_ones_are_out(
    house: House,
) -> None:
    caller = await live_caller(house, live=("search_inventory", "get_order"), reading=("get_order",))
    first = caller.call("search_inventory", {"query": "first"})
    second = caller.call("search_inventory", {"query": "second"})
    third = caller.call("get_order", ORDER)
    await caller.lines.until_put(2)
    await settled(house)
    assert [question.arguments["query"] for question in caller.lines.put] == ["first", "second"]
    caller.lines.answer(1, "second")
    await settled(house)
    assert not second.done(), "it waits for the call before it"
    assert len(caller.lines.put) == 2, "a question that reads the world waits its turn"
    caller.lines.answer(0, "first")
    await caller.lines.until_put(3)
    assert caller.lines.put[2].arguments["calls seen"] == 2
    caller.lines.answer(2, "third")
    assert [(await told(call))["response"]["said"] for call in (first, second, third)] == [
        "first",
        "second",
        "third",
    ]
    rows = await caller.run.trace()
    assert [row["updates"][0]["id"] for row in rows] == ["c1", "c2", "c3"]


#: One thing that may happen in a run: a call by its tool and arguments, or an event.
STEPS: dict[str, tuple[str, Any]] = {
    "late read": ("get_order", ORDER),
    "late note": ("add_note", note("called")),
    "refund": ("refund_order", ORDER),
    "flag": ("raise_flag", {"flag": "storm"}),
    "search": ("search_inventory", MUGS),
    "cancel": ("cancel_order", {"order_id": "7001"}),
    "no such tool": ("get_orders", ORDER),
    "bad arguments": ("get_order", {"order_id": 4521}),
    "bad JSON": ("get_order", b"{"),
    "event": ("", {}),
}

RULES = [
    late("get_order", n=2, duration=3),
    late("add_note", n=1, duration=2),
    late("refund_order", n=2, duration=2, code=503, message="Late and down"),
    {"trigger": "random", "tool": "*", "probability": 0.2, "latency_ms": LONG_MS},
    outage("search_inventory", n=2),
    {
        "trigger": "after_state_change",
        "tool": "cancel_order",
        "condition": "storm",
        "duration": 2,
        "latency_ms": LONG_MS,
        "error": {"code": 200, "response": {"stale": True}},
    },
    {"trigger": "random", "tool": "*", "probability": 0.2, "error": {"code": 500, "message": "Luck"}},
    late("*", n=9, duration=4),
]

TOLD_APART = ("sequence", "kind", "tool_name", "arguments", "response", "source", "http_status")

TOLD_APART += ("error_code", "matched_rule_index", "updates", "validation", "payload")


def compared(rows: Sequence[Row]) -> list[Row]:
    return [{name: row[name] for name in TOLD_APART} for row in sorted(rows, key=lambda r: r["sequence"])]


async def drive(house: House, names: Sequence[str], order: random.Random | None) -> tuple[Any, ...]:
    """All steps at once: their replies and rows. Waits are answered in an order of chance, or at once."""
    caller = await caller_of(house, failure_rules=RULES)
    events = []
    if order is None:
        caller.answerer._question_runner = QuestionRunner({Wait: _no_wait})
    answers = []
    for name in names:
        tool, arguments = STEPS[name]
        if tool:
            answers.append(caller.call(tool, arguments))
        else:
            events.append(asyncio.ensure_future(caller.run.event("thinking", {"n": len(answers)})))
            await asyncio.sleep(0)
    is_over = asyncio.gather(*answers, return_exceptions=True)
    while order is not None and not is_over.done():
        await settled(house)
        waiting = [i for i, future in enumerate(caller.lines._answers) if not future.done()]
        if waiting:
            caller.lines.answer(order.choice(waiting))
        await asyncio.sleep(0)
    replies = [await told(answer) for answer in answers]
    assert [reply.status_code for reply in await asyncio.gather(*events)] == [200] * len(events)
    await settled(house)
    before = known(caller.live)
    assert caller.live.queue is None
    assert caller.live.unstored == 0
    assert known(await read_anew(house, caller.run)) == before
    rows = await caller.run.trace(limit=500)
    for reply in replies:
        reply.pop("latency_ms")
    calls = [row for row in rows if row["kind"] == "tool_call"]
    assert [call["response"] for call in calls] == [reply["response"] for reply in replies]
    return replies, compared(rows)


async def _no_wait(question: Wait) -> None:
    return None


async def test_fifty_calls_that_ask_for_different_lengths_of_time_are_answered_as_without(
    house: House,
) -> None:
    names = random.Random(5).choices(sorted(STEPS), k=60)
    replies, rows = await drive(house, names, random.Random(1))
    assert [row["sequence"] for row in rows] == list(range(1, 61))
    assert len(replies) >= 50
    calls = [name for name in names if STEPS[name][0]]
    assert [row["tool_name"] for row in rows if row["kind"] == "tool_call"] == [STEPS[n][0] for n in calls]
    assert {row["matched_rule_index"] for row in rows} >= {None, 0, 1, 2, 3, 4, 6}
    assert await drive(house, names, None) == (replies, rows)


@settings(max_examples=15, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=14), seed=st.integers(0, 2**32 - 1)
)
def test_however_long_calls_take_the_trace_is_the_same(names: list[str], seed: int) -> None:
    async def both() -> tuple[Any, Any]:
        with tempfile.TemporaryDirectory() as directory:
            async with open_house(Path(directory)) as house:
                return (
                    await drive(house, [n for n in names if n != "event"], random.Random(seed)),
                    await drive(house, [n for n in names if n != "event"], None),
                )

    with_latency, without = asyncio.run(both())
    assert with_latency == without


@pytest.mark.parametrize("next_one", ["a call", "a refused call", "an event"])
async def test_what_arrives_as_an_outcome_is_being_stored_stands_behind_it(
    house: House, next_one: str
) -> None:
    """The row behind may be stored in the same commit, and is nobody else's."""
    caller = await caller_of(house, failure_rules=[late("add_note", n=1)])
    first = caller.call("add_note", note("first"), key="k")
    await caller.lines.until_put(1)
    assert caller.live.queue is not None
    asking = caller.live.queue._calls[0].task
    assert asking is not None
    caller.lines.answer(0)
    await asking
    assert (caller.live.queue, first.done()) == (None, False)
    if next_one == "an event":
        answered(await caller.run.event("thinking", {}), 200)
    else:
        await told(caller.call("add_note" if next_one == "a call" else "add_notes", note("second")))
    assert (await told(first))["response"]["notes"] == ["first"]
    await settled(house)
    before = known(caller.live)
    assert before["sequence"] == 2
    assert known(await read_anew(house, caller.run)) == before


async def test_a_flag_set_by_a_late_call_opens_the_window_for_the_calls_behind_it(house: House) -> None:
    caller = await caller_of(house, failure_rules=[storm("get_order", 2), late("raise_flag", n=1)])
    calls = [
        caller.call("get_order", ORDER),
        caller.call("raise_flag", {"flag": "storm"}),
        caller.call("get_order", ORDER),
        caller.call("search_inventory", MUGS),
        caller.call("get_order", ORDER),
        caller.call("get_order", ORDER),
    ]
    await caller.lines.until_put(1)
    caller.lines.answer(0)
    replies = [await told(call) for call in calls]
    assert [reply["matched_rule_index"] for reply in replies] == [None, 1, 0, None, 0, None]
    assert [reply["source"] for reply in replies] == [
        "odyssey", "odyssey", "injected", "odyssey", "injected", "odyssey",
    ]  # fmt: skip
    await settled(house)
    before = known(caller.live)
    assert known(await read_anew(house, caller.run)) == before


async def test_a_late_call_inside_the_window_is_asked_when_its_turn_comes(house: House) -> None:
    rules = [storm("get_order", 1, latency_ms=LONG_MS), late("raise_flag", n=1)]
    caller = await caller_of(house, failure_rules=rules)
    flag = caller.call("raise_flag", {"flag": "storm"})
    behind = [caller.call("get_order", ORDER), caller.call("get_order", ORDER)]
    await caller.lines.until_put(1)
    await settled(house)
    assert len(caller.lines.put) == 1
    caller.lines.answer(0)
    await caller.lines.until_put(2)
    assert flag.done() or (await told(flag))["response"] == {"flag": "storm"}
    caller.lines.answer(1)
    assert [(await told(call))["matched_rule_index"] for call in behind] == [0, None]


async def test_rules_for_any_tool_count_in_the_order_of_arrival(house: House) -> None:
    rules = [late("get_order", n=1), outage("*", n=3), late("*", n=5, code=500, message="Fifth")]
    caller = await caller_of(house, failure_rules=rules)
    calls = [caller.call("get_order", ORDER) if n % 2 else caller.call("search_inventory", MUGS)
             for n in range(1, 7)]  # fmt: skip
    await caller.lines.until_put(2)
    caller.lines.answer(1)
    caller.lines.answer(0)
    replies = [await told(call) for call in calls]
    assert [reply["matched_rule_index"] for reply in replies] == [0, None, 1, None, 2, None]


# -- a run that asks nothing


async def test_a_run_that_asks_nothing_never_has_a_queue(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a queue was made")

    monkeypatch.setattr(answer_tool_call, "CallQueue", made)
    rules = [outage("get_order", n=2), storm("cancel_order"), late("refund_order", n=9)]
    run = await house.owner.run(failure_rules=rules)
    for _ in range(2):
        for tool, arguments in (("get_order", ORDER), ("add_note", note("x")), ("raise_flag", {"flag": "s"})):
            await run.call(tool, arguments, idempotency_key=tool)
    assert [row["sequence"] for row in await run.trace()] == [1, 2, 3]


async def test_other_runs_are_answered_while_one_waits(house: House) -> None:
    caller = await live_caller(house)
    waiting = caller.call("search_inventory", MUGS)
    await caller.lines.until_put(1)
    other = await house.owner.run()
    for number in range(5):
        reply = answered(await other.call("add_note", note(str(number))), 200)
        assert len(reply["response"]["notes"]) == number + 1
    assert not waiting.done()
    caller.lines.answer(0, "twelve")
    assert (await told(waiting))["response"] == {"said": "twelve"}


# -- a question to somebody outside


async def test_a_call_is_on_record_before_anything_is_asked(house: House) -> None:
    caller = await live_caller(house)
    seen: list[list[Row]] = []

    async def looks(question: Dial) -> object:
        seen.append(stored(house, caller.run.id))
        return "twelve"

    caller.answerer._question_runner = QuestionRunner({Dial: looks})
    answer = caller.call("search_inventory", MUGS, key="k")
    reply = await told(answer)
    ((row,),) = seen
    assert (row["error_code"], row["source"], row["idempotency_key"]) == ("outcome_unknown", "error", "k")
    assert (row["sequence"], row["call_number"], row["updates"]) == (1, 1, None)
    assert (reply["source"], reply["response"]) == ("passthrough", {"said": "twelve"})
    (row,) = stored(house, caller.run.id)
    assert (row["error_code"], row["source"], row["http_status"]) == (None, "passthrough", 200)
    assert len(json.loads(row["updates"])) == 1
    assert (await caller.run.ledger())["state"]["call"] == {"c1": {"said": "twelve"}}


async def test_the_first_of_several_calls_waits_for_its_record_like_the_others(house: House) -> None:
    """A question whose row was refused by the database is never put."""
    caller = await live_caller(house)
    with sqlite3.connect(house.settings.database_path, isolation_level=None) as aside:
        aside.execute(
            "CREATE TRIGGER full BEFORE INSERT ON trace_rows BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        assert await told(caller.call("search_inventory", MUGS, key="k")) == "storage_unavailable"
        aside.execute("DROP TRIGGER full")
    aside.close()
    assert caller.lines.put == []
    await caller.load(live=("search_inventory",))
    answer = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    caller.lines.answer(0, "now")
    assert (await told(answer))["response"] == {"said": "now"}


async def test_what_could_not_be_asked_is_told_and_not_asked_again(house: House) -> None:
    caller = await live_caller(house)
    answer = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    caller.lines.answer(0, AskFailed("The line is dead."))
    first = await answer
    envelope = await told(answer)
    assert (envelope["source"], envelope["error"]["code"]) == ("transport_error", "transport_error")
    assert envelope["error"]["message"] == "The line is dead."
    assert first.http_status is None
    over_http = await caller.run.call("search_inventory", MUGS, idempotency_key="k")
    assert (over_http.status_code, over_http.json()) == (502, envelope)
    await settled(house)
    await read_anew(house, caller.run)
    over_http = await caller.run.call("search_inventory", MUGS, idempotency_key="k")
    assert (over_http.status_code, over_http.json()) == (502, envelope)
    assert len(caller.lines.put) == 1
    (row,) = await caller.run.trace()
    assert (row["error_code"], row["source"]) == ("transport_error", "transport_error")


async def test_what_failed_with_details_is_told_alike_after_a_restart(house: House) -> None:
    caller = await live_caller(house)
    answer = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    caller.lines.answer(0, AskFailed("The line is dead.", details={"status": 599}))
    envelope = await told(answer)
    assert envelope["error"]["details"] == {"status": 599}
    await settled(house)
    await read_anew(house, caller.run)
    again = await told(caller.call("search_inventory", MUGS, key="k"))
    assert again["error"] == envelope["error"]
    assert again == envelope


async def test_a_question_nobody_answers_ends_in_its_time(house: House) -> None:
    caller = await live_caller(house, longest_s=0.01)
    behind = caller.call("search_inventory", MUGS), caller.call("get_order", ORDER)
    replies = [await told(call) for call in behind]
    assert replies[0]["error"]["code"] == "transport_error"
    assert "0.01 s" in replies[0]["error"]["message"]
    assert replies[1]["response"]["status"] == "shipped"
    assert len(caller.lines.cancelled) == 1


BROKEN = {
    "an error of its own": ValueError("not meant for agents"),
    "a cancellation that nobody asked for": asyncio.CancelledError(),
}


@pytest.mark.parametrize("error", BROKEN.values(), ids=BROKEN)
async def test_a_carrier_that_breaks_is_our_fault_and_answered_all_the_same(
    house: House, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await live_caller(house)

    async def breaks(question: Dial) -> object:
        raise error

    caller.answerer._question_runner = QuestionRunner({Dial: breaks})
    calls = [caller.call("search_inventory", MUGS, key="k"), caller.call("get_order", ORDER)]
    replies = [await told(call) for call in calls]
    assert (replies[0]["source"], replies[0]["error"]["code"]) == ("transport_error", "transport_error")
    assert "not meant" not in json.dumps(replies)
    assert replies[1]["response"]["status"] == "shipped"
    assert "Dial" in caplog.text


async def test_a_question_that_nobody_can_carry_out_is_answered(house: House) -> None:
    caller = await live_caller(house)
    caller.answerer._question_runner = QuestionRunner()
    assert (await told(caller.call("search_inventory", MUGS)))["error"]["code"] == "transport_error"


async def test_a_second_answer_to_a_question_changes_nothing(house: House) -> None:
    caller = await live_caller(house)
    heard: list[Any] = []

    class Twice(QuestionRunner):
        def ask(self, question: Any, replied: Any) -> Any:
            heard.append(replied)
            return super().ask(question, replied)

    caller.answerer._question_runner = Twice({Dial: caller.lines.carry})
    calls = [caller.call("search_inventory", {"query": text}) for text in ("a", "b")]
    await caller.lines.until_put(2)
    caller.lines.answer(1, "b")
    await settled(house)
    heard[1]("b again")
    heard[0]("a")
    heard[0]("a again")
    replies = [await told(call) for call in calls]
    assert [reply["response"]["said"] for reply in replies] == ["a", "b"]
    await settled(house)
    before = known(caller.live)
    for replied in heard:
        replied("much later")
    await settled(house)
    assert known(caller.live) == before
    assert known(await read_anew(house, caller.run)) == before


async def test_a_bad_answer_is_asked_for_once_more_and_no_third_time(house: House) -> None:
    caller = await live_caller(house)
    once = caller.call("search_inventory", MUGS, key="once")
    behind = caller.call("get_order", ORDER)
    await caller.lines.until_put(1)
    caller.lines.answer(0, Unusable())
    await caller.lines.until_put(2)
    assert [question.attempt for question in caller.lines.put] == [1, 2]
    assert not behind.done()
    caller.lines.answer(1, "better")
    assert (await told(once))["response"] == {"said": "better"}
    assert (await told(behind))["response"]["status"] == "shipped"
    never = caller.call("search_inventory", MUGS, key="never")
    for index in (2, 3):
        await caller.lines.until_put(index + 1)
        caller.lines.answer(index, Unusable())
    reply = await told(never)
    assert (reply["source"], reply["error"]["code"]) == ("error", "simulation_failed")
    assert len(caller.lines.put) == 4
    again = caller.call("search_inventory", MUGS, key="never")  # nothing came of it: it may be tried again
    await caller.lines.until_put(5)
    caller.lines.answer(4, "at last")
    assert (await told(again))["response"] == {"said": "at last"}
    await settled(house)
    before = known(caller.live)
    assert known(await read_anew(house, caller.run)) == before


async def test_a_simulator_that_breaks_costs_the_calls_that_waited_and_no_more(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caller = await live_caller(house)
    calls = [caller.call("search_inventory", MUGS), caller.call("get_order", ORDER)]
    await caller.lines.until_put(1)
    caller.lines._answers[0].set_result(ValueError("broken"))
    assert [await told(call) for call in calls] == [InternalError.code] * 2
    assert "could not be settled" in caplog.text
    assert answered(await caller.run.call("get_order", ORDER), 200)
    rows = await caller.run.trace()
    assert [row["error_code"] for row in rows] == ["outcome_unknown", "outcome_unknown", None]


# -- the run ends while something is out


@pytest.mark.parametrize("how", ["cancel", "finish"])
async def test_a_run_that_ends_while_calls_are_out_answers_them_at_once(house: House, how: str) -> None:
    task = {"failure_rules": [late("get_order", n=1)], "expected_state": {"order.4521.status": "shipped"}}
    caller = await live_caller(house, task)
    calls = [
        caller.call("search_inventory", MUGS, key="k"),
        caller.call("get_order", ORDER),
        caller.call("add_note", note("never")),
        caller.call("search_inventory", MUGS, key="k"),  # asked again while it is out
    ]
    await caller.lines.until_put(2)
    live = caller.live
    if how == "finish":
        ended = answered(await caller.run.finish(), 200)
        assert ended["verdict"] is not None
    else:
        ended = answered(await caller.run.client.post(f"/api/runs/{caller.run.id}/cancel"))
        assert ended["status"] == "cancelled"
    assert all(call.done() for call in calls)
    assert [await told(call) for call in calls] == ["run_not_active"] * 4
    await caller.lines.until(lambda: len(caller.lines.cancelled) == 2)
    assert live.queue is None
    assert live.unstored == 0
    rows = stored(house, caller.run.id)
    assert [row["error_code"] for row in rows] == ["outcome_unknown"] * 3
    assert [row["sequence"] for row in rows] == [1, 2, 3]
    refused(await caller.run.call("get_order", ORDER), 409, "run_not_active")
    assert (await caller.run.ledger())["state"] == STATE


async def test_a_run_that_ends_as_a_call_is_put_on_record_is_judged_with_that_row(house: House) -> None:
    """The verdict is about the whole log: no row comes in behind it."""
    caller = await live_caller(house)
    call = caller.call("search_inventory", MUGS)
    closing = asyncio.ensure_future(house.platform.live_runs.close(caller.run.id))
    await closing
    assert await told(call) == "run_not_active"
    assert [row["error_code"] for row in stored(house, caller.run.id)] == ["outcome_unknown"]
    assert caller.lines.put == []
