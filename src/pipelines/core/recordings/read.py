"""Reads a recording: one JSON value or JSON lines, in one of four formats, detected by its shape.

All problems of all runs are collected. What has none of the four shapes gets one problem that names them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.core.recordings.atif_form import is_trajectory, read_trajectory
from pipelines.core.recordings.export_form import is_export, read_export
from pipelines.core.recordings.messages_form import is_message, read_message_run
from pipelines.core.recordings.recorded_run import (
    FORMATS,
    MOST_RUNS,
    Format,
    RecordedRun,
    TaskName,
    inside,
)
from pipelines.core.recordings.spans_form import is_telemetry, read_span_runs
from pipelines.core.recordings.states import check_state
from pipelines.core.text.authored import did_you_mean, kind, quote_names
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, pointer
from pipelines.core.text.problems import Problem, Refused

WHAT = "the recording"
SHAPES = (
    "a list of messages or an object with `messages` (OpenAI-style messages), an object with `steps` and"
    " `schema_version` (ATIF), an object with `resourceSpans` (OTLP), or an object with `trace` and"
    " `odyssey_seed` (a run exported from Odyssey)"
)
UNKNOWN = "is not in one of the four supported formats"
NO_RUNS = "has no runs"
#: Where a run says which task it was given, in the order they are looked at.
TASK_FIELDS = ("task", "task_key", "key", "task_id", "row_number", "row")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    runs: tuple[RecordedRun, ...]

    def summary(self) -> str:
        """`3 runs of OpenAI-style messages`: what was recognised."""
        counts: dict[Format, int] = {}
        for run in self.runs:
            counts[run.format] = counts.get(run.format, 0) + 1
        parts = [
            f"{count} run{'s' if count > 1 else ''} of {FORMATS[name]}" for name, count in counts.items()
        ]
        return ", ".join(parts)


def read_recording(data: bytes, *, format: Format | None = None) -> Recording:
    """Of a file: a JSON value or JSON lines. Refused with every problem."""
    lines = _lines(data) if data.strip() else []
    if lines is not None:
        return _read(lines, format)
    try:
        value = loads(data)
    except InvalidJson as error:
        hint = "send JSON, or JSON lines with one run on each line"
        raise Refused([Problem(path="", message=error.predicate, hint=hint)], WHAT) from None
    return _read(_items(value), format)


def read_runs(value: Json, *, format: Format | None = None, path: str = "/runs") -> Recording:
    """Of a request: a list of runs, each in one of the formats. Refused with every problem."""
    if not isinstance(value, list):
        message = f"must be a list of runs, not {kind(value)}"
        raise Refused([Problem(path=path, message=message)], WHAT)
    return _read([(path + pointer([index]), item) for index, item in enumerate(value)], format)


def read_format(value: Json, problems: list[Problem]) -> Format | None:
    """The field `format` of a request; None where it is left to be recognised."""
    if value is None or (isinstance(value, str) and value in FORMATS):
        return value
    hint = did_you_mean(value, FORMATS) if isinstance(value, str) else None
    problems.append(Problem(path="/format", message=f"must be {quote_names(FORMATS)}", hint=hint))
    return None


def _items(value: Json) -> list[tuple[str, Json]]:
    """The runs of one JSON value: it is a run, or a list of them."""
    if isinstance(value, list) and value and not is_message(value[0]) and not is_telemetry(value):
        return [(pointer([index]), item) for index, item in enumerate(value)]
    return [("", value)] if value != [] else []


def _lines(data: bytes) -> list[tuple[str, Json]] | None:
    """JSON lines, where the first line is JSON and others follow; None for anything else. Refused for lines
    that are none."""
    texts = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    if len(texts) < 2:
        return None
    found: list[tuple[str, Json]] = []
    problems: list[Problem] = []
    for place, (number, text) in enumerate(texts):
        try:
            found.append((f"line {number}", loads(text)))
        except InvalidJson as error:
            if not place:
                return None
            problems.append(Problem(path=f"line {number}", message=error.predicate))
    if problems:
        raise Refused(problems, WHAT)
    return _one_export(found)


def _one_export(lines: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
    """A collector writes spans of a trace in several lines: they are read together."""
    if not all(isinstance(value, dict) and is_telemetry(value) for _, value in lines):
        return lines
    groups: list[Json] = []
    for _, value in lines:
        own: Any = value
        groups += own.get("resourceSpans", own.get("resource_spans")) or []
    return [("", {"resourceSpans": groups})]


def _read(items: Sequence[tuple[str, Json]], format: Format | None) -> Recording:
    problems: list[Problem] = []
    if not items:
        problems.append(Problem(path="", message=NO_RUNS, hint=f"write {SHAPES}"))
    if len(items) > MOST_RUNS:
        message = f"has {len(items):,} runs; at most {MOST_RUNS:,} are allowed at once"
        raise Refused([Problem(path="", message=message, hint="send it in several parts")], WHAT)
    runs = [run for place, item in items for run in _runs_of(item, place, format, problems)]
    if problems:
        raise Refused(_without_repeats(problems, len(items)), WHAT, total=len(problems))
    return Recording(runs=tuple(runs))


def _without_repeats(problems: list[Problem], items: int) -> list[Problem]:
    """Where nothing was recognised, one problem says it of the whole."""
    unknown = [problem for problem in problems if problem.message == UNKNOWN]
    if len(unknown) < items or len(unknown) < 2:
        return problems
    return [replace(unknown[0], path="")]


def _runs_of(value: Json, place: str, format: Format | None, problems: list[Problem]) -> list[RecordedRun]:
    found = format or _detect_format(value)
    is_it = found is not None and (format is None or _detect_format(value) == format)
    if found is None or not is_it:
        named = f"is not {FORMATS[format]}, as `format` says" if format is not None else UNKNOWN
        problems.append(Problem(path=place, message=named, hint=f"write {SHAPES}"))
        return []
    extras = _read_extras(value, place, problems) if isinstance(value, dict) else None
    runs = _READERS[found](value, place, problems)
    if extras is None:
        return runs
    if len(runs) > 1 and (extras.task or extras.before is not None or extras.after is not None):
        message = f"has {len(runs)} runs, so it is not clear to which the task or state belongs"
        problems.append(Problem(path=place, message=message, hint="send each trace on its own"))
    return [extras.put_on(run) for run in runs]


def _detect_format(value: Json) -> Format | None:
    """Our own export has `messages` too, so it is looked for first."""
    if is_export(value):
        return "odyssey"
    if is_trajectory(value):
        return "atif"
    if is_telemetry(value):
        return "otlp"
    if isinstance(value, dict):
        return "messages" if isinstance(value.get("messages"), list) else None
    return "messages" if isinstance(value, list) and value and is_message(value[0]) else None


def _single_run(
    read: Callable[[Any, str, list[Problem]], RecordedRun | None],
) -> Callable[[Json, str, list[Problem]], list[RecordedRun]]:
    def of(value: Json, place: str, problems: list[Problem]) -> list[RecordedRun]:
        run = read(value, place, problems)
        return [run] if run is not None else []

    return of


_READERS: dict[Format, Callable[[Json, str, list[Problem]], list[RecordedRun]]] = {
    "messages": _single_run(read_message_run),
    "atif": _single_run(read_trajectory),
    "otlp": read_span_runs,
    "odyssey": _single_run(read_export),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _RunExtras:
    """Fields that may be next to a run of any format."""

    task: TaskName | None
    before: JsonObject | None
    after: JsonObject | None
    name: str | None

    def put_on(self, run: RecordedRun) -> RecordedRun:
        task = self.task or run.task
        before = self.before if self.before is not None else run.state_before
        return replace(
            run, task=task, state_before=before, state_after=self.after, name=run.name or self.name
        )


def _read_extras(value: JsonObject, place: str, problems: list[Problem]) -> _RunExtras:
    before, after = (_state(value, name, place, problems) for name in ("state_before", "state_after"))
    name = value.get("name", value.get("id"))
    return _RunExtras(
        task=None if is_export(value) and "task" not in value else _task_of(value, place, problems),
        before=before,
        after=after,
        name=name if isinstance(name, str) else None,
    )


def _state(value: JsonObject, name: str, place: str, problems: list[Problem]) -> JsonObject | None:
    if value.get(name) is None:
        return None
    return check_state(value[name], inside(place, f"/{name}"), problems)


def _task_of(value: JsonObject, place: str, problems: list[Problem]) -> TaskName | None:
    for field in TASK_FIELDS:
        task = value.get(field)
        if task is None:
            continue
        if isinstance(task, str | int) and not isinstance(task, bool):
            return TaskName(field, task)
        message = f"must be a task's key, id or row number, not {kind(task)}"
        problems.append(Problem(path=inside(place, f"/{field}"), message=message))
        return None
    return None
