"""Recordings of real backends: tasks of calls, with what each call answered and changed.

The format is JSON lines, one task a line; reading and writing files is the caller's part.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from pipelines.core.ledger.ledger import InvalidUpdate, LedgerUpdate, update_from_json
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.wire.names import Source
from pipelines.wire.records import Named, Record, Via, shown

SIMULATED = Source.ODYSSEY.value


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedCall:
    tool: str
    arguments: JsonObject
    kind: str  # gold, repeat, unknown id: how the call came to be made
    is_error: bool
    response: Json
    updates: tuple[LedgerUpdate, ...]
    source: str | None = None  # who answered, as a trace row says it; None in recordings made otherwise


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTask:
    name: str
    state: JsonObject | None  # the task's own world; None: the recording's
    init: tuple[LedgerUpdate, ...]  # applied before the first call
    calls: tuple[RecordedCall, ...]
    recorded_at: str | None = None  # when its calls were made


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    state: JsonObject
    tasks: tuple[RecordedTask, ...]

    def origin(self) -> "Origin":
        """What it is a recording of."""
        sources = Counter(call.source for task in self.tasks for call in task.calls)
        times = sorted(task.recorded_at for task in self.tasks if task.recorded_at is not None)
        return Origin(
            tasks=len(self.tasks),
            sources=dict(sources),
            first_at=times[0] if times else None,
            last_at=times[-1] if times else None,
        )


def _by_name(sources: Mapping[str | None, int]) -> dict[str, int]:
    return {source or "not said": count for source, count in sources.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin(Record):
    """What a simulated backend is compared with."""

    tasks: int
    #: Calls by who answered them.
    sources: Annotated[Mapping[str | None, int], Via(_by_name)]
    first_at: str | None
    last_at: str | None

    @property
    @shown(after="tasks")
    def calls(self) -> int:
        return sum(self.sources.values())

    @property
    @shown(after="sources")
    def simulated(self) -> Annotated[int, Named("simulated_calls")]:
        """Calls that the simulated backend itself answered: to measure it by them proves nothing."""
        return self.sources.get(SIMULATED, 0)


def read_recording(state: JsonObject, lines: Iterable[Json]) -> Recording:
    """The recording in these parsed lines; Refused names every line that cannot be read."""
    tasks: list[RecordedTask] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, start=1):
        try:
            tasks.append(_task(line, number))
        except (InvalidUpdate, ValueError) as error:
            problems.append(Problem(path=f"line {number}", message=str(error)))
    if problems:
        raise Refused(problems, "the recording")
    return Recording(state=state, tasks=tuple(tasks))


def recording_from_run(
    *,
    task: str,
    initial_state: JsonObject,
    rows: Iterable[Mapping[str, Json]],
    recorded_at: str | None = None,
) -> JsonObject:
    """One line of a recording from a run's trace rows; each call says who answered it.

    Rows of other kinds are left out, and so are injected replies: a failure rule is no part of the backend.
    """
    return {
        "task": task,
        **({"recorded_at": recorded_at} if recorded_at is not None else {}),
        "state": initial_state,
        "calls": [_call_line(row) for row in rows if _was_answered(row)],
    }


def looks_like_error(response: Json) -> bool:
    """An `{"error": …}` body, or the `Error: …` text in which some backends answer."""
    if isinstance(response, dict):
        return "error" in response and response["error"] not in (None, False, "")
    return isinstance(response, str) and response.lower().startswith("error:")


def _was_answered(row: Mapping[str, Json]) -> bool:
    if not isinstance(row.get("tool_name"), str):
        return False
    return row.get("kind") in (None, "tool_call") and row.get("source") not in (
        "injected",
        "transport_error",
        "error",
    )


def _call_line(row: Mapping[str, Json]) -> JsonObject:
    status = row.get("status")
    response = row.get("response")
    if isinstance(status, int) and not isinstance(status, bool):
        failed = status >= 400
    else:
        failed = status == "error" or (status is None and looks_like_error(response))
    return {
        "tool": row["tool_name"],
        "args": row.get("arguments") or {},
        "kind": "gold",
        "status": "error" if failed else "ok",
        "response": response,
        "updates": row.get("updates") or [],
        **({"source": row["source"]} if row.get("source") is not None else {}),
    }


def _task(line: Json, number: int) -> RecordedTask:
    if not isinstance(line, dict) or not isinstance(line.get("calls"), list):
        raise ValueError("a task is an object with a list of calls")
    state, init, calls = line.get("state"), line.get("init") or [], line["calls"]
    if not isinstance(init, list) or not isinstance(calls, list):
        raise ValueError("init and calls are lists")
    if state is not None and not isinstance(state, dict):
        raise ValueError("state is an object of entity types")
    recorded_at = line.get("recorded_at")
    return RecordedTask(
        name=str(line.get("task", number)),
        recorded_at=recorded_at if isinstance(recorded_at, str) else None,
        state=state,
        init=tuple(map(_update, init)),
        calls=tuple(map(_call, calls)),
    )


def _call(body: Json) -> RecordedCall:
    if not isinstance(body, dict):
        raise ValueError("a call is an object")
    match body:
        case {"tool": str(tool), "args": dict(arguments), "status": "ok" | "error" as status}:
            updates = body.get("updates") or []
            if not isinstance(updates, list):
                raise ValueError(f"the updates of a call to {tool} are not a list")
            source = body.get("source")
            return RecordedCall(
                tool=tool,
                source=source if isinstance(source, str) else None,
                arguments=arguments,
                kind=str(body.get("kind", "gold")),
                is_error=status == "error",
                response=body.get("response"),
                updates=tuple(map(_update, updates)),
            )
    raise ValueError("a call is {tool, args, status: ok|error, response, updates}")


def _update(body: Json) -> LedgerUpdate:
    if not isinstance(body, dict):
        raise ValueError("an update is an object")
    return update_from_json(body)
