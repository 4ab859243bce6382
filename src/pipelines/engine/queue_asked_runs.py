"""Runs that verdicts asked for: put to the cell's own matrix, which then is reported and flagged anew.

What a kill leaves unqueued is queued at the next start. Killed between the two, a cell is asked twice as
often as it was meant to be, never less: each run counts for itself.
"""

from functools import partial

from pipelines.core.json_text import JsonObject
from pipelines.engine.platform import Platform
from pipelines.engine.run_batch import BatchRunner
from pipelines.engine.run_evals import ask_cell_again
from pipelines.storage import review_marks, reviews
from pipelines.storage.connection import Connection
from pipelines.storage.review_marks import Mark
from pipelines.wire.errors import Conflict, NotFound


async def queue_asked_runs(platform: Platform, runner: BatchRunner, review_id: str | None = None) -> None:
    """Of one review, or of all: at a start."""
    for mark in await platform.database.read(review_marks.unqueued_runs):
        if review_id in (None, mark.review_id):
            await _queue(platform, runner, mark)


async def _queue(platform: Platform, runner: BatchRunner, mark: Mark) -> None:
    matrix_id, number = str(mark.body.get("matrix_id")), mark.body.get("runs")
    assert isinstance(number, int)
    refused: JsonObject = {}
    try:
        await ask_cell_again(
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
    await platform.database.write(partial(_queued, mark=mark, body=body, matrix_id=matrix_id))


def _queued(connection: Connection, *, mark: Mark, body: JsonObject, matrix_id: str) -> None:
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
