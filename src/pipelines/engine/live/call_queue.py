"""The calls of one run while something is asked for one of them, settled and stored in order of arrival.

Each call is on record before anything is asked for it, with an outcome that is not known. Its row gets the
outcome when its turn comes; if this process dies before, the row stays as it is and nothing is asked again.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pipelines.core.calls.called_run import KeptReply
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    Reply,
    ToolCall,
    decide,
    pending_decision,
    reply_of,
    row_of,
    settle,
    waits_its_turn,
)
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.live.call_turns import CallTurns
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.storage.database.database import Database
from pipelines.wire.errors import InternalError, OutcomeUnknown

if TYPE_CHECKING:
    import asyncio

    from pipelines.engine.live.live_runs import LiveRun

log = logging.getLogger(__name__)
OnAnswer: TypeAlias = Callable[[Reply | Exception], None]
#: A row that is out longer than its questions may take, and this, is given up: its process must be gone.
GRACE_S = 30.0


@dataclass(slots=True, eq=False)
class QueuedCall:
    """A call from its arrival to its answer."""

    call: ToolCall
    arguments: str | None
    received: ReceivedCall
    on_answer: OnAnswer
    ask: Ask | None = None  # None: nothing was decided yet, or all is
    decision: Decision | None = None
    row: TraceRow | None = None  # as it was put on record
    until: float = 0.0  # by the steady clock: then another process may go on without it
    kept: KeptReply | None = None  # for those who ask the same again
    is_recorded: bool = False
    given_up: Exception | None = None  # what it is answered with once it is known to be on record
    task: "asyncio.Task[None] | None" = None  # while its question is out
    has_reply: bool = False
    reply: object = None


class CallQueue:
    """Gone from its run as soon as nobody waits in it: then calls are answered directly again."""

    def __init__(
        self,
        live: "LiveRun",
        *,
        database: Database,
        now: Callable[[], str],
        steady: Callable[[], float],
        question_runner: QuestionRunner,
        turns: CallTurns,
        node: str,
    ) -> None:
        self._live = live
        self._database = database
        self._now = now
        self._steady = steady
        self._question_runner = question_runner
        self._turns = turns
        self._node = node
        self._calls: deque[QueuedCall] = deque()

    def add(self, waiting: QueuedCall, not_stored: Callable[[Exception], None]) -> None:
        """Put a call on record, in the order of arrival; what it asks is asked once that is durable.
        `not_stored` is told where that failed: then nothing was asked."""
        if waiting.ask is None and not waits_its_turn(self._live, waiting.received):
            self._set_outcome(waiting, decide(self._live, waiting.received))
        self._calls.append(waiting)
        row = waiting.row = self._pending_row(waiting)
        self._live.fold(row, waiting.received.arrival)
        if row.idempotency_key is not None:
            waiting.kept = self._live.replies[row.idempotency_key]
            waiting.kept.waiting = []
        self._live.unstored += 1

        def on_stored(error: Exception | None) -> None:
            self._live.unstored -= 1
            if error is None:
                self._on_recorded(waiting)
                return
            not_stored(error)  # the run's memory is void, and this queue with it: `Database.on_lost`
            if waiting.kept is not None:
                waiting.kept.tell(error)

        self._database.store(row, on_stored)

    @property
    def calls_waiting(self) -> int:
        return len(self._calls)

    def abandon(self, error: Exception) -> None:
        """Nobody is answered any more but with this: the run has ended, or its memory is void. Whether a call
        that is just being put on record happened at all, storage will say."""
        calls, self._calls = self._calls, deque()
        self._live.queue = None
        for waiting in calls:
            waiting.given_up = error
            if waiting.task is not None:
                waiting.task.cancel()
            if waiting.is_recorded:
                self._answer(waiting, error)

    # -- a call's way through the queue

    def _pending_row(self, waiting: QueuedCall) -> TraceRow:
        question = waiting.ask.question if waiting.ask is not None else None
        before = self._calls[-2].until if len(self._calls) > 1 else 0.0
        longest_s = GRACE_S + (question.longest_s if question is not None else 0)
        waiting.until = max(self._steady(), before) + longest_s
        return self._row(waiting, self._pending_decision(waiting), self._live.sequence + 1, self._now())

    def _pending_decision(self, waiting: QueuedCall) -> Decision:
        return pending_decision(self._live.shared_time(waiting.until), self._node)

    def _row(self, waiting: QueuedCall, decision: Decision, sequence: int, occurred_at: str) -> TraceRow:
        latency_ms = round((time.perf_counter() - waiting.call.started) * 1000, 3)
        return row_of(
            self._live.id,
            sequence,
            waiting.call,
            waiting.arguments,
            decision,
            waiting.received.arrival,
            latency_ms,
            max(occurred_at, self._live.last_occurred_at) if waiting.row is None else occurred_at,
        )

    def _on_recorded(self, waiting: QueuedCall) -> None:
        waiting.is_recorded = True
        if waiting.given_up is not None:
            self._answer(waiting, waiting.given_up)
            return
        if waiting.ask is not None:
            self._send_question(waiting, waiting.ask)
        self._take_turn()

    def _send_question(self, waiting: QueuedCall, ask: Ask) -> None:
        waiting.has_reply = False
        waiting.task = self._question_runner.ask(
            ask.question, lambda reply: self._on_reply(waiting, ask, reply)
        )

    def _on_reply(self, waiting: QueuedCall, ask: Ask, reply: object) -> None:
        """The first answer to the question that is out counts; one that nobody waits for is dropped."""
        if waiting.ask is not ask or waiting.has_reply or waiting not in self._calls:
            return
        waiting.task = None
        waiting.has_reply, waiting.reply = True, reply
        self._take_turn()

    def _take_turn(self) -> None:
        self._turns.take(self._live.org_id, self._settle_ready)

    def _settle_ready(self) -> None:
        """Settle whoever is first, and next, as far as what they asked has come back."""
        began = self._turns.now()
        try:
            while self._calls and self._calls[0].is_recorded:
                if self._steady() >= self._calls[-1].until:  # another process may have gone on without them
                    self.abandon(OutcomeUnknown())
                elif self._try_settle(self._calls[0]):
                    self._complete(self._calls[0])
                    if self._turns.is_long(began):
                        self._take_turn()
                        break
                else:
                    break
        except Exception:  # our fault: logged, and what the run has in memory is not to be trusted
            log.exception("a call of run %s could not be settled", self._live.id)
            self.abandon(InternalError())
            self._database.on_lost({self._live.id})
        if not self._calls and self._live.queue is self:
            self._live.queue = None

    def _try_settle(self, first: QueuedCall) -> bool:
        if first.decision is not None:
            return True
        if first.ask is None:
            outcome = decide(self._live, first.received)
        elif first.has_reply:
            outcome = settle(self._live, first.ask, first.reply)
        else:
            return False
        self._set_outcome(first, outcome)
        if isinstance(outcome, Ask):
            self._extend_deadline(outcome.question.longest_s)
            self._send_question(first, outcome)
            return False
        return True

    def _extend_deadline(self, longest_s: float) -> None:
        """What is asked only now was not known of when its call was put on record. The last row speaks for
        all before it, since another process goes on when none is out any more."""
        last = self._calls[-1]
        assert last.row is not None
        until = self._steady() + longest_s + GRACE_S
        if until <= last.until:
            return
        last.until = until
        last.row = self._row(last, self._pending_decision(last), last.row.sequence, last.row.occurred_at)
        self._live.fold(last.row, last.received.arrival)
        self._live.unstored += 1
        self._database.complete(last.row, self._live.sequence, self._on_extended)

    def _on_extended(self, error: Exception | None) -> None:
        self._live.unstored -= 1  # where it failed, the run was given up: `Database.on_lost`

    def _set_outcome(self, waiting: QueuedCall, outcome: Decision | Ask) -> None:
        waiting.has_reply, waiting.reply = False, None
        if isinstance(outcome, Ask):
            waiting.ask = outcome
        else:
            waiting.ask, waiting.decision = None, outcome

    def _complete(self, waiting: QueuedCall) -> None:
        """Its row gets its outcome."""
        assert waiting.decision is not None
        assert waiting.row is not None
        decision = waiting.decision
        row = self._row(waiting, decision, waiting.row.sequence, waiting.row.occurred_at)
        self._live.fold(row, waiting.received.arrival, decision.updates)
        if waiting.kept is not None:
            waiting.kept.row, waiting.kept.error = row, decision.error
            if row.idempotency_key is None:  # nothing came of it: who asks again may have more luck
                del self._live.replies[waiting.call.idempotency_key or ""]

        self._calls.popleft()
        self._live.unstored += 1

        def on_stored(error: Exception | None) -> None:
            self._live.unstored -= 1
            if error is None:
                self._answer(waiting, reply_of(row, decision.error, decision.fault))
                if row.idempotency_key is not None:
                    self._live.settled(row.idempotency_key)
            else:
                self._answer(waiting, OutcomeUnknown())  # it is on record, and counted: not for a retry

        self._database.complete(row, self._live.sequence, on_stored)

    def _answer(self, waiting: QueuedCall, answer: Reply | Exception) -> None:
        try:
            waiting.on_answer(answer)
        finally:
            if waiting.kept is not None:
                waiting.kept.tell(answer if isinstance(answer, Exception) else None)
