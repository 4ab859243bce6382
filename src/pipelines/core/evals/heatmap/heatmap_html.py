"""A heatmap as one HTML file that works from disk: no script, nothing fetched, panels by links alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.core.evals.heatmap.heatmap import (
    MOST_DETAILED,
    HeatColumn,
    Heatmap,
    HeatRow,
    InjectedText,
    Rate,
)
from pipelines.core.evals.heatmap.heatmap_details import (
    baseline_panel,
    cell_panel,
    number_text,
    percent_text,
    text_panel,
)
from pipelines.core.evals.heatmap.heatmap_style import POLICY, STYLE
from pipelines.core.evals.heatmap.heatmap_table import legend, table_head, table_row
from pipelines.core.evals.heatmap.markup import escape_markup, value_text

MOST_TEXT = 2_000_000  # characters of injected texts in the file

#: Which texts a cell was given, by scenario and variation.
Texts = Mapping[tuple[str, str], Sequence[InjectedText]]


def html_parts(heatmap: Heatmap, texts: Texts | None = None) -> Iterator[str]:
    """The page, a row at a time. Of too many cells only notable ones have a panel, and it says so."""
    texts = texts or {}
    kept = _kept_texts(heatmap, texts)
    yield _head(heatmap)
    yield _about(heatmap)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="Heatmap">{table_head(heatmap)}<tbody>'
    links = _Panels(heatmap)
    for number, row in enumerate(heatmap.rows):
        yield table_row(number, row, heatmap.columns, links)
    yield f"</tbody></table></div>{legend(heatmap)}"
    yield _variations(heatmap)
    yield _texts_index(heatmap, kept)
    yield _settings(heatmap)
    for number, row in enumerate(heatmap.rows):
        yield baseline_panel(number, row)
        for at, column in enumerate(heatmap.columns):
            if heatmap.tells_of(number, at):
                yield cell_panel(heatmap, number, at, texts.get((row.scenario_id, column.id), ()), kept)
    for name, text in kept.values():
        yield text_panel(name, text)
    yield "</html>\n"


class _Panels:
    """Links of the table that lead to panels of the same file."""

    has_tips = False

    def __init__(self, heatmap: Heatmap) -> None:
        self._heatmap = heatmap

    def row(self, row: HeatRow) -> str | None:
        return None

    def baseline(self, number: int, row: HeatRow) -> str:
        return f"#b-{number}"

    def cell(self, number: int, at: int, row: HeatRow, column: HeatColumn) -> str | None:
        return f"#c-{number}-{at}" if self._heatmap.tells_of(number, at) else None


def _head(heatmap: Heatmap) -> str:
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape_markup(POLICY)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="no-referrer"><title>{escape_markup(heatmap.title[:200])}</title>'
        f"<style>{STYLE}</style>"
    )


def _about(heatmap: Heatmap) -> str:
    report: Any = heatmap.report
    progress, summary = report.get("progress") or {}, report.get("summary") or {}
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in (summary.get("verdicts") or {}).items())
    facts = [
        f"<code>{escape_markup(heatmap.matrix_id)}</code>",
        escape_markup(heatmap.status),
        f"{progress.get('done', '?')} of {progress.get('total', '?')} runs",
        f"{progress.get('errors', 0)} errors",
        f"cells: {escape_markup(verdicts)}" if verdicts else "",
        f"{summary.get('flagged', 0)} flagged",
        f"shift by {escape_markup(str(report.get('shift_method')))}",
        _times(report),
    ]
    notices = "" if heatmap.is_final else _notice("This matrix is still running: the numbers will change.")
    notices += "".join(_notice(escape_markup(str(warning))) for warning in report.get("warnings") or ())
    if heatmap.detailed is not None:
        notices += _notice(
            f"More than {MOST_DETAILED:,} cells: only {len(heatmap.detailed):,} of those flagged, susceptible"
            " or critical have details here. heatmap.json and heatmap.csv have every cell."
        )
    return (
        f"<h1><bdi>{escape_markup(heatmap.title)}</bdi></h1>"
        f'<ul class="facts soft">{"".join(f"<li>{fact}" for fact in facts if fact)}</ul>{notices}'
        f"<p>{escape_markup(heatmap.described)} Each cell shows the shift, and below it how many "
        "runs matched. Select a"
        " cell to see what changed.</p>"
        '<fieldset class="show"><legend class="sr">Rows to show</legend>'
        '<label><input type="radio" name="show" id="show-all" checked>all rows</label>'
        '<label><input type="radio" name="show" id="show-moved">with an amber or red cell</label>'
        '<label><input type="radio" name="show" id="show-flagged">with a flagged cell</label></fieldset>'
    )


def _times(report: Any) -> str:
    """When it was started and when it ended, to the second."""
    times = [str(report[name]) for name in ("created_at", "ended_at") if report.get(name)]
    return " to ".join(f"{escape_markup(time[:19].replace('T', ' '))} UTC" for time in times)


def _notice(text: str) -> str:
    return f'<p class="notice">{text}</p>'


def _variations(heatmap: Heatmap) -> str:
    rows = "".join(_variation(column) for column in heatmap.columns)
    head = "<tr><th>variation<th>scenarios<th>matched<th>mean shift<th>test<th>p<th>p, adjusted"
    return (
        "<h2>By variation</h2>"
        '<p class="soft">The effect of each variation over all scenarios. The scenario is the '
        "unit of the test.</p>"
        f'<div class="wide"><table class="plain">{head}{rows}</table></div>'
    )


def _variation(column: HeatColumn) -> str:
    body: Any = column.over_all
    rate = Rate.of(body.get("match_rate"))
    matched = f"{rate} ({percent_text(rate.k / rate.n)})" if rate is not None else "–"
    interval = body.get("interval")
    interval_text = f" ({number_text(interval[0])} to {number_text(interval[1])})" if interval else ""
    placebo = " (placebo)" if column.is_placebo else ""
    test = escape_markup(str(body.get("test") or "–").replace("_", " "))
    name = escape_markup(column.name)
    return (
        f"<tr><td><bdi>{name}</bdi>{placebo}<td>{body.get('scenarios', '–')}<td>{matched}"
        f"<td>{number_text(body.get('mean_shift'))}{interval_text}<td>{test}"
        f"<td>{number_text(body.get('p'))}<td>{number_text(body.get('p_adjusted'))}"
    )


def _kept_texts(heatmap: Heatmap, texts: Texts) -> dict[str, tuple[str, InjectedText]]:
    """By their hash, each once however many cells it stands in, until the file would be too large."""
    names = {column.id: column.name for column in heatmap.columns}
    kept: dict[str, tuple[str, InjectedText]] = {}
    room = MOST_TEXT
    for (_, variation), given in texts.items():
        for text in given:
            if text.text_hash not in kept and len(text.text) <= room:
                kept[text.text_hash] = (names.get(variation, variation), text)
                room -= len(text.text)
    return kept


def _texts_index(heatmap: Heatmap, kept: Mapping[str, tuple[str, InjectedText]]) -> str:
    if not kept:
        return ""
    by_name: dict[str, list[InjectedText]] = {}
    for name, text in kept.values():
        by_name.setdefault(name, []).append(text)
    rows = "".join(
        f"<tr><td><bdi>{escape_markup(name)}</bdi><td>"
        + ", ".join(
            f'<a href="#text-{escape_markup(text.text_hash)}">wording {text.wording}'
            f" <code>{escape_markup(text.text_hash[:8])}</code></a>"
            for text in given
        )
        for name, given in by_name.items()
    )
    return f'<h2 id="texts">Injected texts</h2><div class="wide"><table class="plain">{rows}</table></div>'


def _settings(heatmap: Heatmap) -> str:
    settings: Any = heatmap.report.get("settings") or {}
    rows = "".join(
        f"<dt>{escape_markup(str(name))}<dd><code>{escape_markup(value_text(value, 1000))}</code>"
        for name, value in settings.items()
    )
    return f"<details><summary>Settings of this report</summary><dl>{rows}</dl></details>"
