"""/datasets/new: checks a file or pasted text, and creates a dataset from it."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import IO, Any

from fastapi import APIRouter, Request, Response
from starlette.datastructures import FormData, UploadFile

from pipelines.core.task_files.column_naming import MOST_SAID, ColumnNaming
from pipelines.core.task_files.file_formats import TABLE, Format, format_of
from pipelines.core.tasks.task_columns import BY_NAME, COLUMNS
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Refused
from pipelines.engine.tasks.preview_tasks import preview_tasks
from pipelines.engine.tasks.upload_tasks import LargeRows, SmallFile, create_dataset
from pipelines.processes.pool import TookTooMuch
from pipelines.server.api.common import SMALL_BODY_BYTES, platform_of, unreadable
from pipelines.server.api.datasets import SMALL_YAML_BYTES
from pipelines.server.pages.page import go, page, part
from pipelines.server.pages.tasks.datasets import AGENTS_OFFERED, ChosenId
from pipelines.server.pages.tasks.sentence_list import sentence_rows
from pipelines.server.pages.tasks.upload_table import shown_table
from pipelines.server.pages.visitor import Visitor, Writer, read_form
from pipelines.storage.lists.dataset_lists import agent_choices
from pipelines.wire.errors import NotFound, OdysseyError

router = APIRouter()
CSV_NAME, FORMATS_READ = "tasks.csv", ".csv,.tsv,.txt,.json,.jsonl,.ndjson,.yaml,.yml"
#: The columns by what they are for; the five axes of a seed come first.
GROUPS = (
    ("The seed", ("user", "behavior", "state", "failure_rules", "expected_outcome")),
    (
        "More oracles",
        ("expected_state", "expected_calls", "expected_answer", "tracked_constraints", "rubric"),
    ),
    (
        "Conversation",
        (
            *("turn_mode", "max_turns", "memory_mode", "simulator_mode", "user_simulator_persona"),
            *("scripted_user_turns", "termination_keyword"),
        ),
    ),
    ("Coding", ("scenario_ref", "workspace_seed", "setup_command", "eval")),
    ("Besides", ("id", "tags", "now", "task_input", "strict_simulation")),
)
NOTHING = "Drop a file here, choose one, or paste its text."


@dataclass(frozen=True, kw_only=True, slots=True)
class UploadForm:
    """The submitted form."""

    name: str
    agent_id: str
    text: str
    filename: str
    rows: SmallFile | LargeRows | None
    switched_on: tuple[str, ...] | None  # columns; None: as the file has them
    renames: dict[str, str]
    left_out: frozenset[str]

    @property
    def naming(self) -> ColumnNaming:
        off = frozenset(BY_NAME).difference(self.switched_on) if self.switched_on is not None else frozenset()
        needed = tuple(name for name in self.switched_on or () if name != "user")
        return ColumnNaming(renames=self.renames, left_out=self.left_out | off, needed=needed)

    @property
    def format(self) -> Format | None:
        return self.rows.format if self.rows is not None else None


EMPTY = UploadForm(
    name="",
    agent_id="",
    text="",
    filename="",
    rows=None,
    switched_on=None,
    renames={},
    left_out=frozenset(),
)


@router.get("/datasets/new")
async def new_page(request: Request, visitor: Writer, agent_id: ChosenId = "") -> Response:
    return await _whole(request, visitor, replace(EMPTY, agent_id=agent_id), {})


@router.post("/datasets/check")
async def check(request: Request, visitor: Writer) -> Response:
    """Nothing is stored."""
    async with _read_upload(request) as form:
        preview = await _looked_at(request, visitor, form)
    return await _respond(request, visitor, form, preview)


@router.post("/datasets")
async def create(request: Request, visitor: Writer) -> Response:
    async with _read_upload(request) as form:
        if form.rows is None:
            return await _respond(request, visitor, form, {"problem": NOTHING})
        try:
            created = await create_dataset(
                platform_of(request),
                visitor.org_id,
                name=form.name or form.filename or CSV_NAME,
                agent_id=int(form.agent_id) if form.agent_id else None,
                rows=form.rows,
                naming=form.naming,
            )
        except TookTooMuch as error:
            return await _respond(request, visitor, form, {"problem": unreadable(error).message})
        except Refused as refused:
            preview = await _looked_at(request, visitor, form)
            named: list[Json] = [problem.as_json() for problem in refused.problems if problem.path == "/name"]
            return await _respond(request, visitor, form, preview | {"name_problems": named})
        except NotFound as error:
            return await _respond(request, visitor, form, {"problem": error.message})
    count = len(created.task_ids)
    message = f"{count:,} task{'s are' if count != 1 else ' is'} stored."
    if created.warnings:
        message += f" {len(created.warnings):,} findings: see the pages of the tasks."
    return _gone(request, f"/datasets/{created.dataset.id}", message)


def _gone(request: Request, path: str, said: str) -> Response:
    """A redirect for htmx, which would otherwise insert the target page into this one."""
    response = go(path, said)
    if request.headers.get("hx-request"):
        response.status_code = 200
        del response.headers["location"]
        response.headers["hx-redirect"] = path
    return response


async def _looked_at(request: Request, visitor: Visitor, asked: UploadForm) -> JsonObject:
    """The preview of the file; with `problem` if it could not be read."""
    if asked.rows is None:
        return {"problem": NOTHING}
    try:
        return await preview_tasks(
            platform_of(request),
            visitor.org_id,
            agent_id=int(asked.agent_id) if asked.agent_id else None,
            rows=asked.rows,
            naming=asked.naming,
        )
    except TookTooMuch as error:
        return {"problem": unreadable(error).message}
    except OdysseyError as error:
        return {"problem": error.message}


async def _respond(request: Request, visitor: Visitor, asked: UploadForm, told: JsonObject) -> Response:
    """A fragment for htmx, the whole page for a browser without scripts."""
    if not request.headers.get("hx-request"):
        return await _whole(request, visitor, asked, told)
    context = _context(asked, told)
    return await part(visitor, "dataset_checked.html", status=_status(told), **context)


async def _whole(request: Request, visitor: Visitor, asked: UploadForm, told: JsonObject) -> Response:
    agents = await platform_of(request).database.read(
        lambda connection: agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)
    )
    return await page(
        request,
        visitor,
        "dataset_new.html",
        title="New dataset",
        here="datasets",
        trail=[("Datasets", "/datasets")],
        status=_status(told),
        agents=[("", "no agent (tool names are not checked)"), *agents],
        limit_mb=request.app.state.upload_limit_mb,
        accepts=FORMATS_READ,
        **_context(asked, told),
    )


def _status(told: JsonObject) -> int:
    return 422 if told.get("problem") or told.get("problems") or told.get("name_problems") else 200


def _context(asked: UploadForm, told: JsonObject) -> dict[str, Any]:
    is_read = "columns" in told
    table = shown_table(told) if is_read else None
    found = table.found if table is not None else frozenset[str]()
    on = frozenset(asked.switched_on) if asked.switched_on is not None else found
    sentences: Any = told.get("sentences", [])
    return {
        "asked": asked,
        "sentences": sentence_rows(sentences),
        "told": told,
        "table": table,
        "is_chosen": asked.switched_on is not None or is_read,
        "groups": [
            (label, [(BY_NAME[name], name in on or name == "user", name in found) for name in names])
            for label, names in GROUPS
        ],
        "more_columns": any(name in on for _, names in GROUPS[2:] for name in names),
        "columns": [column.name for column in COLUMNS],
        "renames": [(name, column, _pair(name, column)) for name, column in asked.renames.items()],
        "left_out": sorted(asked.left_out),
        "pair": _pair,
    }


# The form


@asynccontextmanager
async def _read_upload(request: Request) -> AsyncIterator[UploadForm]:
    form = await read_form(request)
    file: IO[bytes] | None = None
    try:
        upload_form, file = await _read(form)
        yield upload_form
    finally:
        if file is not None:
            file.close()
        await form.close()


async def _read(form: FormData) -> tuple[UploadForm, IO[bytes] | None]:
    texts = {name: value for name, value in form.multi_items() if isinstance(value, str)}
    rows, filename, file = await _rows(form, texts.get("text", ""))
    renames = dict(_pairs(form, "renamed"))
    fresh = dict(_pairs(form, "rename"))
    renames |= fresh
    for name in _chosen_values(form, "unrename"):
        renames.pop(name, None)
    left_out = {*_chosen_values(form, "left"), *_chosen_values(form, "leave")}.difference(
        _chosen_values(form, "take_back")
    )
    on = [name for name in _chosen_values(form, "axis") if name in BY_NAME]
    is_chosen = bool(on) or "chosen" in texts
    agent_id = texts.get("agent_id", "")
    upload_form = UploadForm(
        name=texts.get("name", "").strip(),
        agent_id=agent_id if agent_id.isascii() and agent_id.isdigit() and len(agent_id) <= 18 else "",
        text=texts.get("text", ""),
        filename=filename,
        rows=rows,
        # What was just given a name is to be read, whatever was switched on before it had one.
        switched_on=tuple(dict.fromkeys(["user", *on, *fresh.values()])) if is_chosen else None,
        renames=dict(list(renames.items())[:MOST_SAID]),
        left_out=frozenset(left_out),
    )
    return upload_form, file


async def _rows(form: FormData, text: str) -> tuple[SmallFile | LargeRows | None, str, IO[bytes] | None]:
    upload = form.get("file")
    if isinstance(upload, UploadFile) and upload.filename:
        format = format_of(upload.filename)
        if (upload.size or 0) <= _small(format):
            return SmallFile(data=await upload.read(), format=format), upload.filename, None
        if (upload.size or 0) <= SMALL_BODY_BYTES:
            return LargeRows(data=await upload.read(), format=format), upload.filename, None
        upload.file.flush()
        own = os.fdopen(os.dup(upload.file.fileno()), "rb")
        return LargeRows(data=own, format=format), upload.filename, own
    if not text.strip():
        return None, "", None
    format = _format_of_text(text)
    data = text.replace("\r\n", "\n").encode("utf-8", "replace")  # a form sends its own line ends
    return (SmallFile if len(data) <= _small(format) else LargeRows)(data=data, format=format), "", None


def _small(format: Format) -> int:
    return SMALL_YAML_BYTES if format == "yaml" else SMALL_BODY_BYTES


def _format_of_text(text: str) -> Format:
    """The format of pasted text: text that begins with a bracket is JSON, because no table header does."""
    start = text.lstrip()
    if start.startswith("["):
        return "json"
    if start.startswith("{"):
        first = start.partition("\n")[0].strip()
        return "jsonl" if first.endswith("}") and '"rows"' not in first else "json"
    return "yaml" if start.startswith(("- user:", "- id:")) else TABLE


def _chosen_values(form: FormData, field: str) -> list[str]:
    return [value for value in form.getlist(field)[:MOST_SAID] if isinstance(value, str) and value]


def _pairs(form: FormData, field: str) -> list[tuple[str, str]]:
    """Reads pairs as `_pair` writes them; ignores other values."""
    found = []
    for value in _chosen_values(form, field):
        try:
            read = json.loads(value)
        except ValueError:
            continue
        if isinstance(read, list) and len(read) == 2 and isinstance(read[0], str) and read[1] in BY_NAME:
            found.append((read[0], str(read[1])))
    return found


def _pair(name: str, column: str) -> str:
    return json.dumps([name, column])
