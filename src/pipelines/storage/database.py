"""A writer thread that commits in groups, and readers beside it, over SQLite or Postgres.

Everything that a process changes goes through its one writer, so nothing waits on a lock. What arrives while
a commit is under way forms the next group: one thread switch and one sync for all of it.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from pipelines.storage.connection import Connection, transaction
from pipelines.storage.trace_rows import TraceRow, insert_rows
from pipelines.wire.errors import StorageUnavailable

T = TypeVar("T")
log = logging.getLogger(__name__)

READERS = 2  # the machine's cores are for the server; more readers only take turns with it


class StoreConnection(Connection, Protocol):
    def close(self) -> None: ...


class Store(Protocol):
    """A kind of database: how to connect to it, and what its errors mean."""

    def connect(self, *, read_only: bool) -> StoreConnection: ...
    def migrate(self, connection: Connection) -> list[str]: ...
    def take_turns(self, connection: Connection) -> None: ...
    def is_taken(self, error: Exception) -> bool: ...
    def is_unavailable(self, error: Exception) -> bool: ...


@dataclass(slots=True)
class _Group:
    """What one turn of the writer takes: rows first, then the changes in their order."""

    rows: list[tuple[TraceRow, asyncio.Future[None]]] = field(default_factory=list)
    changes: list[tuple[Callable[[Connection], Any], asyncio.Future[Any]]] = field(default_factory=list)
    lost: dict[int, Exception] = field(default_factory=dict)  # position in rows -> why it is not stored
    results: list[tuple[bool, Any]] = field(default_factory=list)  # one (succeeded, value) per change

    def __bool__(self) -> bool:
        return bool(self.rows or self.changes)


Heard = Callable[[Exception | None], None]


class SequenceTaken(Exception):
    """Another process has answered a call of this run meanwhile: read the run anew and decide again."""


class Database:
    """Open it inside a running event loop; `close` waits for what is under way."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._next = _Group()
        self._busy = False
        self._scheduled = False
        self._groups: queue.SimpleQueue[_Group | None] = queue.SimpleQueue()
        self._local = threading.local()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._reading: list[StoreConnection] = []
        #: Told, before anyone waiting hears of it, which runs lost a row: their state in memory is void.
        self.on_lost: Callable[[set[int]], None] = lambda run_ids: None
        self._writing = store.connect(read_only=False)
        store.migrate(self._writing)
        self._writer = threading.Thread(target=self._write_groups, name="writer", daemon=True)
        self._writer.start()

    def append(self, row: TraceRow) -> asyncio.Future[None]:
        """Store one row of a run's log; the future is done when it is durable."""
        stored: asyncio.Future[None] = self._loop.create_future()
        self._next.rows.append((row, stored))
        self._wake()
        return stored

    def store(self, row: TraceRow, heard: Heard) -> None:
        """As `append`; `heard` is called on the loop."""
        self.append(row).add_done_callback(lambda done: heard(done.exception()))  # type: ignore[arg-type]

    def complete(self, row: TraceRow, after: int, heard: Heard) -> None:
        """Give a row that was stored as asked its outcome. `after` is the last row of its run as far as this
        process knows; one behind it that is not ours means that another process has gone on."""
        group = self._next

        def change(connection: Connection) -> None:
            # Rows of the same group go in first, also those that came later: they are ours all the same.
            ours = [
                other.sequence
                for position, (other, _) in enumerate(group.rows)
                if other.run_id == row.run_id and position not in group.lost
            ]
            columns = ", ".join(f"{name} = ?" for name in TraceRow._fields)
            done = connection.execute(
                f"UPDATE trace_rows SET {columns} WHERE run_id = ? AND sequence = ?"
                " AND error_code = 'outcome_unknown' AND NOT EXISTS"
                " (SELECT 1 FROM trace_rows later WHERE later.run_id = ? AND later.sequence > ?)",
                (*row, row.run_id, row.sequence, row.run_id, max([after, *ours])),
            )
            if done.rowcount != 1:
                raise SequenceTaken

        def told(done: asyncio.Future[Any]) -> None:
            error: Any = done.exception()
            if error is not None:
                self.on_lost({row.run_id})
            heard(error)

        done: asyncio.Future[Any] = self._loop.create_future()
        done.add_done_callback(told)
        group.changes.append((change, done))
        self._wake()

    async def write(self, change: Callable[[Connection], T]) -> T:
        """Run a change in one transaction of its own on the writer thread."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._next.changes.append((change, done))
        self._wake()
        return await done

    async def read(self, question: Callable[[Connection], T]) -> T:
        """Run a query on a reader thread; it sees everything committed before."""
        return await self._loop.run_in_executor(self._readers, self._ask, question)

    async def close(self) -> None:
        while self._busy or self._next:
            await self.write(lambda connection: None)
        self._groups.put(None)
        await self._loop.run_in_executor(self._readers, self._writer.join)
        self._readers.shutdown()
        for connection in [*self._reading, self._writing]:
            connection.close()

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Asked once more where it could not be read: a connection that broke while idle is made anew."""
        for is_last in (False, True):
            try:
                return question(self._reader())
            except Exception as error:
                if not self._store.is_unavailable(error):
                    raise
                if is_last:
                    raise _unavailable("The database could not be read; try again.", error) from error
        raise AssertionError("the last try returns or raises")

    def _reader(self) -> Connection:
        connection: StoreConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._store.connect(read_only=True)
            self._local.connection = connection
            self._reading.append(connection)
        return connection

    # -- on the event loop: gather, hand over, hear back

    def _wake(self) -> None:
        if not self._busy and not self._scheduled:
            self._scheduled = True
            # A turn later: what else arrived at the same moment is decided by then and joins the group.
            self._loop.call_soon(self._loop.call_soon, self._hand_over)

    def _hand_over(self) -> None:
        self._scheduled = False
        if self._next and not self._busy:
            group, self._next = self._next, _Group()
            self._busy = True
            self._groups.put(group)

    def _heard_back(self, group: _Group) -> None:
        self._busy = False
        if group.lost:
            self._void_runs(group)
        for position, (_, stored) in enumerate(group.rows):
            if stored.done():  # its caller hung up and no longer waits
                continue
            if position in group.lost:
                stored.set_exception(group.lost[position])
            else:
                stored.set_result(None)
        for (succeeded, value), (_, done) in zip(group.results, group.changes, strict=True):
            if not done.done():
                done.set_result(value) if succeeded else done.set_exception(value)
        self._hand_over()

    def _void_runs(self, group: _Group) -> None:
        """A row that follows a lost one would leave a gap in its run's log: it is lost with it."""
        reasons = {group.rows[position][0].run_id: error for position, error in group.lost.items()}
        voided = set(reasons)
        self.on_lost(voided)
        waiting, self._next.rows = self._next.rows, []
        for row, stored in waiting:
            if row.run_id not in voided:
                self._next.rows.append((row, stored))
            elif not stored.done():
                stored.set_exception(reasons[row.run_id])

    # -- on the writer thread

    def _write_groups(self) -> None:
        while (group := self._groups.get()) is not None:
            group.lost = self._insert([row for row, _ in group.rows])
            group.results = [self._change(change) for change, _ in group.changes]
            self._loop.call_soon_threadsafe(self._heard_back, group)

    def _insert(self, rows: Sequence[TraceRow]) -> dict[int, Exception]:
        try:
            insert_rows(self._writing, rows)
        except Exception as error:  # noqa: BLE001 - also what is no SQL error: the writer must outlive any row
            if self._store.is_unavailable(error):
                # The rows may have been stored and only the answer lost: tried again, each would be doubled.
                lost = _unavailable(StorageUnavailable.__doc__ or "", error)
                return dict.fromkeys(range(len(rows)), lost)
            return self._insert_one_by_one(rows)
        return {}

    def _insert_one_by_one(self, rows: Sequence[TraceRow]) -> dict[int, Exception]:
        """The group failed as a whole: find which rows are at fault and keep the others."""
        lost: dict[int, Exception] = {}
        voided: dict[int, Exception] = {}
        for position, row in enumerate(rows):
            try:
                if row.run_id in voided:
                    raise voided[row.run_id]
                insert_rows(self._writing, [row])
            except (StorageUnavailable, SequenceTaken) as before:
                lost[position] = before
            except Exception as error:  # noqa: BLE001 - told to whoever waits for the row
                unstored = _unavailable(StorageUnavailable.__doc__ or "", error)
                reason = SequenceTaken() if self._store.is_taken(error) else unstored
                voided[row.run_id] = lost[position] = reason
        return lost

    def _change(self, change: Callable[[Connection], Any]) -> tuple[bool, Any]:
        try:
            with transaction(self._writing):
                return True, change(self._writing)
        except Exception as error:  # noqa: BLE001 - raised again where the change was asked for
            if self._store.is_unavailable(error):
                return False, _unavailable("The change could not be stored; try again.", error)
            return False, error


def _unavailable(message: str, error: Exception) -> StorageUnavailable:
    """The database's own words name hosts and files: they are for the log, not for whoever called."""
    log.warning("%s %s: %s", message, type(error).__name__, error)
    return StorageUnavailable(message)
