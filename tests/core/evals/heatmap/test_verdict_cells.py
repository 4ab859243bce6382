"""The cells of a heatmap page: the colour is the verdict, the shift has a scale, and decisions are shown."""

import json
import re
from typing import Any

import pytest

from pipelines.core.evals.heatmap.heatmap import HeatCell, Rate
from pipelines.core.evals.heatmap.heatmap_html import html_parts
from pipelines.core.evals.heatmap.heatmap_page import heatmap_of, heatmap_page
from pipelines.core.evals.heatmap.verdict_cells import (
    DECISIONS,
    MEANINGS,
    SCALE_WIDTH,
    shift_scale,
    verdict_cell,
    verdict_colour,
)
from pipelines.core.evals.reviews.review import VERDICTS, ReviewKind
from pipelines.core.text.json_text import dumps
from support.sample_report import seed_report


def cell(verdict: str, *, k: int = 5, n: int = 5, shift: float | None = 0.05, **more: Any) -> HeatCell:
    values: dict[str, Any] = {"band": "green", "is_flagged": False, "detail": {}} | more
    shown = "–" if shift is None else f"{shift:.2f}"
    match = Rate(k=k, n=n, interval=None) if n else None
    return HeatCell(shift=shift, shown=shown, verdict=verdict, match=match, **values)


@pytest.mark.parametrize(
    ("verdict", "colour"),
    [
        ("robust", "green"),
        ("susceptible", "amber"),
        ("critical", "red"),
        ("failing", "red"),
        ("inconclusive", "none"),
        ("incomplete", "none"),
        ("exempt", "none"),
    ],
)
def test_the_colour_is_the_verdict_whatever_the_shift(verdict: str, colour: str) -> None:
    for band in ("green", "amber", "red", None):
        assert verdict_colour(cell(verdict, band=band)) == colour


@pytest.mark.parametrize("verdict", MEANINGS)
def test_no_cell_is_green_when_none_of_its_runs_match(verdict: str) -> None:
    assert verdict_colour(cell(verdict, k=0)) != "green"
    assert verdict_colour(cell(verdict, n=0)) != "green"


def test_a_failing_cell_that_does_not_move_is_red_in_the_page_and_green_in_the_file() -> None:
    report: Any = seed_report()
    moved = report["cells"][0]
    moved |= {"verdict": "failing", "shift_magnitude": 0.0, "band": "green"}
    moved["match_rate"] = {"k": 0, "n": 5, "rate": 0.0, "interval": [0.0, 0.4]}
    page = json.loads(heatmap_page(dumps(report), first=0, show="all"))["table"]
    file = "".join(html_parts(heatmap_of(report)))
    assert '<td class="red failing"><a id="at-0-0"' in page
    assert '<td class="green failing"><a id="at-0-0"' in file


def test_the_scale_marks_where_the_shift_lies() -> None:
    def place(shift: float) -> int:
        found = re.search(r'class="at" d="M(\d+) ', shift_scale(shift))
        assert found is not None
        return int(found[1])

    assert [place(0.0), place(0.5), place(1.0)] == [0, SCALE_WIDTH // 2, SCALE_WIDTH]
    assert (place(-1.0), place(7.0)) == (0, SCALE_WIDTH)
    assert "<svg" not in verdict_cell("0-0", cell("incomplete", shift=None, n=0), None, None)


def test_a_decided_cell_carries_the_decision_and_no_flag() -> None:
    flagged = cell("critical", is_flagged=True, shift=0.7)
    undecided = verdict_cell("0-0", flagged, "/x", None)
    decided = verdict_cell("0-0", flagged, "/x", "acceptable_shift")
    assert 'class="red critical flagged"' in undecided
    assert "0.70 !" in undecided
    assert 'class="red critical"' in decided
    assert "0.70 !" not in decided
    assert '<span class="decided">shift is right</span>' in decided
    assert "Decided: shift is right." in decided


def test_every_verdict_of_a_reviewer_has_words_for_a_cell() -> None:
    assert set(DECISIONS) == set(VERDICTS[ReviewKind.SHIFT])


def test_the_page_marks_the_cells_that_were_decided() -> None:
    report: Any = seed_report()
    first = report["cells"][0]
    decided = [[first["scenario_id"], first["variation"], "confirmed_susceptible"]]
    told = json.loads(heatmap_page(dumps(report), first=0, show="all", decided=decided))
    assert told["table"].count('class="decided"') == 1
    assert told["counts"]["decided"] == 1
