"""Storing what must not fail as a whole: in order, waiting where it helps, telling which rows are lost.

Runs on the writer thread.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from pipelines.storage.database.connection import Connection, transaction
from pipelines.storage.database.store import Store
from pipelines.storage.database.trace_rows import TraceRow, complete_row, insert_rows
from pipelines.wire.errors import StorageUnavailable

log = logging.getLogger(__name__)


class SequenceTaken(Exception):
    """Another process has answered a call of this run meanwhile: read the run anew and decide again."""


@dataclass(slots=True, kw_only=True)
class RowsToStore:
    """The rows of one group. One that follows a lost row of its run would leave a gap: it is lost too."""

    store: Store
    connection: Connection
    rows: Sequence[TraceRow]
    completions: Mapping[int, int]  # position in rows -> the last sequence known when it was completed
    _lost: dict[int, Exception] = field(default_factory=dict)  # position -> why it is not stored
    #: The database is away: waiting for it once is enough for all rows that are left.
    _gone: Exception | None = None
    _voided: dict[int, Exception] = field(default_factory=dict)  # run -> why its rows are lost from here on

    def store_in_order(self) -> dict[int, Exception]:
        """Position -> why it is not stored, for every row that is lost."""
        for are_completions, adjacent in groupby(range(len(self.rows)), self.completions.__contains__):
            positions = [position for position in adjacent if self._is_wanted(position)]
            if are_completions or not self._stored_together(positions):
                self._store_one_by_one(positions)
        return self._lost

    def _stored_together(self, positions: Sequence[int]) -> bool:
        """False when the group failed as a whole: some rows are at fault, the others can be kept."""
        try:
            insert_rows(self.connection, [self.rows[position] for position in positions])
        except Exception as error:  # noqa: BLE001 - also what is no SQL error: the writer must outlive any row
            if not self.store.is_unavailable(error):
                return False
            # The rows may have been stored and only the answer lost: tried again, each would be doubled.
            self._gone = unavailable(StorageUnavailable.__doc__ or "", error)
            for position in positions:
                self._lose(position, self._gone)
        return True

    def _store_one_by_one(self, positions: Sequence[int]) -> None:
        for position in positions:
            if not self._is_wanted(position):
                continue
            try:
                self._store_one(position)
            except SequenceTaken as conflict:
                self._lose(position, conflict)
            except Exception as error:  # noqa: BLE001 - told to whoever waits for the row
                if self.store.is_taken(error):
                    self._lose(position, SequenceTaken())
                    continue
                reason = unavailable(StorageUnavailable.__doc__ or "", error)
                self._lose(position, reason)
                if self.store.is_unavailable(error):
                    self._gone = reason

    def _store_one(self, position: int) -> None:
        row = self.rows[position]
        if position not in self.completions:
            insert_rows(self.connection, [row])
            return
        with transaction(self.connection):
            self.store.hold_run(self.connection, row.run_id)
            if not complete_row(self.connection, row, self.completions[position]):
                raise SequenceTaken

    def _is_wanted(self, position: int) -> bool:
        """Whether no row of its run was lost before it; otherwise it is lost with that one."""
        reason = self._gone or self._voided.get(self.rows[position].run_id)
        if reason is not None:
            self._lost[position] = reason
        return reason is None

    def _lose(self, position: int, reason: Exception) -> None:
        self._lost[position] = reason
        self._voided[self.rows[position].run_id] = reason


def make_change(
    store: Store, connection: Connection, change: Callable[[Connection], Any]
) -> tuple[bool, Any]:
    """Run a change in a transaction of its own: whether it was stored, and its result or its error."""
    try:
        with transaction(connection):
            return True, change(connection)
    except Exception as error:  # noqa: BLE001 - raised again where the change was asked for
        if store.is_unavailable(error):
            return False, unavailable("The change could not be stored; try again.", error)
        return False, error


def unavailable(message: str, error: Exception) -> StorageUnavailable:
    """The database's own words name hosts and files: they are for the log, not for whoever called."""
    log.warning("%s %s: %s", message, type(error).__name__, error)
    return StorageUnavailable(message)
