"""A report read back cell by cell is the report, whatever its cells hold."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.matrix.report_text import read_report
from pipelines.core.text.json_text import dumps
from support.sample_report import cell, large_report, report_of, scenario, seed_report

TEXTS = st.sampled_from(['],"summary":', '"cells":[', ',{"scenario_id":', "\\", '"', "a"]).flatmap(
    lambda word: st.text(max_size=8).map(lambda other: other + word)
)
VALUES = st.recursive(
    st.none()
    | st.integers(0, 9)
    | TEXTS.filter(lambda text: not any("\ud800" <= each <= "\udfff" for each in text)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["scenario_id", "cells", "summary"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def test_a_small_a_large_and_an_empty_report_are_read_as_they_are() -> None:
    for report in (seed_report(), large_report(20), report_of([], [], [])):
        assert read_report(dumps(report)) == report


@settings(max_examples=80)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_values_that_look_like_the_report_around_them_stay_values(values: list[Any]) -> None:
    cells = [
        cell(
            "scn_1",
            f"v{at}",
            0.6,
            components=[{"path": "/a", "distance": 1.0, "from": [value, value], "to": value}],
        )
        for at, value in enumerate(values)
    ]
    report = report_of([scenario("scn_1", "A")], [f"v{at}" for at in range(len(values))], cells)
    assert read_report(dumps(report)) == report


def test_of_each_cell_only_what_is_asked_for_is_held() -> None:
    found = read_report(dumps(seed_report()), lambda cell: {"variation": cell["variation"]})
    assert isinstance(found["cells"], list)
    assert found["cells"][0] == {"variation": "time_pressure"}


def test_a_report_in_another_order_is_read_all_the_same() -> None:
    report = seed_report()
    last = {"scenarios": report.pop("scenarios"), "summary": report.pop("summary")}
    for turned in ({**report, **last}, dict(reversed((report | last).items()))):
        assert read_report(dumps(turned)) == report | last
