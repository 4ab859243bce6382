"""Datasets: uploads are checked whole and refused whole."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import IO, Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from pipelines.core.task_files.file_formats import format_of
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, loads_own
from pipelines.core.text.uploads import MAX_NAME, head_of, no_rows, refuse_unknown
from pipelines.engine.find import find_dataset
from pipelines.engine.judging.choose_honesty import set_honesty
from pipelines.engine.models.choose_model import name_models
from pipelines.engine.platform import Platform
from pipelines.engine.tasks import upload_tasks
from pipelines.engine.tasks.delete_dataset import delete_dataset
from pipelines.engine.tasks.rename_dataset import rename_dataset
from pipelines.engine.tasks.upload_tasks import CHECKING_BYTES, CHECKING_S, LargeRows, Rows, SmallFile
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.server.api.common import (
    MAX_ID,
    SMALL_BODY_BYTES,
    Contributor,
    Cursor,
    Id,
    Limit,
    OptionalId,
    Ours,
    Viewer,
    answer,
    answer_page,
    check_is_json,
    id_cursor,
    json_body,
    limited,
    read_body,
    read_json_object,
    unreadable,
)
from pipelines.server.api.schemas import bodies, task_bodies
from pipelines.storage.lists.summaries import task_summaries
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import BadRequest, InvalidJsonBody

router = APIRouter(tags=["datasets"])
MEBIBYTE = 1024 * 1024
SMALL_YAML_BYTES = 16 * 1024  # its reader is written in Python: a hundred times slower than the others


@router.post("/api/datasets", status_code=201, openapi_extra=bodies.UPLOAD, responses={200: {}})
async def create_dataset(request: Request, platform: Ours, key: Contributor) -> Response:
    """Upload tasks: a file (multipart: `file`, `name`, `agent_id`), or JSON `{name, agent_id?, rows}`.

    A file is YAML, JSON or JSON lines where its name says so, otherwise a table such as CSV. With an agent,
    the rows are also checked against its tools and ledger schema. With `reuse` true, nothing is stored where
    there is a dataset of the same name, agent and content: 200, and that one.
    """
    async with _upload(request, platform, key.org_id, ("name", "agent_id", "rows", "reuse")) as fields:
        uploaded = await upload_tasks.create_dataset(
            platform,
            key.org_id,
            name=fields.name,
            agent_id=fields.agent_id,
            rows=fields.rows(),
            reuse=fields.reuse,
        )
    return answer(uploaded.as_json(), 200 if uploaded.is_reused else 201)


@router.get("/api/datasets")
async def list_datasets(
    platform: Ours,
    key: Viewer,
    agent_id: OptionalId = None,
    name: Annotated[str | None, Query(max_length=MAX_NAME)] = None,
    content_hash: Annotated[str | None, Query(max_length=64, description="of all its tasks")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """The org's datasets, newest first; with `content_hash`, those that were made of the same tasks."""
    before_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: datasets.datasets_of_org(
            connection,
            key.org_id,
            agent_id=agent_id,
            limit=limit,
            before_id=before_id,
            name=name,
            content_hash=content_hash,
        )
    )
    return answer_page(page)


@router.get("/api/datasets/{dataset_id}")
async def get_dataset(dataset_id: Id, platform: Ours, key: Viewer) -> Response:
    """One dataset and how many tasks it has."""
    dataset = await find_dataset(platform, key.org_id, dataset_id)
    return answer(dataset.as_json())


@router.put("/api/datasets/{dataset_id}/name", openapi_extra=json_body(task_bodies.DATASET_NAME))
async def put_name(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Give the dataset another name. Its tasks, their keys and their runs stay as they are."""
    body = await read_json_object(request)
    return answer((await rename_dataset(platform, key.org_id, dataset_id, body)).as_json())


@router.delete("/api/datasets/{dataset_id}", status_code=204)
async def remove_dataset(dataset_id: Id, platform: Ours, key: Contributor) -> Response:
    """Delete the dataset and its tasks. Batches and runs that were made of them stay."""
    await delete_dataset(platform, key.org_id, dataset_id)
    return Response(status_code=204)


@router.put("/api/datasets/{dataset_id}/models", openapi_extra=json_body(bodies.MODELS))
async def put_models(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Name the models that are asked for this dataset's runs, by purpose; `{}` names none."""
    body = await read_json_object(request)
    return answer((await name_models(platform, key.org_id, dataset_id, body)).as_json())


@router.put("/api/datasets/{dataset_id}/honesty", openapi_extra=json_body(bodies.HONESTY))
async def put_honesty(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Say how strictly the words of this dataset's runs are judged; null leaves it to the agent."""
    body = await read_json_object(request)
    return answer((await set_honesty(platform, key.org_id, dataset_id, body)).as_json())


@router.get("/api/datasets/{dataset_id}/tasks")
async def list_tasks(
    dataset_id: Id, platform: Ours, key: Viewer, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The dataset's tasks in the author's order, and what each asks. The whole seed is on the task itself."""
    await find_dataset(platform, key.org_id, dataset_id)
    after_id = id_cursor(cursor)
    page = await platform.database.read(
        lambda connection: task_summaries(connection, dataset_id, limit=limit, after_id=after_id)
    )
    return answer_page(page)


@router.post("/api/datasets/{dataset_id}/tasks", status_code=201, openapi_extra=bodies.TASK_ROWS)
async def append_tasks(dataset_id: Id, request: Request, platform: Ours, key: Contributor) -> Response:
    """Add 1 to 5,000 rows: a file, or JSON `{rows}`."""
    async with _upload(request, platform, key.org_id, ("rows",)) as fields:
        uploaded = await upload_tasks.append_tasks(platform, key.org_id, dataset_id, fields.rows())
    return answer(uploaded.as_json(), 201)


@router.get("/api/datasets/{dataset_id}/export", responses=bodies.EXPORT)
async def export_dataset(
    dataset_id: Id,
    platform: Ours,
    key: Viewer,
    format: Annotated[Literal["csv", "json"], Query()] = "csv",
) -> Response:
    """Every task: the body of `POST /api/datasets`, which uploads to the same seeds, or a CSV.

    In the CSV, an apostrophe stands before whatever a spreadsheet would take for a formula.
    """
    dataset = await find_dataset(platform, key.org_id, dataset_id)
    if format == "json":
        body = upload_tasks.export_tasks_as_body(platform, dataset)
        return StreamingResponse(body, media_type="application/json")
    text = upload_tasks.export_tasks_as_csv(platform, dataset_id)
    name = f'attachment; filename="dataset-{dataset_id}.csv"'
    return StreamingResponse(text, headers={"content-disposition": name}, media_type="text/csv")


@dataclass(kw_only=True, slots=True)
class _Fields:
    """The fields of an upload, from a form or from JSON."""

    name: Json = None
    agent_id: Json = None
    reuse: Json = None
    source: Rows = None
    file: IO[bytes] | None = None  # what a large one is in

    def rows(self) -> Rows:
        if self.source is None:
            raise no_rows()
        return self.source

    def take_file(self, content: bytes | IO[bytes], filename: str) -> None:
        format = format_of(filename)
        most = SMALL_YAML_BYTES if format == "yaml" else SMALL_BODY_BYTES
        if isinstance(content, bytes) and len(content) <= most:
            self.source = SmallFile(data=content, format=format)
            return
        if not isinstance(content, bytes):
            self.file = content
        self.source = LargeRows(data=content, format=format)


@asynccontextmanager
async def _upload(
    request: Request, platform: Platform, org_id: int, taken: tuple[str, ...]
) -> AsyncIterator[_Fields]:
    limit = request.app.state.upload_limit_mb * MEBIBYTE
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    fields = _Fields()
    try:
        if kind == "multipart/form-data":
            await _read_form(request, limit, taken, fields)
        else:
            check_is_json(request)
            await _read_json(await read_body(request, limit), platform, org_id, taken, fields)
        yield fields
    except InvalidJson as error:
        raise InvalidJsonBody(f"The body cannot be read: {error}.") from None
    except TookTooMuch as error:
        raise unreadable(error) from None
    finally:
        if fields.file is not None:
            fields.file.close()


async def _read_json(
    body: bytes | IO[bytes], platform: Platform, org_id: int, taken: tuple[str, ...], fields: _Fields
) -> None:
    """Reads everything except the rows of a large body; they are read once the agent is known."""
    if isinstance(body, bytes):
        read = loads(body)
        head = head_of(read, taken)
        assert isinstance(read, dict)
        fields.source = read["rows"]
    else:
        fields.file, fields.source = body, LargeRows(data=body, format=None)
        job = Job("upload_head", {"taken": list(taken)}, CHECKING_S, MEBIBYTE * 4, CHECKING_BYTES)
        (text,) = await platform.upload_helpers.run(job, body, owner=org_id)
        told = loads_own(text)
        assert isinstance(told, dict)
        head = told
    fields.name, fields.agent_id, fields.reuse = head["name"], head["agent_id"], head["reuse"]


async def _read_form(request: Request, limit: int, taken: tuple[str, ...], fields: _Fields) -> None:
    parser = MultiPartParser(
        request.headers, limited(request, limit), max_files=1, max_fields=4, max_part_size=limit
    )
    try:
        form = await parser.parse()
        texts: JsonObject = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        refuse_unknown(texts, ("file", *(name for name in taken if name != "rows")), "the form")
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                fields.take_file(await _content(value), value.filename or "")
                fields.name = value.filename or "dataset" if fields.name is None else fields.name
            elif name == "file":
                fields.take_file(value.encode(), "")
            elif name == "agent_id":
                fields.agent_id = int(value) if _is_number(value) else value
            elif name == "reuse":
                fields.reuse = {"true": True, "false": False}.get(value.strip().lower(), value)
            else:
                fields.name = value
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise BadRequest(f"The form cannot be read: {error}.") from None
    finally:
        for file in parser._files_to_close_on_error:  # also of a part that never ended, which no form holds
            file.close()
    if fields.source is None and parser._files_to_close_on_error:
        raise BadRequest("The form ends in the middle of its file. Send the whole file.")


async def _content(upload: UploadFile) -> bytes | IO[bytes]:
    """A large upload stays in its temporary file, with a separate file descriptor."""
    if (upload.size or 0) <= SMALL_BODY_BYTES:
        return await upload.read()
    upload.file.flush()
    return os.fdopen(os.dup(upload.file.fileno()), "rb")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID))
