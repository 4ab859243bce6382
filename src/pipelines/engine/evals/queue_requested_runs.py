"""Runs that verdicts asked for: put to the cell's own matrix, which then is reported and flagged anew.

What a kill, or a database that was away, left unqueued is queued later. Killed between queueing and noting
it, a cell gets the runs once more, never less: each run counts for itself.
"""

from functools import partial

from pipelines.core.text.json_text import JsonObject
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.evals.start_matrix import add_runs_to_cell
from pipelines.engine.platform import Platform, later
from pipelines.storage.database.connection import Connection
from pipelines.storage.evals import review_marks, reviews
from pipelines.storage.evals.review_marks import Mark
from pipelines.storage.runs.runs import NEVER
from pipelines.wire.errors import Conflict, NotFound

UNQUEUED_AFTER_S = 60.0  # by then whoever took the verdict has queued its runs, or never will


async def queue_requested_runs(platform: Platform, runner: BatchRunner, review_id: str) -> None:
    """Those of a review that was just decided."""
    for mark in await platform.database.read(partial(review_marks.unqueued_runs, before=NEVER)):
        if mark.review_id == review_id:
            await _queue(platform, runner, mark)


async def queue_unqueued_runs(platform: Platform, runner: BatchRunner, *, at_start: bool) -> None:
    """What nobody goes on with: all, at the start of the only process; else what is a minute old."""
    before = NEVER
    if not (at_start and platform.database.is_alone):
        before = later(platform.now(), -UNQUEUED_AFTER_S)
    for mark in await platform.database.read(partial(review_marks.unqueued_runs, before=before)):
        await _queue(platform, runner, mark)


async def _queue(platform: Platform, runner: BatchRunner, mark: Mark) -> None:
    matrix_id, number = str(mark.body.get("matrix_id")), mark.body.get("runs")
    assert isinstance(number, int)
    refused: JsonObject = {}
    try:
        await add_runs_to_cell(
            platform,
            runner,
            mark.org_id,
            matrix_id,
            scenario_id=mark.scenario_id,
            variation=mark.variation,
            runs=number,
        )
    except (Conflict, NotFound) as error:  # a matrix that was cancelled takes no runs; the person is told
        refused = {"refused": error.message, "is_answered": True}
    body = mark.body | {"is_queued": True} | refused
    await platform.database.write(partial(_mark_queued, mark=mark, body=body, matrix_id=matrix_id))


def _mark_queued(connection: Connection, *, mark: Mark, body: JsonObject, matrix_id: str) -> None:
    review_marks.change_mark(connection, mark_id=mark.id, body=body)
    # The runs may have ended before this: then the matrix was looked through without knowing of them.
    review_marks.flag_anew(connection, matrix_id=matrix_id)
    outcome: JsonObject = {
        "mark": mark.kind.value,
        "scenario_id": mark.scenario_id,
        "variation": mark.variation,
        **body,
    }
    reviews.set_outcome(connection, review_id=mark.review_id, outcome=outcome)
