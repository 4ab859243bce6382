"""What a live run keeps of its calls: keys, not replies; and never so little that a retry happens twice."""

import asyncio
import tracemalloc
from typing import Any

import pytest
from asking import Caller, settled, told

from pipelines.core.calls import called_run, tool_call
from pipelines.engine.live import live_runs
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.proxy.proxy_messages import hash_of
from support.desk import DrivenRun, House, Org, answered, refused

pytestmark = pytest.mark.anyio
LARGE = "x" * 100_000


def live_run(house: House, run: DrivenRun) -> LiveRun:
    live = house.platform.live_runs.get(hash_of(run.token.encode()))
    assert live is not None
    return live


async def note(run: DrivenRun, key: str, text: str = "hello") -> Any:
    return answered(await run.call("add_note", {"order_id": "7001", "text": text}, idempotency_key=key))


async def order(run: DrivenRun, key: str, order_id: str = "7001") -> Any:
    return answered(await run.call("get_order", {"order_id": order_id}, idempotency_key=key))


async def test_large_replies_are_not_kept_and_a_retry_gets_them_all_the_same(
    house: House, run: DrivenRun
) -> None:
    await note(run, "first", LARGE)
    first = await order(run, "k0")
    assert len(str(first)) > len(LARGE)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(1, 60):
            await order(run, f"k{number}")
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 10 * len(LARGE)  # of sixty times as much
    assert all(kept.row is None for kept in live_run(house, run).replies.values())
    assert await order(run, "k0") == first
    assert len(await run.trace()) == 61


async def test_small_replies_of_the_last_calls_are_at_hand(house: House, run: DrivenRun) -> None:
    for number in range(20):
        await order(run, f"k{number}", "4521")
    kept = live_run(house, run).replies
    assert [key for key, reply in kept.items() if reply.row is not None] == ["k16", "k17", "k18", "k19"]


@pytest.mark.parametrize("is_read_anew", [False, True])
async def test_a_key_of_long_ago_is_found_in_the_log(
    house: House, run: DrivenRun, monkeypatch: pytest.MonkeyPatch, is_read_anew: bool
) -> None:
    monkeypatch.setattr(called_run, "KEYS_KEPT", 5)
    first = [await note(run, f"k{number}", f"note {number}") for number in range(20)]
    if is_read_anew:
        house.platform.live_runs.forget({run.id})
        await run.raw("tools", b"", "GET")
    live = live_run(house, run)
    assert (len(live.replies), len(live.older)) == (5, 15)
    assert [await note(run, f"k{number}", f"note {number}") for number in range(20)] == first
    reply = await run.call("add_note", {"order_id": "7001", "text": "other"}, idempotency_key="k3")
    refused(reply, 409, "idempotency_key_reused")
    reply = await run.call("get_order", {"order_id": "7001"}, idempotency_key="k3")
    refused(reply, 409, "idempotency_key_reused")
    rows = await run.trace()
    assert [row["error_code"] for row in rows] == [None] * 20 + ["idempotency_key_reused"] * 2
    assert len((await run.ledger())["state"]["order"]["7001"]["notes"]) == 20


async def test_long_arguments_are_told_apart_by_their_digest(house: House, run: DrivenRun) -> None:
    text = "y" * 1_000
    first = await note(run, "k", text)
    assert await note(run, "k", text) == first
    reply = await run.call("add_note", {"order_id": "7001", "text": text + "!"}, idempotency_key="k")
    refused(reply, 409, "idempotency_key_reused")
    assert isinstance(live_run(house, run).replies["k"].arguments, bytes)


async def test_one_key_more_than_a_run_may_have_is_refused_and_no_call_happens(
    run: DrivenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(called_run, "KEYS_KEPT", 2)
    monkeypatch.setattr(tool_call, "MAX_KEYS", 3)
    for number in range(5):
        await note(run, f"k{number}")
    reply = await run.call("add_note", {"order_id": "7001", "text": "hello"}, idempotency_key="k5")
    refused(reply, 409, "idempotency_keys_full")
    await note(run, "k0")
    answered(await run.call("add_note", {"order_id": "7001", "text": "no key"}))
    assert len((await run.ledger())["state"]["order"]["7001"]["notes"]) == 6


async def test_many_retries_at_once_are_one_call(
    house: House, run: DrivenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(called_run, "KEYS_KEPT", 2)
    for number in range(6):
        await note(run, f"k{number}", LARGE)
    keys = [f"k{number % 8}" for number in range(80)]  # two of them new
    replies = await asyncio.gather(*(note(run, key, LARGE) for key in keys))
    assert len({str(reply) for reply in replies}) == 8
    assert len(await run.trace()) == 8


async def test_a_key_whose_call_still_waits_is_kept_however_many_came_after_it(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the log alone its row has no reply yet, and a retry would get that."""
    monkeypatch.setattr(called_run, "KEYS_KEPT", 2)
    late = {"trigger": "after_n_calls", "tool": "add_note", "n": 1, "duration": 6, "latency_ms": 60_000}
    caller = Caller(house, await org.run(failure_rules=[late]))
    await caller.load()

    def call(number: int) -> Any:
        return caller.call("add_note", {"order_id": "7001", "text": f"note {number}"}, f"k{number}")

    first = [call(number) for number in range(6)]
    await caller.lines.until_put(1)
    caller.lines.answer(0)
    await told(first[0])
    again = call(1)
    await settled(house)
    assert not again.done()
    for number in range(1, 6):
        await caller.lines.until_put(number + 1)
        caller.lines.answer(number)
    assert await told(again) == await told(first[1])
    assert len(await caller.run.trace()) == 6


async def test_the_database_away_is_told_to_who_asks_again(
    house: House, run: DrivenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    await note(run, "k", LARGE)

    async def away(question: Any) -> Any:
        raise live_runs.StorageUnavailable

    with monkeypatch.context() as broken:
        broken.setattr(house.platform.database, "read", away)
        reply = await run.call("add_note", {"order_id": "7001", "text": LARGE}, idempotency_key="k")
        refused(reply, 503, "storage_unavailable")
    await note(run, "k", LARGE)
    assert len(await run.trace()) == 1


async def test_a_run_may_not_change_its_world_without_end(
    run: DrivenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(called_run, "MAX_CHANGED_BYTES", 1_500)
    statuses = [
        (await run.call("add_note", {"order_id": "7001", "text": "z" * 400})).status_code for _ in range(6)
    ]
    assert 502 in statuses
    count = statuses.index(502)
    assert statuses == [200] * count + [502] * (6 - count)
    assert len((await run.ledger())["state"]["order"]["7001"]["notes"]) == count
    answered(await run.call("get_order", {"order_id": "7001"}))


async def test_what_is_changed_again_counts_once(
    house: House, run: DrivenRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(called_run, "MAX_CHANGED_BYTES", 2_000)
    for _ in range(60):  # each writes the whole list of notes anew
        answered(await run.call("add_note", {"order_id": "7001", "text": "z"}))
    assert live_run(house, run).ledger.changed_size() < 1_000
    assert sum(len(str(row["updates"])) for row in await run.trace()) > 4_000


async def test_runs_make_room_by_what_they_take_and_come_back(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house.platform.live_runs, "_most_bytes", 1_000_000)
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    runs = [await org.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(8)]
    for turn in range(2):
        for run in runs:
            await note(run, f"k{turn}", "x" * 100_000)
            assert house.platform.live_runs._bytes <= 1_000_000
    lives = house.platform.live_runs._by_token.values()
    assert 0 < len(lives) < 8
    for run in runs:
        assert len((await run.ledger())["state"]["order"]["7001"]["notes"]) == 2
    house.platform.live_runs.forget({run.id for run in runs})
    assert house.platform.live_runs._bytes == 0
