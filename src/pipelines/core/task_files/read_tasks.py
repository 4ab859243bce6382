"""Tasks as people send them: a table, YAML, JSON or JSON lines under the columns' names, and their seeds.

An upload is checked whole: either every row is a seed that can be run, or the answer lists every bad cell.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.core.coding.coding_tasks import ANY_SCENARIO, CodingContext, coding_problems
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.task_files.column_naming import DEFAULT_NAMING, ColumnNaming
from pipelines.core.task_files.file_formats import Format, read_source
from pipelines.core.task_files.file_formats import format_of as format_of
from pipelines.core.task_files.task_rows import MAX_ROWS as MAX_ROWS
from pipelines.core.task_files.task_rows import Row, Upload, in_row
from pipelines.core.tasks.seed import Seed, parse_seed
from pipelines.core.tasks.task_columns import BY_AXIS, REQUIRED, Column, cell_text
from pipelines.core.tasks.task_columns import COLUMNS as COLUMNS
from pipelines.core.tasks.task_key import repeated_id_problems
from pipelines.core.tasks.task_modes import ineffective_axes, unrunnable_problems, with_modes
from pipelines.core.text import csv_text
from pipelines.core.text.json_rows import JsonRows
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import MOST_SHOWN, Problem, Refused
from pipelines.core.tools.tools_schema import Tool


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadTasks:
    seeds: Sequence[Seed]
    rows: tuple[int, ...]  # where each stands, as its author's program counts: the first row of a sheet is 1
    notes: tuple[str, ...]  # what was read differently from how it is written

    def in_file(self, found: Iterable[Problem]) -> list[Problem]:
        """Problems whose row counts tasks, with the rows of the file instead."""
        return [in_file(problem, self.rows) for problem in found]


def in_file(problem: Problem, rows: Sequence[int]) -> Problem:
    if problem.row is None:
        return problem
    row = rows[problem.row - 1]
    place = f"row {problem.row}"
    is_told = problem.path == place or problem.path.startswith(f"{place},")
    path = f"row {row}{problem.path.removeprefix(place)}" if is_told else problem.path
    return replace(problem, path=path, row=row)


def parse_tasks(
    source: bytes | Json,
    *,
    format: Format = "table",
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
) -> list[Seed]:
    """The seeds of a file (bytes) or of JSON rows, or Refused with every bad cell."""
    return list(read_tasks(source, format=format, tools=tools, ledger_schema=ledger_schema).seeds)


def read_tasks(
    source: bytes | Json | JsonRows,
    *,
    format: Format = "table",
    tools: Sequence[Tool] | None = None,
    ledger_schema: LedgerSchema | None = None,
    keep: Callable[[Iterable[Seed]], Sequence[Seed]] = tuple,
    naming: ColumnNaming = DEFAULT_NAMING,
    coding: CodingContext = ANY_SCENARIO,
) -> ReadTasks:
    """As `parse_tasks`, with what its author may want to know of how the file was read.

    `keep` is given the seeds one by one, as they are read: of many large ones all at once are too many.
    """
    reading = _UploadReader(read_source(source, format, naming), tools, ledger_schema, naming, coding)
    seeds = keep(reading.seeds())
    reading.refuse_problems()
    rows = tuple(row.number for row in reading.read)
    return ReadTasks(seeds=seeds, rows=rows, notes=reading.upload.notes.texts())


class _UploadReader:
    """The rows of an upload on their way to seeds, and everything wrong with them."""

    def __init__(
        self,
        upload: Upload,
        tools: Sequence[Tool] | None,
        ledger_schema: LedgerSchema | None,
        naming: ColumnNaming,
        coding: CodingContext,
    ) -> None:
        self.upload = upload
        self._coding = coding
        self.read: list[Row] = []  # without what they say
        self._tools = tools
        self._ledger_schema = ledger_schema
        self._naming = naming
        self._ids: list[Json] = []
        self._problems: list[Problem] = []
        self._unlisted = 0  # a single row may have more than are ever listed

    def seeds(self) -> Iterator[Seed]:
        for row in self.upload.rows:
            self.read.append(replace(row, axes={}))
            self._ids.append(row.axes.get("id"))
            found = [*unrunnable_problems(row.axes), *coding_problems(row.axes, self._coding)]
            try:
                seed = _seed(row, self.upload, self._tools, self._ledger_schema)
            except Refused as refused:
                found = refused.problems + found
                self._unlisted += refused.total - len(refused.problems)
            else:
                yield seed
            placed = (in_row(problem, row, is_table=self.upload.is_table) for problem in found)
            self._problems.extend(problem for problem in placed if problem.column not in row.unreadable)

    def refuse_problems(self) -> None:
        problems = [*self.upload.problems, *self._missing(), *self._problems, *self._repeated_id_problems()]
        if not problems:
            return
        total = len(problems) + self._unlisted
        problems.sort(key=lambda problem: problem.row or 0)
        reported = dict.fromkeys(map(self.upload.placed, problems[:MOST_SHOWN]))  # nothing is told twice
        raise Refused(list(reported), "the upload", total=total - len(problems[:MOST_SHOWN]) + len(reported))

    def _missing(self) -> Iterator[Problem]:
        if self._naming.needed and self.read:
            yield from self._naming.missing({column for row in self.read for column in row.names})

    def _repeated_id_problems(self) -> Iterator[Problem]:
        numbered = {row.number: row for row in self.read}
        for problem in repeated_id_problems(zip(numbered, self._ids, strict=True)):
            yield in_row(problem, numbered[problem.row or 0], is_table=self.upload.is_table)


def _seed(row: Row, upload: Upload, tools: Sequence[Tool] | None, ledger_schema: LedgerSchema | None) -> Seed:
    axes, inferred = with_modes(row.axes)
    seed = parse_seed(axes, tools=tools, ledger_schema=ledger_schema)
    for note in (*inferred, *ineffective_axes(seed)):
        upload.notes.say(note, row.number)
    return seed


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
