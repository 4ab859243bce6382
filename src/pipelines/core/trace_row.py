"""One row of a run's log: what happened, as it is stored, shown and folded back into the run's state."""

from typing import NamedTuple

from pipelines.core.json_text import Json, JsonObject, loads_own

TOOL_CALL = "tool_call"
#: Of a call that was passed on and whose outcome is not stored: it is out, or whoever waited for it is gone.
OUTCOME_UNKNOWN = "outcome_unknown"


class TraceRow(NamedTuple):
    """One thing that happened in a run. JSON values are held as text, the way they are stored and sent."""

    run_id: int
    sequence: int  # 1, 2, 3 … without a gap
    kind: str  # tool_call, or one of the trace event types
    tool_name: str | None
    source: str | None
    http_status: int | None
    error_code: str | None  # our own code, when the call was refused or could not be answered
    matched_rule_index: int | None
    latency_ms: float | None
    actor_id: str | None
    idempotency_key: str | None
    occurred_at: str
    arguments: str | None
    response: str | None
    updates: str | None
    validation: str | None
    payload: str | None  # of a trace event: what the agent sent
    call_number: int | None  # among the calls that reached the failure rules; None for what did not
    is_valid: int | None  # 0 where the reply failed its check; None where none was checked

    def as_json(self) -> JsonObject:
        """What a reader of the trace gets."""
        return {
            "sequence": self.sequence,
            "kind": self.kind,
            "tool_name": self.tool_name,
            "arguments": _value(self.arguments),
            "response": _value(self.response),
            "source": self.source,
            "http_status": self.http_status,
            "error_code": self.error_code,
            "matched_rule_index": self.matched_rule_index,
            "latency_ms": self.latency_ms,
            "updates": _value(self.updates) or [],
            "validation": _value(self.validation),
            "payload": _value(self.payload),
            "actor_id": self.actor_id,
            "idempotency_key": self.idempotency_key,
            "occurred_at": self.occurred_at,
        }


def _value(text: str | None) -> Json:
    return loads_own(text) if text is not None else None
