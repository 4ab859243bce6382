"""Lists a page at a time, by the id of the last row seen: stable while rows are added."""

import re
from typing import Any, Generic, NamedTuple, TypeVar

from pipelines.storage.database.connection import Connection, Row

T = TypeVar("T")


class Page(NamedTuple, Generic[T]):
    items: list[T]
    last_id: int | None  # where the next page starts; None when this is the last


class Filter(NamedTuple):
    """Columns and operators come from our own code, values from anyone."""

    column: str
    value: Any
    operator: str = "="


def page_of(
    connection: Connection,
    table: str,
    *,
    filters: list[Filter],
    limit: int,
    before_id: int | None,
    newest_first: bool = True,
    where: str | None = None,
    columns: str = "*",
) -> Page[Row]:
    """Rows of a table whose filters with a value all hold, and `where`, a condition of our own code, too.

    `columns` has `id` among them; what is not asked for is not read from disk.
    """
    parts = [part for part in filters if part.value is not None]
    conditions = [
        *([where] if where is not None else []),
        *(f"{part.column} {part.operator} ?" for part in parts),
    ]
    values = [part.value for part in parts]
    if before_id is not None:
        conditions.append("id < ?" if newest_first else "id > ?")
        values.append(before_id)
    all_of_it = " AND ".join(conditions) or "1 = 1"
    order = "DESC" if newest_first else "ASC"
    rows = connection.execute(
        f"SELECT {columns} FROM {table} WHERE {all_of_it} ORDER BY id {order} LIMIT ?", (*values, limit + 1)
    ).fetchall()
    more = len(rows) > limit
    return Page(rows[:limit], rows[limit - 1]["id"] if more else None)


def holding(words: str) -> str:
    """For LIKE on a lowered text: texts that hold these words. What means something in a pattern stands for
    any character, since databases differ in how it is escaped."""
    return "%" + re.sub(r"[%_\\]", "_", words.lower()) + "%"
