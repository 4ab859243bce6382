"""Single tasks: read, edited, removed; their oracles corrected, and their stored runs judged by them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import task_in
from pipelines.engine.judging import rejudge_runs
from pipelines.engine.judging.preview_oracle import preview_oracle
from pipelines.engine.platform import Platform
from pipelines.engine.tasks import correct_oracle
from pipelines.engine.tasks.remove_task import remove_task
from pipelines.engine.tasks.replace_task import replace_task
from pipelines.server.api.common import (
    MAX_PAGE,
    Contributor,
    Cursor,
    Id,
    JudgedBy,
    Ours,
    Viewer,
    answer,
    encode_cursor,
    id_cursor,
    json_body,
    read_json_object,
    read_optional_object,
)
from pipelines.server.api.evals.eval_reviews import reviewer_of
from pipelines.server.api.schemas import bodies, task_bodies
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, oracles

router = APIRouter(prefix="/api/tasks/{task_id}", tags=["datasets"])


@router.get("")
async def get_task(task_id: Id, platform: Ours, key: Viewer) -> Response:
    """One task with its whole seed."""
    return answer(await _whole_task(platform, key.org_id, task_id))


@router.put("", openapi_extra=json_body(task_bodies.TASK_ROW))
async def put_task(task_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Edit a task: `{row}` makes another task in its place, at the end of the dataset.

    The edited one is removed; runs that were made of it keep it. `PUT …/oracle` corrects an oracle in place.
    """
    row = _row_in(await read_json_object(request))
    return answer((await replace_task(platform, key.org_id, task_id, [row])).as_json())


@router.delete("", status_code=204)
async def delete_task(task_id: Id, platform: Ours, key: Contributor) -> Response:
    """Remove a task from its dataset. Runs that were made of it keep it."""
    await remove_task(platform, key.org_id, task_id)
    return Response(status_code=204)


@router.put("/oracle", openapi_extra=json_body(bodies.ORACLE))
async def put_oracle(task_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Correct what decides a task's verdicts: a new version, checked whole. Runs made before keep theirs.

    Fields not given stay, null takes one away. `POST …/judge?oracle=present` judges stored runs by it.
    """
    body = await read_json_object(request)
    named = body.get("by")
    who = reviewer_of(key, named if isinstance(named, str) else None)
    done = await correct_oracle.correct_oracle(platform, key.org_id, task_id, who, body)
    task = await _whole_task(platform, key.org_id, task_id)
    return answer(task | {"oracle_version": done.version, "warnings": [*done.warnings]})


@router.post("/oracle/preview", openapi_extra=json_body(bodies.ORACLE))
async def post_preview(task_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """What a corrected oracle would do, before it is saved: its lint, and which stored runs would flip.

    The newest 200 ended runs of the task are judged by evidence alone. Nothing is stored, no model is asked.
    """
    body = await read_json_object(request)
    return answer((await preview_oracle(platform, key.org_id, task_id, body)).as_json())


@router.get("/oracles")
async def list_oracles(task_id: Id, platform: Ours, key: Viewer) -> Response:
    """Every version of a task's oracle, newest first, with who changed it and why."""
    items = await correct_oracle.read_oracles(platform, key.org_id, task_id)
    return answer({"items": items, "next_cursor": None})


@router.post("/judge", openapi_extra=json_body(bodies.REJUDGE, required=False))
async def judge_task(
    task_id: Id,
    request: Request,
    platform: Ours,
    key: Contributor,
    oracle: JudgedBy = "own",
    limit: Annotated[int | None, Query(ge=1, le=MAX_PAGE, description="runs in this call; all")] = None,
    cursor: Cursor = None,
) -> Response:
    """Judge every ended run of the task anew, of whatever batch, newest first; nothing is sent to an agent.

    As `POST /api/batches/{batch_id}/judge`: verdicts before stay as history.
    """
    by = rejudge_runs.read_rejudge(await read_optional_object(request), by_present_oracle=oracle == "present")
    done = await rejudge_runs.rejudge_task(
        platform, key.org_id, task_id, by, before_id=id_cursor(cursor), limit=limit
    )
    place = encode_cursor(str(done.last_id)) if done.last_id is not None else None
    return answer(done.report | {"next_cursor": place})


def _row_in(body: JsonObject) -> Json:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("row",))
    row = fields.get("row")
    if not isinstance(row, dict):
        fields.refuse("row", "`row` must be an object: one task")
    if problems:
        raise Refused(problems, "the task")
    return row


async def _whole_task(platform: Platform, org_id: int, task_id: int) -> JsonObject:
    def read(connection: Connection) -> JsonObject:
        task = task_in(connection, org_id, task_id)
        return {
            "id": task.id,
            "dataset_id": task.dataset_id,
            "row_number": task.row_number,
            "oracle_version": oracles.present_version(connection, task.id),
            "task_key": task.task_key,
            "odyssey_seed": datasets.whole_odyssey_seed(connection, task),
            "created_at": task.created_at,
            "removed_at": task.removed_at,
        }

    return await platform.database.read(read)
