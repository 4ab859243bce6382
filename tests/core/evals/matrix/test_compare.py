"""Two matrices side by side: what flipped, whether that is more than chance, and what cannot be compared."""

from typing import Any

import pytest

from pipelines.core.evals.matrix.compare_matrices import compare_reports
from pipelines.core.evals.matrix.resampling import sign_flip_p
from pipelines.core.text.statistics import exact_mcnemar, fisher_exact
from support.sample_report import cell, rate, report_of, scenario

V = "time_pressure"


def _report(matched: dict[str, tuple[int, int]], **changed: Any) -> dict[str, Any]:
    """One scenario per entry; its baseline is 5 of 5, or 1 of 1 where the cell has one run."""
    rows, cells = [], []
    for name, (k, n) in matched.items():
        base = {"runs": 1 if n == 1 else 5, "errors": 0, "match_rate": rate(*((1, 1) if n == 1 else (5, 5)))}
        rows.append(scenario(name, f"Scenario {name}", baseline=base))
        cells.append(cell(name, V, 0.1, match_rate=rate(k, n), runs=n, verdict="inconclusive"))
    return report_of(rows, [V], cells, **changed)


def _compare(before: dict[str, Any], after: dict[str, Any]) -> Any:
    return compare_reports(before | {"matrix_id": "mtx_old"}, after | {"matrix_id": "mtx_new"})


def test_with_one_run_each_the_flips_are_listed_and_tested_by_mcnemar() -> None:
    before = {f"s{at}": (1, 1) for at in range(6)} | {"t": (0, 1)}
    found = _compare(_report(before), _report({f"s{at}": (0, 1) for at in range(6)} | {"t": (1, 1)}))
    assert [each["scenario_id"] for each in found["regressions"]] == [f"s{at}" for at in range(6)]
    assert [each["scenario_id"] for each in found["improvements"]] == ["t"]
    assert found["flips"] == {"regressed": 6, "improved": 1}
    assert found["test"]["name"] == "mcnemar"
    assert found["test"]["p"] == exact_mcnemar(6, 1) == pytest.approx(0.125)
    assert (found["compared"], found["same"]) == (14, 7)  # seven cells, and their seven baselines
    first = found["regressions"][0]
    assert first["before"]["match_rate"]["k"] == 1
    assert first["after"]["match_rate"]["k"] == 0
    assert first["is_flip"]


def test_with_repeats_the_pair_is_the_unit_of_a_sign_flip_test() -> None:
    before = {f"s{at}": (5, 5) for at in range(8)}
    after = {f"s{at}": (1, 5) for at in range(8)}
    found = _compare(_report(before), _report(after))
    test = found["test"]
    expected = sign_flip_p([-0.8] * 8 + [0.0] * 8)
    assert expected is not None
    assert (test["name"], test["p"]) == ("sign_flip", expected.p)
    assert test["p"] == pytest.approx(2 / 2**8)
    assert (test["regressed"], test["improved"], test["mean_difference"]) == (8, 0, pytest.approx(-0.4))
    assert test["by_scenario"] == {
        "name": "sign_flip",
        "unit": "scenario",
        "scenarios": 8,
        "p": pytest.approx(2 / 2**8),
    }
    assert found["regressions"][0]["p"] == fisher_exact((5, 5), (1, 5))
    assert found["regressions"][0]["p_adjusted"] >= found["regressions"][0]["p"]


def test_cells_of_one_scenario_do_not_count_as_many_scenarios() -> None:
    def report(k: int) -> dict[str, Any]:
        row = scenario("s", "S", baseline={"runs": 5, "errors": 0, "match_rate": rate(5, 5)})
        variations = [f"v{at}" for at in range(8)]
        return report_of(
            [row], variations, [cell("s", each, 0.1, match_rate=rate(k, 5)) for each in variations]
        )

    test = _compare(report(5), report(0))["test"]
    assert test["p"] < 0.01
    assert test["by_scenario"]["p"] == 1.0  # one scenario proves nothing about others


def test_a_drop_that_leaves_the_majority_is_no_flip_and_stands_behind_the_flips() -> None:
    found = _compare(_report({"a": (5, 5), "b": (5, 5)}), _report({"a": (4, 5), "b": (2, 5)}))
    assert [(each["scenario_id"], each["is_flip"]) for each in found["regressions"]] == [
        ("b", True),
        ("a", False),
    ]


def test_a_worse_verdict_at_the_same_match_rate_is_a_regression() -> None:
    before, after = _report({"a": (5, 5)}), _report({"a": (5, 5)})
    before["cells"][0]["verdict"], after["cells"][0]["verdict"] = "robust", "critical"
    (only,) = _compare(before, after)["regressions"]
    assert (only["difference"], only["is_flip"]) == (0.0, False)


def test_another_version_of_the_question_is_shown_and_said_but_not_tested() -> None:
    before, after = _report({"a": (1, 1), "b": (1, 1)}), _report({"a": (0, 1), "b": (0, 1)})
    after["scenarios"][0]["version"] = 2
    found = _compare(before, after)
    changed = {each["scenario_id"]: each for each in found["regressions"]}
    assert changed["a"]["notes"] == ["the scenario changed from version 1 to 2"]
    assert (changed["a"]["is_tested"], changed["b"]["is_tested"]) == (False, True)
    assert found["test"]["pairs"] == 2  # b and its baseline
    after["variations"][0]["version"] = 3
    assert _compare(before, after)["test"]["pairs"] == 1  # the baseline of b


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"match_rate": rate(0, 0), "runs": 0},
            "all its runs in mtx_new ended with an error, or have not ended",
        ),
        ({"verdict": "incomplete"}, "too many of its runs failed in mtx_new"),
        ({"expectation": "exempt"}, "it is exempt in mtx_new"),
    ],
    ids=["no runs", "incomplete", "exempt"],
)
def test_what_cannot_be_compared_says_why(changed: dict[str, Any], reason: str) -> None:
    after = _report({"a": (5, 5)})
    after["cells"][0] |= changed
    (missing,) = _compare(_report({"a": (5, 5)}), after)["not_compared"]
    assert (missing["scenario_id"], missing["variation"], missing["reason"]) == ("a", V, reason)


def test_what_only_one_of_them_has_is_not_compared() -> None:
    before, after = _report({"a": (5, 5), "b": (5, 5)}), _report({"a": (5, 5)})
    after["cells"].clear()
    missing = {
        (each["scenario_id"], each["variation"]): each["reason"]
        for each in _compare(before, after)["not_compared"]
    }
    assert missing == {
        ("a", V): "mtx_new has no such cell",
        ("b", V): "mtx_new has no such scenario",
        ("b", None): "mtx_new has no such scenario",
    }


def test_warnings_name_what_differs_beside_the_version_of_the_agent() -> None:
    before = _report({"a": (5, 5)}, matrix={"delivery": "system"})
    after = _report(
        {"a": (5, 5)}, matrix={"delivery": "user"}, status="running", shift_method="contract+words"
    )
    after["agent"] = {"id": 2, "name": "other"}
    assert _compare(before, after)["warnings"] == [
        "mtx_new is still running (running): its numbers will change",
        "the matrices are of different agents: deploy-agent and other",
        "the shift method changed from contract to contract+words",
        "delivery changed from system to user",
    ]
    assert _compare(before, before)["warnings"] == []


def test_a_matrix_compared_with_itself_has_changed_in_nothing() -> None:
    report = _report({"a": (3, 5), "b": (5, 5)})
    found = _compare(report, report)
    assert (found["regressions"], found["improvements"], found["same"]) == ([], [], 4)
    assert found["test"]["p"] == 1.0


def test_where_nothing_can_be_compared_there_is_no_p() -> None:
    found = _compare(_report({"a": (5, 5)}), _report({"b": (5, 5)}))
    assert (found["compared"], found["test"]["p"], found["test"]["by_scenario"]["p"]) == (0, None, None)
