"""Forms that add a task to a dataset, edit one, duplicate one and remove one.

The fields are the columns of an upload, and their texts are read as cells of a table.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request, Response

from pipelines.core.task_files.file_formats import TABLE
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.core.tasks.task_columns import BY_AXIS, BY_NAME, COLUMNS, Column, cell_text
from pipelines.core.text import csv_text
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused, said_of
from pipelines.engine.find import find_dataset
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import StoredTask, load_task
from pipelines.engine.tasks.remove_task import remove_task
from pipelines.engine.tasks.replace_task import replace_task
from pipelines.engine.tasks.upload_tasks import LargeRows, SmallFile, UploadedDataset, append_tasks
from pipelines.server.api.common import MAX_ID, SMALL_BODY_BYTES, Id, Ours
from pipelines.server.pages.page import go, page
from pipelines.server.pages.tasks.new_dataset import GROUPS
from pipelines.server.pages.visitor import Visitor, Writer, form_texts
from pipelines.storage.tasks.datasets import Dataset
from pipelines.web.pretty_json import pretty_json

router = APIRouter()
LARGEST_FIELD = 256 * 1024  # characters of a world: a larger one stays as it is, and is edited in a file
STATE = "state"
#: Long texts; the others are one line.
_LONG = ("text", "json", "json_or_text", "yaml_or_json")
_SHORT = ("id", "now", "termination_keyword", "scenario_ref")
_ORACLE = tuple(BY_AXIS[axis].name for axis in ORACLE_AXES)


class CellField(NamedTuple):
    """A column as a field of the form."""

    column: Column
    value: str
    is_area: bool
    rows: int
    problems: list[JsonObject]


@router.get("/datasets/{dataset_id}/tasks/new")
async def new_task_page(
    dataset_id: Id,
    request: Request,
    platform: Ours,
    visitor: Writer,
    like: Annotated[int | None, Query(ge=1, le=MAX_ID, description="a task that it begins as")] = None,
) -> Response:
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    typed = {}
    if like is not None:
        typed = _texts(await _stored(platform, visitor, like))
        typed.pop("id", None)  # names one task of a dataset
    return await _form_page(request, visitor, dataset, typed)


@router.post("/datasets/{dataset_id}/tasks")
async def add_task(dataset_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    typed = await form_texts(request)
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    try:
        made = await append_tasks(platform, visitor.org_id, dataset_id, _row(typed))
    except Refused as refused:
        return await _form_page(request, visitor, dataset, typed, problems=refused.problems)
    return _gone(made, "The task is stored.")


@router.get("/tasks/{task_id}/edit")
async def edit_page(task_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    stored = await _stored(platform, visitor, task_id)
    return await _form_page(request, visitor, stored.dataset, _texts(stored), stored=stored)


@router.post("/tasks/{task_id}/edit")
async def edit_task(task_id: Id, request: Request, platform: Ours, visitor: Writer) -> Response:
    """The oracle and a world that is too large for the form stay as they are."""
    typed = await form_texts(request)
    stored = await _stored(platform, visitor, task_id)
    texts = _texts(stored, is_whole=True)
    kept = {name: texts[name] for name in (*_ORACLE, STATE) if name in texts and name not in typed}
    try:
        made = await replace_task(platform, visitor.org_id, task_id, _row(typed | kept))
    except Refused as refused:
        return await _form_page(
            request, visitor, stored.dataset, typed, stored=stored, problems=refused.problems
        )
    return _gone(made, "The edited task is stored. Runs of the task before keep what they were given.")


@router.post("/tasks/{task_id}/remove")
async def remove(task_id: Id, platform: Ours, visitor: Writer) -> Response:
    dataset = await remove_task(platform, visitor.org_id, task_id)
    return go(f"/datasets/{dataset.id}", "The task is removed. Its runs are kept.")


def _gone(made: UploadedDataset, said: str) -> Response:
    findings = len(made.warnings)
    said += f" The lint reports {findings:,} finding{'s' if findings != 1 else ''}." if findings else ""
    return go(f"/tasks/{made.task_ids[0]}", said)


def _row(typed: Mapping[str, str]) -> SmallFile | LargeRows:
    """A table of one row, so that every field is read as a cell of a file is."""
    names = [column.name for column in COLUMNS]
    cells = [typed.get(name, "").replace("\r\n", "\n") for name in names]
    data = csv_text.write_records([names, cells])
    return (SmallFile if len(data) <= SMALL_BODY_BYTES else LargeRows)(data=data, format=TABLE)


async def _stored(platform: Platform, visitor: Visitor, task_id: int) -> StoredTask:
    return await platform.database.read(
        lambda connection: load_task(connection, org_id=visitor.org_id, task_id=task_id)
    )


def _texts(stored: StoredTask, *, is_whole: bool = False) -> dict[str, str]:
    """The cells of a task. A world that is too large for a field is left out, unless it `is_whole`."""
    body = stored.task.seed.as_json()
    texts = {
        BY_AXIS[axis].name: _shown(BY_AXIS[axis], value)
        for axis, value in body.items()
        if axis in BY_AXIS and axis != BY_NAME[STATE].axis
    }
    if is_whole or len(stored.world) <= LARGEST_FIELD:
        texts |= {STATE: stored.world} if stored.world != "{}" else {STATE: ""}
    return texts


def _shown(column: Column, value: Json) -> str:
    return pretty_json(value) if column.kind == "json" else cell_text(column, value)


async def _form_page(
    request: Request,
    visitor: Visitor,
    dataset: Dataset,
    typed: Mapping[str, str],
    *,
    stored: StoredTask | None = None,
    problems: Iterable[Problem] = (),
) -> Response:
    trail = [("Datasets", "/datasets"), (dataset.name, f"/datasets/{dataset.id}")]
    if stored is not None:
        trail.append((f"Task {stored.task.row_number}", f"/tasks/{stored.task.id}"))
    at, others = _by_column(problems)
    is_state_kept = stored is not None and len(stored.world) > LARGEST_FIELD
    hidden = (*(_ORACLE if stored is not None else ()), *((STATE,) if is_state_kept else ()))
    others += [problem for name in hidden for problem in at.get(name, ())]
    return await page(
        request,
        visitor,
        "task_form.html",
        title="Edit the task" if stored is not None else "New task",
        here="datasets",
        trail=trail,
        status=422 if at or others else 200,
        dataset=dataset,
        task=stored.task if stored is not None else None,
        groups=_groups(typed, at, hidden),
        is_state_kept=is_state_kept,
        is_refused=bool(at or others),
        others=others,
    )


def _groups(
    typed: Mapping[str, str], at: Mapping[str, list[JsonObject]], hidden: tuple[str, ...]
) -> list[tuple[str, bool, list[CellField]]]:
    """Label, whether it is open, and fields. The first group is what most tasks have."""
    known = {name for _, names in GROUPS for name in names}
    left = tuple(column.name for column in COLUMNS if column.name not in known)
    groups: list[Any] = [*GROUPS[:-1], (GROUPS[-1][0], (*GROUPS[-1][1], *left))]
    shown = []
    for number, (label, names) in enumerate(groups):
        fields = [_field(BY_NAME[name], typed, at) for name in names if name not in hidden]
        is_open = number == 0 or any(field.value or field.problems for field in fields)
        shown += [(label, is_open, fields)] if fields else []
    return shown


def _field(column: Column, typed: Mapping[str, str], at: Mapping[str, list[JsonObject]]) -> CellField:
    value = typed.get(column.name, "")
    is_area = column.kind in _LONG and column.name not in _SHORT
    rows = max(2, min(20, value.count("\n") + 2))
    return CellField(column, value, is_area, rows, at.get(column.name, []))


def _by_column(problems: Iterable[Problem]) -> tuple[dict[str, list[JsonObject]], list[JsonObject]]:
    """The problems of each column, and those of none."""
    at: dict[str, list[JsonObject]] = {}
    others: list[JsonObject] = []
    for problem in problems:
        if problem.column in BY_NAME:
            inside = problem.path.partition(", at ")[2]
            told: JsonObject = {"path": "", "message": said_of(inside, problem.message)}
            told |= {"hint": problem.hint} if problem.hint is not None else {}
            at.setdefault(str(problem.column), []).append(told)
        else:
            others.append(problem.as_json())
    return at, others
