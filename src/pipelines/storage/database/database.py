"""Groups of rows committed on the event loop or by a writer thread, and readers beside them.

Rows that are decided in one turn of the loop form a group. SQLite takes it on the loop; what it does not take
at once, changes, and all of Postgres go to the one writer thread. While that holds anything, what arrives
forms the next group: so nothing waits on a lock, and everything keeps its order.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, TypeAlias, TypeVar

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.patient_writer import RowsToStore, make_change, unavailable
from pipelines.storage.database.patient_writer import SequenceTaken as SequenceTaken
from pipelines.storage.database.store import LoopCommits, NotBrief, StoreConnection
from pipelines.storage.database.store import Store as Store
from pipelines.storage.database.trace_rows import TraceRow
from pipelines.wire.errors import StorageUnavailable

T = TypeVar("T")
Heard: TypeAlias = Callable[[Exception | None], None]
log = logging.getLogger(__name__)

READERS = 3  # the machine's cores are for the server, and one org never has them all; more only take turns
BATCH_READERS = 1  # beside them: a batch that is worked off asks a thousand questions a second
LOOP_ROWS = 256  # a larger group would stop the loop for longer than a thread switch takes
#: Parts of large changes in the log at most when it is moved into the file: what is moved together is
#: synced together, and on a slow disk everybody's rows wait for that.
PARTS_IN_LOG = 4
LONGEST_REST_S = 0.5  # between two parts
rest = asyncio.sleep
#: The org that the present task works for, so that orgs read by turns; 0 for what is nobody's own.
WORKS_FOR: ContextVar[int] = ContextVar("works_for", default=0)


@dataclass(slots=True)
class _Group:
    """What is committed together: rows first, then the changes in their order."""

    rows: list[TraceRow] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)  # one per row
    changes: list[tuple[Callable[[Connection], Any], asyncio.Future[Any]]] = field(default_factory=list)
    completions: dict[int, int] | None = None  # position in rows -> last sequence known then
    restarts_log: bool = False
    is_inserted: bool = False  # its rows are, and only have to be synced
    lost: dict[int, Exception] | None = None  # position in rows -> why it is not stored
    results: Sequence[tuple[bool, Any]] = ()  # one (succeeded, value) per change

    def __bool__(self) -> bool:
        return bool(self.rows or self.changes or self.restarts_log)

    def outcomes(self) -> Iterable[tuple[Heard, Exception | None]]:
        if not self.lost:
            return zip(self.heard, repeat(None))
        return [(listener, self.lost.get(position)) for position, listener in enumerate(self.heard)]


class Database:
    """Open it inside a running event loop; `close` waits for what is under way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.groups_stored = 0  # since the start, for whoever watches
        self.rows_stored = 0
        self._loop = asyncio.get_running_loop()
        self._next = _Group()
        self._busy = False  # the writer thread holds a group, and with it the connection
        self._scheduled = False
        self._groups: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._reading_turns = FairSlots.all_but_one_each(READERS)
        self._batch_readers = ThreadPoolExecutor(BATCH_READERS, thread_name_prefix="batch-reader")
        self._reading: list[StoreConnection] = []
        self._apart = ThreadPoolExecutor(1, thread_name_prefix="apart")
        self._apart_connection: StoreConnection | None = None
        self._checkpointer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._checkpoint: asyncio.Future[None] | None = None  # until the log has started again
        self._parts = asyncio.Lock()
        self._parts_in_log = 0  # since it was last moved into the file
        self._parts_rest_until = 0.0
        self._time = self._loop.time
        #: Told, before anyone waiting hears of it, which runs lost a row: their state in memory is void.
        self.on_lost: Callable[[set[int]], None] = lambda run_ids: None
        connection = store.connect(read_only=False)
        store.migrate(connection)
        self._commits = store.loop_commits(connection)
        self._brief = store.brief_reads()
        self._writing = self._commits or connection
        self._writer = threading.Thread(target=self._write_groups, name="writer", daemon=True)
        self._writer.start()

    def store(self, row: TraceRow, heard: Heard) -> None:
        """Store one row of a run's log.

        `heard` is called once, on the loop: with None when the row is durable, otherwise with why it is not
        (StorageUnavailable, SequenceTaken).
        """
        self._next.rows.append(row)
        self._next.heard.append(heard)
        if not self._scheduled:
            self._wake()

    def complete(self, row: TraceRow, after: int, heard: Heard) -> None:
        """Replace a row that was stored as `outcome_unknown`, in order with the other rows of its run.

        SequenceTaken when it is none any more, or when the log goes on behind `after`, the last known row.
        """
        if self._next.completions is None:
            self._next.completions = {}
        self._next.completions[len(self._next.rows)] = after
        self.store(row, heard)

    def append(self, row: TraceRow) -> asyncio.Future[None]:
        """Store one row of a run's log; the future is done when it is durable."""
        stored: asyncio.Future[None] = self._loop.create_future()

        def heard(error: Exception | None) -> None:
            if stored.done():  # its caller hung up and no longer waits
                return
            stored.set_result(None) if error is None else stored.set_exception(error)

        self.store(row, heard)
        return stored

    async def write(self, change: Callable[[Connection], T]) -> T:
        """Run a change in one transaction of its own on the writer thread."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._next.changes.append((change, done))
        self._wake()
        return await done

    async def write_part(self, change: Callable[[Connection], T]) -> T:
        """Run one part of a large change, in a transaction of its own.

        Parts take turns, however many large changes are under way: no group holds more than one, so whoever
        waits for a group waits for one part. And none is written while the log is moved into the file: the
        writer would have to move what came in meanwhile, before it starts the log again. Between two, others
        have the disk for as long as the first took: the slower it is, the more they need it.
        """
        async with self._parts:
            await self._log_at_rest()
            if (rest_s := self._parts_rest_until - self._time()) > 0:
                await rest(rest_s)
            start = self._time()
            try:
                return await self.write(change)
            finally:
                self._part_is_stored(start)

    def _part_is_stored(self, start: float) -> None:
        if self._commits is None:  # the disk is another machine's
            return
        now = self._time()
        self._parts_rest_until = now + min(now - start, LONGEST_REST_S)
        self._parts_in_log += 1
        if self._parts_in_log >= PARTS_IN_LOG and self._checkpoint is None:
            self._start_checkpoint()

    @property
    def is_alone(self) -> bool:
        """Whether no other process works on the same database."""
        return self._commits is not None

    async def write_apart(self, change: Callable[[Connection], T]) -> T:
        """As `write`, over a connection of its own: it waits for no other change. Not for SQLite, which has
        one writer."""
        return await self._loop.run_in_executor(self._apart, self._change_apart, change)

    def time(self, connection: Connection, own: str) -> str:
        """What time it is for all who work on this database; `own` is the time of this process."""
        return self._store.time(connection, own)

    async def read(self, question: Callable[[Connection], T]) -> T:
        """Run a query on a reader thread; it sees everything committed before. Whoever asks for much waits
        for itself: a thread is always left for other orgs."""
        async with self._reading_turns.slot(SlotHolder(WORKS_FOR.get())):
            return await self._loop.run_in_executor(self._readers, self._ask, question)

    async def read_briefly(self, question: Callable[[Connection], T], kind: Hashable) -> T:
        """As `read`, for what is mostly short: SQLite answers it on the loop, within a bound, so that it
        waits for no thread; what goes past the bound is asked as any other. `kind`: what else is likely to
        take as long, such as the same list of the same org.
        """
        if self._brief is not None:
            try:
                return self._brief.ask(question, kind)
            except NotBrief:
                pass
        return await self.read(question)

    async def read_for_batch(self, question: Callable[[Connection], T]) -> T:
        """As `read`, for what nobody waits for: it never stands before a question of the API."""
        return await self._loop.run_in_executor(self._batch_readers, self._ask, question)

    async def close(self) -> None:
        while self._busy or self._next or self._checkpoint is not None:
            await self._log_at_rest()
            with suppress(StorageUnavailable):  # what could not be stored was told to whoever waits for it
                await self.write(lambda connection: None)
        self._groups.put(None)
        await self._loop.run_in_executor(self._readers, self._writer.join)
        self._readers.shutdown()
        self._batch_readers.shutdown()
        self._checkpointer.shutdown()
        self._apart.shutdown()
        for connection in [*self._reading, self._apart_connection, self._brief, self._writing]:
            if connection is not None:
                connection.close()

    def _change_apart(self, change: Callable[[Connection], T]) -> T:
        if self._apart_connection is None:
            try:
                self._apart_connection = self._store.connect(read_only=False)
            except Exception as error:
                if self._store.is_unavailable(error):
                    raise unavailable("The database could not be reached; try again.", error) from error
                raise
        succeeded, value = make_change(self._store, self._apart_connection, change)
        if not succeeded:
            raise value
        return value  # type: ignore[no-any-return]

    async def _log_at_rest(self) -> None:
        while self._checkpoint is not None:
            await asyncio.wait([self._checkpoint])
            with suppress(StorageUnavailable):
                await self.write(lambda connection: None)  # with the group that starts the log again

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Asked once more where it could not be read: a connection that broke while idle is made anew."""
        for is_last in (False, True):
            try:
                return question(self._reader())
            except Exception as error:
                if not self._store.is_unavailable(error):
                    raise
                if is_last:
                    raise unavailable("The database could not be read; try again.", error) from error
        raise AssertionError("the last try returns or raises")

    def _reader(self) -> Connection:
        connection: StoreConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._store.connect(read_only=True)
            self._local.connection = connection
            self._reading.append(connection)
        return connection

    # -- on the event loop: gather, commit or hand over, tell

    def _wake(self) -> None:
        if not self._busy and not self._scheduled:
            self._scheduled = True
            # After this turn: what else arrived at the same moment is decided by then and joins the group.
            # A group that crosses a network is worth a turn more.
            if self._commits is not None:
                self._loop.call_soon(self._end_turn)
            else:
                self._loop.call_soon(self._loop.call_soon, self._end_turn)

    def _end_turn(self) -> None:
        self._scheduled = False
        if not self._next or self._busy:
            return
        group, self._next = self._next, _Group()
        group.is_inserted = self._is_inserted(group)
        if group.is_inserted and self._commits is not None and not self._commits.must_sync:
            _tell(group.outcomes())
            self.groups_stored += 1
            self.rows_stored += len(group.rows)
            self._checkpoint_long_log()
            if not (group.changes or group.restarts_log):
                return
            group = _Group(changes=group.changes, restarts_log=group.restarts_log)
        self._busy = True
        self._groups.put(group)

    def _is_inserted(self, group: _Group) -> bool:
        """Commit the rows here and now; whatever is in the way, the writer thread has the patience for."""
        if self._commits is None or not group.rows or group.completions or len(group.rows) > LOOP_ROWS:
            return False
        try:
            self._commits.insert(group.rows)
        except Exception:  # noqa: BLE001 - the writer thread tries again and tells what is lost, and why
            return False
        return True

    def _heard_back(self, group: _Group) -> None:
        self._busy = False
        self.groups_stored += 1
        self.rows_stored += len(group.rows) - len(group.lost or ())
        if group.restarts_log:
            self._checkpoint = None
        self._checkpoint_long_log()
        if group.is_inserted:  # the next group is synced while those who wait for this one are told
            self._end_turn()
        voided = self._void_runs(group.rows, group.lost) if group.lost else ()
        _tell(chain(group.outcomes(), voided))
        for (succeeded, value), (_, done) in zip(group.results, group.changes, strict=True):
            if not done.done():
                done.set_result(value) if succeeded else done.set_exception(value)
        self._end_turn()

    def _void_runs(
        self, rows: Sequence[TraceRow], lost: dict[int, Exception]
    ) -> list[tuple[Heard, Exception | None]]:
        """A row that follows a lost one would leave a gap in its run's log: it is lost with it."""
        reasons = {rows[position].run_id: error for position, error in lost.items()}
        _tell([(lambda _: self.on_lost(set(reasons)), None)])
        waiting = self._next
        self._next = _Group(changes=waiting.changes, restarts_log=waiting.restarts_log)
        after = waiting.completions or {}
        voided: list[tuple[Heard, Exception | None]] = []
        for position, (row, listener) in enumerate(zip(waiting.rows, waiting.heard, strict=True)):
            if row.run_id in reasons:
                voided.append((listener, reasons[row.run_id]))
            elif position in after:
                self.complete(row, after[position], listener)
            else:
                self.store(row, listener)
        return voided

    def _checkpoint_long_log(self) -> None:
        if self._commits is not None and self._checkpoint is None and self._commits.wants_checkpoint():
            self._start_checkpoint()

    def _start_checkpoint(self) -> None:
        assert self._commits is not None
        self._parts_in_log = 0
        self._checkpoint = self._loop.run_in_executor(self._checkpointer, self._commits.checkpoint)
        self._checkpoint.add_done_callback(self._checkpointed)

    def _checkpointed(self, checkpoint: "asyncio.Future[None]") -> None:
        if checkpoint.exception() is not None:
            log.warning("A checkpoint failed and will be tried again: %s", checkpoint.exception())
        self._next.restarts_log = True
        self._wake()

    # -- on the writer thread

    def _write_groups(self) -> None:
        while (group := self._groups.get()) is not None:
            if group.rows and not group.is_inserted:
                group.lost = RowsToStore(
                    store=self._store,
                    connection=self._writing,
                    rows=group.rows,
                    completions=group.completions or {},
                ).store_in_order()
            group.results = [make_change(self._store, self._writing, change) for change, _ in group.changes]
            if self._commits is not None:
                self._finish(self._commits, restarts_log=group.restarts_log)
            self._loop.call_soon_threadsafe(self._heard_back, group)

    def _finish(self, commits: LoopCommits, *, restarts_log: bool) -> None:
        if restarts_log:
            try:
                commits.restart_log()
            except Exception as error:  # noqa: BLE001 - the writer must outlive it; the log only stays long
                log.warning("The database's log could not be started again yet: %s", error)
        if commits.must_sync:
            commits.sync()


def _tell(outcomes: Iterable[tuple[Heard, Exception | None]]) -> None:
    """One that fails does not keep the others from hearing."""
    untold = iter(outcomes)
    while True:
        try:
            for listener, outcome in untold:
                listener(outcome)
            return
        except Exception:
            log.exception("A callback of a stored row failed")
