"""/datasets: the list, one dataset with its tasks, and its export."""

from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from pipelines.core.results.task_statistics import summary_of
from pipelines.core.task_files.read_tasks import csv_header
from pipelines.core.tasks.seed import CONVERSATION_AXES
from pipelines.core.tasks.task_columns import BY_AXIS, COLUMNS
from pipelines.engine.find import find_dataset
from pipelines.engine.tasks import upload_tasks
from pipelines.server.api.common import MAX_ID, Id, platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.visitor import Reader
from pipelines.storage.database.connection import Connection
from pipelines.storage.lists import dataset_lists
from pipelines.storage.lists.dataset_lists import TaskFilter

router = APIRouter()
SHOWN = 50
BATCHES_SHOWN = 10
AGENTS_OFFERED = 200
LONGEST_WORDS = 200
#: The axes shown for a dataset, in column order, without those that every dataset has.
TOLD_AXES = tuple(c.axis for c in COLUMNS if c.axis not in ("user_instruction", "id"))
_CONVERSATION = ("user_simulator_persona", "scripted_user_turns", "termination_keyword")

Words = Annotated[str, Query(max_length=LONGEST_WORDS)]
#: The form sends an unused filter as an empty text.
ChosenId = Annotated[str, Query(pattern=r"^[0-9]{0,18}$")]


@router.get("/datasets")
async def datasets_page(
    request: Request,
    visitor: Reader,
    words: Words = "",
    agent_id: ChosenId = "",
    before: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    agent = int(agent_id) if agent_id else None

    def read(connection: Connection) -> dict[str, Any]:
        found = dataset_lists.dataset_lines(
            connection, visitor.org_id, words=words.strip(), agent_id=agent, limit=SHOWN, before_id=before
        )
        ids = [line.id for line in found.items]
        axes = dataset_lists.axes_of_datasets(connection, ids)
        batches = dataset_lists.last_batches(connection, visitor.org_id, ids)
        rows = [(line, told_axes(axes[line.id]), rated(batches.get(line.id))) for line in found.items]
        agents = dataset_lists.agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)
        return {"rows": rows, "last_id": found.last_id, "agents": agents}

    lists = await platform_of(request).database.read(read)
    filters = {"words": words, "agent_id": agent_id}
    return await page(
        request,
        visitor,
        "datasets.html",
        title="Datasets",
        here="datasets",
        asked=filters,
        more=_further("/datasets", filters, "before", lists["last_id"]),
        back=_further("/datasets", filters) if before is not None else None,
        looked_at=dataset_lists.TASKS_LOOKED_AT,
        **lists,
    )


@router.get("/datasets/template.csv")
async def template(
    visitor: Reader, axis: Annotated[list[str] | None, Query(max_length=50)] = None
) -> Response:
    """An empty CSV with the selected columns."""
    columns = {"user", *(axis or ())}
    header = csv_header([column for column in COLUMNS if column.name in columns])
    name = {"content-disposition": 'attachment; filename="tasks.csv"'}
    return Response(header, media_type="text/csv", headers=name)


@router.get("/datasets/{dataset_id}")
async def dataset_page(
    request: Request,
    visitor: Reader,
    dataset_id: Id,
    words: Words = "",
    tag: Words = "",
    axis: Annotated[str, Query(max_length=50)] = "",
    oracle: Literal["", "yes", "no"] = "",
    after: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
) -> Response:
    platform = platform_of(request)
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    task_filter = TaskFilter(
        words=words.strip(),
        tag=tag,
        axis=axis if axis in BY_AXIS else "",
        has_oracle={"": None, "yes": True, "no": False}[oracle],
    )

    def read(connection: Connection) -> dict[str, Any]:
        found = dataset_lists.task_lines(
            connection, dataset_id, wanted=task_filter, limit=SHOWN, after_id=after
        )
        batches = dataset_lists.batches_of_dataset(
            connection, visitor.org_id, dataset_id, limit=BATCHES_SHOWN
        )
        return {
            "tasks": [(task, told_parts(task.head.axes)) for task in found.items],
            "last_id": found.last_id,
            "axes": told_axes(dataset_lists.axes_of_datasets(connection, [dataset_id])[dataset_id]),
            "tags": [(tag, tag) for tag in dataset_lists.tags_of_dataset(connection, dataset_id)],
            "batches": [(batch, summary_of(batch.outcomes, batch.repeats)) for batch in batches],
            "agents": dict(dataset_lists.agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)),
        }

    details = await platform.database.read(read)
    filters = {"words": words, "tag": tag, "axis": task_filter.axis, "oracle": oracle}
    here = f"/datasets/{dataset_id}"
    return await page(
        request,
        visitor,
        "dataset.html",
        title=dataset.name,
        here="datasets",
        trail=[("Datasets", "/datasets")],
        dataset=dataset,
        asked=filters,
        more=_further(here, filters, "after", details["last_id"]),
        back=_further(here, filters) if after is not None else None,
        axis_choices=[("", "any"), *((axis, BY_AXIS[axis].name) for axis in TOLD_AXES)],
        looked_at=dataset_lists.TASKS_LOOKED_AT,
        **details,
    )


@router.get("/datasets/{dataset_id}/export")
async def export(
    request: Request, visitor: Reader, dataset_id: Id, format: Literal["csv", "json"] = "csv"
) -> Response:
    """The same file as the API exports; uploading it creates the same tasks."""
    platform = platform_of(request)
    dataset = await find_dataset(platform, visitor.org_id, dataset_id)
    as_json = format == "json"
    text = (
        upload_tasks.export_tasks_as_body(platform, dataset)
        if as_json
        else upload_tasks.export_tasks_as_csv(platform, dataset_id)
    )
    name = f'attachment; filename="dataset-{dataset_id}.{format}"'
    kind = "application/json" if as_json else "text/csv"
    return StreamingResponse(text, headers={"content-disposition": name}, media_type=kind)


def told_axes(axes: frozenset[str]) -> list[str]:
    """The names of the columns, in order."""
    return [BY_AXIS[axis].name for axis in TOLD_AXES if axis in axes]


class Parts(NamedTuple):
    """The columns of a task in short, for the table of tasks."""

    parts: list[str]
    right: list[str]  # what says what is right


_RIGHT = {
    "expected_outcome": "outcome",
    "expected_state": "state",
    "expected_calls": "calls",
    "expected_answer": "answer",
    "tracked_constraints": "constraints",
    "rubric": "rubric",
    "eval": "eval",
}
_NOT_TOLD = frozenset((*_RIGHT, *CONVERSATION_AXES, *_CONVERSATION, "tags"))


def told_parts(axes: frozenset[str]) -> Parts:
    parts = [BY_AXIS[axis].name for axis in TOLD_AXES if axis in axes and axis not in _NOT_TOLD]
    talks = ["conversation"] if "turn_mode" in axes else []
    return Parts(parts + talks, [word for axis, word in _RIGHT.items() if axis in axes])


def rated(batch: dataset_lists.LastBatch | None) -> dict[str, object] | None:
    if batch is None:
        return None
    return {"id": batch.id, "status": batch.status, "summary": summary_of(batch.outcomes, batch.repeats)}


def _further(path: str, asked: dict[str, str], name: str = "", place: object = None) -> str | None:
    if name and place is None:
        return None
    kept = {key: value for key, value in asked.items() if value}
    query = urlencode(kept | ({name: str(place)} if name else {}))
    return f"{path}?{query}" if query else path
