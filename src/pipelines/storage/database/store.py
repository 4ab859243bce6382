"""What a database must offer to be written to in groups: its connections, and what its errors mean."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol, TypeVar

from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import TraceRow

T = TypeVar("T")


class StoreConnection(Connection, Protocol):
    def close(self) -> None: ...


class LoopCommits(StoreConnection, Protocol):
    """The writer's connection where a commit is so short that the event loop can make it by itself.

    Used by the loop and by the writer thread in turn, never by both at once.
    """

    @property
    def must_sync(self) -> bool:
        """Whether what was committed is durable only after `sync`."""

    def insert(self, rows: Sequence[TraceRow]) -> None:
        """All rows or none, at once: raises instead of waiting. The only part that the loop calls."""

    def sync(self) -> None:
        """Make durable what was committed before. Ends the process where that fails."""

    def wants_checkpoint(self) -> bool: ...

    def checkpoint(self) -> None:
        """Move most of the log into the file, on a thread of its own, while rows go on."""

    def restart_log(self) -> None:
        """Move the rest of it, while nobody writes, so that the log starts again from its beginning."""


class NotBrief(Exception):
    """A question went past its bound, or something was in the way: a thread has the patience for it."""


class BriefReads(Protocol):
    """A connection for questions so short that the event loop can ask them by itself."""

    def ask(self, question: Callable[[Connection], T], kind: Hashable, /) -> T:
        """Its answer, or NotBrief, within a bounded time. What the question itself raises rises.

        `kind`: questions that are likely to take as long as each other."""

    def close(self) -> None: ...


class Store(Protocol):
    """A kind of database."""

    def connect(self, *, read_only: bool) -> StoreConnection: ...
    def migrate(self, connection: Connection) -> list[str]: ...
    def loop_commits(self, connection: StoreConnection) -> LoopCommits | None: ...
    def brief_reads(self) -> BriefReads | None: ...
    def take_turns(self, connection: Connection) -> None: ...
    def time(self, connection: Connection, own: str) -> str:
        """By the clock that all who work on this database share; `own` where there is but one process."""

    def hold_run(self, connection: Connection, run_id: int) -> None: ...
    def is_taken(self, error: Exception) -> bool: ...
    def is_unavailable(self, error: Exception) -> bool: ...
