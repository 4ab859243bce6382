"""What is made of reports: heatmaps as files, two matrices compared, the summary of all eval runs.

Drawing and comparing are a helper process's work, and it is handed text: a large matrix holds nobody up.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import IO, NamedTuple

from pipelines.core.evals.heatmap.draw import texts_line
from pipelines.core.evals.heatmap.heatmap_html import MOST_TEXT
from pipelines.core.evals.matrix.summary import summarize
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.evals.edit_scenarios import known_variations
from pipelines.engine.evals.score_matrix import MatrixReports
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.database.paging import Filter
from pipelines.storage.evals import eval_summaries
from pipelines.wire.errors import Conflict

DRAWING_S = 120.0  # of processor time: 8,000 cells take some 2 s
MOST_DRAWN_BYTES = 512 * 1024 * 1024


class SummaryFilters(NamedTuple):
    """Which runs are summarised; None is all of them."""

    since: str | None = None
    until: str | None = None
    scenario_id: str | None = None
    variation: str | None = None  # `baseline`: those without one
    risk_level: str | None = None
    agent_id: int | None = None
    agent_version: int | None = None
    matrix_id: str | None = None
    fingerprint: str | None = None


async def draw_heatmap(
    platform: Platform, reports: MatrixReports, org_id: int, matrix_id: str, format: str
) -> list[bytes]:
    """The file, in parts. Of a matrix that runs, from what there is."""
    report = await reports.report(org_id, matrix_id)
    injected = eval_summaries.Injected([], {})
    if format == "html":
        read = partial(eval_summaries.injected_texts, matrix_id=matrix_id, most_characters=MOST_TEXT)
        injected = await platform.database.read(read)
    head = await asyncio.to_thread(texts_line, injected.places, injected.bodies)
    job = Job("heatmap", {"format": format}, DRAWING_S, MOST_DRAWN_BYTES)
    return await _run_helper(platform, org_id, job, [_one_part(head), _encode(report)], matrix_id)


async def compare_matrices(
    platform: Platform, reports: MatrixReports, org_id: int, matrix_id: str, other_id: str
) -> bytes:
    """What flipped from the one to the other, as JSON."""
    before, after = await reports.report(org_id, matrix_id), await reports.report(org_id, other_id)
    job = Job("compare_matrices", {}, DRAWING_S, MOST_DRAWN_BYTES)
    texts = [_encode(before), _one_part(b"\n"), _encode(after)]
    return b"".join(await _run_helper(platform, org_id, job, texts, f"{matrix_id} and {other_id}"))


async def summarize_evals(platform: Platform, org_id: int, asked: SummaryFilters) -> JsonObject:
    """Match rates, shift distribution and flagged count of the runs that ended in a window."""
    is_baseline = True if asked.variation == eval_summaries.BASELINE else None
    shared = [
        Filter("org_id", org_id),
        Filter("ended_at", asked.since, ">="),
        Filter("ended_at", asked.until, "<"),
        Filter("scenario_id", asked.scenario_id),
        Filter("variation", asked.variation if not is_baseline else None),
        Filter("risk_level", asked.risk_level),
        Filter("agent_id", asked.agent_id),
        Filter("agent_version", asked.agent_version),
        Filter("matrix_id", asked.matrix_id),
    ]
    own = [*shared, Filter("fingerprint", asked.fingerprint)]
    read = platform.database.read_for_batch  # may take seconds, and nobody's tool call waits behind it
    outcomes = await read(partial(eval_summaries.outcome_counts, filters=own, is_baseline=is_baseline))
    # A run that failed has no fingerprint: what the agent was is only known from its answer.
    errors = (
        await read(partial(eval_summaries.error_counts, filters=shared, is_baseline=is_baseline))
        if asked.fingerprint is None
        else []
    )
    variations = await known_variations(platform, org_id)
    placebos = frozenset(each.id for each in variations.values() if each.is_placebo)
    whole = await asyncio.to_thread(summarize, outcomes, errors, placebos=placebos)
    await _name_scenarios(platform, org_id, whole)
    return {"asked": asked._asdict(), **whole}


async def _name_scenarios(platform: Platform, org_id: int, whole: JsonObject) -> None:
    listed = whole["by_scenario"]
    assert isinstance(listed, list)
    groups: list[JsonObject] = [group for group in listed if isinstance(group, dict)]
    ids = [str(group["scenario_id"]) for group in groups]
    names = await platform.database.read(
        partial(eval_summaries.scenario_names, org_id=org_id, scenario_ids=ids)
    )
    for group in groups:
        group["name"] = names.get(str(group["scenario_id"]))


async def _run_helper(
    platform: Platform, org_id: int, job: Job, texts: Sequence[AsyncIterator[bytes]], what: str
) -> list[bytes]:
    file: IO[bytes] = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        for text in texts:
            async for part in text:
                await asyncio.to_thread(file.write, part)
        await asyncio.to_thread(file.flush)
        return await platform.upload_helpers.run(job, file, owner=org_id)
    except TookTooMuch as error:
        message = f"{what}: too large for this: {error}. Its cells are at /api/v1/eval/matrix/…, as JSON."
        raise Conflict(message) from None
    finally:
        file.close()


async def _one_part(text: bytes) -> AsyncIterator[bytes]:
    yield text


async def _encode(parts: AsyncIterator[str]) -> AsyncIterator[bytes]:
    async for part in parts:
        yield part.encode()
