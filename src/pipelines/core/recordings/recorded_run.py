"""One recorded run: what every format of recordings is read into, and what is stored and judged of it."""

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.trace_row import TraceRow
from pipelines.wire.names import RunStatus

Format: TypeAlias = Literal["messages", "atif", "otlp", "odyssey"]
#: Each as an error message and a report name it.
FORMATS: dict[Format, str] = {
    "messages": "OpenAI-style messages",
    "atif": "ATIF trajectories",
    "otlp": "OTLP GenAI spans",
    "odyssey": "exported runs of Odyssey",
}
RECORDED = "recorded"  # the `mode` of a stored run that was imported
MOST_RUNS = 5_000  # of one recording, as of one upload of tasks


class TaskName(NamedTuple):
    """What a recording says about which task a run was given."""

    field: str  # where it says so: `task`, `task_id`, …
    value: str | int
    is_certain: bool = True  # of our own export it is a hint: the run may be judged by another set of tasks


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedRun:
    format: Format
    place: str  # in what was read: a JSON Pointer, or "line 4"
    name: str | None = None  # what the recording calls it: a session, a trace, the number of a run
    task: TaskName | None = None
    user_turns: tuple[str, ...] = ()  # what the user said, the instruction first
    responses: tuple[str, ...] = ()  # what the agent said last in each turn
    rows: tuple[TraceRow, ...] = ()  # system prompts and tool calls; they belong to no stored run yet
    messages: list[Json] | None = None  # the transcript in its one normal form
    metadata: JsonObject | None = None
    tools: Json = None  # as the recording declares them; nobody has checked them
    state_before: JsonObject | None = None
    state_after: JsonObject | None = None
    has_updates: bool = False  # the rows themselves say what each call changed
    status: str = RunStatus.COMPLETED
    error_class: str | None = None
    error_json: Json = None
    conversation: Json = None
    now: str | None = None  # what time it was in the run's world, where the recording says so
    seed: JsonObject | None = None  # of our own export: the whole task
    is_conversation: bool = True  # the transcript tells the turns; else there is one
    notes: tuple[str, ...] = ()  # what a reader of the verdict should know about the recording

    @property
    def has_state(self) -> bool:
        """Whether it is known what the run changed in its world."""
        return self.has_updates or self.state_after is not None

    @property
    def instruction(self) -> str:
        return self.user_turns[0] if self.user_turns else ""

    def as_json(self) -> JsonObject:
        """For another process of ours; `recorded_from_json` reads it."""
        rows: list[Json] = [list(row) for row in self.rows]
        own: JsonObject = {field.name: getattr(self, field.name) for field in fields(self)}
        return own | {"rows": rows, "task": list(self.task) if self.task is not None else None}


def recorded_from_json(body: Any) -> RecordedRun:
    """From what `as_json` wrote, as JSON has it: tuples are lists there."""
    own = dict(body)
    own["task"] = TaskName(*own["task"]) if own["task"] is not None else None
    own["rows"] = tuple(TraceRow(*row) for row in own["rows"])
    for name in ("user_turns", "responses", "notes"):
        own[name] = tuple(own[name])
    return RecordedRun(**own)


class RecordingNote(NamedTuple):
    """What a stored run keeps about the recording it was made of, in its metadata."""

    format: str
    name: str | None
    has_state: bool
    is_conversation: bool

    def as_json(self) -> JsonObject:
        return {**self._asdict()}


NOTE = "recording"  # of the metadata: the platform writes it


def note_of(run: RecordedRun) -> RecordingNote:
    return RecordingNote(run.format, run.name, run.has_state, run.is_conversation)


def note_in(metadata: Json) -> RecordingNote | None:
    """Of stored metadata; None where there is none that we wrote."""
    note = metadata.get(NOTE) if isinstance(metadata, dict) else None
    if not isinstance(note, dict):
        return None
    name = note.get("name")
    return RecordingNote(
        str(note.get("format")),
        name if isinstance(name, str) else None,
        note.get("has_state") is True,
        note.get("is_conversation") is True,
    )


def inside(place: str, path: str) -> str:
    """`/runs/3/messages/2`, or `line 4, /messages/2`."""
    return f"{place}, {path}" if place and path and not place.startswith("/") else place + path
