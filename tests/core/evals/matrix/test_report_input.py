"""The lines that a report is computed from: what is stored goes in, report and scores of runs come out."""

import json
from typing import Any

from pipelines.core.evals.matrix.report_input import (
    SCORES,
    ReportVariation,
    error_line,
    head_line,
    output_line,
    report_of_lines,
    row_line,
)
from pipelines.core.evals.scenarios.scenario import CellExpectation, Scenario
from pipelines.core.text.json_text import JsonObject, dumps

EXPECTED: JsonObject = {"action": "escalate", "priority": "high"}
SCENARIO = Scenario(name="S", risk_level="critical", input_context={}, expected_behavior=EXPECTED)
HEAD = head_line({"agent": {"id": 1}}, [ReportVariation(id="hurry", version=3, name="Hurry")])


def row(expected: dict[str, CellExpectation] | None = None) -> bytes:
    return row_line("scn_1", 2, dumps(SCENARIO.as_json()).decode(), expected)


def output(run_id: int, variation: str | None, *, matched: bool = True, **value: Any) -> bytes:
    observed = json.dumps({"output_class": "object", "value": EXPECTED | value, "notes": []})
    return output_line("scn_1", variation, run_id, matched, observed)


def computed(*lines: bytes) -> tuple[Any, dict[int, tuple[float | None, bool]]]:
    parts = list(report_of_lines(lines))
    scores = [each for part in parts if part.startswith(SCORES) for each in json.loads(part[1:])]
    report = json.loads(b"".join(part[1:] for part in parts if not part.startswith(SCORES)))
    return report, {run: (shift, is_flagged) for run, shift, is_flagged in scores}


def test_cells_and_runs_are_scored_against_the_rows_baseline() -> None:
    lines = [HEAD, row(), output(1, None), output(2, "hurry", matched=False, action="proceed")]
    report, scores = computed(*lines, output(3, "hurry"), error_line("scn_1", "hurry", 2))
    (cell,) = report["cells"]
    assert report["agent"] == {"id": 1}
    assert (cell["runs"], cell["errors"], cell["match_rate"]["k"]) == (2, 2, 1)
    assert scores == {1: (None, False), 2: (0.6, True), 3: (0.0, False)}
    assert report["scenarios"][0]["version"] == 2
    assert report["variations"][0]["version"] == 3


def test_a_cell_that_nothing_is_known_of_is_there_and_incomplete() -> None:
    report, scores = computed(HEAD, row())
    (cell,) = report["cells"]
    assert (cell["runs"], cell["verdict"], cell["shift_magnitude"]) == (0, "incomplete", None)
    assert scores == {}


def test_runs_without_a_baseline_have_no_shift_and_raise_no_flag() -> None:
    _, scores = computed(HEAD, row(), output(2, "hurry", action="proceed"))
    assert scores == {2: (None, False)}


def test_what_is_expected_of_a_cell_by_now_is_matched_anew_and_may_exempt_it() -> None:
    lines = [output(1, None), output(2, "hurry", matched=False, action="proceed")]
    accepted = {"hurry": CellExpectation(expected_behavior=EXPECTED | {"action": "proceed"})}
    report, scores = computed(HEAD, row(accepted), *lines)
    assert report["cells"][0]["match_rate"]["k"] == 1
    assert scores[2] == (0.6, True)
    report, scores = computed(HEAD, row({"hurry": CellExpectation(expectation="exempt")}), *lines)
    assert report["cells"][0]["verdict"] == "exempt"
    assert scores[2] == (0.6, False)


def test_a_row_that_is_told_twice_counts_once() -> None:
    report, _ = computed(HEAD, row(), row(), output(1, None))
    assert len(report["scenarios"]) == len(report["cells"]) == 1
