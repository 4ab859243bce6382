"""The body of an import: for which agent, by which tasks, and the runs. Read whole, with every problem."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipelines.core.recordings.own_tasks import tasks_of_recordings
from pipelines.core.recordings.read import Recording, read_format, read_runs
from pipelines.core.task_files.read_tasks import tasks_as_rows
from pipelines.core.text.authored import Fields, kind
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.uploads import MAX_NAME

WHAT = "the import"
FIELDS = ("agent_id", "dataset_id", "tasks", "format", "runs", "label")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportHead:
    """Everything of an import but its runs."""

    agent_id: int | None
    dataset_id: int | None
    has_tasks: bool  # the part before the head has rows, as an upload has them
    label: str | None
    told: str  # what was recognised
    task_of: list[int] | None  # where the recordings make the tasks: which each run was given
    problems: list[Problem]


def import_parts(data: bytes) -> Iterator[bytes]:
    """A part for each run, one for the rows of the tasks, then the head: for a helper process. Problems are
    part of the head, so that those of the tasks, which are looked at next, are told with them."""
    body = loads(data)
    if not isinstance(body, dict):
        raise Refused([Problem(path="", message="must be a JSON object")], WHAT)
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(FIELDS)
    head: JsonObject = {
        "agent_id": fields.id("agent_id", "an agent"),
        "dataset_id": fields.id("dataset_id", "a dataset") if fields.has("dataset_id") else None,
        "label": fields.text("label", longest=MAX_NAME),
        "told": "",
        "task_of": None,
    }
    rows, recording = _rows(fields), _recording(fields)
    if not problems:
        yield from (dumps(run.as_json()) for run in recording.runs)
        head["told"] = recording.summary()
        if rows is None and head["dataset_id"] is None:
            rows, head["task_of"] = _own_tasks(recording, problems)
    yield dumps({"rows": rows})
    listed: list[Json] = [problem.as_json() for problem in problems]
    yield dumps(head | {"has_tasks": rows is not None, "problems": listed})


def head_from_json(body: Any) -> ImportHead:
    return ImportHead(**body | {"problems": [Problem(**problem) for problem in body["problems"]]})


def _rows(fields: Fields) -> Json:
    rows = fields.get("tasks")
    if rows is not None and fields.has("dataset_id"):
        fields.refuse("tasks", "give either `dataset_id` or `tasks`")
    if rows is not None and not isinstance(rows, list):
        fields.refuse("tasks", f"must be a list of task rows, not {kind(rows)}")
        return None
    return rows


def _recording(fields: Fields) -> Recording:
    format = read_format(fields.get("format"), fields.problems)
    try:
        return read_runs(fields.get("runs"), format=format)
    except Refused as refused:
        fields.problems.extend(refused.problems)
        return Recording(runs=())


def _own_tasks(recording: Recording, problems: list[Problem]) -> tuple[Json, Json]:
    """Where nobody says by which tasks, the recordings do: the rows, and which of them each run was given."""
    try:
        seeds, task_of = tasks_of_recordings(recording.runs)
    except Refused as refused:
        problems.extend(refused.problems)
        return None, None
    return [*tasks_as_rows(seeds)], [*task_of]
