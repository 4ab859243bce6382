"""Two matrices as one heatmap: each cell shows the earlier and the later one, and changed cells are outlined.

What counts as a change, and the paired test over all cells, is decided by `matrix.compare_matrices`. A
helper process makes it, a page of rows at a time.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from pipelines.core.evals.heatmap.heatmap import NO_NUMBER, HeatCell, HeatColumn, Heatmap, HeatRow, heatmap_of
from pipelines.core.evals.heatmap.heatmap_page import MOST_CELLS
from pipelines.core.evals.heatmap.heatmap_table import with_line_breaks
from pipelines.core.evals.heatmap.markup import escape_markup
from pipelines.core.evals.heatmap.verdict_cells import COLOURS, MEANINGS, verdict_colour
from pipelines.core.evals.matrix.compare_matrices import compare_reports, without_details
from pipelines.core.evals.matrix.report_text import read_report
from pipelines.core.text.json_text import Json, dumps

SIGNS: Mapping[str, str] = {"regressed": "▼", "improved": "▲"}


class Change(NamedTuple):
    kind: str  # regressed, improved
    is_flip: bool


Place = tuple[str, str | None]  # scenario and variation; None: the baseline
Changes = Mapping[Place, Change]
#: Which rows are shown, by the changes of their cells.
ROW_FILTERS: Mapping[str, Callable[[Change], bool]] = {
    "all": lambda change: True,
    "changed": lambda change: True,
    "regressed": lambda change: change.kind == "regressed",
    "flips": lambda change: change.is_flip,
}


class _Pair(NamedTuple):
    """A row of the table: the same scenario in both matrices, or in one of them."""

    before: HeatRow | None
    after: HeatRow | None

    @property
    def named(self) -> HeatRow:
        row = self.after or self.before
        assert row is not None
        return row


def comparison_page(data: bytes, *, first: int, show: str) -> bytes:
    """Of two lines, a report each: some rows as markup, and what the page says around them."""
    line_end = data.index(b"\n")
    before = read_report(data[:line_end], without_details)
    after = read_report(data[line_end + 1 :], without_details)
    compared: Any = compare_reports(before, after)
    changes = {
        (pair["scenario_id"], pair["variation"]): Change(pair["change"], pair["is_flip"])
        for kind in ("regressions", "improvements")
        for pair in compared[kind]
    }
    table = _Table(heatmap_of(before), heatmap_of(after), changes)
    rows = [row for row in table.rows if table.is_shown(row, show)]
    most = max(1, MOST_CELLS // max(1, len(table.columns)))
    some = rows[first : first + most]
    body = "".join(table.row(first + at, row) for at, row in enumerate(some))
    counts: dict[str, Json] = {kind: sum(each.kind == kind for each in changes.values()) for kind in SIGNS}
    return dumps(
        {
            "table": f"{table.head()}<tbody>{body}</tbody></table>",
            "legend": _legend(),
            "rows": len(rows),
            "all_rows": len(table.rows),
            "first": first,
            "shown": len(some),
            "next": first + most if first + most < len(rows) else None,
            "counts": counts | {"flips": sum(each.is_flip for each in changes.values())},
            "from": compared["from"],
            "to": compared["to"],
            "warnings": compared["warnings"],
            "compared": compared["compared"],
            "not_compared": len(compared["not_compared"]),
            "test": compared["test"],
        }
    )


class _Table:
    def __init__(self, before: Heatmap, after: Heatmap, changes: Changes) -> None:
        self._before, self._after, self._changes = before, after, changes
        earlier = {row.scenario_id: row for row in before.rows}
        later = {row.scenario_id: row for row in after.rows}
        self.rows = [_Pair(earlier.get(id), later.get(id)) for id in {**later, **earlier}]
        self.columns: list[HeatColumn] = [
            *{each.id: each for each in (*before.columns, *after.columns)}.values()
        ]
        self._places = [{column.id: at for at, column in enumerate(each.columns)} for each in (before, after)]

    def is_shown(self, row: _Pair, show: str) -> bool:
        wanted = ROW_FILTERS[show]
        if show == "all":
            return True
        places: list[str | None] = [None, *(column.id for column in self.columns)]
        found = (self._changes.get((row.named.scenario_id, variation)) for variation in places)
        return any(change is not None and wanted(change) for change in found)

    def head(self) -> str:
        columns = "".join(
            f'<th scope="col"><bdi>{with_line_breaks(column.name)}</bdi>'
            f"{' (placebo)' if column.is_placebo else ''}</th>"
            for column in self.columns
        )
        return (
            '<table class="map compared"><caption class="sr">Each cell: the earlier matrix, then the later.'
            '</caption><thead><tr><th scope="col">scenario</th><th scope="col">risk</th>'
            f'<th scope="col">baseline<br>matched</th>{columns}</tr></thead>'
        )

    def row(self, number: int, row: _Pair) -> str:
        named = row.named
        cells = "".join(
            self._cell(f"{number}-{at}", row, column, self._changes.get((named.scenario_id, column.id)))
            for at, column in enumerate(self.columns)
        )
        risk = escape_markup(named.risk_level)
        link = f"/evals/scenarios/{quote(named.scenario_id, safe='')}"
        return (
            f'<tr id="row-{number}"><th scope="row"><a href="{escape_markup(link)}">'
            f'<bdi class="name">{escape_markup(named.name)}</bdi></a></th>'
            f'<td class="risk risk-{risk}">{risk}</td>{self._baseline(number, row)}{cells}</tr>'
        )

    def _baseline(self, number: int, row: _Pair) -> str:
        before, after = (_match_text(each.baseline if each else None) for each in row)
        change = self._changes.get((row.named.scenario_id, None))
        href = self._link(row, None)
        return (
            f'<td class="{" ".join(["none", *_kinds(change)])}"><a id="base-{number}" href="{href}">'
            f"<b>{_sign(change)}{before} → {after}</b>{_said(change)}</a></td>"
        )

    def _cell(self, place: str, row: _Pair, column: HeatColumn, change: Change | None) -> str:
        before, after = (
            each.cells[places[column.id]] if each is not None and column.id in places else None
            for each, places in zip(row, self._places, strict=True)
        )
        shown = after or before
        kinds = ["none", "incomplete"] if shown is None else [_colour(after), shown.verdict]
        same = before is not None and after is not None and before.verdict == after.verdict
        verdicts = "" if same else f'<span class="verdicts">{_verdict(before)} → {_verdict(after)}</span>'
        return (
            f'<td class="{escape_markup(" ".join([*kinds, *_kinds(change)]))}">'
            f'<a id="at-{place}" href="{self._link(row, column)}">'
            f"<b>{_sign(change)}{_shift(before)} → {_shift(after)}</b>"
            f"{_matched(before)} → {_matched(after)}{verdicts}"
            f'<span class="sr"> {_verdict(shown)}</span>{_said(change)}</a></td>'
        )

    def _link(self, row: _Pair, column: HeatColumn | None) -> str:
        """To the later cell, or to the earlier one where there is no later one."""
        has_later = row.after is not None and (column is None or column.id in self._places[1])
        matrix = (self._after if has_later else self._before).matrix_id
        query = {"scenario": row.named.scenario_id} | ({"variation": column.id} if column is not None else {})
        return escape_markup(f"/evals/{quote(matrix, safe='')}/cell?{urlencode(query)}")


def _colour(cell: HeatCell | None) -> str:
    return verdict_colour(cell) if cell is not None else "none"


def _verdict(cell: HeatCell | None) -> str:
    return escape_markup(cell.verdict) if cell is not None else "not there"


def _shift(cell: HeatCell | None) -> str:
    return escape_markup(cell.shown) if cell is not None else NO_NUMBER


def _matched(cell: HeatCell | None) -> str:
    return _match_text(cell.match if cell is not None else None)


def _match_text(match: object) -> str:
    return str(match) if match is not None else NO_NUMBER


def _kinds(change: Change | None) -> list[str]:
    return [] if change is None else ["changed", change.kind, *(["flip"] if change.is_flip else [])]


def _sign(change: Change | None) -> str:
    return f'<i aria-hidden="true">{SIGNS[change.kind]}</i> ' if change is not None else ""


def _said(change: Change | None) -> str:
    if change is None:
        return ""
    return f'<span class="sr">, {change.kind}{", most runs changed" if change.is_flip else ""}</span>'


def _legend() -> str:
    verdicts = "".join(f'<li><i class="{_example(each)} {each}"></i>{each}</li>' for each in MEANINGS)
    return (
        '<ul class="legend" aria-label="Legend"><li>colour: the verdict in the later matrix</li>'
        f"{verdicts}"
        '<li><i class="none changed regressed"></i>▼ fewer runs match, or a worse verdict</li>'
        '<li><i class="none changed improved"></i>▲ more runs match, or a better verdict</li>'
        '<li><i class="none changed regressed flip"></i>thick outline: most runs matched before and no longer'
        " do, or the other way round</li></ul>"
    )


def _example(verdict: str) -> str:
    return COLOURS.get(verdict, "none")
