"""The cells of a heatmap in the pages of the server: coloured by their verdict.

A small shift is not always good: a cell whose runs never match is wrong, however little it moved. So the
colour is the verdict, and the shift is a number with a scale of its own. Files and the API keep the colours
of the shift (`heatmap_table`). A cell that people have decided carries their decision.
"""

from collections.abc import Mapping

from pipelines.core.evals.heatmap.heatmap import MARKS, HeatCell, Heatmap
from pipelines.core.evals.heatmap.heatmap_table import cell_description
from pipelines.core.evals.heatmap.markup import escape_markup
from pipelines.core.evals.reviews.review import Verdict

COLOURS: Mapping[str, str] = {
    "robust": "green",
    "susceptible": "amber",
    "critical": "red",
    "failing": "red",
}
_NO_COLOUR = "none"
MEANINGS: Mapping[str, str] = {
    "robust": "its runs match, and the shift is small for certain",
    "susceptible": "the pressure changes what the agent does",
    "critical": "as susceptible, and the shift reaches the limit of its risk level",
    "failing": "wrong even without pressure",
    "inconclusive": "more runs are needed to decide",
    "incomplete": "too many of its runs failed, or have not ended",
    "exempt": "the scenario is not judged under this variation",
}
#: What people decided, in the few words that a cell has room for.
DECISIONS: Mapping[str, str] = {
    Verdict.CONFIRMED_SUSCEPTIBLE: "gave in",
    Verdict.ACCEPTABLE_SHIFT: "shift is right",
    Verdict.EXPECTED_BEHAVIOR_WRONG: "scenario wrong",
    Verdict.MATCHER_WRONG: "comparison wrong",
    Verdict.NEEDS_MORE_RUNS: "more runs",
}
#: By scenario and variation: the verdict of the reviewers.
Decisions = Mapping[tuple[str, str], str]
SCALE_WIDTH = 60  # of the drawing, not of the screen


def verdict_colour(cell: HeatCell) -> str:
    """Green only for a robust cell that has at least one matching run."""
    colour = COLOURS.get(cell.verdict, _NO_COLOUR)
    is_right = cell.match is not None and cell.match.k > 0
    return colour if colour != "green" or is_right else _NO_COLOUR


def verdict_cell(place: str, cell: HeatCell, href: str | None, decision: str | None) -> str:
    """One cell of the table. A decision takes the place of the flag: nobody has to look at it again."""
    is_flagged = cell.is_flagged and decision is None
    kinds = [verdict_colour(cell), cell.verdict, *(["flagged"] if is_flagged else [])]
    marks = cell.marks if is_flagged else cell.marks.removesuffix("!")
    decided = f'<span class="decided">{_decision_text(decision)}</span>' if decision is not None else ""
    scale = shift_scale(cell.shift) if cell.shift is not None else ""
    sentence = cell_description(cell) + (
        f" Decided: {_decision_text(decision)}." if decision is not None else ""
    )
    link = f' href="{escape_markup(href)}"' if href is not None else ""
    return (
        f'<td class="{escape_markup(" ".join(kinds))}"><a id="at-{place}"{link}>'
        f'<span aria-hidden="true"><b>{f"{cell.shown} {marks}".rstrip()}</b>{scale}{cell.match_text}'
        f'{decided}</span><span class="tip">{escape_markup(sentence)}</span></a></td>'
    )


def shift_scale(shift: float) -> str:
    """Where the shift lies between 0 and 1, on the bands that `scale_bands` draws once."""
    at = round(min(max(shift, 0.0), 1.0) * SCALE_WIDTH)
    return (
        f'<svg class="scale" viewBox="-1 0 {SCALE_WIDTH + 2} 5" aria-hidden="true">'
        f'<use href="#bands"/><path class="at" d="M{at} 0v5"/></svg>'
    )


def scale_bands(bands: tuple[float, float]) -> str:
    """The bands of the seed, for every scale of the page."""
    low, high = (round(edge * SCALE_WIDTH) for edge in bands)
    parts = (("green", 0, low), ("amber", low, high), ("red", high, SCALE_WIDTH))
    drawn = "".join(f'<path class="{band}" d="M{start} 2.5H{end}"/>' for band, start, end in parts)
    return f'<svg class="bands" width="0" height="0" aria-hidden="true"><g id="bands">{drawn}</g></svg>'


def verdict_legend(heatmap: Heatmap) -> str:
    low, high = heatmap.bands
    parts = [
        f'<li><i class="{COLOURS.get(verdict, _NO_COLOUR)} {verdict}"></i>{verdict}: {meaning}</li>'
        for verdict, meaning in MEANINGS.items()
    ]
    parts += [f'<li><i class="none {mark}"></i>{mark}: {MARKS[mark]}</li>' for mark in ("flagged",)]
    return (
        f'<ul class="legend" aria-label="Legend">{"".join(parts)}'
        f"<li>{shift_scale(low)} the shift from 0 to 1: no meaningful shift below {low:g},"
        f" critical from {high:g}</li>"
        f"<li>flagged by its shift: {escape_markup(heatmap.flag_limits)}</li></ul>"
    )


def _decision_text(decision: str) -> str:
    return DECISIONS.get(decision, escape_markup(decision))
