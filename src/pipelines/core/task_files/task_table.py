"""Tables of tasks: a header of column names, and a task in every row under it.

Rows are numbered as a spreadsheet shows them: the header is row 1, empty rows count, and a cell with line
breaks is still one row.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from pipelines.core.task_files.column_naming import (
    DEFAULT_NAMING,
    ColumnNaming,
    clash,
    left_out_note,
    renamed_note,
    unknown_column,
)
from pipelines.core.task_files.table_layout import FIRST_LINE, Layout, layout_of
from pipelines.core.task_files.task_rows import MAX_ROWS, Row, RowReader, Upload, count_problems
from pipelines.core.tasks.task_columns import REQUIRED, Column
from pipelines.core.text.csv_text import records_of
from pipelines.core.text.file_text import FileText
from pipelines.core.text.notes import Notes
from pipelines.core.text.problems import Problem


def read_table(file: FileText, naming: ColumnNaming = DEFAULT_NAMING) -> Upload:
    """Rows by axis name. Refused at once only when the file cannot be told apart into rows."""
    layout = layout_of(file.text, naming)
    columns = [naming.column_of(name) for name in layout.header]
    left_out = [name for name in layout.header if naming.is_left_out(name)]
    notes = Notes()
    for note in (
        *file.notes,
        *layout.notes,
        *_rename_notes(layout.header, columns),
        *map(left_out_note, left_out),
    ):
        notes.say(note)
    problems = list(_header_problems(layout.header, naming))
    rows = _rows(layout, columns, _filled_rows(layout, problems), problems)
    return Upload(rows=rows, problems=problems, notes=notes, is_table=True)


def _filled_rows(layout: Layout, problems: list[Problem]) -> Iterator[tuple[int, list[str]]]:
    """As many rows with content as are taken, by number; the others are counted."""
    count = 0
    for number, cells in enumerate(records_of(layout.text, layout.separator), start=1):
        if number > layout.header_row and any(map(str.strip, cells)):
            count += 1
            if count <= MAX_ROWS:
                yield number, cells
    problems.extend(count_problems(count, "file"))


def _rows(
    layout: Layout,
    columns: list[Column | None],
    filled: Iterable[tuple[int, list[str]]],
    problems: list[Problem],
) -> Iterator[Row]:
    header = layout.header
    names = {column.name: name for column, name in zip(columns, header, strict=True) if column is not None}
    # What is told of the header is not told again of every row.
    missing = frozenset() if REQUIRED.name in names else frozenset({REQUIRED.name})
    reader = RowReader(is_table=True)
    for number, cells in filled:
        beyond = cells[len(header) :]
        if len(cells) < len(header) or any(map(str.strip, beyond)):
            problems.append(_row_length_problem(number, cells, header))
            continue
        given = {}
        for name, column, cell in zip(header, columns, cells, strict=False):
            if column is not None and cell.strip():
                given[column.name] = cell
            elif not name and cell.strip():
                message = "a cell has content, but the header has no name for its column"
                problems.append(Problem(path=f"row {number}", row=number, message=message))
        yield reader.read(number, f"row {number}", names, given, missing)
    problems += reader.problems


def _rename_notes(header: tuple[str, ...], columns: list[Column | None]) -> list[str]:
    """One note, however many there are: a spreadsheet's header has capitals in all of them."""
    named = zip(header, columns, strict=True)
    pairs = [(name, column.name) for name, column in named if column and name != column.name]
    return [renamed_note(*pairs)] if pairs else []


def _header_problems(header: tuple[str, ...], naming: ColumnNaming) -> Iterator[Problem]:
    by_column: dict[str, list[str]] = {}
    for name, times in Counter(name for name in header if not naming.is_left_out(name)).items():
        if name and times > 1:
            message = f"the header has the column `{name}` {times} times"
            yield Problem(path=f"column {name}", column=name, message=message, hint="keep one of them")
        column = naming.column_of(name)
        if column is not None:
            by_column.setdefault(column.name, []).append(name)
        elif name:
            yield unknown_column(f"column {name}", name)
    for column_name, names in by_column.items():
        if len(names) > 1:
            yield clash(f"column {names[-1]}", column_name, names)
    if REQUIRED.name not in by_column:
        message = f"the column `{REQUIRED.name}` is missing"
        yield Problem(path=f"column {REQUIRED.name}", column=REQUIRED.name, message=message, hint=FIRST_LINE)


def _row_length_problem(number: int, cells: list[str], header: tuple[str, ...]) -> Problem:
    count = f"{len(cells)} cell{'s' if len(cells) != 1 else ''}"
    message = f"the row has {count}, but the header has {len(header)}"
    hint = "a cell with separators, quotes or line breaks needs quotes around it"
    return Problem(path=f"row {number}", row=number, message=message, hint=hint)
