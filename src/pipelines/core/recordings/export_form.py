"""Our own export of a run as a recording: its trace with what each call changed, and the task it was given.

It was written by us, but by whom it comes back nobody knows: every field is checked as any author's is.
"""

from collections.abc import Iterator
from typing import Any

from pipelines.core.agents.transcript import Message, read_messages
from pipelines.core.ledger.ledger import InvalidUpdate, World, fold, update_from_json
from pipelines.core.recordings.entries import turns_of
from pipelines.core.recordings.moments import format_moment
from pipelines.core.recordings.recorded_run import (
    RECORDED,
    RecordedRun,
    RecordingNote,
    TaskName,
    inside,
    note_in,
)
from pipelines.core.recordings.states import check_state
from pipelines.core.tasks.seed import CONVERSATION
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import MODEL_CALL, RunStatus, Source, TraceEventType

_KINDS = (TOOL_CALL, MODEL_CALL, *TraceEventType)
_ENDED = (RunStatus.COMPLETED, RunStatus.FAILED)
_TEXTS = ("tool_name", "error_code", "actor_id", "client", "matched_rule")
_VALUES = ("arguments", "response", "validation", "payload")


def is_export(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("trace"), list)
        and isinstance(value.get("odyssey_seed"), dict)
    )


def read_export(value: JsonObject, place: str, problems: list[Problem]) -> RecordedRun | None:
    before = len(problems)
    seed: Any = value["odyssey_seed"]
    instruction = seed.get("user_instruction")
    if not isinstance(instruction, str):
        message = f"must be a string, not {kind(instruction)}"
        problems.append(Problem(path=inside(place, "/odyssey_seed/user_instruction"), message=message))
    state = check_state(seed.get("initial_state", {}), inside(place, "/odyssey_seed/initial_state"), problems)
    rows = _rows(value["trace"], inside(place, "/trace"), problems)
    _check_end(value, place, problems)
    if len(problems) == before:
        _check_log(state, value["trace"], place, problems)
    if len(problems) > before:
        return None
    return _recorded_run(value, seed, state, rows, place)


def _recorded_run(
    value: JsonObject, seed: JsonObject, state: JsonObject, rows: tuple[TraceRow, ...], place: str
) -> RecordedRun:
    messages, found = read_messages(value.get("messages") or [])
    final = _text(value.get("final_response"))
    metadata, number = value.get("metadata"), value.get("id")
    about = _earlier_note(value)
    is_conversation = about.is_conversation if about is not None else _is_conversation(value, seed)
    user, responses = _turns(messages if is_conversation else (), str(seed["user_instruction"]), final)
    dropped = ["the transcript is left out: it is not in the rich message format"] if found else []
    warnings = value.get("soft_warnings")
    notes = [each for each in warnings if isinstance(each, str)] if isinstance(warnings, list) else []
    return RecordedRun(
        format="odyssey",
        place=place,
        name=f"run {number}" if isinstance(number, int) else None,
        task=_task_of(value),
        user_turns=user,
        responses=responses,
        rows=rows,
        messages=[each.as_json() for each in messages] if messages and not found else None,
        metadata=metadata if isinstance(metadata, dict) else None,
        state_before=state,
        has_updates=about is None or about.has_state,
        status=str(value["status"]),
        error_class=_text(value.get("error_class")),
        error_json=value.get("error_json") if isinstance(value.get("error_json"), dict) else None,
        conversation=value.get("conversation") if isinstance(value.get("conversation"), dict) else None,
        now=format_moment(value.get("simulated_now")),
        seed=seed,
        is_conversation=is_conversation,
        notes=(*notes, *dropped),
    )


def _earlier_note(value: JsonObject) -> RecordingNote | None:
    """Of a run that was itself imported: what is known of it is as little as it was then."""
    return note_in(value.get("metadata")) if value.get("mode") == RECORDED else None


def _is_conversation(value: JsonObject, seed: JsonObject) -> bool:
    return seed.get("turn_mode") == CONVERSATION and value.get("mode") == "dispatch"


def _turns(
    messages: tuple[Message, ...], instruction: str, final: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """As a run that was made here is read back: the final response is the last word."""
    user, responses = turns_of(messages)
    if final is None:
        return user or (instruction,), ()
    return user or (instruction,), (*responses[:-1], final) if user else (final,)


def _task_of(value: JsonObject) -> TaskName | None:
    key = value.get("task_key")
    return TaskName("task_key", key, is_certain=False) if isinstance(key, str) else None


def _check_end(value: JsonObject, place: str, problems: list[Problem]) -> None:
    status, error_class = value.get("status"), value.get("error_class")
    if status not in tuple(_ENDED):
        message = "must be `completed` or `failed`: only a run that has ended can be judged"
        problems.append(Problem(path=inside(place, "/status"), message=message))
    if error_class is not None and error_class not in tuple(ErrorClass):
        problems.append(Problem(path=inside(place, "/error_class"), message="must be a known error class"))
    if not isinstance(value.get("final_response"), str | None):
        message = f"must be a string, not {kind(value.get('final_response'))}"
        problems.append(Problem(path=inside(place, "/final_response"), message=message))


def _rows(trace: Any, path: str, problems: list[Problem]) -> tuple[TraceRow, ...]:
    """In the order of their numbers, which is the order in which the world changed."""
    found = []
    for index, row in enumerate(trace):
        own = list(_row_problems(row, path + pointer([index])))
        problems.extend(own)
        if not own:
            found.append(row)
    return tuple(
        _row(row, number) for number, row in enumerate(sorted(found, key=lambda row: row["sequence"]), 1)
    )


def _row_problems(row: Any, path: str) -> Iterator[Problem]:
    if not isinstance(row, dict):
        yield Problem(path=path, message=f"must be an object, not {kind(row)}")
        return
    sequence, source, updates = row.get("sequence"), row.get("source"), row.get("updates") or []
    if not isinstance(sequence, int) or isinstance(sequence, bool):
        yield Problem(path=f"{path}/sequence", message="must be a whole number")
    if row.get("kind") not in _KINDS:
        yield Problem(path=f"{path}/kind", message="must be a known kind of trace row")
    if source is not None and source not in tuple(Source):
        yield Problem(path=f"{path}/source", message="must be a known source of tool replies")
    for name in ("http_status", "matched_rule_index", "latency_ms"):
        if not isinstance(row.get(name), int | float | None):
            yield Problem(path=f"{path}/{name}", message="must be a number")
    for name in _TEXTS:
        if not isinstance(row.get(name), str | None):
            yield Problem(path=f"{path}/{name}", message="must be a string")
    if not isinstance(updates, list) or not all(isinstance(update, dict) for update in updates):
        yield Problem(path=f"{path}/updates", message="must be a list of ledger updates")


def _row(row: Any, sequence: int) -> TraceRow:
    known: dict[str, Any] = {name: row.get(name) for name in TraceRow._fields if name in row}
    texts = {name: _json_text(row.get(name)) for name in _VALUES}
    validation = row.get("validation")
    is_ok = validation.get("ok") if isinstance(validation, dict) else None
    return TraceRow(
        **known
        | texts
        | {
            "run_id": 0,
            "sequence": sequence,
            "updates": _json_text(row.get("updates") or None),
            "occurred_at": format_moment(row.get("occurred_at")) or "",
            "idempotency_key": None,  # it is a promise to the agent of another run
            "call_number": None,
            "is_valid": None if is_ok is None else int(is_ok is not False),
        }
    )


def _check_log(state: JsonObject, trace: Any, place: str, problems: list[Problem]) -> None:
    rows = sorted(trace, key=lambda row: row["sequence"])
    try:
        updates = [update_from_json(update) for row in rows for update in row.get("updates") or ()]
        fold(World.from_initial_state(state), updates)
    except InvalidUpdate as error:
        message = f"has updates that do not fit the initial state: {error}"
        problems.append(Problem(path=inside(place, "/trace"), message=message))


def _json_text(value: Json) -> str | None:
    return dumps(value).decode() if value is not None else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
