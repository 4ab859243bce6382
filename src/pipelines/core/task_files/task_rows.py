"""Rows of tasks by axis name, the common form of all uploads, and the location of their problems.

A name is taken in any spelling that is only one column's; two names of one column are refused.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from pipelines.core.limits.weighed_cache import WeighedCache
from pipelines.core.task_files.column_naming import (
    DEFAULT_NAMING,
    ColumnNaming,
    clash,
    left_out_note,
    renamed_note,
    unknown_column,
)
from pipelines.core.tasks.task_columns import BY_AXIS, BY_NAME, CellError, read_cell
from pipelines.core.text.authored import kind
from pipelines.core.text.json_rows import JsonRows
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.notes import Notes
from pipelines.core.text.problems import MOST_SHOWN, Problem, Refused

MAX_ROWS = 5_000  # in one call
MOST_KNOWN_BYTES = 16 * 1024 * 1024  # of cells that were read, in case that a row further down has the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    number: int  # as its author's program counts: the sheet's row, the line, or which entry
    label: str  # how a place in it begins: "row 3", "/rows/0", "line 4: "
    names: Mapping[str, str]  # columns, as the author names them
    axes: JsonObject
    unreadable: frozenset[str]  # columns that are already complained about


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """What can be read of an upload, and what was wrong with the rest.

    Rows are read as they are asked for, once: as values they take ten times and more what they take as text.
    """

    rows: Iterable[Row]
    problems: list[Problem]  # and notes: all of them, once the rows have been read
    notes: Notes
    is_table: bool
    #: A place in the file as its author sees it, where that is not the path itself.
    placed: Callable[[Problem], Problem] = field(default=lambda problem: problem)


def rows_from_json(
    rows: Json | JsonRows, *, path: str = "/rows", naming: ColumnNaming = DEFAULT_NAMING
) -> Upload:
    """From objects with the columns' names and JSON values."""
    if not isinstance(rows, list | JsonRows):
        message = f"`rows` must be a JSON array of objects, not {kind(rows)}"
        raise Refused([Problem(path=path, message=message)], "the upload")
    given = islice(rows, MAX_ROWS)
    entries = (Entry(index + 1, f"{path}/{index}", row) for index, row in enumerate(given))
    problems, notes = list(count_problems(len(rows), path)), Notes("task")
    read = read_entries(entries, problems, notes, naming)
    return Upload(rows=read, problems=problems, notes=notes, is_table=False)


class Entry(NamedTuple):
    """Something that should be a task."""

    number: int
    label: str
    value: Json


def read_entries(
    entries: Iterable[Entry], problems: list[Problem], notes: Notes, naming: ColumnNaming = DEFAULT_NAMING
) -> Iterator[Row]:
    reader = RowReader(is_table=False)
    for number, label, row in entries:
        if not isinstance(row, dict):
            message = f"a task must be an object, not {kind(row)}"
            problems.append(Problem(path=label.rstrip(": "), row=number, message=message))
            continue
        row |= naming.cells.get(number, {})  # a corrected text is read as a cell
        given = _values_by_column(row, number, label, problems, notes, naming)
        names = {column: name for column, (name, _) in given.items()}
        values = {column: value for column, (_, value) in given.items()}
        yield reader.read(number, label, names, values)
    problems += reader.problems


def _values_by_column(
    row: JsonObject, number: int, label: str, problems: list[Problem], notes: Notes, naming: ColumnNaming
) -> dict[str, tuple[str, Json]]:
    """By column: the name it was given under, and its value. Null counts as not given."""
    given: dict[str, tuple[str, Json]] = {}
    for name, value in row.items():
        column = naming.column_of(name)
        place = label + pointer([name])
        if naming.is_left_out(name):
            notes.say(left_out_note(name))
        elif column is None:
            problems.append(unknown_column(place, name, number, has_hint=len(problems) < MOST_SHOWN))
        elif value is not None and column.name in given:
            names = [given[column.name][0], name]
            problems.append(clash(place, column.name, names, number))
        elif value is not None:
            given[column.name] = (name, value)
            if name != column.name:
                notes.say(renamed_note((name, column.name)))
    return given


class RowReader:
    """Cells to values. A text that was read before is not read again: rows often share one large world."""

    def __init__(self, *, is_table: bool) -> None:
        self.problems: list[Problem] = []
        self._is_table = is_table
        self._known = WeighedCache[Json](most_bytes=MOST_KNOWN_BYTES, most_things=MAX_ROWS)

    def read(
        self,
        number: int,
        label: str,
        names: Mapping[str, str],
        given: Mapping[str, Json],
        unreadable: frozenset[str] = frozenset(),
    ) -> Row:
        axes: JsonObject = {}
        bad = set(unreadable)
        for column, value in given.items():
            try:
                axes[BY_NAME[column].axis] = self._value(column, value)
            except CellError as error:
                bad.add(column)
                path = _place(label, names.get(column, column), "", is_table=self._is_table)
                self.problems.append(
                    Problem(path=path, message=error.message, hint=error.hint, row=number, column=column)
                )
        return Row(number=number, label=label, names=names, axes=axes, unreadable=frozenset(bad))

    def _value(self, column: str, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        return self._known.get((column, value), lambda: (read_cell(BY_NAME[column], value), len(value)))


# Problems, in the words of whoever has the file open


def in_row(problem: Problem, row: Row, *, is_table: bool) -> Problem:
    """A problem of a seed, told by the column instead of the axis."""
    _, axis, *inside = problem.path.split("/")
    column = BY_AXIS[axis].name
    written = row.names.get(column, column)
    path = _place(row.label, written, "".join("/" + part for part in inside), is_table=is_table)
    message = problem.message.replace(f"`{axis}`", f"`{column}`")
    return replace(problem, path=path, message=message, row=row.number, column=column)


def _place(label: str, written: str, inside: str, *, is_table: bool) -> str:
    if is_table:
        return f"{label}, column {written}" + (f", at {inside}" if inside else "")
    return f"{label}{pointer([written])}{inside}"


def count_problems(count: int, path: str) -> Iterator[Problem]:
    if count == 0:
        yield Problem(path=path, message="the upload has no rows")
    elif count > MAX_ROWS:
        message = f"the upload has {count:,} rows; at most {MAX_ROWS:,} are allowed"
        yield Problem(path=path, message=message, hint="send the other rows in further uploads")
