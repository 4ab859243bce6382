"""One mapper per record: its dataclass says its columns once. Column lists, parameters and rows come from it.

Statements stay SQL, each written out beside its function; the lists of columns are put into them by name.
What a mapper does with a row is Python that is compiled once per record, as a person would have written it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.storage.database.connection import Connection, Row
from pipelines.storage.database.paging import Filter, Page, page_of

R = TypeVar("R")
_AS_IT_IS = (int, str, float)
_WITH_PARTS = (dict, list, tuple, Sequence)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """In the annotation of a field: what its type does not say of its column."""

    column: str | None = None  # where it has another name
    read: Callable[[Any], Any] | None = None  # of a NULL too
    write: Callable[[Any], Any] | None = None


def json_text(value: object) -> str | None:
    """NULL for None."""
    return dumps(value).decode() if value is not None else None


class Mapper(Generic[R]):
    """Reads and writes rows of one dataclass or named tuple.

    Types say how: a boolean is 0 or 1, an enum its value; what has parts is JSON text, a tuple too; None is
    NULL. A column `id` is read and never written: the database gives it. `apart` names fields that are no
    columns of their own; `read` is given them behind the row.
    """

    def __init__(self, record: type[R], *, apart: Iterable[str] = ()) -> None:
        handed_in = tuple(apart)
        found = [_Column.of(*field) for field in _fields_of(record).items() if field[0] not in handed_in]
        self._names = tuple(each.column for each in found)
        self.columns = ", ".join(self._names)
        written = [each for each in found if each.column != "id"]
        self.written = tuple(each.column for each in written)
        self.assignments = ", ".join(f"{column} = ?" for column in self.written)
        space: dict[str, Any] = {"Record": record, "loads": loads_own, "text": json_text}
        for each in found:
            space |= each.used
        read = ", ".join(f"{each.field}={each.reading}" for each in found)
        handed = "".join(f", {name}" for name in handed_in)
        passed = "".join(f", {name}={name}" for name in handed_in)
        listed = ", ".join(f"_{each.field}" for each in found)
        values = ", ".join(each.writing for each in written)
        exec(
            f"def read(row{handed}):\n ({listed},) = row\n return Record({read}{passed})\n"
            f"def values(record):\n return ({values},)\n",
            space,
        )
        #: A record of a row that has `columns` in their order.
        self.read: Callable[..., R] = space["read"]
        #: What goes into the `written` columns; also of another record that has these fields.
        self.values: Callable[[Any], tuple[Any, ...]] = space["values"]

    def row(self, record: R) -> dict[str, Any]:
        """Values by column, for `insert`."""
        return dict(zip(self.written, self.values(record), strict=True))

    def columns_of(self, table: str) -> str:
        """Where a statement joins several tables: under the name that this one has in it."""
        return ", ".join(f"{table}.{name}" for name in self._names)

    def one(self, connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> R | None:
        row = connection.execute(statement, parameters).fetchone()
        return self.read(row) if row is not None else None

    def all(self, connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> list[R]:
        return list(map(self.read, connection.execute(statement, parameters).fetchall()))

    def page(
        self,
        connection: Connection,
        table: str,
        *,
        filters: list[Filter],
        limit: int,
        before_id: int | None,
        newest_first: bool = True,
        where: str | None = None,
    ) -> Page[R]:
        """As `page_of`."""
        rows = page_of(
            connection,
            table,
            filters=filters,
            limit=limit,
            before_id=before_id,
            newest_first=newest_first,
            where=where,
            columns=self.columns,
        )
        return Page(list(map(self.read, rows.items)), rows.last_id)


def _fields_of(record: Any) -> dict[str, Any]:
    if hasattr(record, "_fields"):  # a named tuple
        return {name: record.__annotations__[name] for name in record._fields}
    return {field.name: field.type for field in fields(record)}


class _Column(NamedTuple):
    field: str
    column: str
    reading: str  # an expression over `_field`, the value of the column
    writing: str  # an expression over `record`
    used: dict[str, Any]  # by these expressions

    @classmethod
    def of(cls, field: str, hint: Any) -> "_Column":
        stored_note = Stored()
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            stored_note = next((note for note in notes if isinstance(note, Stored)), stored_note)
        stored, value = f"_{field}", f"record.{field}"
        reading, writing, used = _conversion(field, hint, stored, value)
        if stored_note.read is not None:
            reading, used = f"read_{field}({stored})", used | {f"read_{field}": stored_note.read}
        if stored_note.write is not None:
            writing, used = f"write_{field}({value})", used | {f"write_{field}": stored_note.write}
        return cls(field, stored_note.column or field, reading, writing, used)


def _conversion(field: str, hint: Any, stored: str, value: str) -> tuple[str, str, dict[str, Any]]:
    """How a value of this type is read and written."""
    is_union = hint != Json and get_origin(hint) in (Union, UnionType)
    kinds = get_args(hint) if is_union else (hint,)
    is_nullable = hint == Json or NoneType in kinds
    kind, *others = [
        get_args(each)[0] if get_origin(each) is Annotated else each for each in kinds if each is not NoneType
    ]
    used: dict[str, Any] = {}
    if others or kind in _AS_IT_IS or get_origin(kind) is Literal:
        return stored, value, used
    if kind is bool:
        reading, writing = f"bool({stored})", f"int({value})"
    elif kind is bytes:
        reading, writing = f"bytes({stored})", value
    elif isinstance(kind, type) and issubclass(kind, Enum):
        reading, writing, used = f"enum_{field}({stored})", f"{value}.value", {f"enum_{field}": kind}
    elif kind == Json or get_origin(kind) in _WITH_PARTS:
        reading, writing = f"loads({stored})", f"text({value})"
        reading = f"tuple({reading})" if get_origin(kind) is tuple else reading
    else:
        raise TypeError(f"{field}: no column holds {kind}")
    if is_nullable:
        reading = f"{reading} if {stored} is not None else None"
        writing = f"{writing} if {value} is not None else None"
    return reading, writing, used


def first_column(connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
    """Of every row: for statements that ask for one."""
    return [row[0] for row in connection.execute(statement, parameters).fetchall()]


def first_value(connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> Any:
    """Of the first row; None where there is none."""
    row: Row = connection.execute(statement, parameters).fetchone()
    return row[0] if row is not None else None
