"""What a server shows of a matrix's report: a page of the heatmap, or one cell of it.

Made by a helper process, from the report as text; a matrix may have 100,000 cells, a page shows some rows.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

from pipelines.core.evals.heatmap.heatmap import HeatCell, HeatColumn, Heatmap, HeatRow, heatmap_of
from pipelines.core.evals.heatmap.heatmap_table import table_head, table_row
from pipelines.core.evals.heatmap.verdict_cells import (
    Decisions,
    scale_bands,
    shift_scale,
    verdict_cell,
    verdict_colour,
    verdict_legend,
)
from pipelines.core.evals.matrix.report_text import read_report
from pipelines.core.text.json_text import Json, JsonObject, dumps

MOST_CELLS = 2_000  # of a page: some 800 kB of markup, far less on the wire
#: Which rows are shown.
ROW_FILTERS: Mapping[str, Callable[[HeatCell], bool]] = {
    "all": lambda cell: True,
    "moved": lambda cell: cell.band in ("amber", "red"),
    "flagged": lambda cell: cell.is_flagged,
    "undecided": lambda cell: cell.verdict in ("inconclusive", "incomplete"),
}


class PageLinks:
    """Links of the table that lead to pages of a server."""

    def __init__(self, matrix_id: str, decisions: Decisions = MappingProxyType({})) -> None:
        self._decisions = decisions
        self._cell = f"/evals/{quote(matrix_id, safe='')}/cell?"

    def row(self, row: HeatRow) -> str | None:
        return f"/evals/scenarios/{quote(row.scenario_id, safe='')}"

    def baseline(self, number: int, row: HeatRow) -> str:
        return self._cell + urlencode({"scenario": row.scenario_id})

    def cell(self, number: int, at: int, row: HeatRow, column: HeatColumn) -> str | None:
        return self._cell + urlencode({"scenario": row.scenario_id, "variation": column.id})

    def drawn(self, place: str, cell: HeatCell, link: str | None, row: HeatRow, column: HeatColumn) -> str:
        return verdict_cell(place, cell, link, self._decisions.get((row.scenario_id, column.id)))


def heatmap_page(data: bytes, *, first: int, show: str, decided: Sequence[Sequence[str]] = ()) -> bytes:
    """Some rows as markup, what the page says around them, and how many rows there are of that kind.

    `decided` are scenario, variation and verdict of the cells that people have decided."""
    heatmap = heatmap_of(read_report(data))
    row_filter = ROW_FILTERS[show]
    rows = [
        (number, row)
        for number, row in enumerate(heatmap.rows)
        if show == "all" or any(map(row_filter, row.cells))
    ]
    most = max(1, MOST_CELLS // max(1, len(heatmap.columns)))
    decisions = {(scenario_id, variation): verdict for scenario_id, variation, verdict in decided}
    links = PageLinks(heatmap.matrix_id, decisions)
    body = "".join(
        table_row(number, row, heatmap.columns, links) for number, row in rows[first : first + most]
    )
    return dumps(
        {
            "table": f"{scale_bands(heatmap.bands)}{table_head(heatmap)}<tbody>{body}</tbody></table>",
            "legend": verdict_legend(heatmap),
            "rows": len(rows),
            "all_rows": len(heatmap.rows),
            "first": first,
            "shown": len(rows[first : first + most]),
            "next": first + most if first + most < len(rows) else None,
            "counts": _counts(heatmap) | {"decided": len(decisions)},
            "columns": [column.over_all for column in heatmap.columns],
            "report": heatmap.report,
        }
    )


def heatmap_cell(data: bytes, *, scenario_id: str, variation: str | None) -> bytes:
    """One cell with its row, its column and what lies around it; null where there is none."""
    heatmap = heatmap_of(read_report(data))
    rows = [row.scenario_id for row in heatmap.rows]
    columns = [column.id for column in heatmap.columns]
    if scenario_id not in rows or (variation is not None and variation not in columns):
        return dumps(None)
    number, at = rows.index(scenario_id), columns.index(variation) if variation is not None else -1
    row = heatmap.rows[number]
    body: JsonObject = {
        "report": heatmap.report,
        "row": row.detail,
        "column": heatmap.columns[at].over_all if at >= 0 else None,
        "cell": _cell_json(row.cells[at]) if at >= 0 else None,
        "bands": scale_bands(heatmap.bands),
        "around": _neighbours(heatmap, number, at),
    }
    return dumps(body)


def _cell_json(cell: HeatCell) -> JsonObject:
    return {
        **cell.detail,
        "band": cell.band,
        "verdict": cell.verdict,
        "shown": cell.shown,
        "planned": cell.planned,
        "colour": verdict_colour(cell),
        "scale": shift_scale(cell.shift) if cell.shift is not None else "",
    }


def _neighbours(heatmap: Heatmap, number: int, at: int) -> JsonObject:
    """Where the arrows lead: the baseline stands left of the first column."""
    places = {
        "left": (number, at - 1),
        "right": (number, at + 1),
        "up": (number - 1, at),
        "down": (number + 1, at),
    }
    links = PageLinks(heatmap.matrix_id)
    found: JsonObject = {}
    for word, (row, column) in places.items():
        if 0 <= row < len(heatmap.rows) and -1 <= column < len(heatmap.columns):
            there = heatmap.rows[row]
            found[word] = (
                links.cell(row, column, there, heatmap.columns[column])
                if column >= 0
                else links.baseline(row, there)
            )
    return found


def _counts(heatmap: Heatmap) -> JsonObject:
    """How many cells there are of each band and verdict, over the whole matrix."""
    cells = [cell for row in heatmap.rows for cell in row.cells]
    counted: dict[str, Json] = {"cells": len(cells), "flagged": sum(cell.is_flagged for cell in cells)}
    body: dict[str, Any] = {}
    for cell in cells:
        for name in (cell.band, cell.verdict):
            if name is not None:
                body[name] = body.get(name, 0) + 1
    return counted | body
