"""A run as its tool calls see it: what is declared, the world as it is, the rules, and what was answered.

`fold` takes one row of the log into that state: the same for a call just answered and for one read back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from pipelines.core.failure_rules import Counts, RuleProgress
from pipelines.core.json_text import JsonObject, loads_own
from pipelines.core.ledger import Ledger, LedgerUpdate, SetFlag, update_from_json
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.run_moment import MomentOfCall
from pipelines.core.simulation.simulator import Moment, Simulator
from pipelines.core.tools_schema import Tool
from pipelines.core.trace_row import TOOL_CALL, TraceRow
from pipelines.wire.errors import OdysseyError


class Toolbox(Protocol):
    """What the agent declares."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def ledger_schema(self) -> LedgerSchema | None: ...


class Arrival(NamedTuple):
    """Which of the run's calls one is. Given when it arrives, in the order of arrival."""

    number: int
    counts: Counts


@dataclass(slots=True)
class KeptReply:
    """Enough of a call to answer its retry: which call it was, and the row that has the reply."""

    tool_name: str
    arguments: str | None
    row: TraceRow
    error: OdysseyError | None = None  # what it was answered with, where that is more than its row tells
    #: Who asked again while the first was not yet answered; None once its row is stored.
    waiting: list[Callable[[Exception | None], None]] | None = None

    def tell(self, error: Exception | None) -> None:
        """Its row is stored, or cannot be: nobody needs to wait any longer."""
        waiting, self.waiting = self.waiting or (), None
        for told in waiting:
            told(error)


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class CalledRun:
    toolbox: Toolbox
    simulator: Simulator
    ledger: Ledger
    progress: RuleProgress
    seed: str  # the task's fingerprint: what ids and chance are drawn under
    began: tuple[str, int]  # when, in its own world: the day, and the second of that day
    sequence: int = 0  # of the last row
    calls: int = 0  # that reached the failure rules
    last_occurred_at: str = ""
    replies: dict[str, KeptReply] = field(default_factory=dict)  # by Idempotency-Key

    def moment(self, call_number: int) -> Moment:
        return tuple.__new__(MomentOfCall, (self.seed, call_number, self.began))

    def arrive(self, tool_name: str) -> Arrival:
        """Count a call that reaches the failure rules."""
        self.calls = number = self.calls + 1
        return tuple.__new__(Arrival, (number, self.progress.count(tool_name)))

    def fold(
        self,
        row: TraceRow,
        arrival: Arrival | None = None,
        updates: tuple[LedgerUpdate, ...] | None = None,
    ) -> None:
        """Later calls see this row. Its arrival and its updates are handed in where they are at hand: for a
        row that is read back, it arrives now and its updates are read from it."""
        if row.sequence > self.sequence:  # not of one stored when it was asked, which gets its outcome now
            self.sequence = row.sequence
        if row.kind != TOOL_CALL or row.tool_name is None:
            return  # its time may be the agent's own, and says nothing about the calls after it
        if row.occurred_at > self.last_occurred_at:
            self.last_occurred_at = row.occurred_at
        if row.idempotency_key is not None:
            kept = self.replies.get(row.idempotency_key)
            if kept is None:
                self.replies[row.idempotency_key] = KeptReply(row.tool_name, row.arguments, row)
            else:
                kept.row = row
        if row.call_number is None and row.updates is None:
            return
        if arrival is None:
            arrival = self.arrive(row.tool_name)
        if row.updates is not None:
            self._apply(_updates(row.updates) if updates is None else updates, arrival)

    def _apply(self, updates: tuple[LedgerUpdate, ...], arrival: Arrival) -> None:
        self.ledger.apply(updates)
        for update in updates:
            if isinstance(update, SetFlag):
                self.progress.flag_changed(update.flag, update.value, arrival.counts)


def _updates(text: str) -> tuple[LedgerUpdate, ...]:
    bodies: list[JsonObject] = loads_own(text)  # type: ignore[assignment]  # written by us as a list of objects
    return tuple(map(update_from_json, bodies))
