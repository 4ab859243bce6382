"""A batch as one file to hand on: what would be in it, and the file, which a helper process writes.

The event loop only passes text on. Runs are read one at a time, failures first, until there is enough for a
file of the size that was asked for; the helper masks, writes and cuts, and says in it what was left out.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from typing import IO

from pipelines.core.evals.reviews.review_words import LABELS
from pipelines.core.text.json_text import Json, JsonObject, dumps, raw_json
from pipelines.engine.access.manage_credentials import known_values
from pipelines.engine.batches.open_batch import read_batch
from pipelines.engine.evals.score_matrix import MatrixReports
from pipelines.engine.find import find_agent, find_batch
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.secret_box import UnreadableSecret
from pipelines.storage.database.trace_rows import trace_of_run
from pipelines.storage.evals.evals import matrix_of_batch
from pipelines.storage.evals.reviews import Review, StoredVerdict
from pipelines.storage.lists import report_rows
from pipelines.storage.runs.annotations import annotations_of_run
from pipelines.storage.runs.batches import Batch
from pipelines.storage.runs.runs import run_by_id
from pipelines.storage.tasks.datasets import dataset_by_id, world_size, world_text
from pipelines.wire.errors import Conflict, NotFound

MEGABYTE = 1_000_000
DEFAULT_MB, MOST_MB = 20, 50
MOST_LISTED = 5_000  # runs in the table
LISTED_AT_ONCE = 200
MOST_DECISIONS = 2_000  # of people, the highest risk first
MOST_STEPS = 200  # of one run: the first
WRITING_S = 300.0  # of processor time: 20 MB take some 10 s
#: What is read for a file, for each byte of it: long values are cut in it.
READ_FOR_EACH = 4
MOST_WORLDS = 32 * MEGABYTE  # characters of initial states, from which the old values are
MOST_MATRIX = 64 * MEGABYTE
# What a file takes, from files that were written: for itself, a run, a step, and each stored character.
FRAME_BYTES, RUN_BYTES, STEP_BYTES, CHARACTER_BYTES = 80_000, 3_000, 1_200, 1.5
CONTAINS = (
    "the texts of tasks: what the user asks, what is expected",
    "what the agent answered, and what it said in between",
    "the arguments and the reply of each tool call, with what it changed",
    "verdicts with their reasons, what people decided, and what they wrote on runs",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _ReportRequest:
    platform: Platform
    org_id: int
    batch: Batch
    most_bytes: int


async def report_contents(platform: Platform, org_id: int, batch_id: int, max_mb: int) -> JsonObject:
    """What somebody should know before they have such a file lying about."""
    batch = await find_batch(platform, org_id, batch_id)
    size = await platform.database.read_for_batch(partial(report_rows.size_of_batch, batch_id=batch.id))
    matrix = await platform.database.read(lambda connection: matrix_of_batch(connection, batch.id))
    whole = (
        FRAME_BYTES + RUN_BYTES * size.runs + STEP_BYTES * size.rows + int(CHARACTER_BYTES * size.characters)
    )
    return {
        "batch_id": batch.id,
        "status": batch.status,
        "runs": size.runs,
        "steps": size.rows,
        "matrix_id": matrix.matrix_id if matrix is not None else None,
        "contains": [*CONTAINS, *(["the heatmap of the matrix"] if matrix is not None else [])],
        "estimated_bytes": min(whole, max_mb * MEGABYTE),
        "max_mb": max_mb,
        "is_cut": whole > max_mb * MEGABYTE or size.runs > MOST_LISTED,
    }


async def report_file(
    platform: Platform, reports: MatrixReports, org_id: int, batch_id: int, max_mb: int
) -> list[bytes]:
    """One HTML file, in parts."""
    batch = await find_batch(platform, org_id, batch_id)
    agent = await _agent(platform, batch)
    request = _ReportRequest(platform=platform, org_id=org_id, batch=batch, most_bytes=max_mb * MEGABYTE)
    secrets = [*await known_values(platform, org_id), *_own_secrets(platform, agent)]
    job = Job(
        "batch_report",
        {"secrets": [*secrets], "most_bytes": request.most_bytes},
        WRITING_S,
        request.most_bytes + MEGABYTE,
    )
    file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        async for text in _lines(request, agent, reports):
            await asyncio.to_thread(file.write, text)
        await asyncio.to_thread(file.flush)
        return await platform.upload_helpers.run(job, file, owner=org_id)
    except TookTooMuch as error:
        raise Conflict(f"A report of batch {batch_id}: {error}. Ask for a smaller one (max_mb).") from None
    finally:
        file.close()


async def _agent(platform: Platform, batch: Batch) -> Agent | None:
    try:
        return await find_agent(platform, batch.org_id, batch.agent_id, batch.agent_version)
    except NotFound:  # it was deleted; its runs are there
        return None


def _own_secrets(platform: Platform, agent: Agent | None) -> list[str]:
    """What the platform proves itself to the agent with: whole, and without the word before it."""
    if agent is None or agent.sealed_auth_header is None:
        return []
    try:
        value = platform.secrets.open(agent.sealed_auth_header, row=f"{agent.org_id}|agent|{agent.id}")
    except UnreadableSecret:
        return []
    return [value, value.rpartition(" ")[2]]


async def _lines(asked: _ReportRequest, agent: Agent | None, reports: MatrixReports) -> AsyncIterator[bytes]:
    """The head, the matrix (an empty line where there is none), the table; then worlds and runs."""
    read = asked.platform.database.read_for_batch
    yield dumps(await _head(asked, agent)) + b"\n"
    async for part in _matrix(asked, reports):
        yield part
    yield b"\n"
    run_ids = await read(partial(report_rows.runs_to_report, batch_id=asked.batch.id))
    listed: list[Json] = []
    for start in range(0, min(len(run_ids), MOST_LISTED), LISTED_AT_ONCE):
        some = run_ids[start : min(start + LISTED_AT_ONCE, MOST_LISTED)]
        listed += await read(partial(report_rows.listed_runs, run_ids=some))
    yield dumps(listed) + b"\n"
    room, worlds = READ_FOR_EACH * asked.most_bytes, _Worlds()
    for run_id in run_ids[:MOST_LISTED]:
        text = await read(partial(_whole_run, asked=asked, run_id=run_id, worlds=worlds))
        room -= len(text)
        if room < 0:
            return
        yield text


async def _head(asked: _ReportRequest, agent: Agent | None) -> JsonObject:
    batch = asked.batch
    batch_head = await read_batch(asked.platform, asked.org_id, batch.id)
    dataset = await asked.platform.database.read(
        lambda connection: (
            dataset_by_id(connection, org_id=asked.org_id, dataset_id=batch.dataset_id)
            if batch.dataset_id is not None
            else None
        )
    )
    return {
        "batch": batch_head,
        "agent": agent.definition.name if agent is not None else f"agent {batch.agent_id}",
        "dataset": dataset.name if dataset is not None else None,
        "decisions": await _decisions(asked),
        "made_at": asked.platform.now(),
        "most_steps": MOST_STEPS,
    }


async def _decisions(asked: _ReportRequest) -> list[Json]:
    """What people decided, and who said what."""

    def read(connection: Connection) -> list[tuple[Review, list[StoredVerdict]]]:
        matrix = matrix_of_batch(connection, asked.batch.id)
        return report_rows.decided_reviews(
            connection,
            org_id=asked.org_id,
            batch_id=asked.batch.id,
            matrix_id=matrix.matrix_id if matrix is not None else None,
            most=MOST_DECISIONS,
        )

    found = await asked.platform.database.read_for_batch(read)
    return [
        {
            "run_id": review.run_id,
            "scenario": review.scenario_name or review.scenario_id,
            "variation": review.variation,
            "verdict": review.verdict,
            "label": LABELS[review.verdict] if review.verdict is not None else None,
            "said": [each.as_json() | {"label": LABELS[each.verdict]} for each in said],
        }
        for review, said in found
    ]


async def _matrix(asked: _ReportRequest, reports: MatrixReports) -> AsyncIterator[bytes]:
    matrix = await asked.platform.database.read(
        lambda connection: matrix_of_batch(connection, asked.batch.id)
    )
    if matrix is None or matrix.org_id != asked.org_id:
        return
    parts: list[bytes] = []
    async for part in await reports.report(asked.org_id, matrix.matrix_id):
        parts.append(part.encode())
        if sum(map(len, parts)) > MOST_MATRIX:
            return
    for text in parts:
        yield text


class _Worlds:
    """Which initial states the file has by now; each is in it once, however many runs start from it."""

    def __init__(self) -> None:
        self.room = MOST_WORLDS
        self._known: set[str] = set()

    def text(self, connection: Connection, name: str | None) -> bytes:
        if name is None or name in self._known:
            return b""
        self.room -= world_size(connection, name)
        self._known.add(name)
        if self.room < 0:  # what a step changed is then told without what was there before
            return b""
        return dumps({"world": name, "state": raw_json(world_text(connection, name))}) + b"\n"


def _whole_run(connection: Connection, *, asked: _ReportRequest, run_id: int, worlds: _Worlds) -> bytes:
    run = run_by_id(connection, org_id=asked.org_id, run_id=run_id)
    if run is None:
        return b""
    rows, is_whole = trace_of_run(connection, run.id, kind=None, after=None, limit=MOST_STEPS)
    line: JsonObject = {
        "run": run.as_json(),
        "annotations": [each.as_json() for each in annotations_of_run(connection, run.id)],
        "seed": raw_json(run.seed_text),
        "world": run.world_hash,
        "steps": [row.as_written() for row in rows],
        "is_whole": is_whole,
    }
    return worlds.text(connection, run.world_hash) + dumps(line) + b"\n"
