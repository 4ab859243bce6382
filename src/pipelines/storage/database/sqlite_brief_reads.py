"""Questions that SQLite answers on the event loop: so few steps that a thread would cost more than they do.

A step is one instruction of SQLite's own machine, which looks every so many of them whether to go on. So a
question is stopped wherever it stands, however its rows lie.

The driver lets go of the interpreter at each row that it fetches, and where other threads compute it gets it
back a millisecond later, fifty times a page. So the rows of an answer come as one: SQLite writes them as a
JSON text, in one go.
"""

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import orjson

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.store import NotBrief

T = TypeVar("T")
#: Of the processor: a page of 50 runs takes 0.5 ms. On a machine that is busy elsewhere it lasts longer, and
#: a thread would not be quicker then.
BRIEF_S = 0.003
WAITED_S = 0.02  # in all: for a disk, or for the processor
#: Those of seven runs in a list. Each look lets other threads have the interpreter, and waits until they give
#: it back; but each run may have a response of 8 MB that is read to be cut, for some 4 ms.
STEPS_BETWEEN_LOOKS = 1_000
#: Questions of a kind that went past the bound are not asked here for so long: so little of the loop's time
#: is lost by rows that are never brief.
ASIDE_S = 10.0
MOST_ASIDE = 1_000  # kinds of questions that are remembered
MOST_WORDINGS = 256  # statements whose columns are remembered
_READING = ("SELECT", "WITH")  # how our statements begin that only read
_EXACT = {int, str, type(None)}  # what JSON gives back as it was: a fraction would lose its last digits


class SqliteBriefReads:
    """Used on one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._in_one_step = _InOneStep(connection)
        self._ends = self._given_up = 0.0
        self._aside: OrderedDict[Hashable, float] = OrderedDict()  # until when, the earliest first
        connection.execute("PRAGMA busy_timeout = 0")  # the loop waits for nobody
        connection.set_progress_handler(self._is_over, STEPS_BETWEEN_LOOKS)

    def ask(self, question: Callable[[Connection], T], kind: Hashable, /) -> T:
        began = time.monotonic()
        if began < self._aside.get(kind, 0.0):
            raise NotBrief
        self._ends = time.thread_time() + BRIEF_S
        self._given_up = began + WAITED_S
        try:
            return question(self._in_one_step)
        except sqlite3.DatabaseError as error:
            if time.thread_time() > self._ends:
                self._put_aside(kind, began + ASIDE_S)
            raise NotBrief from error

    def _is_over(self) -> bool:
        return time.thread_time() > self._ends or time.monotonic() > self._given_up

    def _put_aside(self, kind: Hashable, until: float) -> None:
        self._aside.pop(kind, None)
        if len(self._aside) >= MOST_ASIDE:
            self._aside.popitem(last=False)
        self._aside[kind] = until

    def close(self) -> None:
        self._connection.close()


class _Wording(NamedTuple):
    """A statement, and how to have all of its rows at once."""

    whole: str
    columns: sqlite3.Cursor  # knows their names


class _InOneStep:
    """A connection to read over, whose answers come whole."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._wordings: OrderedDict[str, _Wording] = OrderedDict()

    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> "_Answer | sqlite3.Cursor":
        if not statement.startswith(_READING):
            return self.plain(statement, parameters)  # is refused here and now
        return _Answer(self, statement, parameters)

    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> object:
        return self._connection.executemany(statement, parameters)

    def plain(self, statement: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
        return self._connection.execute(statement, parameters)

    def rows(self, statement: str, parameters: Sequence[Any]) -> list[sqlite3.Row]:
        wording = self._wordings.get(statement) or self._worded(statement, parameters)
        (text,) = self._connection.execute(wording.whole, parameters).fetchone()
        try:
            rows: list[list[Any]] = orjson.loads(text)
        except orjson.JSONDecodeError:
            raise NotBrief from None
        if not set(map(type, chain.from_iterable(rows))) <= _EXACT:
            raise NotBrief
        return [sqlite3.Row(wording.columns, tuple(row)) for row in rows]

    def _worded(self, statement: str, parameters: Sequence[Any]) -> _Wording:
        columns = self._connection.execute(f"SELECT * FROM ({statement}) LIMIT 0", parameters)
        names = ", ".join(f"c{at}" for at in range(len(columns.description)))
        whole = (
            f"WITH asked({names}) AS ({statement}) SELECT json_group_array(json_array({names})) FROM asked"
        )
        if len(self._wordings) >= MOST_WORDINGS:
            self._wordings.popitem(last=False)
        self._wordings[statement] = wording = _Wording(whole, columns)
        return wording


class _Answer:
    """Of a statement that is asked when its rows are wanted."""

    def __init__(self, reads: _InOneStep, statement: str, parameters: Sequence[Any]) -> None:
        self._reads = reads
        self._asked = (statement, parameters)

    @property
    def rowcount(self) -> int:
        return -1  # as of any statement that only reads

    def fetchone(self) -> Any:
        return self._reads.plain(*self._asked).fetchone()

    def fetchall(self) -> list[sqlite3.Row]:
        return self._reads.rows(*self._asked)

    def __iter__(self) -> Iterator[sqlite3.Row]:
        return iter(self.fetchall())
