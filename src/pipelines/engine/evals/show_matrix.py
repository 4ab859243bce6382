"""What people look at of a matrix: pages of its heatmap and its cells, drawn from its report and kept for as
long as that stays the same. A large report is a helper process's work."""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import IO, Any, NamedTuple

from pipelines.core.evals.heatmap.heatmap_page import heatmap_cell, heatmap_page
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.engine.evals.export_reports import DRAWING_S, MOST_DRAWN_BYTES, SummaryFilters, summarize_evals
from pipelines.engine.evals.score_matrix import MatrixReports
from pipelines.engine.find import find_matrix
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.evals import evals
from pipelines.storage.evals.evals import Matrix
from pipelines.wire.errors import Conflict, NotFound

MOST_KEPT_BYTES = 32 * 1024 * 1024  # of what was drawn
MOST_KEPT_FIGURES = 1_000  # matrices
#: Bytes of a report that is drawn in a thread, in some 30 ms: helper processes may be busy with uploads.
MOST_DRAWN_HERE = 1024 * 1024
_JOBS: Mapping[str, Callable[..., bytes]] = {"heatmap_page": heatmap_page, "heatmap_cell": heatmap_cell}


class MatrixView(NamedTuple):
    matrix: Matrix
    progress: JsonObject
    key: str  # another one whenever what is shown is another
    body: Any  # as core.evals.heatmap_page made it; None where it is what was seen before


class MatrixViews:
    """Used on one event loop."""

    def __init__(self, platform: Platform, reports: MatrixReports) -> None:
        self._platform = platform
        self._reports = reports
        self._cached: OrderedDict[tuple[str, str, str], bytes] = OrderedDict()
        self._size = 0
        self._figures: OrderedDict[tuple[str, str], Any] = OrderedDict()

    async def page(self, org_id: int, matrix_id: str, *, first: int, show: str, seen: str = "") -> MatrixView:
        """Some rows of the heatmap; `seen` is the key of what whoever asks has already."""
        return await self._view(org_id, matrix_id, "heatmap_page", {"first": first, "show": show}, seen)

    async def cell(self, org_id: int, matrix_id: str, scenario_id: str, variation: str | None) -> MatrixView:
        """One cell; `variation` None: the baseline of the row."""
        place: JsonObject = {"scenario_id": scenario_id, "variation": variation}
        view = await self._view(org_id, matrix_id, "heatmap_cell", place)
        if view.body is None:
            cell = variation or evals.BASELINE
            raise NotFound(f"Matrix {matrix_id} has no cell of {scenario_id} and {cell}.")
        return view

    async def figures(self, matrix: Matrix) -> Any:
        """Match rates, shift and flags of its runs, in short; those of an ended matrix are kept."""
        place = (matrix.matrix_id, matrix.report_key or "")
        known = self._figures.get(place)
        if known is not None:
            return known
        filters = SummaryFilters(matrix_id=matrix.matrix_id)
        found = (await summarize_evals(self._platform, matrix.org_id, filters))["overall"]
        if matrix.status != "running" and matrix.report_key is not None:
            self._figures[place] = found
            if len(self._figures) > MOST_KEPT_FIGURES:
                self._figures.popitem(last=False)
        return found

    async def _view(
        self, org_id: int, matrix_id: str, job: str, asked: JsonObject, seen: str = ""
    ) -> MatrixView:
        matrix = await find_matrix(self._platform, org_id, matrix_id)
        progress = await self._platform.database.read(partial(evals.progress_of_matrix, matrix=matrix))
        rests_on, report = await self._reports.keyed_report(matrix, progress)
        key = f"{rests_on}-{matrix.status}"
        if key == seen:
            return MatrixView(matrix, progress, key, None)
        place = (matrix_id, key, f"{job} {asked}")
        drawn = self._cached.get(place)
        if drawn is None:
            drawn = await self._draw(matrix, Job(job, asked, DRAWING_S, MOST_DRAWN_BYTES), report)
            self._add_to_cache(place, drawn)
        else:
            self._cached.move_to_end(place)
        return MatrixView(matrix, progress, key, await asyncio.to_thread(loads_own, drawn))

    async def _draw(self, matrix: Matrix, job: Job, report: AsyncIterator[str]) -> bytes:
        begun: list[bytes] = []
        async for part in report:
            begun.append(part.encode())
            if sum(map(len, begun)) > MOST_DRAWN_HERE:
                return await self._draw_by_helper(matrix, job, begun, report)
        return await asyncio.to_thread(_JOBS[job.name], b"".join(begun), **job.arguments)

    async def _draw_by_helper(
        self, matrix: Matrix, job: Job, begun: list[bytes], rest: AsyncIterator[str]
    ) -> bytes:
        file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            await asyncio.to_thread(file.writelines, begun)
            async for part in rest:
                await asyncio.to_thread(file.write, part.encode())
            await asyncio.to_thread(file.flush)
            parts = await self._platform.upload_helpers.run(job, file, owner=matrix.org_id)
        except TookTooMuch as error:
            message = f"{matrix.matrix_id} is too large to be shown: {error}."
            raise Conflict(f"{message} Its runs can be read one by one.") from None
        finally:
            file.close()
        return b"".join(parts)

    def _add_to_cache(self, place: tuple[str, str, str], drawn: bytes) -> None:
        if len(drawn) > MOST_KEPT_BYTES or place in self._cached:
            return
        self._cached[place] = drawn
        self._size += len(drawn)
        while self._size > MOST_KEPT_BYTES:
            _, evicted = self._cached.popitem(last=False)
            self._size -= len(evicted)
