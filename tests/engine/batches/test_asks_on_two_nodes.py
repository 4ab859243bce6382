"""A call that is out on one node of a shared Postgres: the others wait for it, no longer than they must."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.core.simulation.simulator import Wait
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.live.live_runs import LiveRuns
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.engine.platform import WallClock, later
from pipelines.server.config.settings import load_settings
from pipelines.storage.accounts.keys import hash_of
from pipelines.storage.database.database import Database
from pipelines.wire.errors import OdysseyError
from support.desk import STATE, Row, outage
from support.private_postgres import Cluster
from support.server_process import Api, house_in

pytestmark = pytest.mark.anyio
PATIENCE_S = 30
ORDER = {"order_id": "4521"}
LATE = {"trigger": "after_n_calls", "tool": "refund_order", "n": 1, "latency_ms": 60_000}


class Clock:
    """Time that goes by: on the steady clock, on the wall and in the database."""

    def __init__(self) -> None:
        self._real = WallClock()
        self._passed = timedelta()

    def __call__(self) -> str:
        return self.moved(self._real())

    def moved(self, moment: str) -> str:
        return later(moment, self._passed.total_seconds())

    def steady(self) -> float:
        return time.monotonic() + self._passed.total_seconds()

    def forward(self, seconds: float) -> None:
        self._passed += timedelta(seconds=seconds)


class Node:
    """What of a server answers tool calls, with a connection of its own and a name of its own."""

    def __init__(self, name: str, database: Database, clock: Clock) -> None:
        self.database = database
        asked = database.time
        database.time = lambda connection, own: clock.moved(asked(connection, own))  # type: ignore[method-assign]
        self.live_runs = LiveRuns(database, now=clock, node=name, steady=clock.steady)
        self.put = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.answerer = ToolCallAnswerer(
            database=database,
            live_runs=self.live_runs,
            now=clock,
            question_runner=QuestionRunner({Wait: self._wait}),
            node=name,
        )

    async def _wait(self, question: Wait) -> None:
        self.put.set()
        await self.may_answer.wait()

    async def call(self, run: Row, tool: str, arguments: Any, key: str | None = None) -> Any:
        """The envelope, or the code of what was raised."""
        call = ToolCall(tool, json.dumps(arguments).encode(), None, key, time.perf_counter())
        try:
            live = await self.live_runs.loaded(hash_of(run["run_token"]))
            assert live is not None
            reply: Reply = await asyncio.wait_for(self.answerer.answer_later(live, call), PATIENCE_S)
        except OdysseyError as error:
            return error.code
        return json.loads(reply.body)


@pytest.fixture(scope="module")
def shared(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, str, Path]]:
    """A server that keeps agents, tasks and runs; the nodes that answer calls are the test's own."""
    url, directory = postgres.new_database(), tmp_path_factory.mktemp("shared")
    with house_in(directory, {}, "--database-url", url) as house:
        yield house.open(), url, directory


@asynccontextmanager
async def two_nodes(shared: tuple[Api, str, Path], clock: Clock) -> AsyncIterator[tuple[Node, Node]]:
    settings = load_settings({}, data_dir=shared[2], database_url=shared[1])
    first = Node("first", Database(settings.store()), clock)
    second = Node("second", Database(settings.store()), clock)
    try:
        yield first, second
    finally:
        for node in (first, second):
            await node.answerer.close()
            await node.database.close()


def opened(api: Api, *rules: Row) -> Row:
    agent_id = api.agent("http://127.0.0.1:9/dispatch")["id"]
    task = {"user": "Refund order #4521.", "state": STATE, "failure_rules": list(rules)}
    (task_id,) = api.dataset(task, agent_id=agent_id)["task_ids"]
    run: Row = api.post("/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}, 201)
    return run


async def test_another_node_waits_until_the_call_is_settled(shared: tuple[Api, str, Path]) -> None:
    run = opened(shared[0], LATE)
    async with two_nodes(shared, Clock()) as (first, second):
        assert (await second.call(run, "get_order", ORDER))["response"]["status"] == "shipped"
        out = asyncio.ensure_future(first.call(run, "refund_order", ORDER, key="k"))
        await asyncio.wait_for(first.put.wait(), PATIENCE_S)
        for _ in range(2):  # first with the run in memory as it was, then without
            assert await second.call(run, "get_order", ORDER) == "storage_unavailable"
        first.may_answer.set()
        assert (await out)["matched_rule_index"] == 0
        assert (await second.call(run, "get_order", ORDER))["response"]["status"] == "refunded"
        assert await second.call(run, "refund_order", ORDER, key="k") == await out
        # The first node has the run in memory as it was: its next call is decided anew.
        assert (await first.call(run, "get_order", ORDER))["response"]["status"] == "refunded"
    rows = shared[0].trace(run["id"])
    assert [row["sequence"] for row in rows] == [1, 2, 3, 4]


async def test_a_node_that_died_is_waited_for_as_long_as_its_call_could_have_taken(
    shared: tuple[Api, str, Path],
) -> None:
    """The first node is still there and answers too late, which is worse than being dead."""
    run, clock = opened(shared[0], LATE, outage("refund_order", n=2)), Clock()
    async with two_nodes(shared, clock) as (first, second):
        out = asyncio.ensure_future(first.call(run, "refund_order", ORDER, key="k"))
        await asyncio.wait_for(first.put.wait(), PATIENCE_S)
        clock.forward(60)
        assert await second.call(run, "get_order", ORDER) == "storage_unavailable"
        clock.forward(60)
        again = await second.call(run, "refund_order", ORDER, key="k")
        assert again["error"]["code"] == "outcome_unknown"
        assert (await second.call(run, "refund_order", ORDER))["matched_rule_index"] == 1
        assert not second.put.is_set()
        first.may_answer.set()
        assert await out == "outcome_unknown"
        assert (await first.call(run, "get_order", ORDER))["response"]["status"] == "shipped"
    rows = shared[0].trace(run["id"])
    assert [row["error_code"] for row in rows] == ["outcome_unknown", None, None]
    assert [row["sequence"] for row in rows] == [1, 2, 3]


async def test_an_outcome_comes_too_late_when_another_node_has_gone_on(
    shared: tuple[Api, str, Path],
) -> None:
    """Time stood still for the first node, which believes that it is in time. The log has the last word."""
    run, ahead = opened(shared[0], LATE), Clock()
    async with two_nodes(shared, ahead) as (first, second):
        first.answerer._steady = first.live_runs.steady = Clock().steady
        out = asyncio.ensure_future(first.call(run, "refund_order", ORDER, key="k"))
        await asyncio.wait_for(first.put.wait(), PATIENCE_S)
        ahead.forward(3600)
        assert (await second.call(run, "add_note", {"order_id": "4521", "text": "x"}))["response"]
        first.may_answer.set()
        assert await out == "outcome_unknown"
        again = await first.call(run, "refund_order", ORDER, key="k")
        assert again["error"]["code"] == "outcome_unknown"
    state = shared[0].get(f"/api/runs/{run['id']}/ledger")["state"]
    assert state["order"]["4521"]["status"] == "shipped"
    assert [row["error_code"] for row in shared[0].trace(run["id"])] == ["outcome_unknown", None]


@pytest.mark.parametrize("seconds", [-3 * 86_400, -3600, 3600, 3 * 86_400])
async def test_nodes_whose_clocks_differ_agree_on_what_is_out_and_what_has_expired(
    shared: tuple[Api, str, Path], seconds: int
) -> None:
    run, wrong = opened(shared[0], LATE), Clock()
    wrong.forward(seconds)
    async with two_nodes(shared, Clock()) as (first, second):
        second.answerer._now = second.live_runs._now = wrong
        out = asyncio.ensure_future(first.call(run, "refund_order", ORDER, key="k"))
        await asyncio.wait_for(first.put.wait(), PATIENCE_S)
        assert await second.call(run, "get_order", ORDER) == "storage_unavailable"
        first.may_answer.set()
        assert (await out)["matched_rule_index"] == 0
        assert (await second.call(run, "get_order", ORDER))["response"]["status"] == "refunded"
        live = second.live_runs.get(hash_of(run["run_token"]))
        assert live is not None
        assert 86_400 - 120 < live.ends_at - second.live_runs.steady() < 86_400


async def test_a_late_call_on_old_news_is_decided_anew(shared: tuple[Api, str, Path]) -> None:
    """The second node knows nothing of the first's call when its own, which asks, arrives."""
    late = {"trigger": "after_n_calls", "tool": "get_order", "n": 2, "duration": 9, "latency_ms": 60_000}
    run = opened(shared[0], late)
    async with two_nodes(shared, Clock()) as (first, second):
        second.may_answer.set()
        assert (await second.call(run, "get_order", ORDER))["matched_rule_index"] is None
        assert (await first.call(run, "refund_order", ORDER))["response"]
        reply = await second.call(run, "get_order", ORDER)
        assert (reply["matched_rule_index"], reply["response"]["status"]) == (0, "refunded")
    assert [row["sequence"] for row in shared[0].trace(run["id"])] == [1, 2, 3]
