"""Previews a file of tasks before anything is stored: its columns, its first rows, all its problems, and
warnings."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from pipelines.core.coding.coding_tasks import ANY_SCENARIO, CodingContext
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.task_files.column_naming import ColumnNaming
from pipelines.core.task_files.file_formats import TABLE, Format, read_file
from pipelines.core.task_files.read_tasks import read_tasks
from pipelines.core.task_files.table_layout import Layout, layout_of, likely_layout
from pipelines.core.task_files.upload_warnings import upload_warnings
from pipelines.core.tasks.seed import Seed
from pipelines.core.tasks.task_columns import BY_AXIS, BY_NAME, cell_text, column_of
from pipelines.core.text.authored import nearest_names
from pipelines.core.text.csv_text import records_of
from pipelines.core.text.file_text import decode
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import MOST_SHOWN, Refused
from pipelines.core.tools.tools_schema import Tool

FIRST_ROWS = 50
MOST_COLUMNS = 60  # more names than this are no table of tasks
LONGEST_CELL = 300  # characters


def preview_upload(
    data: bytes,
    *,
    format: Format,
    naming: ColumnNaming,
    tools: Sequence[Tool] | None,
    ledger_schema: LedgerSchema | None,
    may_read: Callable[[], bool] = lambda: True,
    keep: Callable[[Iterable[Seed]], Sequence[Seed]] = tuple,
    coding: CodingContext = ANY_SCENARIO,
    rules: Sequence[JsonObject] = (),
) -> JsonObject:
    """`{columns, rows, tasks, problems, total_problems, notes, warnings, sentences}`; `tasks` is None where
    it would be refused. No further behaviour text is read once `may_read` says no."""
    table = _table(data, naming) if format == TABLE else _entries(data, format, naming)
    try:
        read = read_tasks(
            data,
            format=format,
            tools=tools,
            ledger_schema=ledger_schema,
            keep=keep,
            naming=naming,
            coding=coding,
        )
    except Refused as refused:
        problems: list[Json] = [problem.as_json() for problem in refused.problems[:MOST_SHOWN]]
        found: JsonObject = {"tasks": None, "problems": problems, "total_problems": refused.total}
        return table | found | {"notes": [], "warnings": [], "sentences": []}
    warnings = upload_warnings(
        read.seeds,
        tools=tools,
        ledger_schema=ledger_schema,
        may_read=may_read,
        rows=read.rows,
        rules=rules,
    )
    found = {"tasks": len(read.seeds), "problems": [], "total_problems": 0}
    lists: JsonObject = {"warnings": [*warnings.warnings], "sentences": [*warnings.sentences]}
    return table | found | {"notes": [*read.notes]} | lists


def _table(data: bytes, naming: ColumnNaming) -> JsonObject:
    """As a spreadsheet shows it, whether or not it names a column of ours."""
    try:
        text = decode(data).text
        layout: Layout | None = layout_of(text, naming)
    except Refused:
        layout = _likely_layout(data)
    if layout is None:
        return {"columns": [], "rows": []}
    header = layout.header[:MOST_COLUMNS]
    columns: list[Json] = [_column(name, naming) for name in header]
    rows: list[Json] = []
    try:
        for number, cells in enumerate(records_of(layout.text, layout.separator), start=1):
            if number > layout.header_row and any(map(str.strip, cells)):
                rows.append({"number": number, "cells": [_cut(cell) for cell in cells[: len(header)]]})
            if len(rows) == FIRST_ROWS:
                break
    except Refused:  # a quote that is never closed: told with the other problems
        pass
    return {"columns": columns, "rows": rows}


def _likely_layout(data: bytes) -> Layout | None:
    try:
        return likely_layout(decode(data).text)
    except Refused:
        return None


def _entries(data: bytes, format: Format, naming: ColumnNaming) -> JsonObject:
    """Objects as rows of one table: a column for every name that one of the first has."""
    try:
        upload = read_file(data, format, naming)
        first = list(islice(upload.rows, FIRST_ROWS))
    except Refused:
        return {"columns": [], "rows": []}
    names: dict[str, str] = {}  # by column: as the first that has it writes it
    for row in first:
        names |= {column: name for column, name in row.names.items() if column not in names}
    unknown = {
        problem.column: None
        for problem in upload.problems
        if problem.column is not None and naming.column_of(problem.column) is None
    }
    columns: list[Json] = [_column(name, naming) for name in [*names.values(), *unknown][:MOST_COLUMNS]]
    rows: list[Json] = []
    for row in first:
        values = {BY_AXIS[axis].name: cell_text(BY_AXIS[axis], value) for axis, value in row.axes.items()}
        cells: list[Json] = [_cut(values.get(column, "")) for column in list(names)[:MOST_COLUMNS]]
        rows.append({"number": row.number, "cells": cells})
    return {"columns": columns, "rows": rows}


def _column(name: str, naming: ColumnNaming) -> JsonObject:
    column = naming.column_of(name)
    column_meant = column or column_of(name)
    near = nearest_names(name, BY_NAME, most=1) if column_meant is None and name else []
    return {
        "name": name,
        "column": column.name if column is not None else None,
        "meant": column_meant.name if column_meant is not None else None,  # also of one that is left out
        "is_renamed": name in naming.renames,
        "is_left_out": naming.is_left_out(name),
        "near": near[0] if near else None,
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
