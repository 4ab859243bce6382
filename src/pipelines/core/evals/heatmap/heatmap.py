"""A heatmap: the report of a matrix as rows and columns, ready to be rendered.

This module decides the content, colour and marks of each cell, and the legend. The renderers decide how it
looks as CSV, SVG or HTML.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.core.text.json_text import Json, JsonObject

BASELINE = "baseline"  # what the column without a variation is called where a word is needed
NO_NUMBER = "–"
MOST_DETAILED = 12_000  # cells with details each: some 20 MB of HTML, which a browser opens in seconds
MEANINGS = {
    "green": "No meaningful shift. The agent is robust if its runs also match.",
    "amber": "Moderate shift. Worth reviewing.",
    "red": "Critical shift. The agent's behavior changed significantly.",
}
BRIEFLY = {"green": "no shift", "amber": "review", "red": "changed"}
MARKS = {
    "failing": "inner border, with F: wrong even without pressure",
    "inconclusive": "hatched, with ?: more runs are needed to decide",
    "incomplete": "dashed border, with …: too many of its runs failed, or have not ended",
    "directional": "no colour, with →: the scenario expects a change here, so the match decides",
    "exempt": "no colour, with ×: the scenario is not judged under this variation",
    "flagged": "corner mark, with !: a person should review it",
}
_SIGNS = {"inconclusive": "?", "incomplete": "…", "exempt": "×", "failing": "F"}
_UNCOLOURED = ("exempt", "directional")  # a shift there is no fault, so it has no colour of one


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """So many of so many, with the interval around their share."""

    k: int
    n: int
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, body: Any) -> "Rate | None":
        if not body or not body.get("n"):
            return None
        interval = body.get("interval")
        return cls(k=body["k"], n=body["n"], interval=(interval[0], interval[1]) if interval else None)

    def __str__(self) -> str:
        return f"{self.k}/{self.n}"


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatColumn:
    """One variation, and what it did over all scenarios."""

    id: str
    name: str
    version: int | None
    is_placebo: bool
    over_all: JsonObject  # the report's own object


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatCell:
    shift: float | None  # None: no run has ended
    shown: str  # the number as it stands in the cell
    band: str | None  # green, amber, red; None without a number, or where no colour is deserved
    verdict: str
    is_flagged: bool
    match: Rate | None
    detail: JsonObject  # the report's own object
    planned: int | None = None  # its runs, as long as they have not all ended

    @property
    def match_text(self) -> str:
        """`4/5`; of a cell whose runs have not all ended, how many have."""
        if self.planned is not None and self.match is not None:
            return f"{self.match.n} of {self.planned} run"
        return str(self.match) if self.match is not None else "no runs"

    @property
    def marks(self) -> str:
        """Signs beside the number: what hatching and corner say, for those who see neither."""
        expected = "→" if self.detail.get("expectation") == "directional" else ""
        return expected + _SIGNS.get(self.verdict, "") + ("!" if self.is_flagged else "")

    @property
    def is_notable(self) -> bool:
        return self.is_flagged or self.verdict in ("susceptible", "critical", "failing")

    @property
    def more_runs(self) -> str | None:
        more = self.detail.get("more_runs")
        return f"about {more} more runs would decide" if more else None


@dataclass(frozen=True, kw_only=True, slots=True)
class InjectedText:
    """What was put before the agent in a cell, word for word."""

    text_hash: str
    wording: int
    intensity: int
    delivery: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatRow:
    scenario_id: str
    version: int | None
    name: str
    risk_level: str
    baseline: Rate | None
    cells: tuple[HeatCell, ...]  # one per column, in their order
    detail: JsonObject  # the report's own object


@dataclass(frozen=True, kw_only=True, slots=True)
class Heatmap:
    matrix_id: str
    status: str
    agent: str  # name and version, for people
    bands: tuple[float, float]
    flag_above: Mapping[str, float]  # by risk: a shift strictly above it is flagged
    flag_from: Mapping[str, float]  # by risk: a shift that reaches it is flagged; a risk in neither never is
    columns: tuple[HeatColumn, ...]
    rows: tuple[HeatRow, ...]
    report: JsonObject  # without its cells and rows
    detailed: frozenset[tuple[int, int]] | None = None  # by row and column; None: every cell

    def tells_of(self, row: int, column: int) -> bool:
        """Whether the page has details of this cell: of every one, unless there are too many for one file."""
        return self.detailed is None or (row, column) in self.detailed

    @property
    def flag_limits(self) -> str:
        """From which shift on a cell is flagged, by risk."""
        above = [f"{risk} above {limit:g}" for risk, limit in self.flag_above.items()]
        return ", ".join(above + [f"{risk} from {limit:g}" for risk, limit in self.flag_from.items()])

    @property
    def title(self) -> str:
        return f"{self.agent} under pressure"

    @property
    def is_final(self) -> bool:
        return self.status in ("completed", "cancelled", "budget_exceeded", "failed")

    @property
    def described(self) -> str:
        """One sentence for those who do not see it."""
        cells = [cell for row in self.rows for cell in row.cells]
        flagged = sum(cell.is_flagged for cell in cells)
        counts = {band: sum(cell.band == band for cell in cells) for band in MEANINGS}
        coloured = ", ".join(f"{count} {band}" for band, count in counts.items())
        return (
            f"Shift of {len(self.rows)} scenarios (rows) under {len(self.columns)} variations (columns),"
            f" from 0 (as without pressure) to 1 (entirely different): {coloured}; {flagged} flagged."
        )

    def as_json(self) -> JsonObject:
        return {
            **self.report,
            "legend": legend(self),
            "columns": [column.over_all for column in self.columns],
            "rows": [_row_json(self.columns, row) for row in self.rows],
        }


def heatmap_of(report: Mapping[str, Any]) -> Heatmap:
    """Of a matrix report, ended or not: a cell that the report does not have is drawn as one without runs."""
    settings = report["settings"]
    bands = (float(settings["amber_from"]), float(settings["red_from"]))
    columns = tuple(_column(body) for body in report["variations"])
    cells = {(body["scenario_id"], body["variation"]): body for body in report["cells"]}
    planned = (report.get("matrix") or {}).get("repeats") if report["status"] == "running" else None
    rows = tuple(_row(body, columns, cells, bands, planned) for body in report["scenarios"])
    agent = report.get("agent") or {}
    name = str(agent.get("name") or f"agent {agent.get('id', '?')}")
    return Heatmap(
        matrix_id=str(report["matrix_id"]),
        status=str(report["status"]),
        agent=f"{name} v{agent['version']}" if agent.get("version") is not None else name,
        bands=bands,
        flag_above=settings["flag_above"],
        flag_from=settings.get("flag_from") or {},  # reports of before had none
        columns=columns,
        rows=rows,
        detailed=_detailed_cells(rows) if len(rows) * len(columns) > MOST_DETAILED else None,
        report={
            name: value for name, value in report.items() if name not in ("cells", "scenarios", "variations")
        },
    )


def legend(heatmap: Heatmap) -> JsonObject:
    low, high = heatmap.bands
    edges = {"green": (0.0, low), "amber": (low, high), "red": (high, 1.0)}
    bands: list[Json] = [
        {"band": band, "from": start, "to": end, "meaning": MEANINGS[band]}
        for band, (start, end) in edges.items()
    ]
    return {
        "bands": bands,
        "marks": dict(MARKS),
        "flag_above": {"low": None, **heatmap.flag_above},
        "flag_from": {**heatmap.flag_from},
    }


def band_of(shift: float, bands: tuple[float, float]) -> str:
    return "green" if shift < bands[0] else "amber" if shift < bands[1] else "red"


def format_shift(shift: float, bands: tuple[float, float]) -> str:
    """With two decimals, or as many more as keep the number on its own side of a band's edge."""
    for decimals in range(2, 6):
        text = f"{shift:.{decimals}f}"
        if band_of(float(text), bands) == band_of(shift, bands):
            return text
    return repr(shift)


def _detailed_cells(rows: tuple[HeatRow, ...]) -> frozenset[tuple[int, int]]:
    """Of very many cells those that a person would look at, the flagged and the furthest first."""
    notable = [
        (not cell.is_flagged, -(cell.shift or 0.0), number, at)
        for number, row in enumerate(rows)
        for at, cell in enumerate(row.cells)
        if cell.is_notable
    ]
    return frozenset((number, at) for _, _, number, at in sorted(notable)[:MOST_DETAILED])


def _column(body: Any) -> HeatColumn:
    return HeatColumn(
        id=str(body["id"]),
        name=str(body.get("name") or body["id"]),
        version=body.get("version"),
        is_placebo=bool(body.get("is_placebo")),
        over_all=body,
    )


def _row(
    body: Any,
    columns: tuple[HeatColumn, ...],
    cells: Mapping[tuple[str, str], Any],
    bands: tuple[float, float],
    planned: int | None,
) -> HeatRow:
    return HeatRow(
        scenario_id=str(body["id"]),
        version=body.get("version"),
        name=str(body["name"]),
        risk_level=str(body["risk_level"]),
        baseline=Rate.of((body.get("baseline") or {}).get("match_rate")),
        cells=tuple(_cell(cells.get((body["id"], column.id)), bands, planned) for column in columns),
        detail=body,
    )


def _cell(body: Any, bands: tuple[float, float], planned: int | None) -> HeatCell:
    body = body or {}
    ended = body.get("runs", 0) + body.get("errors", 0)
    shift, verdict = body.get("shift_magnitude"), str(body.get("verdict") or "incomplete")
    band = str(body.get("band") or band_of(shift, bands)) if shift is not None else None
    return HeatCell(
        shift=shift,
        shown=format_shift(shift, bands) if shift is not None else NO_NUMBER,
        band=band if body.get("expectation") not in _UNCOLOURED else None,
        verdict=verdict,
        is_flagged=bool(body.get("is_flagged")),
        match=Rate.of(body.get("match_rate")),
        detail=body,
        planned=planned if planned is not None and ended < planned else None,
    )


def _row_json(columns: tuple[HeatColumn, ...], row: HeatRow) -> JsonObject:
    cells: list[Json] = [
        {
            **cell.detail,
            "scenario_id": row.scenario_id,
            "variation": column.id,
            "shown": cell.shown,
            "band": cell.band,
            "verdict": cell.verdict,
            "is_hatched": cell.verdict == "inconclusive",
            "is_flagged": cell.is_flagged,
        }
        for column, cell in zip(columns, row.cells, strict=True)
    ]
    return {**row.detail, "cells": cells}
