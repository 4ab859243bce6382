"""A database that is blocked, a machine that slept: whatever stops everybody makes nobody gone."""

import signal
import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from support.played_agents import PlayedAgent, holds, played
from support.private_postgres import Cluster
from support.server_process import REFUND_TASK, Api, Node, eventually, house_in
from support.tcp_relay import relay_to

pytestmark = pytest.mark.fault

SILENT_S = 3
ENV = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_WORKER_SILENT_S": str(SILENT_S)}


def held_batch(api: Api, agent: PlayedAgent) -> int:
    batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 4})
    eventually(lambda: agent.at_once >= 4, "the agent is full")
    return batch_id


def assert_whole(api: Api, agent: PlayedAgent, *batches: int) -> None:
    agent.may_answer.set()
    for batch_id in batches:
        assert api.ended(batch_id, patience_s=90)["counts"]["by_status"] == {"completed": 8}
    assert set(agent.runs_seen.values()) == {1}


@pytest.mark.slow
def test_a_lone_server_whose_writer_is_held_interrupts_nothing(tmp_path: Path) -> None:
    """Its beats would wait as long as all other changes: it takes nobody for gone, least of all itself."""
    with (
        house_in(tmp_path / "house", ENV | {"PIPELINES_WORKER_SILENT_S": "1"}) as house,
        played(holds) as agent,
    ):
        api = house.open()
        batch_id = held_batch(api, agent)
        aside = sqlite3.connect(tmp_path / "house" / "odyssey.db", isolation_level=None)
        assert aside.execute("SELECT * FROM workers").fetchall() == []  # nobody is there to hear it beat
        aside.execute("BEGIN IMMEDIATE")
        time.sleep(3)  # three times as long as a silence that counts
        aside.execute("COMMIT")
        aside.close()
        assert api.client.post("/api/datasets", json={"name": "x", "rows": [REFUND_TASK]}).status_code == 201
        time.sleep(1)  # a whole silence more: what was judged wrongly would show now
        assert api.by_status(batch_id) == {"running": 4, "pending": 4}
        assert_whole(api, agent, batch_id)


class _Two:
    """A server and a worker on one Postgres, each of which holds dispatches."""

    def __init__(self, stack: ExitStack, url: str, directory: Path, agent: PlayedAgent) -> None:
        self.agent = agent
        self.house = stack.enter_context(house_in(directory, ENV, "--database-url", url))
        self.api = self.house.open()
        flags = ("worker", "--database-url", url, "--data-dir", str(directory))
        self.worker = Node(*flags, env=ENV)
        stack.callback(lambda: self.worker.process.poll() is None and self.worker.kill())
        self.worker_at = self.worker.ready().removeprefix("http://")
        self.batches: list[int] = []
        eventually(self._is_shared, "both hold dispatches", 90)

    def _is_shared(self) -> bool:
        more = self.api.start_batch(self.agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 4})
        self.batches.append(more)
        eventually(lambda: self.agent.at_once == 4 * len(self.batches), "the agent is full")
        return any(self.worker_at in dispatch.proxy_url for dispatch in self.agent.dispatches)

    def processes(self) -> list[Node]:
        assert self.house.node is not None
        return [self.house.node, self.worker]


@pytest.mark.slow
def test_a_database_that_is_blocked_for_everybody_makes_nobody_gone(
    postgres: Cluster, tmp_path: Path
) -> None:
    database = postgres.new_database().rpartition("/")[2]
    with ExitStack() as stack:
        relay = stack.enter_context(relay_to(postgres.port))
        agent = stack.enter_context(played(holds))
        url = f"postgresql://odyssey@127.0.0.1:{relay.port}/{database}"
        two = _Two(stack, url, tmp_path / "house", agent)
        relay.block()
        time.sleep(3 * SILENT_S)
        relay.cut()
        relay.go_on()
        ready = f"{two.api.url}/health/ready"
        eventually(lambda: httpx2.get(ready, timeout=60).is_success, "it is ready again", 60)
        time.sleep(2 * SILENT_S)
        assert_whole(two.api, agent, *two.batches)


@pytest.mark.slow
def test_nodes_that_slept_together_take_nobody_for_gone(postgres: Cluster, tmp_path: Path) -> None:
    """A machine that was suspended wakes them one after the other."""
    with ExitStack() as stack:
        agent = stack.enter_context(played(holds))
        two = _Two(stack, postgres.new_database(), tmp_path / "house", agent)
        for node in two.processes():
            node.process.send_signal(signal.SIGSTOP)
        time.sleep(2 * SILENT_S)
        for node in two.processes():
            node.process.send_signal(signal.SIGCONT)
            time.sleep(SILENT_S / 3)
        time.sleep(SILENT_S)
        assert_whole(two.api, agent, *two.batches)


@pytest.mark.slow
def test_one_that_is_killed_is_still_missed(postgres: Cluster, tmp_path: Path) -> None:
    with ExitStack() as stack:
        agent = stack.enter_context(played(holds))
        two = _Two(stack, postgres.new_database(), tmp_path / "house", agent)
        two.worker.kill()
        killed = time.monotonic()
        doomed = {d.run_id for d in agent.dispatches if two.worker_at in d.proxy_url}

        def interrupted() -> bool:
            failed = [run for batch_id in two.batches for run in two.api.runs(batch_id, status="failed")]
            return {run["id"] for run in failed} == doomed

        eventually(interrupted, "its runs are interrupted, and no others")
        print(f"missed after {time.monotonic() - killed:.1f} s")
        agent.may_answer.set()
        for batch_id in two.batches:
            two.api.ended(batch_id)
        assert set(agent.runs_seen.values()) == {1}
