"""A heatmap as one SVG picture: well-formed XML, no script, nothing fetched, light or dark as one likes."""

from collections.abc import Iterator
from textwrap import wrap
from unicodedata import east_asian_width

from pipelines.core.evals.heatmap.heatmap import BRIEFLY, HeatCell, Heatmap, HeatRow
from pipelines.core.evals.heatmap.markup import cut, escape_markup

LABEL, RISK, CELL = 264, 72, 92  # widths
ROW, HEAD, TOP, FOOT, EDGE = 40, 56, 64, 124, 24  # heights, and the margin around all
LEAST_WIDTH = 760  # the legend's
NAME_COLUMNS = 36  # of a scenario's name that fit beside its row; the whole name is its tooltip
TOOLTIP_CHARACTERS = 500
BORDERS = {"incomplete": "dashed", "failing": "framed"}  # inside a cell
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1c2430;
  font-variant-numeric: tabular-nums; }
.ground { fill: #ffffff; } .small { font-size: 11px; } .soft { fill: #5a6675; }
.middle { text-anchor: middle; }
.title { font-size: 18px; font-weight: 600; } .number { font-size: 14px; font-weight: 600; }
.cell { stroke: #ffffff; stroke-width: 2; } .none { fill: #eceff3; }
.hatch { stroke: #1c2430; stroke-opacity: .3; }
.green { fill: #cdeed6; } .amber { fill: #f5cf78; } .red { fill: #c2352a; }
.on-red { fill: #ffffff; } .hatch-red { stroke: #ffffff; stroke-opacity: .38; }
.dashed { fill: none; stroke: #5a6675; stroke-width: 1.5; stroke-dasharray: 4 3; }
.framed { fill: none; stroke: #5a6675; stroke-width: 1.5; } .corner { fill: #1c2430; }
.corner-red { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaf0; } .ground { fill: #12161c; } .soft { fill: #9aa6b5; } .cell { stroke: #12161c; }
  .none { fill: #252c36; } .green { fill: #1c4a2c; } .amber { fill: #75530a; } .red { fill: #b02e25; }
  .hatch { stroke: #e6eaf0; stroke-opacity: .28; } .corner { fill: #e6eaf0; }
  .dashed, .framed { stroke: #9aa6b5; } .on-red { fill: #ffffff; }
}
"""
_HATCH = (
    '<pattern id="{id}" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<line class="{line}" x1="0" y1="0" x2="0" y2="8" stroke-width="2"/></pattern>'
)


def svg_parts(heatmap: Heatmap) -> Iterator[str]:
    """The picture, a row at a time."""
    width = max(LEAST_WIDTH, 2 * EDGE + LABEL + RISK + CELL * (1 + len(heatmap.columns)))
    height = TOP + HEAD + ROW * len(heatmap.rows) + FOOT
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-labelledby="heatmap-title heatmap-desc">'
        f'<title id="heatmap-title">{_tooltip(heatmap.title)}</title>'
        f'<desc id="heatmap-desc">{escape_markup(heatmap.described)}</desc><style>{STYLE}</style><defs>'
        + _HATCH.format(id="hatched", line="hatch")
        + _HATCH.format(id="hatched-red", line="hatch-red")
        + f'</defs><rect class="ground" width="{width}" height="{height}"/>'
    )
    yield _heading(heatmap)
    for number, row in enumerate(heatmap.rows):
        yield _row(heatmap, row, TOP + HEAD + ROW * number)
    yield _legend(heatmap, TOP + HEAD + ROW * len(heatmap.rows) + 28)
    yield "</svg>\n"


def _heading(heatmap: Heatmap) -> str:
    unfinished = "" if heatmap.is_final else ", not finished"
    about = f"{heatmap.matrix_id} · {heatmap.status}{unfinished} · shift in each cell, matched runs below it"
    parts = [
        _text(EDGE, 32, cut(heatmap.title, 90), "title"),
        _text(EDGE, 50, cut(about, 140), "small soft"),
        _text(EDGE, TOP + HEAD - 10, "scenario", "small soft"),
        _text(EDGE + LABEL, TOP + HEAD - 10, "risk", "small soft"),
        _text(_left(-1) + CELL // 2, TOP + HEAD - 10, "baseline", "small middle"),
    ]
    for number, column in enumerate(heatmap.columns):
        name = cut(column.name, 40) + (" (placebo)" if column.is_placebo else "")
        lines = wrap(name, 14, max_lines=3, placeholder="…") or [""]
        bottom = TOP + HEAD - 10
        parts.append(f"<g><title>{_tooltip(f'{column.name} ({column.id})')}</title>")
        parts += [
            _text(_left(number) + CELL // 2, bottom - 13 * (len(lines) - 1 - at), line, "small middle")
            for at, line in enumerate(lines)
        ]
        parts.append("</g>")
    return "".join(parts)


def _row(heatmap: Heatmap, row: HeatRow, top: int) -> str:
    middle = top + ROW // 2 + 5
    baseline = str(row.baseline) if row.baseline is not None else "–"
    parts = [
        f"<g><title>{_tooltip(f'{row.name} ({row.scenario_id})')}</title>",
        # A picture of its own cuts off what is wider than letters usually are.
        f'<svg x="{EDGE}" y="{top}" width="{LABEL - 8}" height="{ROW}">'
        f"{_text(0, middle - top, _fit(row.name, NAME_COLUMNS), '')}</svg>",
        _text(EDGE + LABEL, middle, cut(row.risk_level, 10), "small"),
        "</g>",
        _box(-1, top, "none"),
        _text(_left(-1) + CELL // 2, middle, baseline, "middle"),
    ]
    for number, cell in enumerate(row.cells):
        column = heatmap.columns[number]
        parts.append(f"<g><title>{_tooltip(_cell_description(row, column.name, cell))}</title>")
        parts += _cell(cell, number, top)
        parts.append("</g>")
    return "".join(parts)


def _cell(cell: HeatCell, number: int, top: int) -> list[str]:
    left_edge, on = _left(number), "on-red" if cell.band == "red" else ""
    parts = [_box(number, top, cell.band or "none")]
    if cell.verdict == "inconclusive":
        pattern = "hatched-red" if cell.band == "red" else "hatched"
        parts.append(
            f'<rect x="{left_edge}" y="{top}" width="{CELL}" height="{ROW}" fill="url(#{pattern})"/>'
        )
    if cell.verdict in BORDERS:
        inner = f'x="{left_edge + 4}" y="{top + 4}" width="{CELL - 8}" height="{ROW - 8}"'
        parts.append(f'<rect class="{BORDERS[cell.verdict]}" {inner}/>')
    if cell.is_flagged:
        corner = "corner-red" if cell.band == "red" else "corner"
        right = left_edge + CELL - 2
        parts.append(f'<path class="{corner}" d="M{right - 11} {top + 2}H{right}V{top + 13}Z"/>')
    label = f"{cell.shown} {cell.marks}".rstrip()
    match = str(cell.match) if cell.match is not None else "no runs"
    parts.append(_text(left_edge + CELL // 2, top + 18, label, f"number middle {on}".rstrip()))
    parts.append(_text(left_edge + CELL // 2, top + 33, match, f"small middle {on}".rstrip()))
    return parts


def _cell_description(row: HeatRow, variation: str, cell: HeatCell) -> str:
    match = f"matched {cell.match}" if cell.match is not None else "no run has ended"
    parts = [f"{cut(row.name, 120)} under {cut(variation, 120)}: shift {cell.shown}", match, cell.verdict]
    parts += [cell.more_runs] if cell.more_runs else []
    return ", ".join([*parts, "flagged"] if cell.is_flagged else parts)


def _legend(heatmap: Heatmap, top: int) -> str:
    low, high = heatmap.bands
    edges = {"green": f"0 – {low:g}", "amber": f"{low:g} – {high:g}", "red": f"{high:g} – 1"}
    parts, x = [], EDGE
    for band, edge in edges.items():
        meaning = f"{edge} {BRIEFLY[band]}"
        parts.append(f'<rect class="{band}" x="{x}" y="{top}" width="28" height="16"/>')
        parts.append(_text(x + 36, top + 13, meaning, "small"))
        x += 150
    parts.append(f'<rect class="none" x="{x}" y="{top}" width="28" height="16"/>')
    parts.append(f'<rect fill="url(#hatched)" x="{x}" y="{top}" width="28" height="16"/>')
    parts.append(_text(x + 36, top + 13, "? inconclusive", "small"))
    parts.append(f'<rect class="dashed" x="{x + 150}" y="{top}" width="28" height="16"/>')
    parts.append(_text(x + 186, top + 13, "… incomplete", "small"))
    legend = f"! flagged by its shift: {heatmap.flag_limits}; F failing: wrong even without pressure"
    parts.append(_text(EDGE, top + 40, legend, "small"))
    parts.append(
        _text(
            EDGE,
            top + 58,
            "→ expected to change, the match decides; × exempt: not judged here",
            "small soft",
        )
    )
    return "".join(parts)


def _left(number: int) -> int:
    """Of a column; the baseline is the one before the first."""
    return EDGE + LABEL + RISK + CELL * (number + 1)


def _box(number: int, top: int, kind: str) -> str:
    return f'<rect class="cell {kind}" x="{_left(number)}" y="{top}" width="{CELL}" height="{ROW}"/>'


def _text(x: int, y: int, text: str, kind: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x}" y="{y}">{escape_markup(text)}</text>'


def _fit(text: str, columns: int) -> str:
    """As much of a name as so many letters take; those of Chinese, Japanese and Korean are twice as wide."""
    for at, letter in enumerate(text[:columns]):
        columns -= east_asian_width(letter) in "WF"
        if at >= columns:
            return cut(text, max(1, at))
    return cut(text, columns)


def _tooltip(text: str) -> str:
    return escape_markup(cut(text, TOOLTIP_CHARACTERS))
