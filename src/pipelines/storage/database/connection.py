"""What the statements need of a database, so that one set of them serves more than one.

Statements use `?` for parameters and keep to what SQLite and Postgres share.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, Protocol, TypeAlias

BEGIN = "BEGIN IMMEDIATE"  # SQLite's word for: writers take turns from here
ROWS_A_STATEMENT = 64  # past this the cost per row no longer falls
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


def insert_many(
    connection: Connection, into: str, rows: Sequence[Sequence[Any]], on_conflict: str = ""
) -> None:
    """Many rows a statement: with one each, the interpreter's lock would be waited for once a row."""
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        one = "(" + ", ".join("?" * len(some[0])) + ")"
        values = ", ".join([one] * len(some))
        connection.execute(f"{into} {values} {on_conflict}", list(chain.from_iterable(some)))


def in_list(values: Sequence[object]) -> str:
    """What stands behind IN for these; nothing is in the empty one."""
    return "(" + (", ".join("?" * len(values)) or "NULL") + ")"


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
