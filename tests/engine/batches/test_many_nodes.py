"""A server and its workers on one Postgres: they share a batch, outlive each other, and answer as one."""

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from pipelines.server.config.settings import load_settings
from pipelines.server.service.first_start import prepare
from pipelines.storage.database.migrations import MIGRATIONS
from support.desk import outage
from support.played_agents import (
    Dispatch,
    PlayedAgent,
    ToolAnswer,
    call_tool,
    holds,
    played,
    refunds,
    waits_for_the_end,
)
from support.private_postgres import Cluster
from support.server_process import REFUND_TASK, Api, Node, eventually, house_in

pytestmark = pytest.mark.fault

QUICK = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_WORKER_SILENT_S": "6"}


class Range:
    """One database, one server, and workers as the test wants them."""

    def __init__(self, directory: Path, database_url: str, stack: ExitStack, **env: str) -> None:
        self.directory = directory
        self.database_url = database_url
        self._stack = stack
        self._env = QUICK | env
        self.api = self.second_server()

    def worker(self) -> Node:
        flags = ("worker", "--database-url", self.database_url, "--data-dir", str(self.directory))
        node = Node(*flags, env=self._env)
        self._stack.callback(lambda: node.process.poll() is None and node.kill())
        return node

    def second_server(self) -> Api:
        house = self._stack.enter_context(
            house_in(self.directory, self._env, "--database-url", self.database_url)
        )
        return house.open()

    def ask(self, question: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            return connection.execute(question, values).fetchall()

    def listed_workers(self) -> set[str]:
        return {row[0] for row in self.ask("SELECT id FROM workers")}


@pytest.fixture
def shared(postgres: Cluster, tmp_path: Path) -> Iterator[Range]:
    """For a test that stops or kills a node of it."""
    with ExitStack() as stack:
        yield Range(tmp_path / "shared", postgres.new_database(), stack)


class Lasting(NamedTuple):
    range: Range
    api: Api
    other: Api  # a second server
    worker_url: str


@pytest.fixture(scope="module")
def lasting(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lasting]:
    """For tests that leave it as it is. The database goes by the other of its two names here."""
    url = postgres.new_database().replace("postgresql://", "postgres://")
    with ExitStack() as stack:
        range = Range(tmp_path_factory.mktemp("lasting"), url, stack)
        worker = range.worker()
        yield Lasting(range, range.api, range.second_server(), worker.ready())


def test_a_batch_on_postgres_is_a_batch(lasting: Lasting):
    api = lasting.api
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 4, repeats=2)
        batch = api.ended(batch_id)
        runs = api.runs(batch_id)
    assert batch["counts"] == {"total": 8, "by_status": {"completed": 8}, "by_verdict": {"PASS": 8}}
    assert set(agent.runs_seen.values()) == {1}
    assert [row["sequence"] for row in api.trace(runs[0]["id"])] == [1, 2, 3]
    assert api.get(f"/api/runs/{runs[0]['id']}")["counts"]["tool_calls"] == 3
    for path in ("/api/agents", "/api/datasets", "/api/batches", "/api/keys"):
        assert api.get(path)["items"]
    of_lists = {"labels", "comments"}
    listed = [{name: value for name, value in run.items() if name not in of_lists} for run in runs]
    assert [{name: run[name] for name in listed[0]} for run in api.whole_runs(batch_id)] == listed


def test_nodes_that_start_together_prepare_the_database_once(postgres: Cluster, tmp_path: Path):
    url = postgres.new_database(is_empty=True)
    together = threading.Barrier(8)

    def start(number: int) -> bool:
        settings = load_settings({}, data_dir=tmp_path / str(number), database_url=url)
        together.wait()
        return prepare(settings).key is not None

    with ThreadPoolExecutor(together.parties) as pool:
        made_a_key = list(pool.map(start, range(together.parties)))
    assert made_a_key.count(True) == 1
    with psycopg.connect(url) as connection:
        ran = connection.execute("SELECT name FROM migrations").fetchall()
        assert connection.execute("SELECT COUNT(*) FROM orgs").fetchall() == [(1,)]
    assert {row[0] for row in ran} >= {name for name, _ in MIGRATIONS}


def held_by_each(found: Range, agent: PlayedAgent, nodes: list[str]) -> list[int]:
    """Batches, each of an agent of its own at the same place, until every node holds dispatches of them."""
    batches: list[int] = []

    def look() -> bool:
        batches.append(found.api.start_batch(agent.url, *[REFUND_TASK] * 6, agent={"max_concurrency": 4}))
        eventually(lambda: agent.at_once == 4 * len(batches), "the batch fills its agent's lanes")
        holders = {node_of(dispatch) for dispatch in agent.dispatches}
        return holders >= {node.removeprefix("http://") for node in nodes}

    eventually(look, f"each of {nodes} gets work")
    return batches


def node_of(dispatch: Dispatch) -> str:
    return urlsplit(dispatch.proxy_url).netloc


def sent_through(agent: PlayedAgent, url: str) -> set[int]:
    return {d.run_id for d in agent.dispatches if node_of(d) == urlsplit(url).netloc}


@pytest.mark.slow
def test_workers_share_batches_and_one_that_is_killed_loses_nothing(shared: Range):
    first, second = shared.worker(), shared.worker()
    urls = [first.ready(), second.ready()]
    with played(holds) as agent:
        batches = held_by_each(shared, agent, urls)
        second.kill()
        doomed = sent_through(agent, urls[1])
        agent.may_answer.set()
        for batch_id in batches:
            assert shared.api.ended(batch_id)["status"] == "completed"
        runs = {run["id"]: run for batch_id in batches for run in shared.api.runs(batch_id)}
        assert set(agent.runs_seen.values()) == {1}
    assert len(runs) == 6 * len(batches)
    assert set(agent.runs_seen) == set(runs)
    assert {id for id, run in runs.items() if run["error_class"] == "interrupted"} == doomed
    assert {run["verdict"] for id, run in runs.items() if id not in doomed} == {"PASS"}
    assert len(shared.listed_workers()) == 2  # the server and the worker that is left


@pytest.mark.slow
def test_a_server_that_is_killed_and_started_again_goes_on_by_itself(postgres: Cluster, tmp_path: Path):
    """On Postgres it comes back under another name, and takes its earlier life for a worker that is gone."""
    flags = ("--database-url", postgres.new_database())
    with house_in(tmp_path / "house", QUICK, *flags) as house, played(holds) as agent:
        api = house.open()
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 8, agent={"max_concurrency": 2})
        eventually(lambda: agent.at_once == 2, "the agent is full")
        house.kill()
        doomed = set(agent.runs_seen)
        agent.may_answer.set()
        api = house.open()
        batch = api.ended(batch_id)
        assert batch["counts"]["by_status"] == {"completed": 6, "failed": 2}
        assert {run["id"] for run in api.runs(batch_id, status="failed")} == doomed
        assert set(agent.runs_seen.values()) == {1}


@pytest.mark.slow
def test_a_worker_that_slept_too_long_finds_its_work_with_others(shared: Range):
    """A machine that was suspended: taken to be gone, it lets go of what it had and works on."""
    worker = shared.worker()
    url = worker.ready()
    with played(holds) as agent:
        batches = held_by_each(shared, agent, [url])
        doomed = sent_through(agent, url)
        worker.process.send_signal(signal.SIGSTOP)
        eventually(lambda: len(shared.listed_workers()) == 1, "it is taken to be gone")
        worker.process.send_signal(signal.SIGCONT)
        agent.may_answer.set()
        runs = {}
        for batch_id in batches:
            assert shared.api.ended(batch_id)["status"] == "completed"
            runs |= {run["id"]: run for run in shared.api.runs(batch_id)}
        assert set(agent.runs_seen.values()) == {1}
        assert {id for id, run in runs.items() if run["error_class"] == "interrupted"} == doomed
        eventually(lambda: len(shared.listed_workers()) == 2, "it is there again")
    code, errors = worker.stop()
    assert code in (0, -signal.SIGTERM), errors


@pytest.mark.slow
def test_a_worker_that_is_stopped_hands_its_work_over_at_once(postgres: Cluster, tmp_path: Path):
    """It says that it goes, so nobody waits for its silence."""
    patient = {"PIPELINES_WORKER_SILENT_S": "15"}  # a beat each three seconds
    with ExitStack() as stack:
        shared = Range(tmp_path / "shared", postgres.new_database(), stack, **patient)
        worker = shared.worker()
        with played(holds) as agent:
            batches = held_by_each(shared, agent, [worker.ready()])
            url = node_of(next(d for d in agent.dispatches if node_of(d) != urlsplit(shared.api.url).netloc))
            code, errors = worker.stop()
            assert code in (0, -signal.SIGTERM), errors
            assert "Traceback" not in errors
            doomed = sent_through(agent, f"http://{url}")
            runs = [run for batch_id in batches for run in shared.api.runs(batch_id, status="failed")]
            assert {run["id"] for run in runs} == doomed
            agent.may_answer.set()
            for batch_id in batches:
                shared.api.ended(batch_id, patience_s=12)
            assert set(agent.runs_seen.values()) == {1}


def test_a_run_is_cancelled_through_another_node_than_its_own(lasting: Lasting):
    url = lasting.worker_url
    with played(waits_for_the_end) as agent:
        held_by_each(lasting.range, agent, [url])
        run_id = min(sent_through(agent, url))
        assert lasting.api.post(f"/api/runs/{run_id}/cancel")["status"] == "cancelled"
        dispatch = agent.of_run(run_id)[0]
        late = call_tool(dispatch.proxy_url, dispatch.token, "get_order", {"order_id": "4521"})
        assert (late.status, late.body["error"]["code"]) == (409, "run_not_active")
        eventually(lambda: run_id in agent.hung_up, "its own node hangs up")


def test_a_batch_is_cancelled_on_every_node(lasting: Lasting):
    url = lasting.worker_url
    with played(waits_for_the_end) as agent:
        batches = held_by_each(lasting.range, agent, [url])
        for batch_id in batches:
            lasting.api.post(f"/api/batches/{batch_id}/cancel")
            assert lasting.api.by_status(batch_id) == {"cancelled": 6}
        eventually(lambda: len(agent.hung_up) == len(agent.dispatches), "every node hangs up")
        assert len(agent.dispatches) == 4 * len(batches)


def base_at(api: Api, dispatch: Dispatch) -> str:
    """The run's proxy on another node than the one that sent it."""
    return api.url + urlsplit(dispatch.proxy_url).path


def test_calls_of_one_run_through_two_nodes_are_answered_as_by_one(lasting: Lasting):
    """Alternately, each node with the run in its memory: no call is lost, doubled or decided on old news."""
    other = lasting.other
    rules = [outage("refund_order", n=2, duration=2), outage("*", n=7)]
    row = REFUND_TASK | {"failure_rules": rules}
    statuses: list[int] = []

    def alternates(dispatch: Dispatch) -> None:
        bases = [base_at(lasting.api, dispatch), base_at(other, dispatch)]
        for number in range(8):
            tool = "refund_order" if number % 2 else "add_note"
            arguments = {"order_id": "4521"} | ({} if number % 2 else {"text": f"note {number}"})
            statuses.append(dispatch.call(tool, arguments, bases[number % 3 % 2]).status)
        dispatch.answer("I have refunded order 4521.")

    with played(alternates) as agent:
        batch_id = lasting.api.start_batch(agent.url, row)
        lasting.api.ended(batch_id)
        run = lasting.api.only_run(batch_id)
    rows = lasting.api.trace(run["id"])
    assert [row["sequence"] for row in rows] == list(range(1, 9))
    # refund_order is called as 2nd, 4th, 6th, 8th: its own 2nd and 3rd fail; the 7th of all fails, too. The
    # 8th reaches the backend, which knows that the order is refunded.
    assert statuses == [200, 200, 200, 502, 200, 502, 502, 409]
    assert [row["matched_rule_index"] for row in rows] == [None, None, None, 0, None, 0, 1, None]
    for api in (lasting.api, other):
        order = api.get(f"/api/runs/{run['id']}/ledger")["state"]["order"]["4521"]
        assert order["notes"] == ["note 0", "note 2", "note 4"]
        assert order["status"] == "refunded"


def test_calls_of_one_run_at_the_same_moment_through_two_nodes_keep_one_log(lasting: Lasting):
    other = lasting.other
    each = 15

    def crowds(dispatch: Dispatch) -> None:
        def notes(api: Api, name: str) -> None:
            for number in range(each):
                answer = dispatch.call(
                    "add_note", {"order_id": "4521", "text": f"{name}{number}"}, base_at(api, dispatch)
                )
                answers.append(answer)

        threads = [
            threading.Thread(target=notes, args=(api, name))
            for api, name in ((lasting.api, "a"), (other, "b"), (lasting.api, "c"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        dispatch.answer("All is noted.")

    answers: list[ToolAnswer] = []
    with played(crowds) as agent:
        batch_id = lasting.api.start_batch(agent.url)
        lasting.api.ended(batch_id)
        run = lasting.api.only_run(batch_id)
    assert [answer.status for answer in answers] == [200] * 3 * each
    rows = lasting.api.trace(run["id"])
    assert [row["sequence"] for row in rows] == list(range(1, 3 * each + 1))
    written = [row["arguments"]["text"] for row in rows]
    for number, row in enumerate(rows):  # each call saw all that came before it, and nothing else
        assert row["response"]["notes"] == written[: number + 1]
    assert sorted(written) == sorted(f"{name}{number}" for name in "abc" for number in range(each))


def test_every_node_knows_when_a_run_has_ended(lasting: Lasting):
    """The other node has the run in memory as it was: its next call is refused all the same."""
    other = lasting.other

    def through_both(dispatch: Dispatch) -> None:
        for api in (lasting.api, other):
            assert dispatch.call("get_order", {"order_id": "4521"}, base_at(api, dispatch)).status == 200
        dispatch.answer("It has shipped.")

    with played(through_both) as agent:
        batch_id = lasting.api.start_batch(agent.url)
        lasting.api.ended(batch_id)
        run = lasting.api.only_run(batch_id)
        (dispatch,) = agent.dispatches
        for api in (other, lasting.api, other):
            late = dispatch.call("refund_order", {"order_id": "4521"}, base_at(api, dispatch))
            assert (late.status, late.body["error"]["code"]) == (409, "run_not_active")
    rows = lasting.api.trace(run["id"])
    assert [row["error_code"] for row in rows] == [None, None, *["run_not_active"] * 3]
    assert [row["sequence"] for row in rows] == [1, 2, 3, 4, 5]
    state = lasting.api.get(f"/api/runs/{run['id']}/ledger")["state"]
    assert state["order"]["4521"]["status"] == "shipped"


def test_a_database_that_drops_every_connection_costs_no_run(shared: Range):
    api = shared.api
    with played(holds) as agent:
        batch_id = api.start_batch(agent.url, *[REFUND_TASK] * 10, agent={"max_concurrency": 4})
        eventually(lambda: agent.at_once == 4, "the agent is full")
        shared.ask(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        agent.may_answer.set()
        batch = eventually(
            lambda: (found := asked_again(api, batch_id)) and found["status"] != "running" and found,
            "the batch ends",
        )
        assert set(agent.runs_seen.values()) == {1}
    assert batch["counts"]["total"] == 10
    assert set(batch["counts"]["by_status"]) <= {"completed", "failed"}
    interrupted = api.runs(batch_id, status="failed")
    assert {run["error_class"] for run in interrupted} <= {"interrupted"}
    assert len(interrupted) <= 4


def asked_again(api: Api, batch_id: int) -> dict[str, Any] | None:
    """A server that has just lost its database says so, once."""
    response = api.client.get(f"/api/batches/{batch_id}")
    return response.json() if response.is_success else None


def test_a_worker_without_a_shared_database_says_what_it_needs(tmp_path: Path):
    node = Node("worker", "--database-url", f"sqlite:///{tmp_path}/x.db", "--data-dir", str(tmp_path))
    _, errors = node.process.communicate(timeout=30)
    assert node.process.returncode == 2
    assert "postgresql://" in errors


def test_a_tool_name_that_postgres_cannot_store_is_answered(lasting: Lasting):
    api = lasting.api
    agent_id = api.agent("http://127.0.0.1:9/dispatch")["id"]
    task_id = api.dataset()["task_ids"][0]
    run = api.post("/api/runs", {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}, 201)
    url = f"{run['odyssey_proxy_url']}/tools/no%00tool"
    response = httpx2.post(url, json={}, headers={"Authorization": f"Bearer {run['run_token']}"})
    assert response.status_code == 404
    assert [row["error_code"] for row in api.trace(run["id"])] == ["tool_not_declared"]
