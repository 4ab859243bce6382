"""/tasks/{id}: one task with its seed, the effect of its failure rules, and its runs."""

from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.tasks.task_columns import BY_AXIS
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.engine.tasks.read_task import TaskInWords, read_task
from pipelines.server.api.common import Id, platform_of
from pipelines.server.pages.page import page
from pipelines.server.pages.tasks.datasets import AGENTS_OFFERED, ChosenId
from pipelines.server.pages.tasks.rule_list import rule_list
from pipelines.server.pages.tasks.sentence_list import sentence_rows
from pipelines.server.pages.visitor import Reader
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.paging import Filter
from pipelines.storage.lists.dataset_lists import agent_choices
from pipelines.storage.lists.summaries import run_summaries
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import NotFound

router = APIRouter()
RUNS_SHOWN = 20
MOST_ENTITIES, MOST_FIELDS, MOST_TYPES = 50, 12, 40  # of a world on a page; the rest is in the download
LONGEST_VALUE = 200
#: The axes with one value each, shown as a list of facts. The others have their own panels.
FACTS = (
    *("now", "turn_mode", "max_turns", "memory_mode", "simulator_mode", "user_simulator_persona"),
    *("termination_keyword", "scenario_ref", "setup_command", "strict_simulation"),
)
#: The axes shown as JSON.
AS_WRITTEN = ("task_input", "workspace_seed", "eval")


class EntityTable(NamedTuple):
    """The shown entities of one type, and their total number."""

    entity_type: str
    fields: list[str]
    rows: list[tuple[str, list[str]]]
    total: int
    fields_left: int


@router.get("/tasks/{task_id}")
async def task_page(request: Request, visitor: Reader, task_id: Id, agent_id: ChosenId = "") -> Response:
    platform = platform_of(request)
    task = await read_task(platform, visitor.org_id, task_id, int(agent_id) if agent_id else None)

    def read(connection: Connection) -> tuple[list[JsonObject], list[tuple[int, str]]]:
        filters = [Filter("org_id", visitor.org_id), Filter("task_id", task_id)]
        runs = run_summaries(connection, filters=filters, limit=RUNS_SHOWN, before_id=None)
        return runs.items, agent_choices(connection, visitor.org_id, most=AGENTS_OFFERED)

    runs, agents = await platform.database.read(read)
    dataset = task.dataset
    trail = [("Datasets", "/datasets")]
    if dataset is not None:
        trail.append((dataset.name, f"/datasets/{dataset.id}"))
    return await page(
        request,
        visitor,
        "task.html",
        title=f"Task {task.task.row_number}",
        here="datasets",
        trail=trail,
        told=task,
        runs=runs,
        agents=[("", "no agent"), *agents],
        agent_names=dict(agents),
        agent_id=agent_id or (str(dataset.agent_id or "") if dataset is not None else ""),
        flags=_flags(task.world or {}),
        entities=entity_tables(task.world or {}),
        facts=_facts(task),
        sentences=sentence_rows(task.reading.sentences if task.reading else ()),
        typed=rule_list(task.reading.rules if task.reading else (), task.seed.rules),
        written=[(BY_AXIS[axis].name, _axis(task, axis)) for axis in AS_WRITTEN if _axis(task, axis)],
        calls=max((len(rule.marks) for rule in task.rules), default=0),
        findings=[_finding(problem.as_json()) for problem in task.findings],
    )


@router.get("/tasks/{task_id}/seed.json")
async def seed(request: Request, visitor: Reader, task_id: Id) -> Response:
    """The whole seed, as the API returns it."""

    def read(connection: Connection) -> JsonObject | None:
        task = datasets.task_by_id(connection, org_id=visitor.org_id, task_id=task_id)
        return datasets.whole_odyssey_seed(connection, task) if task is not None else None

    found = await platform_of(request).database.read(read)
    if found is None:
        raise NotFound(f"There is no task {task_id}.")
    name = {"content-disposition": f'attachment; filename="task-{task_id}.json"'}
    return Response(dumps(found), media_type="application/json", headers=name)


def entity_tables(world: JsonObject) -> list[EntityTable]:
    """A table for each entity type, with as many entities as fit on the page."""
    tables = []
    for entity_type, entities in list(world.items())[:MOST_TYPES]:
        if is_flag_section(entity_type, entities) or not isinstance(entities, dict):
            continue
        some = [(name, attrs) for name, attrs in list(entities.items())[:MOST_ENTITIES]]
        fields = list(dict.fromkeys(f for _, attrs in some if isinstance(attrs, dict) for f in attrs))
        kept = fields[:MOST_FIELDS]
        rows = [(name, [_value(attrs, field) for field in kept]) for name, attrs in some]
        tables.append(EntityTable(entity_type, kept, rows, len(entities), len(fields) - len(kept)))
    return tables


def _value(attrs: Json, field: str) -> str:
    if not isinstance(attrs, dict) or field not in attrs:
        return ""
    value = attrs[field]
    text = value if isinstance(value, str) else dumps(value).decode()
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def _flags(world: JsonObject) -> list[str]:
    raised = world.get("flags")
    if not isinstance(raised, dict) or not is_flag_section("flags", raised):
        return []
    return [name for name, value in raised.items() if value][:100]


def _facts(told: TaskInWords) -> list[tuple[str, Any]]:
    body = told.seed.as_json()
    return [(BY_AXIS[axis].name, body[axis]) for axis in FACTS if axis in body]


def _axis(told: TaskInWords, axis: str) -> Json:
    value: Json = getattr(told.seed, axis)
    return value


def _finding(problem: JsonObject) -> JsonObject:
    """The finding with only the column in its path, because there is one row."""
    inside = str(problem["path"]).partition(", at ")[2]
    return problem | {"path": f"{problem.get('column') or 'task'}{inside}"}
