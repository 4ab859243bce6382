"""The table of a heatmap as markup: the same in the file that works from disk and in the page of the server.

They differ in where its links lead and in how a cell is drawn: files colour it by its shift, and pages by its
verdict (`verdict_cells`).
"""

import re
from typing import Any, Protocol

from pipelines.core.evals.heatmap.heatmap import MARKS, MEANINGS, HeatCell, HeatColumn, Heatmap, HeatRow
from pipelines.core.evals.heatmap.heatmap_details import number_text, percent_text
from pipelines.core.evals.heatmap.markup import cut, escape_markup, value_text

TIP_FIELDS = 2  # that moved, in the sentence of a cell
TIP_CHARACTERS = 48  # of each value in it
_WITHIN = re.compile(r"(?<=[_/.\-])(?=\w)")  # where a name of several words may go to the next line


class Links(Protocol):
    """Where a place of the table leads (None: nowhere), and how its cells are drawn."""

    def row(self, row: HeatRow) -> str | None: ...
    def baseline(self, number: int, row: HeatRow) -> str: ...
    def cell(self, number: int, at: int, row: HeatRow, column: HeatColumn) -> str | None: ...
    def drawn(
        self, place: str, cell: HeatCell, link: str | None, row: HeatRow, column: HeatColumn
    ) -> str: ...


def table_head(heatmap: Heatmap) -> str:
    columns = "".join(
        f'<th scope="col"><bdi>{with_line_breaks(column.name)}</bdi>'
        f"{' (placebo)' if column.is_placebo else ''}</th>"
        for column in heatmap.columns
    )
    return (
        f'<table class="map"><caption class="sr">{escape_markup(heatmap.described)}</caption>'
        '<thead><tr><th scope="col">scenario</th><th scope="col">risk</th><th scope="col">baseline<br>'
        f"matched</th>{columns}</tr></thead>"
    )


def table_row(number: int, row: HeatRow, columns: tuple[HeatColumn, ...], links: Links) -> str:
    kinds = ["has-flagged"] if any(cell.is_flagged for cell in row.cells) else []
    kinds += ["has-moved"] if any(cell.band in ("amber", "red") for cell in row.cells) else []
    risk, matched = escape_markup(row.risk_level), row.baseline
    baseline = (
        f"<b>{matched}</b>{percent_text(matched.k / matched.n)}" if matched is not None else "<b>–</b>no runs"
    )
    cells = "".join(
        links.drawn(f"{number}-{at}", cell, links.cell(number, at, row, columns[at]), row, columns[at])
        for at, cell in enumerate(row.cells)
    )
    name, link = f'<bdi class="name">{escape_markup(row.name)}</bdi>', links.row(row)
    linked = f'<a href="{escape_markup(link)}">{name}</a>' if link is not None else name
    return (
        f'<tr class="{" ".join(kinds)}" id="row-{number}"><th scope="row">{linked}</th>'
        f'<td class="risk risk-{risk}">{risk}</td><td class="none">'
        f'<a id="base-{number}" '
        f'href="{escape_markup(links.baseline(number, row))}">{baseline}</a></td>{cells}</tr>'
    )


def band_cell(place: str, cell: HeatCell, link: str | None, *, has_tip: bool) -> str:
    """Coloured by the band of its shift, as in files."""
    kinds = [cell.band or "none", cell.verdict] + (["flagged"] if cell.is_flagged else [])
    label = f"<b>{f'{cell.shown} {cell.marks}'.rstrip()}</b>{cell.match_text}"
    if has_tip:  # who hears the sentence needs the signs no more
        inside = (
            f'<span aria-hidden="true">{label}</span><span '
            f'class="tip">{escape_markup(cell_description(cell))}</span>'
        )
    else:
        description = cell.verdict + (", flagged" if cell.is_flagged else "")
        inside = f'{label}<span class="sr"> {escape_markup(description)}</span>'
    href = f' href="{escape_markup(link)}"' if link is not None else ""
    return f'<td class="{escape_markup(" ".join(kinds))}"><a id="at-{place}"{href}>{inside}</a></td>'


def cell_description(cell: HeatCell) -> str:
    """What a cell comes to, for whoever points at it or hears it."""
    body: Any = cell.detail
    description = [cell.verdict + (", flagged" if cell.is_flagged else "")]
    if cell.more_runs:
        description[0] += f": {cell.more_runs}"
    description.append(f"shift {cell.shown}{_spread(body)}" if cell.shift is not None else "no run has ended")
    if cell.match is not None and cell.planned is not None:
        ended = f"{cell.match.n} of {cell.planned} runs have ended"
        description.append(f"{ended}, {cell.match.k} of them matched")
    elif cell.match is not None:
        description.append(f"{cell.match.k} of {cell.match.n} runs matched")
    if body.get("errors"):
        description.append(f"{body['errors']} runs failed and are not counted")
    if body.get("expectation") not in (None, "invariant"):
        description.append(f"{body['expectation']} here")
    moved = [each for each in body.get("components") or () if each.get("distance")]
    description += [_moved_field(each) for each in moved[:TIP_FIELDS]]
    if len(moved) > TIP_FIELDS:
        description.append(f"{len(moved) - TIP_FIELDS} more fields changed")
    return ". ".join(part[:1].upper() + part[1:] for part in description) + "."


def legend(heatmap: Heatmap) -> str:
    low, high = heatmap.bands
    edges = {"green": f"0 to {low:g}", "amber": f"{low:g} to {high:g}", "red": f"{high:g} to 1"}
    parts = [
        f'<li><i class="{band}"></i>{edge}: {MEANINGS[band].rstrip(".")}</li>' for band, edge in edges.items()
    ]
    parts += [f'<li><i class="none {mark}"></i>{mark}: {meaning}</li>' for mark, meaning in MARKS.items()]
    return (
        f'<ul class="legend" aria-label="Legend">{"".join(parts)}'
        f"<li>flagged by its shift: {escape_markup(heatmap.flag_limits)}</li></ul>"
    )


def with_line_breaks(name: str) -> str:
    """A name that goes to the next line between its words, also where an underscore joins them."""
    return "<wbr>".join(escape_markup(part) for part in _WITHIN.split(name))


def _spread(body: Any) -> str:
    if body.get("interval"):
        return f" (95 % interval {number_text(body['interval'][0])} to {number_text(body['interval'][1])})"
    if body.get("range"):
        low, high = body["range"]
        return f" (range {number_text(low)} to {number_text(high)})" if low != high else " in every run"
    return ""


def _moved_field(component: Any) -> str:
    path = str(component.get("path")).removeprefix("/") or "the output"
    return f"{cut(path, TIP_CHARACTERS)}: {_side_text(component, 'from')} → {_side_text(component, 'to')}"


def _side_text(component: Any, name: str) -> str:
    """A value that is missing is not null."""
    if component.get(f"{name}_missing"):
        return "missing"
    return cut(value_text(component.get(name), TIP_CHARACTERS), TIP_CHARACTERS)
