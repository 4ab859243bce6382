"""A page of a heatmap, and one cell of it, as a server shows them: from the report's text."""

import json
import re
from typing import Any

import pytest

from pipelines.core.evals.heatmap.heatmap import heatmap_of
from pipelines.core.evals.heatmap.heatmap_html import html_parts
from pipelines.core.evals.heatmap.heatmap_page import MOST_CELLS, ROW_FILTERS, heatmap_cell, heatmap_page
from pipelines.core.evals.heatmap.heatmap_table import with_line_breaks
from pipelines.core.text.json_text import dumps
from support.sample_report import cell, large_report, report_of, scenario, seed_report

HOSTILE = "\"><script>alert('1')</script>&amp;\u202e"
LINK = re.compile(r'<a id="at-(\d+)-(\d+)" href="([^"]*)">')


def _page(report: Any, first: int = 0, show: str = "all") -> Any:
    return json.loads(heatmap_page(dumps(report), first=first, show=show))


def _cell(report: Any, scenario_id: str, variation: str | None) -> Any:
    return json.loads(heatmap_cell(dumps(report), scenario_id=scenario_id, variation=variation))


def test_every_cell_of_the_page_has_its_number_its_class_and_its_sentence() -> None:
    report = seed_report()
    table = _page(report)["table"]
    assert len(LINK.findall(table)) == len(report["scenarios"]) * len(report["variations"])
    assert table.count('class="tip"') == len(LINK.findall(table))
    assert "Critical, flagged. Shift 0.67 (95 % interval 0.57 to 0.77). 2 of 5 runs matched." in table
    assert "Action: &quot;escalate_to_owner&quot; → &quot;proceed&quot;." in table
    assert "Inconclusive: about 7 more runs would decide." in table


def test_the_page_and_the_file_draw_the_same_table() -> None:
    """Except where the links lead, what stands in a cell for those who point at it, and the colour: of the
    verdict in the page, and of the shift in the file."""

    def plain(text: str) -> list[str]:
        table = text[text.index('<table class="map">') : text.index("</table>")]
        table = re.sub(r'<span class="(?:tip|sr)">.*?</span>', "", table)
        table = re.sub(r'<svg class="scale".*?</svg>|class="(?:green|amber|red|none) [a-z]+', "", table)
        return re.sub(r'</?a[^>]*>|<span aria-hidden="true">|</span>', "", table).split("<tr")

    report = seed_report()
    assert plain(_page(report)["table"]) == plain("".join(html_parts(heatmap_of(report))))


def test_names_of_strangers_are_text_in_table_and_links() -> None:
    report = report_of(
        [scenario(HOSTILE, HOSTILE)],
        [HOSTILE],
        [
            cell(
                HOSTILE, HOSTILE, 0.7, components=[{"path": HOSTILE, "distance": 1, "from": HOSTILE, "to": 1}]
            )
        ],
    )
    drawn = _page(report)
    assert "<script" not in drawn["table"] + drawn["legend"]
    (_, _, href) = LINK.findall(drawn["table"])[0]
    assert re.fullmatch(r"[\w/?=&;%.+~-]+", href)
    assert _cell(report, HOSTILE, HOSTILE)["row"]["name"] == HOSTILE


@pytest.mark.parametrize("show", ROW_FILTERS)
def test_rows_are_shown_when_one_of_their_cells_is_asked_for(show: str) -> None:
    report = seed_report()
    drawn = _page(report, show=show)
    wanted = [row for row in heatmap_of(report).rows if any(map(ROW_FILTERS[show], row.cells))]
    assert drawn["rows"] == drawn["shown"] == len(wanted)
    assert drawn["table"].count('<th scope="row">') == len(wanted)


def test_a_large_matrix_comes_a_page_at_a_time_and_no_row_is_lost() -> None:
    report = large_report(700, 8)
    seen: list[str] = []
    first: int | None = 0
    while first is not None:
        drawn = _page(report, first)
        rows = re.findall(r'<tr class="[^"]*" id="(row-\d+)">', drawn["table"])
        assert len(rows) * 8 <= MOST_CELLS
        seen += rows
        first = drawn["next"]
    assert seen == [f"row-{number}" for number in range(700)]


def test_a_cell_knows_its_neighbours_and_what_is_not_there_is_none() -> None:
    report = seed_report()
    first, last = report["scenarios"][0]["id"], report["scenarios"][-1]["id"]
    names = [each["id"] for each in report["variations"]]
    corner = _cell(report, first, names[0])
    assert set(corner["around"]) == {"left", "right", "down"}  # left of it is the baseline
    assert "variation" not in corner["around"]["left"]
    assert set(_cell(report, last, names[-1])["around"]) == {"left", "up"}
    assert set(_cell(report, first, None)["around"]) == {"right", "down"}
    assert _cell(report, "scn_x", names[0]) is None
    assert _cell(report, first, "nothing") is None


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("Time pressure", "Time pressure"),
        ("by_the_boss", "by_<wbr>the_<wbr>boss"),
        ("a/b<c", "a/<wbr>b&lt;c"),
        ("9.5", "9.<wbr>5"),
        ("", ""),
    ],
)
def test_a_name_may_go_to_the_next_line_between_its_words(name: str, drawn: str) -> None:
    assert with_line_breaks(name) == drawn
