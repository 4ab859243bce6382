"""What people look at of a matrix: pages of its heatmap and its cells, drawn by a helper process and kept for
as long as the report they come from stays the same."""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator
from functools import partial
from typing import IO, Any, NamedTuple

from pipelines.core.json_text import JsonObject, loads_own
from pipelines.engine.platform import Platform
from pipelines.engine.report_evals import DRAWING_S, MOST_DRAWN_BYTES, SummaryAsked, summarize_evals
from pipelines.engine.run_evals import find_matrix
from pipelines.engine.score_matrix import MatrixReports
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage import evals
from pipelines.storage.evals import Matrix
from pipelines.wire.errors import Conflict, NotFound

MOST_KEPT_BYTES = 32 * 1024 * 1024  # of what was drawn
MOST_KEPT_FIGURES = 1_000  # matrices


class Shown(NamedTuple):
    matrix: Matrix
    progress: JsonObject
    key: str  # another one whenever what is shown is another
    body: Any  # as core.evals.heatmap_page made it


class MatrixViews:
    """Used on one event loop."""

    def __init__(self, platform: Platform, reports: MatrixReports) -> None:
        self._platform = platform
        self._reports = reports
        self._kept: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()
        self._size = 0
        self._figures: OrderedDict[tuple[str, str], Any] = OrderedDict()

    async def page(self, org_id: int, matrix_id: str, *, first: int, show: str) -> Shown:
        """Some rows of the heatmap."""
        return await self._shown(org_id, matrix_id, "heatmap_page", {"first": first, "show": show})

    async def cell(self, org_id: int, matrix_id: str, scenario_id: str, variation: str | None) -> Shown:
        """One cell; `variation` None: the baseline of the row."""
        asked: JsonObject = {"scenario_id": scenario_id, "variation": variation}
        shown = await self._shown(org_id, matrix_id, "heatmap_cell", asked)
        if shown.body is None:
            cell = variation or evals.BASELINE
            raise NotFound(f"Matrix {matrix_id} has no cell of {scenario_id} and {cell}.")
        return shown

    async def figures(self, matrix: Matrix) -> Any:
        """Match rates, shift and flags of its runs, in short; those of an ended matrix are kept."""
        place = (matrix.matrix_id, matrix.report_key or "")
        known = self._figures.get(place)
        if known is not None:
            return known
        asked = SummaryAsked(matrix_id=matrix.matrix_id)
        found = (await summarize_evals(self._platform, matrix.org_id, asked))["overall"]
        if matrix.status != "running" and matrix.report_key is not None:
            self._figures[place] = found
            if len(self._figures) > MOST_KEPT_FIGURES:
                self._figures.popitem(last=False)
        return found

    async def _shown(self, org_id: int, matrix_id: str, job: str, asked: JsonObject) -> Shown:
        matrix = await find_matrix(self._platform, org_id, matrix_id)
        progress = await self._platform.database.read(partial(evals.progress_of_matrix, matrix=matrix))
        key, report = await self._reports.keyed_report(matrix, progress)
        place = (matrix_id, f"{key} {matrix.status}", f"{job} {asked}")
        drawn = self._kept.get(place)
        if drawn is None:
            limits = Job(job, asked, DRAWING_S, MOST_DRAWN_BYTES)
            drawn = await self._drawn(matrix, limits, report)
            self._keep(place, drawn)
        else:
            self._kept.move_to_end(place)
        body = await asyncio.to_thread(loads_own, drawn)
        return Shown(matrix, progress, f"{key}-{matrix.status}", body)

    async def _drawn(self, matrix: Matrix, job: Job, report: AsyncIterator[str]) -> bytes:
        file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            async for part in report:
                await asyncio.to_thread(file.write, part.encode())
            await asyncio.to_thread(file.flush)
            parts = await self._platform.upload_helpers.run(job, file, owner=matrix.org_id)
        except TookTooMuch as error:
            message = f"{matrix.matrix_id} is too large to be shown: {error}."
            raise Conflict(f"{message} Its runs can be read one by one.") from None
        finally:
            file.close()
        return b"".join(parts)

    def _keep(self, place: tuple[str, str, str], drawn: bytes) -> None:
        if len(drawn) > MOST_KEPT_BYTES or place in self._kept:
            return
        self._kept[place] = drawn
        self._size += len(drawn)
        while self._size > MOST_KEPT_BYTES:
            _, gone = self._kept.popitem(last=False)
            self._size -= len(gone)
