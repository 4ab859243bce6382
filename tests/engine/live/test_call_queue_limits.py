"""Calls behind one that asks: time, memory, runs that are forgotten or end, servers that close."""

import asyncio
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from asking import Caller, Clock, Dial, Unusable, settled, told
from test_live_runs import known, read_anew

from pipelines.engine.live.live_runs import LiveRuns
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.storage.accounts.keys import hash_of
from pipelines.wire.errors import AskFailed
from support.desk import STATE, House, answered, open_house
from support.queued_calls import LONG_MS, MUGS, ORDER, caller_of, late, live_caller, note, stored, storm

pytestmark = pytest.mark.anyio


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
