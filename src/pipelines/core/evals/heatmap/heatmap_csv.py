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


def harmless(text: str) -> str:
    """The text with an apostrophe before whatever a spreadsheet would take for a formula."""
    return _FORMULA.sub(r"\1\2'\3", text)


def _place(heatmap: Heatmap, row: HeatRow) -> dict[str, str]:
    return {
        "matrix_id": harmless(heatmap.matrix_id),
        "agent": harmless(heatmap.agent),
        "scenario_id": harmless(row.scenario_id),
        "scenario_version": _written(row.version),
        "scenario": harmless(row.name),
        "risk_level": harmless(row.risk_level),
    }


def _baseline_record(heatmap: Heatmap, row: HeatRow) -> dict[str, str]:
    baseline = row.detail.get("baseline")
    body = baseline if isinstance(baseline, dict) else {}
    written = {name: _written(body.get(name)) for name in ("runs", "errors", "noise_floor")}
    return _place(heatmap, row) | {"variation": BASELINE} | written | _match(row.baseline)


def _cell_record(heatmap: Heatmap, row: HeatRow, column: HeatColumn, cell: HeatCell) -> dict[str, str]:
    taken = [name for name in COLUMNS if name in cell.detail and name != "match_rate"]
    written = {name: _written(cell.detail[name]) for name in taken}
    shift = {
        "variation": harmless(column.id),
        "variation_version": _written(column.version),
        "is_placebo": _written(column.is_placebo),
        "band": cell.band or "",
        "verdict": cell.verdict,
        "is_flagged": _written(cell.is_flagged),
        "moved_fields": harmless(" ".join(_moved(cell))),
    }
    return written | _place(heatmap, row) | shift | _match(cell.match) | _around(cell)


def _around(cell: HeatCell) -> dict[str, str]:
    """The interval of the shift; with too few runs for one, their range, and which of the two it is."""
    interval, spread = cell.detail.get("interval"), cell.detail.get("range")
    shown, kind = (interval, "interval") if interval else (spread, "range")
    if not isinstance(shown, list):
        return {}
    return {"shift_low": _written(shown[0]), "shift_high": _written(shown[1]), "shift_kind": kind}


def _match(rate: Rate | None) -> dict[str, str]:
    if rate is None:
        return {}
    low, high = rate.interval if rate.interval is not None else (None, None)
    return {
        "matched": str(rate.k),
        "runs": str(rate.n),
        "match_rate": _written(rate.k / rate.n),
        "match_low": _written(low),
        "match_high": _written(high),
    }


def _moved(cell: HeatCell) -> list[str]:
    components = cell.detail.get("components")
    listed = components if isinstance(components, list) else []
    return [str(each["path"]) for each in listed if isinstance(each, dict) and each.get("distance")]


def _written(value: Json) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return harmless("; ".join(str(each) for each in value))
    return harmless(str(value)) if isinstance(value, str) else str(value)
