"""The heatmap's record: what stands in a cell, in the seed's colours, and what its JSON says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.evals.heatmap.heatmap import band_of, format_shift, heatmap_of
from pipelines.core.evals.heatmap.heatmap_csv import csv_parts
from pipelines.core.evals.heatmap.heatmap_html import html_parts
from pipelines.core.evals.heatmap.heatmap_svg import svg_parts
from pipelines.core.evals.matrix.compare_matrices import compare_reports
from support.sample_report import SEED_TABLE, SETTINGS, cell, rate, report_of, scenario, seed_report

NEWER_SETTINGS = ("flag_from", "robust_match_share", "most_from")
BANDS = (0.2, 0.5)


def test_the_seeds_table_has_the_seeds_numbers_and_colours() -> None:
    rows = heatmap_of(seed_report()).rows
    assert [row.name for row in rows] == list(SEED_TABLE)
    for row, shifts in zip(rows, SEED_TABLE.values(), strict=True):
        assert [cell.shown for cell in row.cells[:6]] == [f"{shift:.2f}" for shift in shifts]
    assert [cell.band for cell in rows[2].cells[:6]] == ["red", "amber", "red", "green", "red", "amber"]
    assert {cell.band for cell in rows[1].cells[:6]} == {"green"}


@pytest.mark.parametrize(
    ("shift", "band"),
    [(0.0, "green"), (0.1999, "green"), (0.2, "amber"), (0.4999, "amber"), (0.5, "red"), (1.0, "red")],
)
def test_bands_begin_where_the_seed_says(shift: float, band: str) -> None:
    assert band_of(shift, BANDS) == band


@given(st.floats(0, 1))
def test_a_number_is_never_rounded_into_the_next_band(shift: float) -> None:
    assert band_of(float(format_shift(shift, BANDS)), BANDS) == band_of(shift, BANDS)


def test_rounding_takes_a_decimal_more_only_at_an_edge() -> None:
    assert format_shift(0.196, BANDS) == "0.196"
    assert format_shift(0.4996, BANDS) == "0.4996"
    assert format_shift(0.194, BANDS) == "0.19"


def test_signs_say_what_hatching_border_and_corner_say() -> None:
    a, b, c = heatmap_of(seed_report()).rows
    inconclusive, no_runs, both = a.cells[6], b.cells[6], c.cells[6]
    assert (inconclusive.marks, no_runs.marks, both.marks) == ("?", "…", "?!")
    assert inconclusive.more_runs == "about 7 more runs would decide"
    assert (no_runs.shown, no_runs.band, no_runs.match) == ("–", None, None)
    assert (b.cells[7].marks, b.cells[7].band) == ("×", None)  # exempt: its number, and no colour
    assert c.cells[0].marks == "!"


def test_a_cell_that_is_wrong_without_pressure_too_is_marked_and_has_details() -> None:
    cells = [cell("scn_1", "time_pressure", 0.0, verdict="failing", match_rate=rate(0, 5))]
    heatmap = heatmap_of(report_of([scenario("scn_1", "A")], ["time_pressure"], cells))
    (only,) = heatmap.rows[0].cells
    assert (only.marks, only.band, only.is_notable) == ("F", "green", True)
    for drawn in ("".join(html_parts(heatmap)), "".join(svg_parts(heatmap)), b"".join(csv_parts(heatmap))):
        assert ("failing" if isinstance(drawn, str) else b"failing") in drawn


def test_a_report_of_before_is_read_with_its_own_thresholds() -> None:
    """Reports that were stored when every threshold was exclusive."""
    old = {name: value for name, value in SETTINGS.items() if name not in NEWER_SETTINGS}
    settings = old | {"flag_above": {"critical": 0.5, "high": 0.6, "medium": 0.75}}
    cells = [cell("scn_1", "time_pressure", 0.05, verdict="robust", match_rate=rate(1, 3))]
    report = report_of([scenario("scn_1", "A")], ["time_pressure"], cells, settings=settings)
    heatmap = heatmap_of(report)
    assert heatmap.rows[0].cells[0].verdict == "robust"
    assert heatmap.flag_limits == "critical above 0.5, high above 0.6, medium above 0.75"
    assert compare_reports(report, report)["same"] == 2


def test_a_cell_the_report_does_not_have_yet_is_one_without_runs() -> None:
    report = report_of([scenario("scn_1", "A")], ["time_pressure"], [], status="running")
    (only,) = heatmap_of(report).rows[0].cells
    assert (only.shown, only.verdict) == ("–", "incomplete")
    assert not heatmap_of(report).is_final


def test_bands_and_thresholds_are_those_of_the_reports_settings() -> None:
    cells = [cell("scn_1", "time_pressure", 0.3, band=None)]
    settings = {"amber_from": 0.4, "red_from": 0.8, "flag_above": {"critical": 0.9}}
    heatmap = heatmap_of(report_of([scenario("scn_1", "A")], ["time_pressure"], cells, settings=settings))
    assert heatmap.rows[0].cells[0].band == "green"
    legend = heatmap.as_json()["legend"]
    assert isinstance(legend, dict)
    assert legend["flag_above"] == {"low": None, "critical": 0.9}
    assert legend["bands"][1]["from"] == 0.4  # type: ignore[index, call-overload]


def test_the_json_has_every_cell_of_every_row_in_the_order_of_the_columns() -> None:
    whole = heatmap_of(seed_report()).as_json()
    columns, rows = whole["columns"], whole["rows"]
    assert isinstance(columns, list)
    assert isinstance(rows, list)
    for row in rows:
        assert isinstance(row, dict)
        assert isinstance(row["cells"], list)
        assert [each["variation"] for each in row["cells"]] == [column["id"] for column in columns]  # type: ignore[index, call-overload]
    hatched = rows[0]["cells"][6]  # type: ignore[index, call-overload]
    assert (hatched["shown"], hatched["is_hatched"], hatched["more_runs"]) == ("0.28", True, 7)
    assert whole["matrix_id"] == "mtx_0123456789abcdef01234567"
    assert rows[0]["baseline"]["match_rate"] == rate(9, 10)  # type: ignore[index, call-overload]


def test_a_shift_that_the_scenario_expects_has_no_colour_of_a_fault() -> None:
    expected = cell(
        "scn_1", "time_pressure", 0.9, expectation="directional", verdict="robust", is_flagged=False
    )
    (only,) = heatmap_of(report_of([scenario("scn_1", "A")], ["time_pressure"], [expected])).rows[0].cells
    assert (only.shown, only.marks, only.band) == ("0.90", "→", None)
