"""Questions that SQLite answers on the event loop: so few steps that a thread would cost more than they do.

A step is one instruction of SQLite's own machine, which looks every so many of them whether to go on. So a
question is stopped wherever it stands, however its rows lie.
"""

import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from pipelines.storage.connection import Connection
from pipelines.storage.store import NotBrief

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


class SqliteBriefReads:
    """Used on one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
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
            return question(self._connection)
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
