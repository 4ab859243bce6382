"""What is in memory is what the log says: after any calls a run that is read anew is the run there was."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.engine.live.live_runs import LiveRun
from pipelines.storage.accounts.keys import hash_of
from support.desk import MEBIBYTE, STATE, DrivenRun, House, Org, open_house, outage, refused

pytestmark = pytest.mark.anyio

BIG = {"order": STATE["order"] | {"big": {"status": "paid", "text": "x" * (MEBIBYTE + 1)}}}
OUTAGE = {"code": 503, "message": "down"}
RULES = [
    outage("refund_order", n=2, duration=2),
    {"trigger": "random", "tool": "get_order", "probability": 0.3, "error": OUTAGE},
    {
        "trigger": "after_state_change",
        "tool": "*",
        "condition": "warehouse_outage",
        "duration": 3,
        "error": {"code": 200, "response": {"items": [], "stale": True}},
    },
]


class Step:
    """One thing that can happen in a run, by name."""

    def __init__(self, path: str, body: Any, **headers: str) -> None:
        self.path = path
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = headers

    async def take(self, run: DrivenRun) -> None:
        await run.raw(self.path, self.body, **self.headers)


STEPS = {
    "read": Step("tools/get_order", {"order_id": "4521"}),
    "refund": Step("tools/refund_order", {"order_id": "4521"}),
    "refund once": Step("tools/refund_order", {"order_id": "4521"}, idempotency_key="k1"),
    "reuse of the key": Step("tools/refund_order", {"order_id": "7001"}, idempotency_key="k1"),
    "note": Step("tools/add_note", {"order_id": "7001", "text": "called"}, x_pipelines_actor_id="a/b"),
    "flag": Step("tools/raise_flag", {"flag": "warehouse_outage"}),
    "another flag": Step("tools/raise_flag", {"flag": "vip"}, idempotency_key="k2"),
    "unknown id": Step("tools/get_order", {"order_id": "none"}),
    "reply too large": Step("tools/get_order", {"order_id": "big"}),
    "no such tool": Step("tools/get_orders", {"order_id": "4521"}),
    "bad arguments": Step("tools/get_order", {"order_id": 4521}),
    "bad JSON": Step("tools/get_order", b'{"order_id":'),
    "body too large": Step("tools/get_order", b" " * (MEBIBYTE + 1)),
    "bad actor": Step("tools/get_order", {"order_id": "4521"}, x_pipelines_actor_id="a//b"),
    "event": Step("traces/thinking", {"text": "hm"}),
    "event long ago": Step("traces/custom", {"__occurred_at": "2020-01-01T00:00:00Z"}),
    "event to come": Step("traces/custom", {"__occurred_at": "2099-01-01T00:00:00Z"}),
    "bad event": Step("traces/nonsense", {}),
}


def live_run(house: House, run: DrivenRun) -> LiveRun:
    live = house.platform.live_runs.get(hash_of(run.token))
    assert live is not None
    return live


async def read_anew(house: House, run: DrivenRun) -> LiveRun:
    house.platform.live_runs.forget({run.id})
    assert await house.platform.live_runs.load(hash_of(run.token))
    return live_run(house, run)


def known(live: LiveRun) -> dict[str, Any]:
    """Everything that decides how the next call is answered."""
    return {
        "sequence": live.sequence,
        "calls": live.calls,
        "last_occurred_at": live.last_occurred_at,
        "state": live.ledger.as_state(),
        "flags": live.ledger.flags(),
        "rule calls": list(live.progress._calls),
        "rule windows": list(live.progress._open_until),
        "replies": {key: (kept.tool_name, kept.arguments, kept.row) for key, kept in live.replies.items()},
        "is_active": live.is_active,
        "moment": live.moment(live.calls + 1),
    }


@settings(max_examples=12, deadline=None)
@given(names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=12))
def test_a_run_read_from_its_log_is_the_run_that_wrote_it(names: list[str]) -> None:
    async def drive() -> tuple[dict[str, Any], dict[str, Any]]:
        with tempfile.TemporaryDirectory() as directory:
            async with open_house(Path(directory)) as house:
                run = await house.owner.run(state=BIG, failure_rules=RULES)
                for name in names:
                    await STEPS[name].take(run)
                before = known(live_run(house, run))
                return before, known(await read_anew(house, run))

    before, after = asyncio.run(drive())
    assert after == before


@pytest.mark.parametrize("name", STEPS)
async def test_every_kind_of_step_alone_reads_back_alike(house: House, org: Org, name: str) -> None:
    run = await org.run(state=BIG, failure_rules=RULES)
    await STEPS["read"].take(run)
    await STEPS[name].take(run)
    before = known(live_run(house, run))
    assert known(await read_anew(house, run)) == before


async def test_a_run_ended_while_it_is_being_loaded_stays_ended(house: House, org: Org) -> None:
    """Reading began before the end was stored and finished after it: the old status must not win."""
    run = await org.run()
    database = house.platform.database
    real_read = database.read
    was_read, may_return = asyncio.Event(), asyncio.Event()

    async def slow_read(question: Any) -> Any:
        found = await real_read(question)
        if isinstance(found, LiveRun):
            was_read.set()
            await may_return.wait()
        return found

    database.read = slow_read  # type: ignore[method-assign]
    call = asyncio.ensure_future(run.call("get_order", {"order_id": "4521"}))
    await was_read.wait()
    finished = await run.finish()
    assert finished.status_code == 200, finished.text
    may_return.set()
    await call
    refused(await run.call("get_order", {"order_id": "4521"}), 409, "run_not_active")


async def test_many_calls_at_once_load_a_run_once(house: House, run: DrivenRun) -> None:
    house.platform.live_runs.forget({run.id})
    replies = await asyncio.gather(*(run.call("get_order", {"order_id": "4521"}) for _ in range(50)))
    assert {reply.status_code for reply in replies} == {200}
    assert [row["sequence"] for row in await run.trace()] == list(range(1, 51))


async def test_runs_beyond_the_limit_make_room_and_come_back(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.engine.live.live_runs.MAX_LIVE_RUNS", 3)
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    runs = [await org.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(8)]

    async def note(run: DrivenRun, text: str) -> int:
        reply = await run.call("add_note", {"order_id": "7001", "text": text})
        return reply.status_code

    for text in ("one", "two", "three"):
        assert set(await asyncio.gather(*(note(run, text) for run in runs))) == {200}
    assert len(house.platform.live_runs._by_token) <= 8
    for run in runs:
        assert (await run.ledger())["state"]["order"]["7001"]["notes"] == ["one", "two", "three"]


async def test_events_under_way_keep_their_run_from_making_room(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run dropped while its row is under way would give the next row the same number."""
    monkeypatch.setattr("pipelines.engine.live.live_runs.MAX_LIVE_RUNS", 1)
    agent = await org.agent()
    dataset = await org.dataset(agent_id=agent["id"])
    runs = [await org.open_run(agent["id"], dataset["task_ids"][0]) for _ in range(6)]
    for _ in range(5):
        events = (run.event("thinking", {"n": n}) for run in runs for n in range(4))
        replies = await asyncio.gather(*events)
        assert {reply.status_code for reply in replies} == {200}, [reply.text for reply in replies]
    for run in runs:
        assert sorted(row["sequence"] for row in await run.trace()) == list(range(1, 21))


async def test_a_run_whose_time_is_up_refuses_calls_and_keeps_the_row(house: House, run: DrivenRun) -> None:
    proxy = house.app.proxy
    await read_anew(house, run)
    ends_at = live_run(house, run).ends_at
    clock, steady = proxy._now, proxy.live_runs.steady
    proxy._now = proxy.answerer._now = lambda: run.opened["expires_at"]
    proxy.answerer._steady = proxy.live_runs.steady = lambda: ends_at  # the moment itself is too late
    refused(await run.call("get_order", {"order_id": "4521"}), 409, "run_not_active")
    refused(await run.event("thinking", {}), 409, "run_not_active")
    refused(await run.raw("tools", b"", "GET"), 409, "run_not_active")
    proxy._now = proxy.answerer._now = clock
    proxy.answerer._steady = proxy.live_runs.steady = steady
    assert (await run.call("get_order", {"order_id": "4521"})).status_code == 200
    rows = await run.trace()
    assert [row["error_code"] for row in rows] == ["run_not_active", None]
    # A clock that was set back does not put later calls before earlier ones.
    assert [row["sequence"] for row in rows] == [1, 2]
    assert rows[0]["occurred_at"] == rows[1]["occurred_at"] == run.opened["expires_at"]
