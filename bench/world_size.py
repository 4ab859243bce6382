"""What a call costs as the world grows, and what a thousand live runs weigh.

    python bench/world_size.py [--json]

Inside the engine: no sockets and no disk, since neither knows how large the world is.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pipelines.core.agents.agent_config import AgentConfig
from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.calls.tool_call import ToolCall
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.failure_rules import RuleProgress
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.live.live_runs import LiveRun, LiveRuns, Toolbox
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.engine.platform import WallClock
from pipelines.storage.accounts.keys import add_org, hash_of
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database, Heard
from pipelines.storage.database.sqlite_store import SqliteStore
from pipelines.storage.database.trace_rows import TraceRow
from pipelines.storage.runs import runs
from pipelines.storage.tasks import datasets, texts
from pipelines.wire.names import RunStatus

SIZES = (100, 10_000, 1_000_000)
CALLS = 2_000
ROUNDS = 5
LIVE_RUNS = 1_000
SHARED_ENTITIES = 10_000
TOOLS = parse_tools_schema(
    [
        {
            "name": "get_order",
            "description": "Get an order by its id.",
            "input_schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}},
                "required": ["order_id"],
            },
        },
        {
            "name": "update_order",
            "description": "Update the note of an order.",
            "input_schema": {
                "type": "object",
                "properties": {"order_id": {"type": "string"}, "note": {"type": "string"}},
                "required": ["order_id", "note"],
            },
        },
    ]
)


def state(entities: int) -> dict[str, Any]:
    return {
        "order": {
            f"o-{number}": {"status": "paid", "amount": number / 4, "note": "", "user_id": f"u-{number % 97}"}
            for number in range(entities)
        }
    }


def live_run(world: World) -> LiveRun:
    ledger = Ledger(world)
    return LiveRun(
        id=1,
        org_id=1,
        jti="bench",
        token_hash="",
        toolbox=Toolbox({tool.name: tool for tool in TOOLS}, None, AgentConfig()),
        simulator=build_simulator(TOOLS, world=world),
        ledger=ledger,
        progress=RuleProgress((), ledger.is_flagged),
        seed="bench",
        began=("2026-05-01", 0),
        expires_at="9999",
        is_active=True,
    )


class _StoredAtOnce:
    def store(self, row: TraceRow, heard: Heard) -> None:
        heard(None)


async def cost_us(live: LiveRun, size: int, tool: str) -> float:
    """Per call, over ids spread through the world."""
    calls = []
    for number in range(CALLS):
        arguments = {"order_id": f"o-{number * 7919 % size}"}
        if tool == "update_order":
            arguments["note"] = f"note {number}"
        calls.append(ToolCall(tool, dumps(arguments), None, None, time.perf_counter()))
    answerer = ToolCallAnswerer(
        database=_StoredAtOnce(),  # type: ignore[arg-type]  # what a call costs beside its commit
        live_runs=None,  # type: ignore[arg-type]  # the run is handed in
        now=WallClock(),
        question_runner=QuestionRunner(),
    )
    reply = await answerer.answer_later(live, calls[0])
    assert reply.http_status == 200, reply
    started = time.perf_counter()
    for call in calls:
        await answerer.answer_later(live, call)
    return (time.perf_counter() - started) / CALLS * 1e6


def growth() -> dict[str, Any]:
    """Sizes take turns within each round, so that a slow spell of the machine hits all of them."""
    worlds = {size: World.from_initial_state(state(size)) for size in SIZES}
    found: dict[str, dict[int, list[float]]] = {}
    for _ in range(ROUNDS):
        for tool in ("get_order", "update_order"):
            for size, world in worlds.items():
                took = asyncio.run(cost_us(live_run(world), size, tool))
                found.setdefault(tool, {}).setdefault(size, []).append(took)
    return {
        tool: {
            "us_per_call": {str(size): round(statistics.median(times), 1) for size, times in by_size.items()},
            "largest_to_smallest": round(
                statistics.median(
                    large / small for large, small in zip(by_size[SIZES[-1]], by_size[SIZES[0]], strict=True)
                ),
                3,
            ),
        }
        for tool, by_size in found.items()
    }


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def memory() -> dict[str, Any]:
    """A thousand runs of one seed, loaded through the real store, each with one change of its own."""
    with tempfile.TemporaryDirectory() as directory:
        database = Database(SqliteStore(Path(directory) / "bench.db", synchronous="normal"))
        now = WallClock()
        live_runs = LiveRuns(database, now=now)
        answerer = ToolCallAnswerer(
            database=database, live_runs=live_runs, now=now, question_runner=QuestionRunner()
        )
        tokens = await database.write(_store_runs)
        before = resident_mb()
        for token in tokens:
            await live_runs.load(hash_of(token))
            live = live_runs.get(hash_of(token))
            assert live is not None
            call = ToolCall(
                "update_order", b'{"order_id":"o-1","note":"mine"}', None, None, time.perf_counter()
            )
            await answerer.answer_later(live, call)
        after = resident_mb()
        await database.close()
    return {
        "live_runs": LIVE_RUNS,
        "entities": SHARED_ENTITIES,
        "mb": round(after - before, 1),
        "rss_mb": round(after),
    }


def _store_runs(connection: Connection) -> list[str]:
    now = WallClock()()
    org_id = add_org(connection, "bench", now)
    agent_id = agents.add_agent(connection, org_id=org_id, name="bench", status="published", now=now)
    agents.add_version(
        connection,
        agent_id=agent_id,
        definition=AgentDefinition(name="bench", tools=TOOLS),
        sealed_auth_header=None,
        status="published",
        now=now,
    )
    dataset_id = datasets.add_dataset(connection, org_id=org_id, name="bench", agent_id=agent_id, now=now)
    seed = Seed(user_instruction="bench", initial_state=state(SHARED_ENTITIES))
    written = datasets.as_texts(seed)
    for slice in texts.slices_of(written.texts):
        texts.add_parts(connection, slice, now=now)
    (task_id,) = datasets.add_tasks(
        connection, org_id=org_id, dataset_id=dataset_id, tasks=[written.task], now=now
    )
    task = datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
    assert task is not None
    tokens = [f"token-{number}" for number in range(LIVE_RUNS)]
    for token in tokens:
        runs.add_run(
            connection,
            runs.NewRun(
                org_id=org_id,
                agent_id=agent_id,
                agent_version=1,
                task_id=task_id,
                dataset_id=dataset_id,
                mode="manual",
                status=RunStatus.RUNNING,
                jti=token,
                token_hash=hash_of(token),
                seed_hash=task.seed_hash,
                seed_text=task.seed_text,
                world_hash=task.world_hash,
                simulated_now=now,
                soft_warnings=[],
                created_at=now,
                expires_at="9999-01-01T00:00:00.000000Z",
            ),
        )
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "memory": asyncio.run(memory()),
        "growth": growth(),
    }
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(report["machine"])
    for tool, figures in report["growth"].items():  # type: ignore[attr-defined]
        print(
            f"{tool}: µs a call by entities {figures['us_per_call']}, ratio {figures['largest_to_smallest']}"
        )
    print(f"memory: {report['memory']}", file=sys.stdout)


if __name__ == "__main__":
    main()
