"""What the statements need of a database, so that one set of them serves more than one.

Statements use `?` for parameters and keep to what SQLite and Postgres share.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeVar

from pipelines.core.text.json_text import dumps

BEGIN = "BEGIN IMMEDIATE"  # SQLite's word for: writers take turns from here
ROWS_A_STATEMENT = 64  # past this the cost per row no longer falls
T = TypeVar("T")
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


def storable(value: Any) -> Any:
    """As it goes into a column: a boolean as 0 or 1, an enum as its value, what has parts as JSON text."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Enum):
        return value.value
    return dumps(value).decode() if isinstance(value, dict | list | tuple) else value


def insert_row(connection: Connection, table: str, row: Mapping[str, Any], then: str = "") -> Cursor:
    """Insert values by their columns; `then` stands behind them, such as ON CONFLICT."""
    statement = insert_statement(table, tuple(row), 1, then)
    return connection.execute(statement, [storable(value) for value in row.values()])


def insert(connection: Connection, table: str, row: Mapping[str, Any]) -> int:
    """Insert a row; the id it was given."""
    return int(insert_row(connection, table, row, "RETURNING id").fetchone()[0])


def insert_many(
    connection: Connection, table: str, rows: Sequence[Mapping[str, Any]], then: str = ""
) -> None:
    """All rows have the same columns in the same order."""
    if rows:
        values = [[storable(value) for value in row.values()] for row in rows]
        insert_values(connection, table, tuple(rows[0]), values, then)


def insert_values(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    rows: Sequence[Sequence[Any]],
    then: str = "",
) -> None:
    """Many rows a statement: with one each, the interpreter's lock would be waited for once a row."""
    for some in some_of(rows, ROWS_A_STATEMENT):
        statement = insert_statement(table, columns, len(some), then)
        connection.execute(statement, list(chain.from_iterable(some)))


@lru_cache(maxsize=1024)
def insert_statement(table: str, columns: tuple[str, ...], rows: int, then: str = "") -> str:
    one = "(" + ", ".join("?" * len(columns)) + ")"
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([one] * rows)} {then}".rstrip()


def some_of(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """So many at a time, in their order: a statement takes some thousand parameters."""
    for start in range(0, len(values), most):
        yield values[start : start + most]


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
