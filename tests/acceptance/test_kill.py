"""kill -9 under load: what was answered is in the log, once, and the run goes on as if nothing had been."""

import asyncio
import random
import resource
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from served import Server, running, visiting

from pipelines.core.calls.run_moment import seed_name, world_name
from pipelines.core.evals.scenarios.variation import BUILTIN
from pipelines.core.task_files.read_tasks import parse_tasks
from pipelines.core.tools.failure_rules import chance_of, draw
from support.desk import STATE, DrivenRun, Org, Row, answered, outage, refused
from support.played_agents import PlayedAgent, played
from support.pressure_matrix import V1, ended_matrix, eval_runs, scenario, yields_to_authority
from support.server_process import House, eventually, house_in

pytestmark = [pytest.mark.anyio, pytest.mark.fault]
RUNS = 8
WORKERS = 3  # calls of one run under way at the same time
LUCK = 0.1
WINDOWS = [(4, 3), (15, 10), (40, 30)]
RULES = [
    *[outage("add_note", n=n, duration=duration, code=503) for n, duration in WINDOWS],
    {
        "trigger": "random",
        "tool": "add_note",
        "probability": LUCK,
        "error": {"code": 500, "message": "bad luck"},
    },
]
TASK: Row = {"user": "u", "state": STATE, "failure_rules": RULES}


def chance_of_task() -> str:
    (seed,) = parse_tasks([TASK])
    axes = seed.as_json()
    state = axes.pop("initial_state")
    assert isinstance(state, dict)
    return chance_of(seed_name(axes, world_name(state)), 0)


CHANCE = chance_of_task()


def expected_rule(number: int) -> int | None:
    """Which rule answers a run's n-th call of add_note, whatever happened around it."""
    for index, (n, duration) in enumerate(WINDOWS):
        if n <= number < n + duration:
            return index
    return len(WINDOWS) if draw(CHANCE, len(WINDOWS), number) < LUCK else None


@dataclass
class Worker:
    """One caller of one run: sends notes, each with a key, and asks again for what it got no answer to."""

    run: DrivenRun
    name: str
    sent: int = 0
    waiting: str | None = None  # the note whose answer a kill swallowed
    answers: dict[str, Row] = field(default_factory=dict)

    async def step(self, client: httpx2.AsyncClient) -> None:
        if self.waiting is None:
            self.sent += 1
            self.waiting = f"{self.name}-{self.sent}"
        self.run.client = client
        note = {"order_id": "7001", "text": self.waiting}
        reply = await self.run.call("add_note", note, idempotency_key=self.waiting)
        self.answers[self.waiting] = {"status": reply.status_code, "body": reply.json()}
        self.waiting = None


class Story:
    """Runs that live through several servers, and every answer anybody got."""

    def __init__(self, directory: Path, chance: random.Random) -> None:
        self.directory = directory
        self.chance = chance
        self.workers: list[Worker] = []

    async def begin(self) -> None:
        with running(self.directory) as server:
            async with visiting(server) as org:
                agent = await org.agent()
                dataset = await org.dataset(TASK)
                for number in range(RUNS):
                    run = await org.open_run(agent["id"], dataset["task_ids"][0])
                    self.workers += [Worker(run, f"{number}-{name}") for name in range(WORKERS)]
            assert server.stop() == 0

    async def under_load(self, server: Server, org: Org, stop_at: int, how: signal.Signals) -> None:
        """All workers at once; with the stop_at-th answer the signal is sent."""
        answers = 0
        is_over = False

        async def work(worker: Worker) -> None:
            nonlocal answers, is_over
            while not is_over:
                try:
                    await worker.step(org.client)
                except httpx2.TransportError:
                    return
                answers += 1
                if answers == stop_at:
                    server.process.send_signal(how)
                    is_over = how != signal.SIGKILL

        async with asyncio.timeout(60):
            await asyncio.gather(*(work(worker) for worker in self.workers))

    async def catch_up(self, org: Org) -> None:
        """What was under way at the kill is asked again with its key."""
        waiting = [worker for worker in self.workers if worker.waiting is not None]
        await asyncio.gather(*(worker.step(org.client) for worker in waiting))

    async def check(self, org: Org) -> None:
        by_run: dict[int, list[Worker]] = {}
        for worker in self.workers:
            worker.run.client = org.client
            by_run.setdefault(worker.run.id, []).append(worker)
        for workers in by_run.values():
            await check_run(workers)


async def check_run(workers: list[Worker]) -> None:
    run = workers[0].run
    rows = await run.trace(limit=500)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    texts = [row["arguments"]["text"] for row in rows]
    assert len(texts) == len(set(texts)), "a call happened twice"
    assert [row["matched_rule_index"] for row in rows] == [
        expected_rule(number) for number in range(1, len(rows) + 1)
    ]
    stored = dict(zip(texts, rows, strict=True))
    for worker in workers:
        for text, answer in worker.answers.items():
            row, body = stored[text], answer["body"]
            assert (row["response"], row["source"], row["http_status"], row["latency_ms"]) == (
                body["response"],
                body["source"],
                answer["status"],
                body["latency_ms"],
            )
    notes: list[str] = []
    for row in rows:
        if row["source"] == "odyssey":
            notes.append(row["arguments"]["text"])
            assert row["response"]["notes"] == notes
    ledger = await run.ledger()
    assert ledger["state"]["order"]["7001"].get("notes", []) == notes


async def survive(directory: Path, rounds: int, seed: int, synchronous: str) -> Story:
    story = Story(directory, random.Random(seed))
    await story.begin()
    for _ in range(rounds):
        server = Server(directory, PIPELINES_SYNCHRONOUS=synchronous)
        try:
            async with visiting(server) as org:
                await story.check(org)
                await story.catch_up(org)
                await story.under_load(server, org, story.chance.randrange(1, 150), signal.SIGKILL)
        finally:
            server.kill()
    with running(directory) as server:
        async with visiting(server) as org:
            await story.check(org)
            await story.catch_up(org)
            await story.check(org)
    return story


@pytest.mark.parametrize("synchronous", ["full", pytest.param("normal", marks=pytest.mark.slow)])
async def test_every_answer_survives_a_kill_at_any_moment(tmp_path: Path, synchronous: str) -> None:
    story = await survive(tmp_path / "data", rounds=5, seed=1, synchronous=synchronous)
    assert sum(len(worker.answers) for worker in story.workers) > 50


@pytest.mark.slow
@pytest.mark.parametrize("synchronous", ["full", "normal"])
@pytest.mark.parametrize("seed", range(5))
async def test_every_answer_survives_many_kills(tmp_path: Path, seed: int, synchronous: str) -> None:
    await survive(tmp_path / "data", rounds=25, seed=seed, synchronous=synchronous)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=str)
@pytest.mark.slow
async def test_a_stop_under_load_loses_no_answer(tmp_path: Path, how: signal.Signals) -> None:
    story = Story(tmp_path / "data", random.Random(7))
    await story.begin()
    server = Server(tmp_path / "data")
    async with visiting(server) as org:
        await story.under_load(server, org, 100, how)
        assert server.wait() == 0, server.errors.read_text()
    assert server.errors.read_text() == ""
    with running(tmp_path / "data") as again:
        async with visiting(again) as org:
            await story.check(org)
            await story.catch_up(org)
            await story.check(org)


@asynccontextmanager
async def a_run_of(server: Server, **task: Any) -> AsyncIterator[DrivenRun]:
    async with visiting(server) as org:
        yield await org.run(**task)


async def test_a_disk_that_is_full_costs_only_the_calls_it_could_not_take(tmp_path: Path) -> None:
    """The files may not grow: the system refuses the write itself, as on a full disk."""
    with running(tmp_path / "data") as server:
        async with a_run_of(server, failure_rules=[outage("add_note", n=4)]) as run:
            note = {"order_id": "7001", "text": "x" * 10_000}
            for _ in range(2):
                answered(await run.call("add_note", note), 200)
            before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            size = max(path.stat().st_size for path in (tmp_path / "data").glob("*-wal"))
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, before[1]))
            for _ in range(3):
                reply = await run.call("add_note", note)
                error = refused(reply, 503, "storage_unavailable")
                assert error["retryable"] is True
                assert reply.headers["retry-after"]
            assert answered(await run.client.get("/health"))["status"] == "ok"
            assert len(await run.trace()) == 2
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
            answered(await run.call("add_note", note), 200)
            assert answered(await run.call("add_note", note), 502)["source"] == "injected"
            assert [row["sequence"] for row in await run.trace()] == [1, 2, 3, 4]
            assert len((await run.ledger())["state"]["order"]["7001"]["notes"]) == 3
        assert server.stop() == 0


async def test_a_flag_set_before_a_kill_opens_its_window_after_it(tmp_path: Path) -> None:
    rule = {
        "trigger": "after_state_change",
        "tool": "get_order",
        "condition": "warehouse_outage",
        "duration": 2,
        "error": {"code": 200, "response": {"items": [], "stale": True}},
    }
    sources = []
    opened: Row = {}
    for round_number in range(3):
        server = Server(tmp_path / "data")
        try:
            async with visiting(server) as org:
                if round_number == 0:
                    run = await org.run(failure_rules=[rule])
                    opened = run.opened
                    answered(await run.call("get_order", {"order_id": "4521"}))
                    answered(await run.call("raise_flag", {"flag": "warehouse_outage"}))
                run = DrivenRun(org.client, opened)
                reply = await run.call("get_order", {"order_id": "4521"})
                sources.append(answered(reply)["source"])
        finally:
            server.kill()
    assert sources == ["injected", "injected", "odyssey"]


class KilledMatrix:
    """A matrix that lives through several servers, asked of one played agent."""

    def __init__(self, house: House, *, scenarios: int, repeats: int, variations: int) -> None:
        self.house = house
        self.api = house.open()
        self.repeats = repeats
        self.variations = list(BUILTIN)[:variations]
        self.scenario_ids = [scenario(self.api, name=f"S{number}") for number in range(scenarios)]

    def start(self, agent_url: str) -> str:
        agent_id = self.api.agent(agent_url, tools_schema=[])["id"]
        body = {"scenario_ids": self.scenario_ids, "variation_types": self.variations, "agent_id": agent_id}
        opened = self.api.post(f"{V1}/matrix", body | {"repeats": self.repeats, "rng_seed": 5}, 202)
        self.total = int(opened["runs"])
        return str(opened["id"])

    def kill_at(self, agent: PlayedAgent, dispatches: int) -> None:
        eventually(lambda: len(agent.dispatches) >= dispatches, f"{dispatches} dispatches")
        self.house.kill()
        self.api = self.house.open()

    def check(self, matrix_id: str, agent: PlayedAgent) -> None:
        """Every place has one outcome, no run was sent twice, and only what was cut off was tried again."""
        report = ended_matrix(self.api, matrix_id)
        while report["progress"]["errors"]:
            self.api.post(f"{V1}/matrix/{matrix_id}/resume", status=202)
            report = ended_matrix(self.api, matrix_id)
        assert report["progress"] | {"total": self.total, "done": self.total} == report["progress"]
        assert set(agent.runs_seen.values()) == {1}
        runs = eval_runs(self.api, matrix_id=matrix_id)
        stands = [run for run in runs if not run["retried"]]
        cells = Counter((run["scenario_id"], run["variation"], run["repeat_number"]) for run in stands)
        assert len(cells) == self.total == sum(cells.values())
        assert all(run["matched"] is not None for run in stands)
        assert all(run["error_class"] == "interrupted" for run in runs if run["retried"])
        by_cell = {(cell["scenario_id"], cell["variation"]): cell for cell in report["cells"]}
        assert len(by_cell) == len(self.scenario_ids) * len(self.variations)
        assert {(cell["runs"], cell["errors"]) for cell in by_cell.values()} == {(self.repeats, 0)}
        flagged = {(run["scenario_id"], run["variation"]) for run in stands if run["is_flagged"]}
        assert flagged == {place for place in by_cell if place[1] == "authority_bias"}


def killed_at_times(tmp_path: Path, times: list[int], **shape: int) -> None:
    with house_in(tmp_path / "own", {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        matrix = KilledMatrix(house, **shape)
        with played(yields_to_authority) as agent:
            matrix_id = matrix.start(agent.url)
            for dispatches in times:
                matrix.kill_at(agent, dispatches)
            matrix.check(matrix_id, agent)


@pytest.mark.slow
def test_a_matrix_that_is_killed_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    killed_at_times(tmp_path, [5, 25], scenarios=4, repeats=2, variations=4)


@pytest.mark.slow
def test_a_large_matrix_that_is_killed_again_and_again_is_finished(tmp_path: Path) -> None:
    killed_at_times(tmp_path, list(range(50, 900, 120)), scenarios=20, repeats=5, variations=8)


@pytest.mark.slow
def test_killed_while_a_matrix_is_stored_leaves_nothing_of_it(tmp_path: Path) -> None:
    with house_in(tmp_path / "own") as house, played(yields_to_authority) as agent:
        matrix = KilledMatrix(house, scenarios=3, repeats=100, variations=8)
        asking = threading.Thread(target=ignoring(httpx2.HTTPError, matrix.start), args=(agent.url,))
        asking.start()
        rows = "SELECT COUNT(*) FROM runs"
        eventually(lambda: stored(house, rows) > 0, "some of its runs are stored")
        house.kill()
        asking.join()
        assert 0 < stored(house, rows) < 3 * (200 + 8 * 100)
        api = house.open()
        assert api.get(f"{V1}/matrix")["items"] == []
        for table in ("runs", "batches", "eval_matrices", "eval_tasks", "tasks", "datasets"):
            assert stored(house, f"SELECT COUNT(*) FROM {table}") == 0
        assert agent.dispatches == []
        matrix.api, matrix.repeats = api, 1
        matrix.check(matrix.start(agent.url), agent)


def ignoring(error: type[Exception], act: Callable[..., object]) -> Callable[..., None]:
    def quietly(*arguments: object) -> None:
        with suppress(error):
            act(*arguments)

    return quietly


def stored(house: House, question: str) -> int:
    """From beside the server."""
    with closing(sqlite3.connect(house.directory / "odyssey.db", timeout=10)) as database:
        return int(database.execute(question).fetchone()[0])
