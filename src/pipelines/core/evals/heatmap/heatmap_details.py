"""What the HTML heatmap tells of one cell, of a baseline, and of a text that was injected: a panel each."""

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.core.evals.heatmap.heatmap import HeatCell, HeatColumn, Heatmap, HeatRow, InjectedText, Rate
from pipelines.core.evals.heatmap.markup import cut, escape_markup, value_text

NAME_CHARACTERS = 200  # of a name in a panel; the whole of it stands in its row
VALUE_CHARACTERS = 600  # of a field's value before and after
MOST_RUN_IDS = 50
DIRECTIONS = {
    "regressive": "regressive: the baseline matched, these runs do not",
    "progressive": "progressive: these runs match, the baseline did not",
    "lateral": "lateral: changed, but not closer to or further from what is expected",
    "none": "none",
}


def cell_panel(
    heatmap: Heatmap, row: int, column: int, texts: Sequence[InjectedText], known_texts: Iterable[str]
) -> str:
    line, variation = heatmap.rows[row], heatmap.columns[column]
    cell = line.cells[column]
    notable = " notable" if cell.is_notable else ""
    return (
        f'<article class="panel{notable}" id="c-{row}-{column}" tabindex="-1">'
        f"{_header(_name_markup(line.name), f'under {_name_markup(variation.name)}', f'#at-{row}-{column}')}"
        f"{_neighbours(heatmap, row, column)}<dl>{_figures(line, cell)}</dl>"
        f"{_components(cell)}{_injected_texts(variation, texts, set(known_texts))}{_runs(cell)}</article>"
    )


def baseline_panel(row: int, line: HeatRow) -> str:
    body: Any = line.detail.get("baseline") or {}
    worst: Any = line.detail.get("worst_case_match") or {}
    pass_hat = ", ".join(
        f"pass^{k} {percent_text(rate)}" for k, rate in (body.get("pass_hat_k") or {}).items()
    )
    worst_name = worst.get("variation") or "the baseline"
    facts = [
        ("risk", escape_markup(line.risk_level)),
        ("scenario", f"<code>{escape_markup(line.scenario_id)}</code>, version {line.version or '?'}"),
        ("matched", _rate(line.baseline)),
        ("noise floor", number_text(body.get("noise_floor"))),
        ("all of k runs", escape_markup(pass_hat)),
        ("errors", str(body.get("errors", 0)) + " (not counted)"),
        ("reference", f"run {body['reference_run']}" if body.get("reference_run") else ""),
        (
            "worst case",
            f"{worst.get('k')}/{worst.get('n')} under {escape_markup(str(worst_name))}" if worst else "",
        ),
    ]
    return (
        f'<article class="panel" id="b-{row}" tabindex="-1">'
        f"{_header(_name_markup(line.name), 'baseline', f'#row-{row}')}<dl>{_facts(facts)}</dl></article>"
    )


def text_panel(variation: str, text: InjectedText) -> str:
    about = f"wording {text.wording}, intensity {text.intensity}, delivered by {text.delivery}"
    return (
        f'<article class="panel text" id="text-{escape_markup(text.text_hash)}" tabindex="-1">'
        f"{_header('Injected text', _name_markup(variation), '#texts')}"
        f'<p class="soft">{escape_markup(about)}; <code>{escape_markup(text.text_hash)}</code></p>'
        f'<pre dir="auto">{escape_markup(text.text)}</pre></article>'
    )


def _header(name: str, under: str, close: str) -> str:
    return f'<header><h2>{name}<br><span class="soft">{under}</span></h2><a href="{close}">Close</a></header>'


def _neighbours(heatmap: Heatmap, row: int, column: int) -> str:
    places = {
        "← left": (row, column - 1),
        "→ right": (row, column + 1),
        "↑ up": (row - 1, column),
        "↓ down": (row + 1, column),
    }
    links = [
        f'<a href="#c-{at}-{of}">{word}</a>'
        for word, (at, of) in places.items()
        if 0 <= at < len(heatmap.rows) and 0 <= of < len(heatmap.columns) and heatmap.tells_of(at, of)
    ]
    return f'<nav aria-label="neighbouring cells">{"".join(links)}</nav>'


def _figures(row: HeatRow, cell: HeatCell) -> str:
    """What does not hold (not flagged, no flip, no error) is left out: thousands of panels stay readable."""
    body: Any = cell.detail
    more = f": {cell.more_runs}" if cell.more_runs else ""
    reasons = "; ".join(str(each) for each in body.get("flag_reasons") or ())
    failed = f", {body['errors']} errors (not counted)" if body.get("errors") else ""
    facts = [
        (
            "verdict",
            f'<b class="badge {cell.band or "none"}">{escape_markup(cell.verdict)}</b>{escape_markup(more)}',
        ),
        ("flagged", escape_markup(reasons or "yes") if cell.is_flagged else ""),
        *(_shift_facts(body, cell.shown) if cell.shift is not None else []),
        ("matched", f"{_rate(cell.match)}; baseline {_rate(row.baseline)}"),
        ("runs", f"{body.get('runs', 0)} ended{failed}"),
    ]
    return _facts(facts)


def _shift_facts(body: Any, shown: str) -> list[tuple[str, str]]:
    direction, expectation = str(body.get("direction") or "none"), str(body.get("expectation") or "")
    floor, above = number_text(body.get("noise_floor")), number_text(body.get("shift_excess"))
    flips = body.get("decision_flip_rate")
    return [
        ("shift", f"<b>{shown}</b>{_interval_text(body)}, at most {number_text(body.get('shift_max'))}"),
        ("noise floor", f"{floor}; shift above it {above}"),
        (
            "more than noise?",
            f"p = {number_text(body.get('p'))}, over all cells {number_text(body.get('p_adjusted'))}",
        ),
        ("more than placebo?", f"p = {number_text(body['p_placebo'])}" if body.get("p_placebo") else ""),
        ("direction", escape_markup(DIRECTIONS.get(direction, direction)) if direction != "none" else ""),
        # None: the variation does not say where it pushes.
        ("toward the pressure", {True: "yes", False: "no"}.get(body.get("toward_pressure"), "")),
        ("decision flipped", f"in {percent_text(flips)} of the runs" if flips else ""),
        ("expectation", escape_markup(expectation) if expectation != "invariant" else ""),
    ]


def _interval_text(body: Any) -> str:
    if body.get("interval"):
        return f" (95 % interval {number_text(body['interval'][0])} to {number_text(body['interval'][1])})"
    if body.get("range"):
        note = body.get("interval_note") or "too few runs for an interval"
        low, high = body["range"]
        return f" (range {number_text(low)} to {number_text(high)}; {escape_markup(str(note))})"
    return ""


def _components(cell: HeatCell) -> str:
    listed: Any = cell.detail.get("components") or []
    moved = [each for each in listed if each.get("distance")]
    if not moved:
        return "<p>No field of the contract changed.</p>" if cell.shift is not None else ""
    rows = "".join(
        f"<tr><td><code>{escape_markup(cut(str(each.get('path')), NAME_CHARACTERS))}</code>"
        f"<td>{number_text(each['distance'])}<td>{number_text(each.get('weight'))}"
        f"<td><code>{_value(each.get('from'))}</code> → <code>{_value(each.get('to'))}</code>"
        for each in moved
    )
    head = "<tr><th>field<th>distance<th>weight<th>baseline → here"
    return f'<h3>What changed</h3><table class="plain">{head}{rows}</table>'


def _injected_texts(column: HeatColumn, texts: Sequence[InjectedText], known: set[str]) -> str:
    injected = [text for text in texts if text.text_hash in known]
    if not injected:
        kept = f"Each run stores the exact injected text ({escape_markup(column.id)})."
        return f'<p class="soft">{kept}</p>'
    links = ", ".join(
        f'<a href="#text-{escape_markup(text.text_hash)}">wording {text.wording}</a>' for text in injected
    )
    return f"<p>Exact injected text: {links}</p>"


def _runs(cell: HeatCell) -> str:
    ids: Any = cell.detail.get("run_ids") or []
    if not ids:
        return ""
    more = f" and {len(ids) - MOST_RUN_IDS} more" if len(ids) > MOST_RUN_IDS else ""
    return (
        f'<p class="soft">Runs <span class="mono">{", ".join(map(str, ids[:MOST_RUN_IDS]))}</span>{more}</p>'
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<dt>{name}<dd>{value}" for name, value in facts if value)


def _name_markup(name: str) -> str:
    return f"<bdi>{escape_markup(cut(name, NAME_CHARACTERS))}</bdi>"


def _value(value: Any) -> str:
    return f"<bdi>{escape_markup(value_text(value, VALUE_CHARACTERS))}</bdi>"


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "no run has ended"
    interval_text = (
        f", 95 % interval {percent_text(rate.interval[0])} to {percent_text(rate.interval[1])}"
        if rate.interval
        else ""
    )
    return f"{rate} ({percent_text(rate.k / rate.n)}{interval_text})"


def percent_text(value: Any) -> str:
    return f"{value:.0%}".replace("%", " %") if value is not None else "–"


def number_text(value: Any) -> str:
    """Three decimals at most, and no zero that is not one."""
    if value is None:
        return "–"
    return f"{value:.3f}".rstrip("0").rstrip(".") if value == 0 or abs(value) >= 0.001 else f"{value:.1e}"
