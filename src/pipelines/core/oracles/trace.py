"""One row of a run's trace as a judge sees it: what was called, who answered, whose fault a failure was."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.ledger.ledger import Add, LedgerUpdate, Remove, Update, update_from_json
from pipelines.core.text.json_text import Json
from pipelines.wire.errors import InternalError, SimulationError, StorageUnavailable
from pipelines.wire.names import Source

TOOL_CALL = "tool_call"
EntityUpdate: TypeAlias = Add | Update | Remove
#: Refusals of a call that are the platform's doing; every other error code is the agent's own mistake.
_OUR_FAULTS = frozenset(error.code for error in (SimulationError, StorageUnavailable, InternalError))


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceRow:
    """One row of the trace, as far as a judge needs it."""

    sequence: int
    kind: str = TOOL_CALL
    tool_name: str | None = None
    arguments: Json = None
    response: Json = None
    source: str | None = None
    http_status: int | None = None  # the backend's; None when the platform refused the call
    error_code: str | None = None  # ours, when it did
    matched_rule_index: int | None = None
    matched_rule: str | None = None  # of the backend's plan, in words
    updates: tuple[LedgerUpdate, ...] = ()
    actor_id: str | None = None
    payload: Json = None  # of a trace event

    @classmethod
    def from_json(cls, body: Mapping[str, Json]) -> "EvidenceRow":
        """From a row of `GET /api/runs/{id}/trace`; what a judge does not need is left behind."""
        updates = body.get("updates") or []
        assert isinstance(updates, list)
        known = {name: body[name] for name in cls.__slots__ if name in body and name != "updates"}
        log = tuple(update_from_json(update) for update in updates if isinstance(update, dict))
        return cls(**known, updates=log)  # type: ignore[arg-type]  # stored by us

    @property
    def is_call(self) -> bool:
        return self.kind == TOOL_CALL

    @property
    def tool(self) -> str:
        return self.tool_name or ""

    @property
    def succeeded(self) -> bool:
        """The agent was told that it worked, be it by the backend, a live endpoint or an injected reply."""
        has_answer = self.error_code is None and self.source not in (Source.ERROR, Source.TRANSPORT_ERROR)
        return self.is_call and has_answer and (self.http_status is None or self.http_status < 400)

    @property
    def is_refused_by_backend(self) -> bool:
        """The simulated or live backend's own rules said no, for a reason that it gave."""
        is_backend = self.source in (Source.ODYSSEY, Source.PASSTHROUGH)
        return self.is_call and is_backend and 400 <= (self.http_status or 0) < 500

    @property
    def is_injected_failure(self) -> bool:
        return self.is_call and self.source == Source.INJECTED and not self.succeeded

    @property
    def is_our_fault(self) -> bool:
        """The range could not answer: nothing that follows from this may be held against the agent."""
        return self.is_call and (self.source == Source.TRANSPORT_ERROR or self.error_code in _OUR_FAULTS)

    @property
    def is_agents_mistake(self) -> bool:
        """An undeclared tool, arguments that do not fit, …: refused before any backend was asked."""
        return self.is_call and self.source == Source.ERROR and not self.is_our_fault
