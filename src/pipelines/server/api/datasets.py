"""Datasets and tasks: uploads are checked whole and refused whole."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from pipelines.core.authored import Fields
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.problems import Problem, Refused
from pipelines.engine import upload_tasks
from pipelines.engine.platform import Platform
from pipelines.server.api import schemas
from pipelines.server.api.common import (
    MAX_ID,
    Contributor,
    Cursor,
    Id,
    Limit,
    OptionalId,
    Ours,
    Viewer,
    answer,
    answer_page,
    id_cursor,
    limited,
    read_json,
)
from pipelines.storage import datasets
from pipelines.storage.datasets import Task
from pipelines.wire.errors import BadRequest, NotFound

router = APIRouter(tags=["datasets"])
MEBIBYTE = 1024 * 1024


@router.post("/api/datasets", status_code=201, openapi_extra=schemas.UPLOAD)
async def create_dataset(request: Request, platform: Ours, key: Contributor) -> Response:
    """Upload tasks: a CSV file (multipart: `file`, `name`, `agent_id`), or JSON `{name, agent_id?, rows}`.

    With an agent, the rows are also checked against its tools and ledger schema.
    """
    fields = await _upload(request, ("name", "agent_id", "rows"))
    uploaded = await upload_tasks.create_dataset(
        platform,
        key.org_id,
        name=fields.name,
        agent_id=fields.agent_id,
        rows=fields.rows(),
    )
    return answer(uploaded.as_json(), 201)


@router.get("/api/datasets")
async def list_datasets(
    platform: Ours, key: Viewer, agent_id: OptionalId = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The org's datasets, newest first."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: datasets.datasets_of_org(
            connection, key.org_id, agent_id=agent_id, limit=limit, before_id=before_id
        )
    )
    return answer_page(page, lambda dataset: dataset.as_json())


@router.get("/api/datasets/{dataset_id}")
async def get_dataset(dataset_id: Id, platform: Ours, key: Viewer) -> Response:
    """One dataset and how many tasks it has."""
    dataset = await upload_tasks.find_dataset(platform, key.org_id, dataset_id)
    return answer(dataset.as_json())


@router.get("/api/datasets/{dataset_id}/tasks")
async def list_tasks(
    dataset_id: Id, platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The dataset's tasks in the author's order. The world of each is on the task itself."""
    await upload_tasks.find_dataset(platform, key.org_id, dataset_id)
    after_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: datasets.tasks_of_dataset(connection, dataset_id, limit=limit, after_id=after_id)
    )
    return answer_page(page, lambda task: _shown(task, task.odyssey_seed()))


@router.post("/api/datasets/{dataset_id}/tasks", status_code=201, openapi_extra=schemas.TASK_ROWS)
async def append_tasks(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Add 1 to 5,000 rows: a CSV file, or JSON `{rows}`."""
    fields = await _upload(request, ("rows",))
    uploaded = await upload_tasks.append_tasks(platform, key.org_id, dataset_id, fields.rows())
    return answer(uploaded.as_json(), 201)


@router.get("/api/datasets/{dataset_id}/export", responses=schemas.EXPORT)
async def export_dataset(
    dataset_id: Id,
    platform: Ours,
    key: Viewer,
    format: Annotated[Literal["csv", "json"], Query()] = "csv",
) -> Response:
    """Every task, in a form that uploads to the same seeds: a CSV, or the body of `POST /api/datasets`."""
    if format == "json":
        return answer(await upload_tasks.export_tasks_as_body(platform, key.org_id, dataset_id))
    text = await upload_tasks.export_tasks_as_csv(platform, key.org_id, dataset_id)
    name = f"dataset-{dataset_id}.csv"
    return Response(
        text, headers={"content-disposition": f'attachment; filename="{name}"'}, media_type="text/csv"
    )


@router.get("/api/tasks/{task_id}")
async def get_task(task_id: Id, platform: Ours, key: Viewer) -> Response:
    """One task with its whole seed."""
    return answer(await _whole_task(platform, key.org_id, task_id))


async def _whole_task(platform: Platform, org_id: int, task_id: int) -> JsonObject:
    task = await platform.database.read(
        lambda connection: datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
    )
    if task is None:
        raise NotFound(f"There is no task {task_id}.")
    seed = await platform.database.read(lambda connection: datasets.whole_odyssey_seed(connection, task))
    return _shown(task, seed)


def _shown(task: Task, seed: JsonObject) -> JsonObject:
    return {
        "id": task.id,
        "dataset_id": task.dataset_id,
        "row_number": task.row_number,
        "odyssey_seed": seed,
        "created_at": task.created_at,
    }


@dataclass(kw_only=True, slots=True)
class _Fields:
    """An upload, by form or by JSON."""

    name: Json = None
    agent_id: Json = None
    file: bytes | None = None
    listed: Json = None

    def rows(self) -> Json | bytes:
        if self.file is not None:
            return self.file
        if self.listed is None:
            hint = "send a CSV as the form field 'file', or JSON with 'rows': [{\"user\": \"…\"}]"
            raise Refused([Problem(path="/rows", message="there are no rows", hint=hint)], "the dataset")
        return self.listed


async def _upload(request: Request, taken: tuple[str, ...]) -> _Fields:
    limit = request.app.state.upload_limit_mb * MEBIBYTE
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _form(request, limit, taken)
    body = await read_json(request, limit=limit)
    if not isinstance(body, dict):
        raise Refused([Problem(path="", message="must be a JSON object")], "the body")
    _refuse_unknown(body, taken, "the dataset")
    return _Fields(name=body.get("name"), agent_id=body.get("agent_id"), listed=body.get("rows"))


async def _form(request: Request, limit: int, taken: tuple[str, ...]) -> _Fields:
    parser = MultiPartParser(
        request.headers, limited(request, limit), max_files=1, max_fields=3, max_part_size=limit
    )
    fields = _Fields()
    try:
        form = await parser.parse()
        texts: JsonObject = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        _refuse_unknown(texts, ("file", *(name for name in taken if name != "rows")), "the form")
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                fields.file = await value.read()
                fields.name = value.filename or "dataset" if fields.name is None else fields.name
            elif name == "file":
                fields.file = value.encode()
            elif name == "agent_id":
                fields.agent_id = int(value) if _is_number(value) else value
            else:
                fields.name = value
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise BadRequest(f"The form cannot be read: {error}.") from None
    finally:
        for file in parser._files_to_close_on_error:  # also of a part that never ended, which no form holds
            file.close()
    if fields.file is None and parser._files_to_close_on_error:
        raise BadRequest("The form ends in the middle of its file.")
    return fields


def _refuse_unknown(body: JsonObject, known: tuple[str, ...], what: str) -> None:
    problems: list[Problem] = []
    Fields(body, "", problems).refuse_unknown(known)
    if problems:
        raise Refused(problems, what)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID))
