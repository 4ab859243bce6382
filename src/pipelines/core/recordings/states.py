"""The states of a recording: checks and compares them, and attributes the difference to a call of the run.

A recording has the world before and after, but not which call changed what. So the whole difference is
put on one row, and a note says so.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.core.ledger.initial_state import SHAPE, read_initial_state
from pipelines.core.ledger.ledger import LedgerUpdate, SetFlag, World, differences, is_flag_section
from pipelines.core.recordings.entries import event_row
from pipelines.core.recordings.recorded_run import RecordedRun
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import TraceRow
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.wire.names import TraceEventType

NO_STATE = (
    "the recording has no `state_after`, so it is not known what the run changed: "
    "`expected_state` stays undecided"
)
ON_CALL = "the difference between `state_before` and `state_after` is attributed to call {sequence} ({tool})"
ON_ROW = "no call can have changed the state, so the difference is in a separate row, {sequence}"


def check_state(value: Json, path: str, problems: list[Problem]) -> JsonObject:
    """A state in the shape of `initial_state`; {} with what is wrong added to `problems`."""
    if not isinstance(value, dict):
        message = f"must be a JSON object, not {kind(value)}"
        problems.append(Problem(path=path, message=message, hint=SHAPE))
        return {}
    return read_initial_state(value, ledger_schema=None, path=path, problems=problems)


def with_changes(run: RecordedRun, task_state: JsonObject, tools: Sequence[Tool]) -> RecordedRun:
    """The run with the world it started from, and with what it changed on its rows, as far as that is known.
    `task_state` is the task's initial state, for a recording that does not say what was before."""
    before = run.state_before if run.state_before is not None else task_state
    if run.state_after is None:
        notes = () if run.has_state else (NO_STATE,)
        return replace(run, state_before=before, notes=(*run.notes, *notes))
    changed = state_changes(before, run.state_after)
    bare = [row._replace(updates=None) for row in run.rows]
    if not changed:
        return replace(run, state_before=before, rows=tuple(bare))
    text = dumps([update.as_json() for update in changed]).decode()
    place = _last_write(bare, tools)
    if place is not None:
        row = bare[place]
        bare[place] = row._replace(updates=text)
        note = ON_CALL.format(sequence=row.sequence, tool=row.tool_name)
    else:
        bare.append(_own_row(bare, text))
        note = ON_ROW.format(sequence=bare[-1].sequence)
    return replace(run, state_before=before, rows=tuple(bare), notes=(*run.notes, note))


def state_changes(before: JsonObject, after: JsonObject) -> list[LedgerUpdate]:
    """The ledger updates that turn one state into another, flags with them."""
    changed = differences(_entities(before), _entities(after))
    old, new = World.from_initial_state(before).flags, World.from_initial_state(after).flags
    return [*changed, *(SetFlag(flag=flag, value=flag in new) for flag in sorted(old ^ new))]


def _entities(state: JsonObject) -> JsonObject:
    return {kind: of_kind for kind, of_kind in state.items() if not is_flag_section(kind, of_kind)}


def _last_write(rows: Sequence[TraceRow], tools: Sequence[Tool]) -> int | None:
    """The last call that worked and does not only read, by what its name and description say."""
    known = RunEvidence(user_instruction="", tools=tuple(tools))
    for place in range(len(rows) - 1, -1, -1):
        row = EvidenceRow.from_json(rows[place].as_json())
        if row.succeeded and not known.tool_reads(row.tool):
            return place
    return None


def _own_row(rows: Sequence[TraceRow], updates: str) -> TraceRow:
    at = rows[-1].occurred_at if rows else ""
    payload: JsonObject = {"text": "what changed in the recorded state; no call can have changed it"}
    return event_row(len(rows) + 1, TraceEventType.CUSTOM, payload, at)._replace(updates=updates)
