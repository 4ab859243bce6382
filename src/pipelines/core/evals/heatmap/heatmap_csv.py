"""A heatmap as CSV: one record per cell, of each row the baseline first, for spreadsheets and programs."""

import re
from collections.abc import Iterator

from pipelines.core.evals.heatmap.heatmap import BASELINE, HeatCell, HeatColumn, Heatmap, HeatRow, Rate
from pipelines.core.text.csv_text import write_records
from pipelines.core.text.json_text import Json

COLUMNS = (
    *("matrix_id", "agent", "scenario_id", "scenario_version", "scenario", "risk_level"),
    *("variation", "variation_version", "is_placebo", "runs", "errors", "matched", "match_rate"),
    *("match_low", "match_high", "shift_magnitude", "shift_low", "shift_high", "shift_kind", "shift_max"),
    *("noise_floor", "shift_excess", "decision_flip_rate", "direction", "toward_pressure", "p", "p_adjusted"),
    *("p_placebo", "expectation"),
    *("band", "verdict", "more_runs", "is_flagged", "flag_reasons", "moved_fields", "run_ids"),
)
# Spreadsheets run a text that begins with one of these. A semicolon, tab or line end may begin a cell of its
# own where the separator is not a comma, so what follows them counts as a beginning too. The wide forms are
# read as the narrow ones in some locales.
_FORMULA = re.compile(r"(^|[;\t\r\n])(\s*)([=+\-@|%＝＋－＠])")


def csv_parts(heatmap: Heatmap) -> Iterator[bytes]:
    """The header, then a row of the heatmap at a time."""
    yield write_records([COLUMNS])
    for row in heatmap.rows:
        records = [_baseline_record(heatmap, row)]
        records += [
            _cell_record(heatmap, row, *pair) for pair in zip(heatmap.columns, row.cells, strict=True)
        ]
        yield write_records([[record.get(name, "") for name in COLUMNS] for record in records])


def escape_formulas(text: str) -> str:
    """The text with an apostrophe before whatever a spreadsheet would take for a formula."""
    return _FORMULA.sub(r"\1\2'\3", text)


def _place(heatmap: Heatmap, row: HeatRow) -> dict[str, str]:
    return {
        "matrix_id": escape_formulas(heatmap.matrix_id),
        "agent": escape_formulas(heatmap.agent),
        "scenario_id": escape_formulas(row.scenario_id),
        "scenario_version": _value_text(row.version),
        "scenario": escape_formulas(row.name),
        "risk_level": escape_formulas(row.risk_level),
    }


def _baseline_record(heatmap: Heatmap, row: HeatRow) -> dict[str, str]:
    baseline = row.detail.get("baseline")
    body = baseline if isinstance(baseline, dict) else {}
    written = {name: _value_text(body.get(name)) for name in ("runs", "errors", "noise_floor")}
    return _place(heatmap, row) | {"variation": BASELINE} | written | _match(row.baseline)


def _cell_record(heatmap: Heatmap, row: HeatRow, column: HeatColumn, cell: HeatCell) -> dict[str, str]:
    columns = [name for name in COLUMNS if name in cell.detail and name != "match_rate"]
    written = {name: _value_text(cell.detail[name]) for name in columns}
    shift = {
        "variation": escape_formulas(column.id),
        "variation_version": _value_text(column.version),
        "is_placebo": _value_text(column.is_placebo),
        "band": cell.band or "",
        "verdict": cell.verdict,
        "is_flagged": _value_text(cell.is_flagged),
        "moved_fields": escape_formulas(" ".join(_moved_fields(cell))),
    }
    return written | _place(heatmap, row) | shift | _match(cell.match) | _interval_columns(cell)


def _interval_columns(cell: HeatCell) -> dict[str, str]:
    """The interval of the shift; with too few runs for one, their range, and which of the two it is."""
    interval, spread = cell.detail.get("interval"), cell.detail.get("range")
    bounds, kind = (interval, "interval") if interval else (spread, "range")
    if not isinstance(bounds, list):
        return {}
    return {"shift_low": _value_text(bounds[0]), "shift_high": _value_text(bounds[1]), "shift_kind": kind}


def _match(rate: Rate | None) -> dict[str, str]:
    if rate is None:
        return {}
    low, high = rate.interval if rate.interval is not None else (None, None)
    return {
        "matched": str(rate.k),
        "runs": str(rate.n),
        "match_rate": _value_text(rate.k / rate.n),
        "match_low": _value_text(low),
        "match_high": _value_text(high),
    }


def _moved_fields(cell: HeatCell) -> list[str]:
    components = cell.detail.get("components")
    listed = components if isinstance(components, list) else []
    return [str(each["path"]) for each in listed if isinstance(each, dict) and each.get("distance")]


def _value_text(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return escape_formulas("; ".join(str(each) for each in value))
    return escape_formulas(str(value)) if isinstance(value, str) else str(value)
