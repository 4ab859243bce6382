"""A Postgres behind a network that drops packets: calls are refused in time, and all goes on afterwards."""

import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import psycopg
import pytest

from pipelines.storage.database.postgres_store import PostgresStore
from pipelines.storage.database.store import StoreConnection
from pipelines.wire.names import PROXY_BASE
from support.desk import AGENT, TASK
from support.played_agents import holds, played
from support.private_postgres import Cluster
from support.server_process import REFUND_TASK, Api, House, eventually, house_in
from support.tcp_relay import Relay, relay_to

pytestmark = pytest.mark.fault

ENV = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_WORKER_SILENT_S": "60"}
ANSWER_S = 10  # how long a call may wait for a database that does not answer
STOP_S = 10


class Blockable(NamedTuple):
    house: House
    api: Api
    relay: Relay


@pytest.fixture
def blockable(postgres: Cluster, tmp_path: Path) -> Iterator[Blockable]:
    database = postgres.new_database().rpartition("/")[2]
    with relay_to(postgres.port) as relay:
        url = f"postgresql://odyssey@127.0.0.1:{relay.port}/{database}"
        with house_in(tmp_path / "house", ENV, "--database-url", url) as house:
            yield Blockable(house, house.open(), relay)


class ManualRun:
    def __init__(self, api: Api) -> None:
        agent_id = api.post("/api/agents", AGENT, 201)["id"]
        (task_id,) = api.dataset(TASK, agent_id=agent_id)["task_ids"]
        body = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}
        self.opened = api.post("/api/runs", body, 201)
        self.api = api

    def note(self, text: str, key: str | None = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.opened['run_token']}"}
        headers |= {"Idempotency-Key": key} if key else {}
        url = f"{self.api.url}{PROXY_BASE}/runs/{self.opened['run_token_jti']}/tools/add_note"
        arguments = json.dumps({"order_id": "4521", "text": text})
        return httpx2.post(url, content=arguments, headers=headers, timeout=60)

    def rows(self) -> list[dict[str, Any]]:
        return self.api.trace(self.opened["id"])


def is_refused(reply: httpx2.Response) -> bool:
    return reply.status_code == 503 and reply.json()["error"]["code"] == "storage_unavailable"


@pytest.mark.parametrize("connections", ["are cut", pytest.param("go on", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_calls_are_refused_in_time_and_go_on_when_the_network_does(
    blockable: Blockable, connections: str
) -> None:
    api, relay = blockable.api, blockable.relay
    runs = [ManualRun(api) for _ in range(6)]
    for run in runs:
        assert run.note("before").status_code == 200
    unknown = ManualRun(api)  # not in memory: its first call has to read
    assert httpx2.get(f"{api.url}/health/ready").json()["status"] == "ready"
    relay.block()
    began = time.monotonic()

    def timed(run: ManualRun) -> tuple[bool, float]:
        sent = time.monotonic()
        return is_refused(run.note("meanwhile", key="once")), time.monotonic() - sent

    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(timed, run) for run in [*runs, unknown] * 3]
        lists = [pool.submit(api.client.get, "/api/runs") for _ in range(8)]
        ready = pool.submit(httpx2.get, f"{api.url}/health/ready", timeout=60)
        alive = httpx2.get(f"{api.url}/health", timeout=2)
        assert alive.status_code == 200
        assert [is_refused(reply.result()) for reply in lists] == [True] * 8
        took = [call.result() for call in calls]
    assert time.monotonic() - began < ANSWER_S
    assert all(refused for refused, _ in took)
    assert is_refused(ready.result())
    assert "The database" in ready.result().json()["error"]["message"]
    print(f"the slowest call was refused after {max(seconds for _, seconds in took):.1f} s")
    again = [timed(run) for run in runs[:1]]
    assert again[0][0]
    assert again[0][1] < ANSWER_S

    if connections == "are cut":
        relay.cut()
    relay.go_on()
    resumed = time.monotonic()
    eventually(lambda: httpx2.get(f"{api.url}/health/ready", timeout=60).is_success, "it is ready", 15)
    print(f"ready {time.monotonic() - resumed:.1f} s after the network was back")
    for run in [*runs, unknown]:
        reply = run.note("meanwhile", key="once")
        assert reply.status_code == 200, reply.text
        expected = ["meanwhile"] if run is unknown else ["before", "meanwhile"]
        assert [row["arguments"]["text"] for row in run.rows()] == expected
        assert [row["sequence"] for row in run.rows()] == list(range(1, len(expected) + 1))


@pytest.mark.slow
def test_a_batch_goes_on_by_itself_when_the_network_does(blockable: Blockable) -> None:
    with played(holds) as agent:
        batch_id = blockable.api.start_batch(agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 2})
        eventually(lambda: agent.at_once == 2, "the agent is full")
        blockable.relay.block()
        ready = f"{blockable.api.url}/health/ready"
        eventually(lambda: httpx2.get(ready, timeout=60).status_code == 503, "it is not ready")
        agent.may_answer.set()
        eventually(lambda: agent.at_once == 0, "the agent has answered what it was sent")
        blockable.relay.cut()
        blockable.relay.go_on()
        eventually(lambda: httpx2.get(ready, timeout=60).is_success, "it is ready again")
        resumed = time.monotonic()
        batch = blockable.api.ended(batch_id, patience_s=90)
        print(f"the batch ended {time.monotonic() - resumed:.1f} s after it was ready")
        assert batch["counts"]["total"] == 8
        assert set(agent.runs_seen.values()) == {1}
        assert len(agent.runs_seen) == 8


@pytest.mark.slow
@pytest.mark.parametrize("has_batch", [False, True])
def test_it_stops_in_time_while_nothing_comes_through(blockable: Blockable, has_batch: bool) -> None:
    run = ManualRun(blockable.api)
    with played(holds) as agent, ThreadPoolExecutor(8) as pool:
        if has_batch:
            blockable.api.start_batch(agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 2})
            eventually(lambda: agent.at_once == 2, "the agent is full")
        blockable.relay.block()
        calls = [pool.submit(lambda: run.note("meanwhile").status_code) for _ in range(4)]
        eventually(lambda: blockable.relay.held, "the database is asked")
        asked = time.monotonic()
        code, errors = blockable.house.stop(signal.SIGTERM)
        took = time.monotonic() - asked
        print(f"stopped after {took:.1f} s with {code}: {errors}")
        assert took < STOP_S
        assert code == 0 or (code == 74 and "The next start continues" in errors), errors
        for call in calls:
            assert call.exception() is not None or call.result() != 200


@pytest.mark.slow
def test_a_slow_statement_is_waited_for_and_a_dead_one_is_not(postgres: Cluster) -> None:
    database = postgres.new_database().rpartition("/")[2]
    with relay_to(postgres.port) as relay:
        store = PostgresStore(f"postgresql://odyssey@127.0.0.1:{relay.port}/{database}")
        connection = store.connect(read_only=False)
        assert list(connection.execute("SELECT 7 FROM pg_sleep(6)").fetchone()) == [7]
        relay.block()
        asked = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="nothing came from the database") as raised:
            connection.execute("SELECT 1")
        assert store.is_unavailable(raised.value)
        assert time.monotonic() - asked < ANSWER_S
        relay.go_on()
        eventually(lambda: _answers(connection), "it connects again", 10)
        connection.close()


def _answers(connection: StoreConnection) -> bool:
    try:
        return bool(connection.execute("SELECT 1").fetchone())
    except psycopg.OperationalError:
        return False
