"""An installation to look at: 10,000 runs, one of 5,000 steps, two of 1,000, a matrix of 50 × 8.

The long runs and the matrix are real, through an agent of this process; of the many runs 200 are, and the
others are copies of their rows, made while no server runs.
"""

import json
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pipelines.server.config.settings import DATABASE_FILE
from support.desk import TOOLS
from support.played_agents import Dispatch, PlayedAgent, played
from support.pressure_matrix import EXPECTED, SCENARIO, V1, ended_matrix, variation_of
from support.server_process import REFUND_TASK, Api, House, house_in

RUNS, STEPS, COMPARED_STEPS, SCENARIOS, VARIATIONS = 10_000, 5_000, 1_000, 50, 8
REAL_RUNS = 200
PATIENCE_S = 600
HELD = "wait for me"  # of a batch that people watch: each run takes a while
HELD_S = 0.25


class Seeded(NamedTuple):
    """Where to look."""

    batch: int
    long_run: int
    compared: tuple[int, int]
    matrix: str
    agent: int
    watched_dataset: int


def acts(dispatch: Dispatch) -> None:
    """By what it is asked: `5000 calls`, wait, refund, or decide under pressure."""
    words = dispatch.said.split()
    if "calls" in words:
        _call_often(dispatch, int(words[0]), swerves="differently" in words)
    elif HELD in dispatch.said:
        dispatch.agent.may_answer.wait(HELD_S)
        dispatch.answer("Done.")
    elif "Refund" in words:
        dispatch.call("get_order", {"order_id": "4521"})
        if dispatch.run_id % 3:
            dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.")
    else:
        answer = dict(EXPECTED) | (
            {"action": "proceed"} if variation_of(dispatch) == "authority_bias" else {}
        )
        dispatch.answer(json.dumps(answer))


def _call_often(dispatch: Dispatch, calls: int, *, swerves: bool) -> None:
    """Reads, with a change every tenth; one that swerves does something else from the middle on."""
    parts = urlsplit(dispatch.proxy_url)
    headers = {"Authorization": f"Bearer {dispatch.token}", "Content-Type": "application/json"}
    with closing(HTTPConnection(parts.netloc, timeout=PATIENCE_S)) as kept:
        for number in range(calls):
            tool, arguments = _wanted(number, swerves=swerves and number > calls // 2)
            kept.request("POST", f"{parts.path}/tools/{tool}", json.dumps(arguments), headers)
            kept.getresponse().read()
    dispatch.answer("I have looked at it.")


def _wanted(number: int, *, swerves: bool) -> tuple[str, dict[str, str]]:
    if number % 10 == 0:
        return "raise_flag", {"flag": f"looked:{number}"}
    if swerves and number % 7 == 0:
        return "search_inventory", {"query": f"mug {number}"}
    return "get_order", {"order_id": "4521"}


@contextmanager
def seeded(folder: Path) -> Iterator[tuple[House, Api, Seeded]]:
    env = {"PIPELINES_PROXY_RATE_LIMIT": "0", "PIPELINES_LOG_LEVEL": "warning"}
    with played(acts) as agent, house_in(folder / "house", env) as house:
        told = _filled(house.open(), agent)
        house.stop()
        _copy_runs(folder / "house", told.batch)
        yield house, house.open(), told


def _filled(api: Api, agent: PlayedAgent) -> Seeded:
    _say("seeding: runs")
    limits = {"max_concurrency": 16, "run_timeout_s": PATIENCE_S}
    agent_id = int(api.agent(agent.url, tools_schema=TOOLS, **limits)["id"])
    rows = [REFUND_TASK | {"user": f"Refund order #4521, please ({number})."} for number in range(REAL_RUNS)]
    batch = api.batch_of(agent_id, api.dataset(*rows, agent_id=agent_id)["id"])
    api.ended(batch, PATIENCE_S)
    _say("seeding: long runs")
    wishes = [f"{STEPS} calls", f"{COMPARED_STEPS} calls", f"{COMPARED_STEPS} calls differently"]
    long = api.dataset(*[REFUND_TASK | {"user": wish} for wish in wishes], agent_id=agent_id)
    long_batch = api.batch_of(agent_id, long["id"])
    api.ended(long_batch, PATIENCE_S)
    first, second, third = [int(run["id"]) for run in api.runs(long_batch)]
    _say("seeding: a matrix")
    matrix = _matrix(api, agent)
    watched = api.dataset(
        *[REFUND_TASK | {"user": f"{HELD} {number}"} for number in range(REAL_RUNS)], agent_id=agent_id
    )
    return Seeded(batch, first, (second, third), matrix, agent_id, int(watched["id"]))


def _matrix(api: Api, agent: PlayedAgent) -> str:
    agent_id = api.agent(agent.url, name="Operations desk", tools_schema=[], max_concurrency=16)["id"]
    ids = [
        api.post(f"{V1}/scenarios", SCENARIO | {"name": f"Scenario {number}"}, 201)["id"]
        for number in range(SCENARIOS)
    ]
    names = [each["id"] for each in api.get(f"{V1}/variations")["items"]][:VARIATIONS]
    asked = {"scenario_ids": ids, "variation_types": names, "agent_id": agent_id, "parallel": True}
    matrix_id = str(api.post(f"{V1}/matrix", asked, 202)["matrix_id"])
    ended_matrix(api, matrix_id, PATIENCE_S)
    return matrix_id


def _copy_runs(directory: Path, batch: int) -> None:
    """Until there are RUNS in all; what must be different of each is made anew."""
    with closing(sqlite3.connect(directory / DATABASE_FILE)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
        fresh = [name for name in columns if name in ("id", "jti", "token_hash")]
        kept = [name for name in columns if name not in fresh]
        rows = connection.execute(
            f"SELECT {', '.join(kept)} FROM runs WHERE batch_id = ? ORDER BY id", (batch,)
        ).fetchall()
        (there, last) = connection.execute("SELECT COUNT(*), MAX(id) FROM runs").fetchone()
        marks = ", ".join("?" * len(columns))
        made = (
            [last + 1 + at, *(uuid.uuid4().hex for _ in fresh[1:]), *rows[at % len(rows)]]
            for at in range(RUNS - there)
        )
        connection.executemany(f"INSERT INTO runs ({', '.join([*fresh, *kept])}) VALUES ({marks})", made)
        connection.execute(
            "INSERT INTO trace_rows SELECT new.id, "
            + _others(connection)
            + " FROM trace_rows t JOIN runs old"
            " ON old.id = t.run_id JOIN runs new ON new.id > ? AND new.task_id = old.task_id"
            " AND old.id <= ? WHERE old.batch_id = ?",
            (last, last, batch),
        )
        ids = [row[0] for row in connection.execute("SELECT id FROM runs WHERE id > ? ORDER BY id", (last,))]
        connection.executemany(
            "INSERT INTO run_figures (run_id, duration_ms, calls, tokens, cost_usd) VALUES (?, ?, ?, ?, ?)",
            (
                (run_id, run_id * 7919 % 5000, run_id % 40, run_id % 9000, run_id % 100 / 100)
                for run_id in ids
            ),
        )


def _others(connection: sqlite3.Connection) -> str:
    columns = [row[1] for row in connection.execute("PRAGMA table_info(trace_rows)")]
    assert columns[0] == "run_id"
    return ", ".join(f"t.{name}" for name in columns[1:])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
