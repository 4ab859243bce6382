"""One row of a run's log, as it is stored, shown and folded back into the run's state."""

from collections.abc import Callable
from typing import NamedTuple

from pipelines.core.text.json_text import Json, JsonObject, loads_own, raw_json
from pipelines.wire.names import Source

TOOL_CALL = "tool_call"
#: Of a call that was passed on and whose outcome is not stored: it is out, or whoever waited for it is gone.
OUTCOME_UNKNOWN = "outcome_unknown"

#: Who answered, as it stands in the check of a reply; within a text of it the quotes would be escaped.
LIVE_ENGINE, CASSETTE = "live", "cassette"
_REPLAYED = f'"engine":"{CASSETTE}"'
#: What the trace says of an answer that its endpoint calls an error, where no status does.
ERROR_NOTE = "the endpoint marked this answer as an error (isError)"
_SAYS_ERROR = f'"{ERROR_NOTE}"'

#: `is_valid` of a reply that passed its check when it was made anew.
ON_SECOND_TRY = 2


class TraceRow(NamedTuple):
    """One thing that happened in a run. JSON values are held as text, the way they are stored and sent."""

    run_id: int
    sequence: int  # 1, 2, 3 … without a gap
    kind: str  # tool_call, or one of the trace event types
    tool_name: str | None = None
    source: str | None = None
    http_status: int | None = None
    error_code: str | None = None  # our own code, when the call was refused or could not be answered
    matched_rule_index: int | None = None
    latency_ms: float | None = None
    actor_id: str | None = None
    idempotency_key: str | None = None
    occurred_at: str = ""
    arguments: str | None = None
    response: str | None = None
    updates: str | None = None
    validation: str | None = None
    payload: str | None = None  # of a trace event: what the agent sent
    call_number: int | None = None  # among the calls that reached the failure rules; None for what did not
    #: 0 where the reply failed its check, 1 or ON_SECOND_TRY where not; None: none was.
    is_valid: int | None = None
    client: str | None = None  # the MCP client that called, as it calls itself
    matched_rule: str | None = None  # which rule of its plan answered, in words; the agent is not told

    @property
    def is_replayed(self) -> bool:
        """Whether a cassette answered in place of the live endpoint."""
        return self.validation is not None and _REPLAYED in self.validation

    @property
    def is_marked_as_error(self) -> bool:
        """Whether a live endpoint called its answer an error, whatever its status."""
        return self.source == Source.PASSTHROUGH and _SAYS_ERROR in (self.validation or "")

    @property
    def is_success(self) -> bool:
        """Whether the simulated backend or a live endpoint did what it was asked."""
        if self.source not in (Source.ODYSSEY, Source.PASSTHROUGH) or self.http_status is None:
            return False
        return self.http_status < 400 and not self.is_marked_as_error

    def as_json(self) -> JsonObject:
        """What a reader of the trace gets."""
        return self._shown(_value)

    def as_written(self) -> JsonObject:
        """The same for sending it on: its values stay texts."""
        return self._shown(_raw_value)

    def _shown(self, value: Callable[[str | None], Json]) -> JsonObject:
        return {
            "sequence": self.sequence,
            "kind": self.kind,
            "tool_name": self.tool_name,
            "arguments": value(self.arguments),
            "response": value(self.response),
            "source": self.source,
            "http_status": self.http_status,
            "error_code": self.error_code,
            "matched_rule_index": self.matched_rule_index,
            "matched_rule": self.matched_rule,
            "latency_ms": None if self.latency_ms is None else round(self.latency_ms),
            "updates": value(self.updates) if self.updates is not None else [],
            "validation": value(self.validation),
            "payload": value(self.payload),
            "actor_id": self.actor_id,
            "idempotency_key": self.idempotency_key,
            "occurred_at": self.occurred_at,
            "client": self.client,
            "replayed": self.is_replayed,
        }


def _raw_value(text: str | None) -> Json:
    return raw_json(text) if text is not None else None


def _value(text: str | None) -> Json:
    return loads_own(text) if text is not None else None
