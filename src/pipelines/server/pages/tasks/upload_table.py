"""The preview of a file as a table: problems at their cells, findings next to their rows."""

from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_LISTED = 200  # problems and findings outside the table


class Cell(NamedTuple):
    text: str
    problems: list[dict[str, Any]]


class ShownRow(NamedTuple):
    number: int
    cells: list[Cell]
    problems: list[dict[str, Any]]  # of the whole row, or of a column that it does not have
    findings: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTable:
    columns: list[dict[str, Any]]
    rows: list[ShownRow]
    of_file: list[dict[str, Any]]  # problems without a row
    elsewhere: list[dict[str, Any]]  # problems of rows that are not shown
    unlisted: int  # problems that are told nowhere
    findings: list[dict[str, Any]]  # of rows that are not shown, or of none
    found: frozenset[str]  # columns that the file has, also those that are left out
    unknown: list[dict[str, Any]]  # names that are no column's


def shown_table(told: Any) -> ShownTable:
    """`told` is the result of core.upload_preview."""
    problems, warnings = told["problems"], told["warnings"]
    columns = told["columns"]
    rows_shown = {row["number"] for row in told["rows"]}
    rows = [_row(row, columns, problems, warnings) for row in told["rows"]]
    # A name that is no column's is told with what can be done about it.
    unknown = [one for one in columns if one["column"] is None and one["name"] and not one["is_left_out"]]
    names = {one["name"] for one in unknown}
    of_file = [one for one in problems if one.get("row") is None and one.get("column") not in names]
    elsewhere = [problem for problem in problems if problem.get("row") not in (None, *rows_shown)]
    return ShownTable(
        columns=columns,
        rows=rows,
        of_file=of_file[:MOST_LISTED],
        elsewhere=elsewhere[:MOST_LISTED],
        unlisted=told["total_problems"] - len(problems) + max(0, len(elsewhere) - MOST_LISTED),
        findings=[one for one in warnings if one.get("row") not in rows_shown][:MOST_LISTED],
        found=frozenset(one["column"] for one in columns if one["column"] is not None)
        | frozenset(one["meant"] for one in columns if one["is_left_out"] and one["meant"] is not None),
        unknown=unknown,
    )


def _row(row: Any, columns: list[Any], problems: list[Any], warnings: list[Any]) -> ShownRow:
    of_row = [problem for problem in problems if problem.get("row") == row["number"]]
    texts = [*row["cells"], *[""] * (len(columns) - len(row["cells"]))]
    cells = []
    placed: set[int] = set()
    for column, text in zip(columns, texts, strict=True):
        names = {column["name"], column["column"]} - {None}
        at = [index for index, problem in enumerate(of_row) if problem.get("column") in names]
        placed.update(at)
        cells.append(Cell(text, [of_row[index] for index in at]))
    return ShownRow(
        number=row["number"],
        cells=cells,
        problems=[problem for index, problem in enumerate(of_row) if index not in placed],
        findings=[one for one in warnings if one.get("row") == row["number"]],
    )
