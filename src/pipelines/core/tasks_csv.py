"""Tasks as rows: a CSV file or JSON rows under the CSV's column names, and the seeds they become.

An upload is checked whole: either every row is a seed, or the answer lists every bad cell.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.core import csv_text
from pipelines.core.authored import did_you_mean, kind, quoted
from pipelines.core.json_text import Json, JsonObject, pointer
from pipelines.core.ledger_schema import LedgerSchema
from pipelines.core.problems import MOST_SHOWN, Problem, Refused
from pipelines.core.seed import Seed, parse_seed
from pipelines.core.task_columns import BY_AXIS, BY_NAME, REQUIRED, BadCell, Column, cell_text, read_cell
from pipelines.core.task_columns import COLUMNS as COLUMNS
from pipelines.core.task_key import repeated_ids
from pipelines.core.tools_schema import Tool

MAX_ROWS = 5_000  # in one call


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    number: int  # 1 is the first under the header
    axes: JsonObject
    unreadable: frozenset[str]  # columns that are already complained about


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """What could be read of an upload, and what was wrong with the rest."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    is_csv: bool


def parse_tasks(
    source: bytes | Json,
    *,
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
) -> list[Seed]:
    """The seeds of a CSV file (bytes) or of JSON rows, or Refused with every bad cell."""
    upload = read_csv(source) if isinstance(source, bytes) else rows_from_json(source)
    problems = list(upload.problems)
    unlisted = 0  # a single row may have more than are ever listed
    seeds: list[Seed] = []
    for row in upload.rows:
        try:
            seeds.append(parse_seed(row.axes, tools=tools, ledger_schema=ledger_schema))
        except Refused as refused:
            placed = (_in_row(problem, row, is_csv=upload.is_csv) for problem in refused.problems)
            problems.extend(problem for problem in placed if problem.column not in row.unreadable)
            unlisted += refused.total - len(refused.problems)
    numbered = {row.number: row for row in upload.rows}
    for problem in repeated_ids((row.number, row.axes.get("id")) for row in upload.rows):
        problems.append(_in_row(problem, numbered[problem.row or 0], is_csv=upload.is_csv))
    if problems:
        problems.sort(key=lambda problem: problem.row or 0)
        raise Refused(problems, "the upload", total=len(problems) + unlisted)
    return seeds


def tasks_as_rows(seeds: Sequence[Seed]) -> list[JsonObject]:
    """JSON rows under the CSV's column names; uploading them gives equal seeds."""
    rows = []
    for seed in seeds:
        axes = {BY_AXIS[axis]: value for axis, value in seed.as_json().items()}
        # A string goes through its cell's text, for the few that would be taken for JSON.
        rows.append(
            {c.name: cell_text(c, value) if isinstance(value, str) else value for c, value in axes.items()}
        )
    return rows


def tasks_as_csv(seeds: Sequence[Seed]) -> bytes:
    """A CSV file with the columns in use. Cells are exact: nothing is altered to please a spreadsheet."""
    columns = columns_of({axis for seed in seeds for axis in seed.as_json()})
    return csv_header(columns) + csv_rows(seeds, columns)


def columns_of(axes: Collection[str]) -> list[Column]:
    """The columns of a file whose tasks use these axes, in their order."""
    used = {BY_AXIS[axis] for axis in axes} | {REQUIRED}
    return [column for column in COLUMNS if column in used]


def csv_header(columns: Sequence[Column]) -> bytes:
    return csv_text.write_records([[column.name for column in columns]])


def csv_rows(seeds: Sequence[Seed], columns: Sequence[Column]) -> bytes:
    tasks = [{BY_AXIS[axis]: value for axis, value in seed.as_json().items()} for seed in seeds]
    return csv_text.write_records(
        [[cell_text(c, task[c]) if c in task else "" for c in columns] for task in tasks]
    )


def read_csv(data: bytes) -> Upload:
    """Rows by axis name. Refused at once only when the file cannot be told apart into rows."""
    records = csv_text.read_records(csv_text.decode(data).lstrip("\r\n"))
    header = [name.strip() for name in records[0]] if records else []
    if not any(header):
        raise Refused([Problem(path="file", message="the file is empty", hint=_FIRST_LINE)], "the upload")
    problems = list(_header_problems(header))
    missing = frozenset() if REQUIRED.name in header else frozenset({REQUIRED.name})
    numbered = enumerate(records[1:], start=1)  # blank rows count, so that a number finds its row
    filled = [(number, cells) for number, cells in numbered if any(map(str.strip, cells))]
    problems.extend(_count_problems(len(filled), "file"))
    reader = _RowReader(is_csv=True)
    rows = []
    for number, cells in filled[:MAX_ROWS]:
        if len(cells) != len(header):
            problems.append(_ragged(number, cells, header))
            continue
        given = {name: cell for name, cell in zip(header, cells, strict=True) if cell.strip()}
        if given.pop("", None) is not None:
            message = "a cell has content, but no name above it in the header"
            problems.append(Problem(path=f"row {number}", row=number, message=message))
        known = {name: cell for name, cell in given.items() if name in BY_NAME}
        rows.append(reader.read(number, known, missing))
    return Upload(rows=tuple(rows), problems=(*problems, *reader.problems), is_csv=True)


def rows_from_json(rows: Json) -> Upload:
    """Rows by axis name, from objects with the CSV's column names and JSON values."""
    if not isinstance(rows, list):
        message = f"`rows` must be a JSON array of objects, not {kind(rows)}"
        raise Refused([Problem(path="/rows", message=message)], "the upload")
    problems = list(_count_problems(len(rows), "/rows"))
    reader = _RowReader(is_csv=False)
    read = []
    for number, row in enumerate(rows[:MAX_ROWS], start=1):
        path = f"/rows/{number - 1}"
        if not isinstance(row, dict):
            problems.append(
                Problem(path=path, row=number, message=f"a row must be an object, not {kind(row)}")
            )
            continue
        for name in (name for name in row if name not in BY_NAME):
            hint = _column_hint(name) if len(problems) < MOST_SHOWN else None
            problem = Problem(path=path + pointer([name]), message=f"unknown column `{name}`", hint=hint)
            problems.append(replace(problem, row=number, column=name))
        given = {name: value for name, value in row.items() if name in BY_NAME and value is not None}
        read.append(reader.read(number, given, frozenset()))
    return Upload(rows=tuple(read), problems=(*problems, *reader.problems), is_csv=False)


class _RowReader:
    """Cells to values. A text that was read before is not read again: rows often share one large world."""

    def __init__(self, *, is_csv: bool) -> None:
        self.problems: list[Problem] = []
        self._is_csv = is_csv
        self._known: dict[tuple[str, str], Json] = {}

    def read(self, number: int, given: Mapping[str, Json], unreadable: frozenset[str]) -> Row:
        axes: JsonObject = {}
        bad = set(unreadable)
        for name, value in given.items():
            try:
                axes[BY_NAME[name].axis] = self._value(name, value)
            except BadCell as error:
                bad.add(name)
                path = _place(number, name, "", is_csv=self._is_csv)
                self.problems.append(
                    Problem(path=path, message=error.message, hint=error.hint, row=number, column=name)
                )
        return Row(number=number, axes=axes, unreadable=frozenset(bad))

    def _value(self, name: str, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        if not value.strip():
            return None
        if (name, value) not in self._known:
            self._known[name, value] = read_cell(BY_NAME[name], value)
        return self._known[name, value]


# Problems, in the words of whoever has the file open

_FIRST_LINE = "the first line names the columns; `user` is required"


def _header_problems(header: list[str]) -> Iterator[Problem]:
    for name, times in Counter(header).items():
        if name and times > 1:
            yield Problem(path=f"column {name}", column=name, message=f"column `{name}` stands {times} times")
        if name and name not in BY_NAME:
            hint = _column_hint(name)
            yield Problem(path=f"column {name}", column=name, message=f"unknown column `{name}`", hint=hint)
    if REQUIRED.name not in header:
        hint = _separator_hint(header) or _FIRST_LINE
        message = f"the column `{REQUIRED.name}` is missing"
        yield Problem(path=f"column {REQUIRED.name}", column=REQUIRED.name, message=message, hint=hint)


def _column_hint(name: str) -> str:
    if name in BY_AXIS:
        return f"did you mean `{BY_AXIS[name].name}`?"
    return did_you_mean(name, BY_NAME) or f"the columns are {quoted(BY_NAME)}"


def _separator_hint(header: list[str]) -> str | None:
    for separator, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            return f"the file is separated by {word}; save it with commas"
    return None


def _count_problems(count: int, path: str) -> Iterator[Problem]:
    if count == 0:
        yield Problem(path=path, message="there are no rows")
    elif count > MAX_ROWS:
        message = f"there are {count:,} rows; one call takes at most {MAX_ROWS:,}"
        yield Problem(path=path, message=message, hint="send the rest in further calls")


def _ragged(number: int, cells: list[str], header: list[str]) -> Problem:
    message = f"the row has {len(cells)} cells, the header {len(header)}"
    hint = "a cell with commas, quotes or line breaks needs quotes around it"
    return Problem(path=f"row {number}", row=number, message=message, hint=hint)


def _in_row(problem: Problem, row: Row, *, is_csv: bool) -> Problem:
    """A problem of a seed, told by the column instead of the axis."""
    _, axis, *inside = problem.path.split("/")
    column = BY_AXIS[axis].name
    path = _place(row.number, column, "".join("/" + part for part in inside), is_csv=is_csv)
    message = problem.message.replace(f"`{axis}`", f"`{column}`")
    return replace(problem, path=path, message=message, row=row.number, column=column)


def _place(row: int, column: str, inside: str, *, is_csv: bool) -> str:
    if is_csv:
        return f"row {row}, column {column}" + (f", at {inside}" if inside else "")
    return f"/rows/{row - 1}/{column}{inside}"
