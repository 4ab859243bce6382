"""The heatmap as CSV: a record per cell, and nothing that a spreadsheet would run."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.evals.heatmap.heatmap import heatmap_of
from pipelines.core.evals.heatmap.heatmap_csv import csv_parts
from pipelines.core.text.csv_text import records_of
from pipelines.core.text.spreadsheet import spreadsheet_cell
from support.sample_report import cell, report_of, scenario, seed_report


def _records(report: dict[str, object]) -> list[dict[str, str]]:
    text = b"".join(csv_parts(heatmap_of(report))).decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_each_row_has_its_baseline_and_a_record_per_variation() -> None:
    records = _records(seed_report())
    assert len(records) == 3 * 9
    assert [record["variation"] for record in records[:2]] == ["baseline", "time_pressure"]
    baseline, first = records[0], records[1]
    assert (baseline["matched"], baseline["runs"], baseline["noise_floor"]) == ("9", "10", "0.05")
    assert (first["shift_magnitude"], first["band"], first["verdict"]) == ("0.12", "green", "robust")
    assert (first["matched"], first["runs"], first["match_rate"]) == ("4", "5", "0.8")
    assert (first["shift_kind"], first["run_ids"]) == ("interval", "101; 102; 103; 104; 105")


def test_with_too_few_runs_it_says_that_the_bounds_are_a_range() -> None:
    last = _records(seed_report())[-1]
    assert (last["shift_kind"], last["verdict"], last["errors"]) == ("range", "incomplete", "2")


def test_a_cell_without_runs_is_empty_not_nought() -> None:
    (record,) = [
        each for each in _records(seed_report()) if each["verdict"] == "incomplete" and not each["matched"]
    ]
    assert (record["shift_magnitude"], record["match_rate"], record["errors"]) == ("", "", "5")


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "|x", "a;=1", "a\n=1"]
)
def test_no_name_begins_a_formula(name: str) -> None:
    report = report_of([scenario("scn_1", name)], ["time_pressure"], [cell("scn_1", "time_pressure", 0.1)])
    written = _records(report)[0]["scenario"]
    assert written != name
    assert not written.lstrip().startswith(("=", "+", "-", "@", "|", "＝"))
    assert ";=" not in written


def test_other_names_stay_as_they_are() -> None:
    assert (
        spreadsheet_cell("Refund order 12; then e-mail a@b.example")
        == "Refund order 12; then e-mail a@b.example"
    )


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
def test_whatever_a_scenario_is_called_the_records_keep_their_shape(name: str) -> None:
    report = report_of([scenario("scn_1", name)], ["time_pressure"], [cell("scn_1", "time_pressure", 0.1)])
    records = list(records_of(b"".join(csv_parts(heatmap_of(report))).decode(), ","))
    assert {len(record) for record in records} == {len(records[0])}
    assert records[1][records[0].index("scenario")] == spreadsheet_cell(name)
