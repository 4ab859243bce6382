"""What the statements need of a database, so that one set of them serves more than one.

Statements use `?` for parameters and keep to what SQLite and Postgres share.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol, TypeAlias

BEGIN = "BEGIN IMMEDIATE"  # SQLite's word for: writers take turns from here
Row: TypeAlias = Any  # by name (`row["id"]`), by position, and unpacked


class Cursor(Protocol):
    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Row: ...
    def fetchall(self) -> list[Row]: ...
    def __iter__(self) -> Iterator[Row]: ...


class Connection(Protocol):
    def execute(self, statement: str, parameters: Sequence[Any] = (), /) -> Cursor: ...
    def executemany(self, statement: str, parameters: Sequence[Sequence[Any]], /) -> object: ...


def insert(connection: Connection, statement: str, parameters: Sequence[Any]) -> int:
    """Run an INSERT of one row; the id it was given."""
    return int(connection.execute(statement + " RETURNING id", parameters).fetchone()[0])


@contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    connection.execute(BEGIN)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(Exception):  # on a broken connection there is nothing left to roll back
            connection.execute("ROLLBACK")
        raise
