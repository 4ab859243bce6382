"""The report of a matrix: computed by a helper process from what is stored, and kept when the matrix ends.

While it runs the report is made from what there is, for whoever asks, and not more often than computing it is
worth. The event loop only passes text on: 100,000 cells are as little work for it as one.
"""

import asyncio
import hashlib
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import IO, Any, NamedTuple

from pipelines.core.evals.matrix.report_input import (
    SCORES,
    ReportVariation,
    error_line,
    head_line,
    output_line,
    row_line,
)
from pipelines.core.evals.scenarios.scenario import CellExpectation, Scenario
from pipelines.core.evals.scenarios.variation import BUILTIN, Variation
from pipelines.core.evals.scoring.accepted import current_expectations
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.engine.find import find_matrix
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.agents import agents
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import eval_outcomes, eval_scenarios, evals, review_marks
from pipelines.storage.evals.eval_outcomes import ScoredRun, StoredOutput
from pipelines.storage.evals.evals import Matrix
from pipelines.storage.evals.review_marks import MarkKind
from pipelines.storage.tasks.texts import SLICE_ROWS
from pipelines.wire.errors import Conflict

log = logging.getLogger(__name__)
COMPUTING_S = 600.0  # of processor time: 10,000 cells take some 5 s
MOST_REPORT_BYTES = 1024 * 1024 * 1024
OUTPUTS_AT_ONCE = 200  # read from the database in one question
TASKS_AT_ONCE = 200
MOST_KEPT_BYTES = 64 * 1024 * 1024  # of reports of matrices that run, in memory; one is always kept
#: A report of a running matrix is good for so many times what it took to compute.
GOOD_FOR_TIMES = 5.0
LEAST_GOOD_S = 0.5


class _ComputedReport(NamedTuple):
    key: str  # what it rests on
    parts: list[str]
    scores: list[bytes]  # of its runs, some in each, as JSON


class _CachedReport(NamedTuple):
    made: _ComputedReport
    good_until: float  # by the steady clock

    @property
    def size(self) -> int:
        return sum(map(len, self.made.parts))


class MatrixReports:
    """Used on one event loop."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._computing: dict[str, asyncio.Task[_ComputedReport]] = {}
        self._storing: dict[str, asyncio.Task[_ComputedReport]] = {}
        self._cached: dict[str, _CachedReport] = {}  # of running matrices, the latest used last
        self._storing_soon: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Take up what a stop left: matrices that have ended and have no report."""
        for matrix in await self._platform.database.read(evals.unreported_matrices):
            self._store_soon(matrix.batch_id)

    def batch_ended(self, batch_id: int) -> None:
        """Of a matrix or of anything else; its report is kept as soon as it is made."""
        self._store_soon(batch_id)

    async def close(self) -> None:
        under_way = [*self._storing_soon, *self._storing.values(), *self._computing.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def report(self, org_id: int, matrix_id: str) -> AsyncIterator[str]:
        """The whole report as JSON text, in parts."""
        matrix = await find_matrix(self._platform, org_id, matrix_id)
        progress = await self._platform.database.read(partial(evals.progress_of_matrix, matrix=matrix))
        _, parts = await self._parts(matrix)
        return _compose(_matrix_head(matrix, progress), parts)

    async def keyed_report(self, matrix: Matrix, progress: JsonObject) -> tuple[str, AsyncIterator[str]]:
        """The same, with a name for what it rests on: as long as that stays, so does the report."""
        key, parts = await self._parts(matrix)
        return key, _compose(_matrix_head(matrix, progress), parts)

    async def _parts(self, matrix: Matrix) -> tuple[str, AsyncIterator[str]]:
        if matrix.status == "running":
            stored = await self._report_of_running(matrix)
            return stored.key, _stream(stored.parts)
        key = await self._platform.database.read(partial(_key_of, matrix=matrix))
        if matrix.report_key != key:
            stored = await self._store_once(matrix)
            return stored.key, _stream(stored.parts)
        return key, self._read_stored(matrix.matrix_id, key)

    async def _read_stored(self, matrix_id: str, key: str) -> AsyncIterator[str]:
        number = 0
        while True:
            read = partial(evals.report_part, matrix_id=matrix_id, report_key=key, number=number)
            part = await self._platform.database.read(read)
            if part is None:
                return
            yield part
            number += 1

    async def _report_of_running(self, matrix: Matrix) -> _ComputedReport:
        kept = self._cached.pop(matrix.matrix_id, None)
        if kept is None or kept.good_until < time.monotonic():
            began = time.monotonic()
            computed = await self._compute_once(matrix)
            took = time.monotonic() - began
            kept = _CachedReport(computed, time.monotonic() + max(LEAST_GOOD_S, GOOD_FOR_TIMES * took))
        self._cached[matrix.matrix_id] = kept
        while len(self._cached) > 1 and sum(each.size for each in self._cached.values()) > MOST_KEPT_BYTES:
            del self._cached[next(iter(self._cached))]
        return kept.made

    # -- keeping

    def _store_soon(self, batch_id: int) -> None:
        task = asyncio.ensure_future(self._store_of_batch(batch_id))
        self._storing_soon.add(task)
        task.add_done_callback(self._storing_soon.discard)

    async def _store_of_batch(self, batch_id: int) -> None:
        try:
            matrix = await self._platform.database.read(partial(evals.matrix_of_batch, batch_id=batch_id))
            if matrix is not None and matrix.status != "running":
                await self._store_once(matrix)
        except Exception:  # whoever asks for the report makes it anew, and hears what is wrong
            log.exception("the report of batch %s could not be kept", batch_id)

    async def _store_once(self, matrix: Matrix) -> _ComputedReport:
        return await _share_task(self._storing, matrix.matrix_id, lambda: self._compute_and_store(matrix))

    async def _compute_and_store(self, matrix: Matrix) -> _ComputedReport:
        """What its runs are worth first: whoever finds the report finds them scored."""
        key = await self._platform.database.read(partial(_key_of, matrix=matrix))
        computed = await self._compute_once(matrix)
        if computed.key != key:  # it was begun before the matrix ended
            computed = await self._compute_once(matrix)
        database, matrix_id = self._platform.database, matrix.matrix_id
        for scores in computed.scores:
            scored: Any = loads_own(scores)
            for start in range(0, len(scored), SLICE_ROWS):
                some = [ScoredRun(*each) for each in scored[start : start + SLICE_ROWS]]
                await database.write_part(partial(eval_outcomes.set_scores, matrix_id=matrix_id, scored=some))
        for number, body in enumerate(computed.parts):
            add = partial(evals.add_report_part, matrix_id=matrix_id, report_key=computed.key)
            await database.write_part(partial(add, number=number, body=body))
        keep = partial(
            evals.keep_report, matrix_id=matrix_id, report_key=computed.key, parts=len(computed.parts)
        )
        await database.write_part(keep)
        self._cached.pop(matrix_id, None)
        return computed

    # -- making

    async def _compute_once(self, matrix: Matrix) -> _ComputedReport:
        return await _share_task(self._computing, matrix.matrix_id, lambda: self._compute(matrix))

    async def _compute(self, matrix: Matrix) -> _ComputedReport:
        key = await self._platform.database.read(partial(_key_of, matrix=matrix))
        file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            await self._write(file, matrix)
            job = Job("matrix_report", {}, COMPUTING_S, MOST_REPORT_BYTES)
            parts = await self._platform.upload_helpers.run(job, file, owner=matrix.org_id)
        except TookTooMuch as error:
            message = f"The report of {matrix.matrix_id} could not be computed: {error}."
            raise Conflict(f"{message} Its runs can be read one by one.") from None
        finally:
            file.close()
        return await asyncio.to_thread(_sorted_parts, key, parts)

    async def _write(self, file: IO[bytes], matrix: Matrix) -> None:
        """What is stored, a page at a time: text from the database to the file, never parsed here."""
        read = self._platform.database.read_for_batch
        file.write(await read(partial(_head, matrix=matrix)))
        after: int | None = 0
        while after is not None:
            lines, after = await read(partial(_scenario_rows, matrix=matrix, after_task=after))
            file.write(lines)
        file.write(await read(partial(_errors_and_shared, matrix=matrix)))
        last = 0
        while outputs := await read(
            partial(
                eval_outcomes.outputs_of_matrix,
                matrix_id=matrix.matrix_id,
                limit=OUTPUTS_AT_ONCE,
                after_id=last,
            )
        ):
            file.write(b"".join(map(_output_line, outputs)))
            last = outputs[-1].run_id


async def _share_task(
    under_way: dict[str, asyncio.Task[_ComputedReport]],
    name: str,
    start: Callable[[], Coroutine[Any, Any, _ComputedReport]],
) -> _ComputedReport:
    """Started once, however many ask at the same time; whoever hangs up stops it for nobody."""
    task = under_way.get(name)
    if task is None:
        task = asyncio.ensure_future(start())
        under_way[name] = task
        task.add_done_callback(lambda _: under_way.pop(name, None))
    return await asyncio.shield(task)


def expected_in_cells(
    connection: Connection, *, org_id: int, scenario_ids: Sequence[str]
) -> dict[str, Mapping[str, CellExpectation]]:
    """What is expected by now of the cells of some scenarios, with the shifts that reviewers accepted; a
    scenario that is gone is left out."""
    found = eval_scenarios.scenarios_by_id(connection, org_id=org_id, scenario_ids=scenario_ids)
    accepted: dict[str, dict[str, JsonObject]] = {}
    for mark in review_marks.marks_of_scenarios(
        connection, org_id=org_id, scenario_ids=scenario_ids, kind=MarkKind.ACCEPTED_SHIFT
    ):
        accepted.setdefault(mark.scenario_id, {})[mark.variation or ""] = mark.body
    return {
        id: current_expectations(Scenario.from_stored(stored.body()), accepted.get(id, {}))
        for id, stored in found.items()
    }


def _key_of(connection: Connection, *, matrix: Matrix) -> str:
    """Changes with whatever the report rests on: outcomes, errors, and what is expected of the cells."""
    rests_on: list[Json] = [
        evals.progress_of_matrix(connection, matrix),
        evals.expectations_mark(connection, matrix_id=matrix.matrix_id),
        review_marks.accepted_mark(connection, matrix_id=matrix.matrix_id),
    ]
    return hashlib.sha256(dumps(rests_on)).hexdigest()[:32]


def _head(connection: Connection, *, matrix: Matrix) -> bytes:
    fingerprints: list[Json] = [*eval_outcomes.fingerprints_of_matrix(connection, matrix_id=matrix.matrix_id)]
    agent: JsonObject = {
        "id": matrix.agent_id,
        "name": _agent_name(connection, matrix),
        "version": matrix.agent_version,
        "fingerprints": fingerprints,
    }
    return head_line(
        {"agent": agent},
        [_shown_variation(connection, matrix.org_id, each) for each in _variations(matrix)],
        delivery=str(matrix.settings.get("delivery")),
        addition_seen=eval_outcomes.is_addition_seen(connection, matrix_id=matrix.matrix_id),
    )


def _variations(matrix: Matrix) -> list[Any]:
    listed = matrix.settings["variations"]
    assert isinstance(listed, list)
    return listed


def _shown_variation(connection: Connection, org_id: int, named: Any) -> ReportVariation:
    variation = BUILTIN.get(named["id"])
    if variation is None:
        stored = eval_scenarios.variation_at(
            connection, org_id=org_id, variation=named["id"], version=named["version"]
        )
        variation = Variation.from_stored(stored.body()) if stored is not None else None
    return ReportVariation(
        id=named["id"],
        version=named["version"],
        name=variation.name if variation is not None else named.get("name", named["id"]),
        is_placebo=variation is not None and variation.is_placebo,
        pushes_toward=variation.pushes_toward if variation is not None else None,
    )


def _scenario_rows(connection: Connection, *, matrix: Matrix, after_task: int) -> tuple[bytes, int | None]:
    """Some scenarios of the matrix in the order in which they were asked for, and where the next begin."""
    rows, last = evals.asked_scenarios(
        connection, matrix_id=matrix.matrix_id, after_task=after_task, limit=TASKS_AT_ONCE
    )
    expected = expected_in_cells(
        connection, org_id=matrix.org_id, scenario_ids=[row.scenario_id for row in rows]
    )
    lines = b"".join(
        row_line(row.scenario_id, row.version, row.body_text, expected.get(row.scenario_id)) for row in rows
    )
    return lines, last


def _errors_and_shared(connection: Connection, *, matrix: Matrix) -> bytes:
    """Errors of the cells; and baselines of other matrices that this one is compared with."""
    errors = eval_outcomes.errors_of_matrix(connection, matrix.batch_id)
    lines = [error_line(each.scenario_id, each.variation, each.errors) for each in errors]
    listed = matrix.settings.get("baseline_run_ids")
    if isinstance(listed, list):
        shared = eval_outcomes.outputs_of_runs(
            connection, org_id=matrix.org_id, run_ids=[id for id in listed if isinstance(id, int)]
        )
        lines += map(_output_line, shared)
    return b"".join(lines)


def _output_line(output: StoredOutput) -> bytes:
    return output_line(output.scenario_id, output.variation, output.run_id, output.matched, output.observed)


def _agent_name(connection: Connection, matrix: Matrix) -> str | None:
    agent = agents.agent_by_id(
        connection, org_id=matrix.org_id, agent_id=matrix.agent_id, version=matrix.agent_version
    )
    return agent.definition.name if agent is not None else None


def _matrix_head(matrix: Matrix, progress: JsonObject) -> JsonObject:
    return {
        "id": matrix.matrix_id,
        "matrix_id": matrix.matrix_id,
        "kind": matrix.kind,
        "status": matrix.status,
        "batch_id": matrix.batch_id,
        "matrix": matrix.settings,
        "created_at": matrix.created_at,
        "ended_at": matrix.ended_at,
        "progress": progress,
    }


async def _compose(about: JsonObject, parts: AsyncIterator[str]) -> AsyncIterator[str]:
    """What is known of the matrix at this moment, then its report: one object of two texts."""
    opening = dumps(about).decode()[:-1] + ","
    async for part in parts:
        yield opening + part[1:] if opening else part
        opening = ""


async def _stream(parts: Sequence[str]) -> AsyncIterator[str]:
    for part in parts:
        yield part


def _sorted_parts(key: str, parts: Sequence[bytes]) -> _ComputedReport:
    texts = [part[1:].decode() for part in parts if not part.startswith(SCORES)]
    return _ComputedReport(key, texts, [part[1:] for part in parts if part.startswith(SCORES)])
