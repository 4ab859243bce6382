"""One tool call: decided (core.tool_call), stored, then answered.

Where nothing has to be asked, everything up to the store is synchronous, so the calls of a run are decided
one at a time in the order they arrived. A call that asks something, and the calls that arrive while one is
out, go through the run's `CallQueue`, which keeps the same order. The reply waits for its row to be durable;
a row that is lost takes the run's memory with it.
"""

import asyncio
import gc
import time
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from pipelines.core.calls.called_run import Arrival, KeptReply, OldKey
from pipelines.core.calls.tool_call import (
    Ask,
    Decision,
    ReceivedCall,
    Reply,
    ToolCall,
    decide,
    is_same_call,
    receive,
    refusal,
    reply_of,
    row_of,
)
from pipelines.core.tools.trace_row import TraceRow
from pipelines.engine.live.call_queue import CallQueue, OnAnswer, QueuedCall
from pipelines.engine.live.live_runs import UNWEIGHED_BYTES, LiveRun, LiveRuns
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.storage.database.database import Database, SequenceTaken
from pipelines.storage.database.trace_rows import row_at
from pipelines.wire.errors import IdempotencyKeyReused, InvalidRunToken, StorageUnavailable

LARGE_BODY = 64 * 1024  # bytes
MAX_REDOS = 20  # only when several nodes answer calls of one run at the same moment
Answer: TypeAlias = Reply | Exception


class ToolCallAnswerer:
    """Answers the tool calls of every live run of this process. `node` names the process to others."""

    def __init__(
        self,
        *,
        database: Database,
        live_runs: LiveRuns,
        now: Callable[[], str],
        question_runner: QuestionRunner,
        node: str = "local",
    ) -> None:
        self._database = database
        self._store = database.store
        self._live_runs = live_runs
        self._steady = live_runs.steady
        self._now = now
        self._question_runner = question_runner
        self._node = node
        self._redoing: set[asyncio.Task[None]] = set()
        self._turns = live_runs.turns

    def answer(self, live: LiveRun, call: ToolCall, on_answer: OnAnswer, redos: int = 0) -> None:
        """Decide and store. `on_answer` is called on the loop, exactly once: with the reply once its row is
        durable, or with the exception that kept it from being stored."""
        if self._turns.is_free(live.org_id):
            answer = self._answer if len(call.body or b"") < LARGE_BODY else self._answer_large
            self._turns.take(live.org_id, partial(answer, live, call, on_answer, redos))
        else:
            self._turns.take(live.org_id, partial(self._answer_in_turn, live, call, on_answer, redos))

    def _answer_in_turn(self, live: LiveRun, call: ToolCall, on_answer: OnAnswer, redos: int) -> None:
        """As `_answer`, after others: nobody is left to raise to, and the run may not be in memory now."""
        if live.is_forgotten:
            self._redo(live.token_hash, call, on_answer, redos)
            return
        once = _call_once(on_answer)
        try:
            self._answer_large(live, call, once, redos)
        except Exception as error:  # noqa: BLE001 - told to whoever called
            self._live_runs.forget({live.id})  # what the call did to it in memory is not in its log
            once(error)

    def _answer_large(self, live: LiveRun, call: ToolCall, on_answer: OnAnswer, redos: int) -> None:
        """Nothing of it is part of a circle, and nearly all of it is gone at the end: the collector, which
        would look through all of it several times (0.1 s for 1 MiB of lists), has nothing to find."""
        is_collecting = gc.isenabled()
        gc.disable()
        try:
            self._answer(live, call, on_answer, redos)
        finally:
            if is_collecting:
                gc.enable()

    def _answer(self, live: LiveRun, call: ToolCall, on_answer: OnAnswer, redos: int) -> None:
        now = self._now()
        is_active = live.is_active and self._steady() < live.ends_at
        arguments, received = receive(live, call, is_active=is_active)
        if isinstance(received, ReceivedCall):
            if live.queue is not None:
                self._wait(live.queue, live, QueuedCall(call, arguments, received, on_answer), redos)
                return
            decision = decide(live, received)
            if isinstance(decision, Ask):
                waiting = QueuedCall(call, arguments, received, on_answer, ask=decision)
                self._wait(self._queue_of(live), live, waiting, redos)
                return
            arrival = received.arrival
        elif isinstance(received, KeptReply):
            self._answer_again(live, received, call, on_answer, redos)
            return
        elif isinstance(received, OldKey):
            self._answer_old(live, received, call, arguments, on_answer, redos)
            return
        else:
            decision, arrival = received, None
        self._store_decision(live, call, arguments, decision, arrival, now, on_answer, redos)

    def _store_decision(
        self,
        live: LiveRun,
        call: ToolCall,
        arguments: str | None,
        decision: Decision,
        arrival: Arrival | None,
        now: str,
        on_answer: OnAnswer,
        redos: int,
    ) -> None:
        latency_ms = round((time.perf_counter() - call.started) * 1000, 3)
        occurred_at = now if now > live.last_occurred_at else live.last_occurred_at
        row = row_of(live.id, live.sequence + 1, call, arguments, decision, arrival, latency_ms, occurred_at)
        live.fold(row, arrival, decision.updates)
        if live.weight - live.weighed > UNWEIGHED_BYTES:
            self._live_runs.weigh(live)
        self._append(live, call, row, decision, on_answer, redos)

    async def answer_later(self, live: LiveRun, call: ToolCall) -> Reply:
        """As `answer`, for a caller that can wait."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def on_answer(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer) if isinstance(answer, Reply) else future.set_exception(answer)

        self.answer(live, call, on_answer)
        return await future

    async def close(self) -> None:
        """Nothing is asked any more, and nobody waits for what was."""
        self._live_runs.abandon_all()
        for task in self._redoing:
            task.cancel()
        await asyncio.gather(*self._redoing, return_exceptions=True)
        await self._question_runner.close()

    def _append(
        self,
        live: LiveRun,
        call: ToolCall,
        row: TraceRow,
        decision: Decision,
        on_answer: OnAnswer,
        redos: int,
    ) -> None:
        live.unstored += 1
        key = row.idempotency_key
        kept = live.replies[key] if key is not None else None
        if kept is not None:
            kept.waiting = []

        def on_stored(error: Exception | None) -> None:
            live.unstored -= 1
            try:
                if error is None:
                    on_answer(reply_of(row, decision.error, decision.fault))
                else:
                    self._not_stored(live, error, call, on_answer, redos)
            finally:
                if key is not None and kept is not None:
                    kept.tell(error)
                    if error is None:
                        live.settled(key)

        self._store(row, on_stored)

    def _not_stored(
        self, live: LiveRun, error: Exception, call: ToolCall, on_answer: OnAnswer, redos: int
    ) -> None:
        if isinstance(error, SequenceTaken) and redos < MAX_REDOS:
            self._redo(live.token_hash, call, on_answer, redos + 1)
        else:
            on_answer(StorageUnavailable() if isinstance(error, SequenceTaken) else error)

    def _answer_again(
        self, live: LiveRun, kept: KeptReply, call: ToolCall, on_answer: OnAnswer, redos: int
    ) -> None:
        """A retry gets the first reply, once that is stored."""

        def on_first_stored(error: Exception | None) -> None:
            if error is not None:
                self._not_stored(live, error, call, on_answer, redos)
            elif kept.row is not None:
                on_answer(reply_of(kept.row, kept.error))
            else:
                self._read_row(
                    live,
                    kept.sequence,
                    lambda row: on_answer(reply_of(_existing_row(row), kept.error)),
                    on_answer,
                )

        if kept.waiting is None:
            on_first_stored(None)
        else:
            kept.waiting.append(on_first_stored)

    def _answer_old(
        self,
        live: LiveRun,
        old: OldKey,
        call: ToolCall,
        arguments: str | None,
        on_answer: OnAnswer,
        redos: int,
    ) -> None:
        """As `_answer_again`, for a key of which only its place in the log is known."""

        def on_row(row: TraceRow | None) -> None:
            if row is not None and is_same_call(row, call, arguments):
                on_answer(reply_of(row))
            elif live.is_active and not live.is_forgotten:
                decision = refusal(IdempotencyKeyReused())
                self._store_decision(live, call, arguments, decision, None, self._now(), on_answer, redos)
            else:
                on_answer(IdempotencyKeyReused())

        self._read_row(live, old.sequence, on_row, on_answer)

    def _read_row(
        self, live: LiveRun, sequence: int, on_row: Callable[[TraceRow | None], None], on_answer: OnAnswer
    ) -> None:
        """From the log. `on_answer` is told where that fails."""

        async def read() -> None:
            try:
                row = await self._database.read(lambda connection: row_at(connection, live.id, sequence))
            except asyncio.CancelledError:
                on_answer(StorageUnavailable())
                raise
            except Exception as error:  # noqa: BLE001 - told to whoever called, as what `answer` raises is
                on_answer(error)
            else:
                on_row(row)

        task = asyncio.ensure_future(read())
        self._redoing.add(task)
        task.add_done_callback(self._redoing.discard)

    def _wait(self, queue: CallQueue, live: LiveRun, waiting: QueuedCall, redos: int) -> None:
        queue.add(
            waiting,
            lambda error: self._not_stored(live, error, waiting.call, waiting.on_answer, redos),
        )
        if live.weight - live.weighed > UNWEIGHED_BYTES:
            self._live_runs.weigh(live)

    def _queue_of(self, live: LiveRun) -> CallQueue:
        live.queue = CallQueue(
            live,
            database=self._database,
            now=self._now,
            steady=self._steady,
            question_runner=self._question_runner,
            turns=self._turns,
            node=self._node,
        )
        return live.queue

    def _redo(self, token_hash: str, call: ToolCall, on_answer: OnAnswer, redos: int) -> None:
        """Another node was faster: decided again, on the run as it is now."""
        task = asyncio.ensure_future(self._reload_and_answer(token_hash, call, on_answer, redos))
        self._redoing.add(task)
        task.add_done_callback(self._redoing.discard)

    async def _reload_and_answer(
        self, token_hash: str, call: ToolCall, on_answer: OnAnswer, redos: int
    ) -> None:
        live: LiveRun | None = None
        once = _call_once(on_answer)
        try:
            live = await self._live_runs.loaded(token_hash)
            if live is None:
                raise InvalidRunToken
            self.answer(live, call, once, redos)
        except asyncio.CancelledError:
            once(StorageUnavailable())
            raise
        except Exception as error:  # noqa: BLE001 - told to whoever called, as what `answer` raises is
            if live is not None:  # what the call did to it in memory is not in its log
                self._live_runs.forget({live.id})
            once(error)


def _existing_row(row: TraceRow | None) -> TraceRow:
    assert row is not None, "rows of a log are never deleted while its run is called"
    return row


def _call_once(on_answer: OnAnswer) -> OnAnswer:
    """The first answer counts: one that fails to be told is not followed by another."""
    is_called = False

    def tell(answer: Answer) -> None:
        nonlocal is_called
        if not is_called:
            is_called = True
            on_answer(answer)

    return tell
