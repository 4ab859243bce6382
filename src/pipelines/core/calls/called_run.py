"""The state of a run that its tool calls use: tools, world, failure rules and earlier replies.

`fold` adds one row of the log to that state, whether the call was just answered or is read back.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple, Protocol

from pipelines.core.calls.cassette import call_key
from pipelines.core.calls.run_moment import MomentOfCall
from pipelines.core.ledger.ledger import Ledger, LedgerUpdate, SetFlag, update_from_json
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.simulation.by_model.calls_so_far import CallsSoFar
from pipelines.core.simulation.call_history import CallHistory
from pipelines.core.simulation.simulator import Moment, Simulator
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.tools.failure_rules import Counts, RuleProgress
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.wire.errors import OdysseyError
from pipelines.wire.names import Source

#: A retry usually follows at once: the last replies are kept in memory, older ones are read from the log.
REPLIES_KEPT = 4
LARGEST_REPLY_KEPT = 4_096  # characters, with its arguments and updates
KEYS_KEPT = 1_000  # with what was called under them; older ones as a number each
LONGEST_ARGUMENTS_KEPT = 256
#: A day of calls at the default rate. A key more is refused: one forgotten could make a call happen twice.
MAX_KEYS = 100_000
#: What the calls of one run may change of its world, as JSON: all of it is in memory while the run is called.
MAX_CHANGED_BYTES = 64 * 1024 * 1024
#: Estimates for `weight`: of a run without any calls, of a key, and of JSON read into values.
RUN_BYTES = 8_192
KEY_BYTES = 400
ASKED_BYTES = 150
VALUES_PER_TEXT = 4


class Toolbox(Protocol):
    """What the agent declares."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def ledger_schema(self) -> LedgerSchema | None: ...


class Arrival(NamedTuple):
    """The number of a call in its run, given in the order of arrival."""

    number: int
    counts: Counts


@dataclass(slots=True)
class KeptReply:
    """What is needed to answer a retry of a call: which call it was, and where in the log its reply is."""

    tool_name: str
    arguments: str | bytes | None  # as `fingerprint` has them
    sequence: int
    row: TraceRow | None  # until it is stored, and a little longer where it is small
    error: OdysseyError | None = None  # what it was answered with, where that is more than its row tells
    #: Who asked again while the first was not yet answered; None once its row is stored.
    waiting: list[Callable[[Exception | None], None]] | None = None

    def tell(self, error: Exception | None) -> None:
        """Wake those who wait: the row is stored, or cannot be."""
        waiting, self.waiting = self.waiting or (), None
        for listener in waiting:
            listener(error)


class OldKey(NamedTuple):
    """An Idempotency-Key that probably came long ago: the row with this number has the call."""

    sequence: int


def fingerprint(arguments: str | None) -> str | bytes | None:
    """Short arguments as they are, longer ones as a digest, since keys are kept for many calls."""
    if arguments is None or len(arguments) <= LONGEST_ARGUMENTS_KEPT:
        return arguments
    return sha256(arguments.encode()).digest()


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
    replies: dict[str, KeptReply] = field(default_factory=dict)  # by Idempotency-Key, the oldest first
    older: dict[int, int] = field(default_factory=dict)  # of keys before those: the row of each, by its hash
    recent: deque[KeptReply] = field(default_factory=deque)  # those that still have their row
    asked: dict[str, int] = field(default_factory=dict)  # of live endpoints: how often each was asked what
    changed_bytes: int = (
        0  # of its world, at most: what was changed again is counted again until it is measured
    )
    calls_so_far: CallsSoFar | None = None  # what a model is told of them, where one answers
    history: CallHistory | None = field(init=False)  # what plans look back at, where one does
    weight: int = RUN_BYTES  # what it takes in memory, about, beside its first world

    def __post_init__(self) -> None:
        self.history = CallHistory.of(self.simulator.remembered_tools)

    def moment(self, call_number: int) -> Moment:
        return tuple.__new__(MomentOfCall, (self.seed, call_number, self.began, self.history))

    def arrive(self, tool_name: str) -> Arrival:
        """Count a call that reaches the failure rules."""
        self.calls = number = self.calls + 1
        return tuple.__new__(Arrival, (number, self.progress.count(tool_name)))

    def count_asked(self, tool_name: str, arguments: JsonObject) -> int:
        """How often a live endpoint was asked the same before. Counts this time for later calls."""
        same = call_key(tool_name, arguments)
        before = self.asked.get(same, 0)
        self.asked[same] = before + 1
        if not before:
            self.weight += ASKED_BYTES
        return before

    def fold(
        self,
        row: TraceRow,
        arrival: Arrival | None = None,
        updates: tuple[LedgerUpdate, ...] | None = None,
    ) -> None:
        """Add this row to the state that later calls see. Without `arrival` and `updates`, as for a row that
        is read back, the call arrives now and its updates are read from the row."""
        if row.sequence > self.sequence:  # not of one stored when it was asked, which gets its outcome now
            self.sequence = row.sequence
        if row.kind != TOOL_CALL or row.tool_name is None:
            return  # its time may be the agent's own, and says nothing about the calls after it
        if row.occurred_at > self.last_occurred_at:
            self.last_occurred_at = row.occurred_at
        if row.idempotency_key is not None:
            kept = self.replies.get(row.idempotency_key)
            if kept is None:
                self.replies[row.idempotency_key] = KeptReply(
                    row.tool_name, fingerprint(row.arguments), row.sequence, row
                )
                self.weight += KEY_BYTES
            else:
                kept.row = row
        if row.call_number is None and row.updates is None:
            return
        if arrival is None:
            arrival = self.arrive(row.tool_name)
            self._count_passed_on(row)
        if row.updates is not None:
            self.changed_bytes += len(row.updates)
            self.weight += len(row.updates)
            self._apply(_updates(row.updates) if updates is None else updates, arrival)
        if self.calls_so_far is not None:
            self.calls_so_far.take(row)
        if self.history is not None:
            self.weight += VALUES_PER_TEXT * self.history.take(row)

    def _count_passed_on(self, row: TraceRow) -> None:
        """Count a live call that is read back; calls in memory were counted when they asked."""
        tool = self.toolbox.tools.get(row.tool_name or "")
        if tool is not None and tool.is_passthrough and row.source != Source.INJECTED:
            arguments = loads_own(row.arguments or "{}")
            if isinstance(arguments, dict):
                self.count_asked(tool.name, arguments)

    def may_change(self) -> bool:
        """Whether the run may change more of its world before it reaches MAX_CHANGED_BYTES."""
        if self.changed_bytes > MAX_CHANGED_BYTES:
            size = self.ledger.changed_size()
            if size > MAX_CHANGED_BYTES:
                return False
            # Measured seldom, since it takes as long as the size: after each quarter at the earliest.
            self.changed_bytes = min(size, MAX_CHANGED_BYTES - MAX_CHANGED_BYTES // 4)
        return True

    def settled(self, key: str) -> None:
        """Note that the row of a key is stored, and keep less of it in memory."""
        kept = self.replies.get(key)
        if kept is None or kept.row is None:
            return
        if _text_size(kept.row) > LARGEST_REPLY_KEPT:
            kept.row = None
        else:
            self.recent.append(kept)
            if len(self.recent) > REPLIES_KEPT:
                self.recent.popleft().row = None
        while len(self.replies) > KEYS_KEPT:
            oldest, kept = next(iter(self.replies.items()))
            if kept.waiting is not None:
                break
            del self.replies[oldest]
            self.older[hash(oldest)] = kept.sequence

    def _apply(self, updates: tuple[LedgerUpdate, ...], arrival: Arrival) -> None:
        self.ledger.apply(updates)
        for update in updates:
            if isinstance(update, SetFlag):
                self.progress.flag_changed(update.flag, update.value, arrival.counts)


def _text_size(row: TraceRow) -> int:
    return len(row.response or "") + len(row.arguments or "") + len(row.updates or "")


def _updates(text: str) -> tuple[LedgerUpdate, ...]:
    bodies: list[JsonObject] = loads_own(text)  # type: ignore[assignment]  # written by us as a list of objects
    return tuple(map(update_from_json, bodies))
