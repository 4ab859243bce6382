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
from asking import Caller, Clock, Dial, Unusable, settled, told
from hypothesis import given, settings
from hypothesis import strategies as st
from test_live_runs import known, read_anew

from pipelines.core.simulation.simulator import Wait
from pipelines.engine.calls import answer_tool_call
from pipelines.engine.live.live_runs import LiveRuns
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.storage.accounts.keys import hash_of
from pipelines.wire.errors import AskFailed, InternalError
from support.desk import STATE, House, Row, answered, open_house, outage, refused

pytestmark = pytest.mark.anyio
ORDER = {"order_id": "4521"}
MUGS = {"query": "mug"}
#: How long a late reply is late. The tests answer the waits themselves, so nobody waits.
LONG_MS = 60_000


def late(tool: str, n: int, duration: int = 1, ms: int = LONG_MS, **error: Any) -> Row:
    rule = {"trigger": "after_n_calls", "tool": tool, "n": n, "duration": duration, "latency_ms": ms}
    return rule | ({"error": error} if error else {})


def note(text: str) -> Row:
    return {"order_id": "7001", "text": text}


async def caller_of(house: House, **task: Any) -> Caller:
    caller = Caller(house, await house.owner.run(**task))
    await caller.load()
    return caller


async def live_caller(house: House, task: Row | None = None, **simulator: Any) -> Caller:
    """A run whose search_inventory is a live tool, unless said otherwise."""
    caller = Caller(house, await house.owner.run(**(task or {})))
    await caller.load(**({"live": ("search_inventory",)} | simulator))
    return caller


def stored(house: House, run_id: int) -> list[Row]:
    """The rows as another connection reads them."""
    connection = sqlite3.connect(house.settings.database_path)
    connection.row_factory = sqlite3.Row
    try:
        rows = connection.execute("SELECT * FROM trace_rows WHERE run_id = ? ORDER BY sequence", (run_id,))
        return [dict(row) for row in rows]
    finally:
        connection.close()


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


# -- flags and counters


def storm(tool: str, duration: int = 1, **more: Any) -> Row:
    rule = {"trigger": "after_state_change", "tool": tool, "condition": "storm", "duration": duration}
    return rule | ({"error": {"code": 503, "message": "Storm"}} | more)


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


async def test_an_answer_to_a_run_that_was_forgotten_changes_nothing(house: House) -> None:
    caller = await live_caller(house)
    heard: list[Any] = []

    class Kept(QuestionRunner):
        def ask(self, question: Any, replied: Any) -> Any:
            heard.append(replied)
            return super().ask(question, replied)

    caller.answerer._question_runner = Kept({Dial: caller.lines.carry})
    call = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    house.platform.live_runs.forget({caller.run.id})
    assert await told(call) == "outcome_unknown"
    await caller.lines.until(lambda: len(caller.lines.cancelled) == 1)
    heard[0]("too late")
    await settled(house)
    assert [row["error_code"] for row in stored(house, caller.run.id)] == ["outcome_unknown"]
    reply = await caller.run.call("search_inventory", MUGS, idempotency_key="k")
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "outcome_unknown")
    assert answered(await caller.run.call("get_order", ORDER), 200)["response"]["status"] == "shipped"
    assert len(caller.lines.put) == 1


# -- the same call again


async def test_a_repeat_waits_for_the_first_and_gets_its_reply(house: House) -> None:
    caller = await live_caller(house)
    first = caller.call("search_inventory", MUGS, key="k")
    again = [caller.call("search_inventory", MUGS, key="k") for _ in range(3)]
    other = caller.call("search_inventory", {"query": "cup"}, key="k")
    another = caller.call("get_order", ORDER, key="k")
    for refusal in (other, another):
        assert (await told(refusal))["error"]["code"] == "idempotency_key_reused"
    await caller.lines.until_put(1)
    again.append(caller.call("search_inventory", MUGS, key="k"))
    await settled(house)
    assert not any(call.done() for call in [first, *again])
    caller.lines.answer(0, "twelve")
    replies = [await call for call in [first, *again]]
    assert {reply.body for reply in replies} == {replies[0].body}
    assert len(caller.lines.put) == 1
    await settled(house)
    await read_anew(house, caller.run)
    assert (await caller.call("search_inventory", MUGS, key="k")).body == replies[0].body


# -- the time until another process may go on


async def test_a_late_call_decided_at_its_turn_has_all_its_time(house: House) -> None:
    """A call behind another that waits longer than the grace: its row must not be taken for given up."""
    rules = [storm("get_order", 1, latency_ms=200_000), late("raise_flag", n=1, ms=200_000)]
    caller = await caller_of(house, failure_rules=rules)
    clock = Clock(house)
    calls = [caller.call("raise_flag", {"flag": "storm"}), caller.call("get_order", ORDER)]
    await caller.lines.until_put(1)
    clock.forward(200)
    caller.lines.answer(0)
    await caller.lines.until_put(2)
    clock.forward(200)
    caller.lines.answer(1)
    assert [(await told(call))["source"] for call in calls] == ["odyssey", "injected"]


async def test_a_question_asked_once_more_has_all_its_time(house: House) -> None:
    caller = await live_caller(house)
    clock = Clock(house)
    call = caller.call("search_inventory", MUGS)
    await caller.lines.until_put(1)
    clock.forward(59)
    caller.lines.answer(0, Unusable())
    await caller.lines.until_put(2)
    clock.forward(59)
    caller.lines.answer(1, "at last")
    assert (await told(call))["response"] == {"said": "at last"}


async def test_an_answer_past_its_time_is_not_stored(house: House) -> None:
    """Another process may have gone on without it."""
    caller = await live_caller(house)
    clock = Clock(house)
    calls = [caller.call("search_inventory", MUGS, key="k"), caller.call("get_order", ORDER)]
    await caller.lines.until_put(1)
    clock.forward(3600)
    caller.lines.answer(0, "an hour later")
    assert [await told(call) for call in calls] == ["outcome_unknown"] * 2
    assert [row["error_code"] for row in stored(house, caller.run.id)] == ["outcome_unknown"] * 2


# -- the database fails while calls are out


async def everybody_is_answered(caller: Caller, calls: list[Any]) -> list[Any]:
    answers = [await told(call) for call in calls]
    await settled(caller.house)
    loaded = caller.house.platform.live_runs.get(hash_of(caller.run.token))
    if loaded is None:
        loaded = await caller.load()
    before = known(loaded)
    assert known(await read_anew(caller.house, caller.run)) == before
    rows = stored(caller.house, caller.run.id)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    return answers


async def test_an_outcome_that_cannot_be_stored_is_told_and_nobody_hangs(house: House) -> None:
    caller = await live_caller(house)
    calls = [caller.call("search_inventory", {"query": text}, key=text) for text in ("a", "b")]
    calls.append(caller.call("add_note", note("behind")))
    await caller.lines.until_put(2)
    await settled(house)
    aside = sqlite3.connect(house.settings.database_path, isolation_level=None)
    aside.execute("CREATE TRIGGER full BEFORE UPDATE ON trace_rows BEGIN SELECT RAISE(ABORT, 'full'); END")
    caller.lines.answer(0, "a")
    answers = await everybody_is_answered(caller, calls)
    aside.execute("DROP TRIGGER full")
    aside.close()
    assert all(isinstance(answer, str) for answer in answers), answers
    assert [row["error_code"] for row in stored(house, caller.run.id)] == ["outcome_unknown"] * 3
    assert (await caller.run.ledger())["state"] == STATE
    assert answered(await caller.run.call("add_note", note("on")), 200)["response"]["notes"] == ["on"]


async def test_calls_that_cannot_be_put_on_record_did_not_happen(house: House) -> None:
    """Those behind that could not be stored may be tried again; the one that was asked is not known of."""
    caller = await live_caller(house)
    first = caller.call("search_inventory", {"query": "a"}, key="a")
    await caller.lines.until_put(1)
    aside = sqlite3.connect(house.settings.database_path, isolation_level=None)
    aside.execute("CREATE TRIGGER full BEFORE INSERT ON trace_rows BEGIN SELECT RAISE(ABORT, 'full'); END")
    behind = [caller.call("search_inventory", {"query": "b"}, key="b"), caller.call("add_note", note("c"))]
    refusal = caller.call("get_orders", {})
    answers = await everybody_is_answered(caller, [first, *behind, refusal])
    aside.execute("DROP TRIGGER full")
    aside.close()
    assert answers == ["outcome_unknown", *["storage_unavailable"] * 3]
    assert [row["error_code"] for row in stored(house, caller.run.id)] == ["outcome_unknown"]
    await caller.load(live=("search_inventory",))
    again = caller.call("search_inventory", {"query": "b"}, key="b")
    await caller.lines.until_put(2)
    caller.lines.answer(1, "b")
    assert (await told(again))["response"] == {"said": "b"}


async def test_a_row_that_came_in_behind_our_back_makes_a_call_that_asks_start_again(house: House) -> None:
    """As another node would write it: nothing was asked yet, so the call is decided anew."""
    caller = await caller_of(house, failure_rules=[late("get_order", n=1, duration=9)])
    answered(await caller.run.call("add_note", note("ours")), 200)
    aside = sqlite3.connect(house.settings.database_path, isolation_level=None)
    names = (
        "run_id, kind, tool_name, source, http_status, occurred_at, arguments, response, updates, call_number"
    )
    aside.execute(f"INSERT INTO trace_rows ({names}, sequence) SELECT {names}, 2 FROM trace_rows")
    aside.close()
    calls = [caller.call("get_order", ORDER), caller.call("get_order", ORDER)]
    await caller.lines.until_put(1)
    await settled(house)
    while not all(call.done() for call in calls):
        for future in caller.lines._answers:
            if not future.done():
                future.set_result(None)
        await settled(house)
    assert [(await told(call))["response"]["status"] for call in calls] == ["shipped"] * 2
    assert [row["sequence"] for row in stored(house, caller.run.id)] == [1, 2, 3, 4]


async def test_a_run_read_anew_as_an_outcome_is_being_stored_is_read_with_it(house: House) -> None:
    """The outcome takes no number of its own, so nothing later would show that memory lacks it."""
    caller = await caller_of(house, failure_rules=[late("refund_order", n=1)])
    call = caller.call("refund_order", ORDER, key="k")
    await caller.lines.until_put(1)
    asking = caller.live.queue._calls[0].task if caller.live.queue is not None else None
    assert asking is not None
    aside = sqlite3.connect(house.settings.database_path, isolation_level=None)
    aside.execute("BEGIN IMMEDIATE")  # what is handed to storage now is not stored before this ends
    caller.lines.answer(0)
    await asking
    house.platform.live_runs.forget({caller.run.id})
    loading = asyncio.ensure_future(caller.load())
    await house.platform.database.read(lambda connection: None)
    await house.platform.database.read(lambda connection: None)
    aside.execute("COMMIT")
    aside.close()
    before = known(await loading)
    assert (await told(call))["source"] == "odyssey"
    assert before["state"]["order"]["4521"]["status"] == "refunded"
    assert known(await read_anew(house, caller.run)) == before


# -- another process


async def test_another_node_waits_for_a_call_that_is_out_until_its_time_has_passed(house: House) -> None:
    caller = await live_caller(house)
    clock = Clock(house)
    call = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    ours, database = house.platform.live_runs, house.platform.database
    other = LiveRuns(database, now=clock, node="another", steady=clock.steady)
    database.on_lost = ours.forget
    token_hash = hash_of(caller.run.token)
    with pytest.raises(Exception, match="still answering") as refusal:
        await other.loaded(token_hash)
    assert refusal.value.code == "storage_unavailable"  # type: ignore[attr-defined]
    clock.forward(120)
    live = await other.loaded(token_hash)
    assert live is not None
    assert live.replies["k"].row.error_code == "outcome_unknown"
    caller.lines.answer(0, "too late")
    assert await told(call) == "outcome_unknown"
    assert known(await read_anew(house, caller.run))["replies"] == known(live)["replies"]


async def test_another_node_goes_on_as_soon_as_the_call_is_settled(house: House) -> None:
    caller = await live_caller(house)
    call = caller.call("search_inventory", MUGS, key="k")
    await caller.lines.until_put(1)
    database = house.platform.database
    other = LiveRuns(database, now=house.platform.now, node="another")
    database.on_lost = house.platform.live_runs.forget
    with pytest.raises(Exception, match="still answering"):
        await other.loaded(hash_of(caller.run.token))
    caller.lines.answer(0, "twelve")
    await told(call)
    live = await other.loaded(hash_of(caller.run.token))
    assert live is not None
    assert known(live) == known(caller.live)


async def test_a_server_that_closes_tells_everybody_and_asks_no_more(tmp_path: Path) -> None:
    async with open_house(tmp_path / "house") as house:
        caller = await live_caller(house)
        calls = [caller.call("search_inventory", MUGS, key="k"), caller.call("get_order", ORDER)]
        await caller.lines.until_put(1)
    assert [await told(call) for call in calls] == ["outcome_unknown"] * 2
    assert len(caller.lines.cancelled) == 1
    async with open_house(tmp_path / "house") as house:
        run = type(caller.run)(house.owner.client, caller.run.opened)
        reply = await run.call("search_inventory", MUGS, idempotency_key="k")
        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "outcome_unknown")
        assert (await run.call("get_order", ORDER)).status_code == 200


# -- all of it at once


class Trouble:
    """Calls, answers, losses of memory and refusals of the database, in an order of chance."""

    def __init__(self, caller: Caller, chance: random.Random) -> None:
        self.caller = caller
        self.chance = chance
        self.calls: dict[str, asyncio.Future[Any]] = {}
        self.aside = sqlite3.connect(caller.house.settings.database_path, isolation_level=None)
        self.is_refusing = False

    async def play(self, steps: int) -> None:
        doings = [self.calls_a_tool] * 6 + [self.answers] * 6 + [self.lets_time_pass] * 4
        doings += [self.forgets, self.refuses, self.fails]
        for _ in range(steps):
            await self.chance.choice(doings)()
        if self.is_refusing:
            await self.refuses()
        async with asyncio.timeout(60):
            while not all(call.done() for call in self.calls.values()):
                await self.answers()
                await settled(self.caller.house)
        self.aside.close()

    async def calls_a_tool(self) -> None:
        await self._loaded()
        key = str(len(self.calls))
        tool = self.chance.choice(["add_note", "add_note", "search_inventory", "get_order"])
        arguments = {"add_note": note(key), "search_inventory": MUGS, "get_order": ORDER}[tool]
        self.calls[key] = self.caller.call(tool, arguments, key=key)

    async def answers(self) -> None:
        out = [i for i, future in enumerate(self.caller.lines._answers) if not future.done()]
        if out:
            reply = self.chance.choice(["fine", Unusable(), AskFailed("Nobody is there.")])
            self.caller.lines.answer(self.chance.choice(out), reply)

    async def lets_time_pass(self) -> None:
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        if self.chance.random() < 0.3:
            await settled(self.caller.house)

    async def forgets(self) -> None:
        self.caller.house.platform.live_runs.forget({self.caller.run.id})

    async def refuses(self) -> None:
        self.is_refusing = not self.is_refusing
        for name in ("INSERT", "UPDATE"):
            self.aside.execute(
                f"CREATE TRIGGER no_{name} BEFORE {name} ON trace_rows BEGIN SELECT RAISE(ABORT, 'full'); END"
                if self.is_refusing
                else f"DROP TRIGGER no_{name}"
            )

    async def fails(self) -> None:
        out = [i for i, future in enumerate(self.caller.lines._answers) if not future.done()]
        if out:
            self.caller.lines._answers[out[0]].set_result(ValueError("the simulator breaks over this"))

    async def _loaded(self) -> None:
        if self.caller.house.platform.live_runs.get(hash_of(self.caller.run.token)) is None:
            await self.caller.load(live=("search_inventory",))


async def survive(house: House, seed: int, steps: int) -> None:
    rules = [
        {"trigger": "random", "tool": "*", "probability": 0.4, "latency_ms": LONG_MS},
        {"trigger": "random", "tool": "*", "probability": 0.1, "error": {"code": 500, "message": "x"}},
    ]
    caller = await live_caller(house, {"failure_rules": rules, "user": f"Task {seed}."})
    trouble = Trouble(caller, random.Random(seed))
    await trouble.play(steps)
    answers = {key: await told(call) for key, call in trouble.calls.items()}
    await settled(house)
    before = known(await caller.load())
    assert known(await read_anew(house, caller.run)) == before
    rows = stored(house, caller.run.id)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    by_key = {row["idempotency_key"]: row for row in rows if row["idempotency_key"] is not None}
    notes = []
    for row in rows:
        if row["tool_name"] == "add_note" and row["source"] == "odyssey":
            notes.append(json.loads(row["arguments"])["text"])
            assert json.loads(row["response"])["notes"] == notes
    for key, answer in answers.items():
        if answer == "outcome_unknown":
            assert by_key[key]["error_code"] == "outcome_unknown", "a call that is unknown is on record"
        elif answer == "storage_unavailable":
            assert key not in by_key or by_key[key]["error_code"] == "outcome_unknown"
        elif isinstance(answer, dict) and answer["source"] in ("odyssey", "passthrough", "injected"):
            assert json.loads(by_key[key]["response"]) == answer["response"]


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens_memory_and_log_agree_and_everybody_is_answered(
    house: House, seed: int
) -> None:
    await survive(house, seed, steps=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
async def test_whatever_happens_for_long(house: House, seed: int) -> None:
    await survive(house, seed, steps=400)
