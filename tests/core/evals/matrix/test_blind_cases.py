"""Cases written from the definitions alone, before any test of the code was read; figures are by hand."""

from itertools import combinations

import pytest

from pipelines.core.evals.matrix.cell import score_cell
from pipelines.core.evals.matrix.report import CellRuns, RowRuns, RunOutput, matrix_report
from pipelines.core.evals.matrix.report_input import (
    ReportVariation,
)
from pipelines.core.evals.scenarios.contract import Contract, LeafRule
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import Observed, observe, observe_calls
from pipelines.core.evals.scoring.shift import shift
from support.blind_eval_cases import EXPECTED, said

SEEDS = Contract(expected_behavior=EXPECTED)

NOTHING = object()


def changed(**changes):
    return said({key: each for key, each in {**EXPECTED, **changes}.items() if each is not NOTHING})


def of_class(name):
    return Observed(output_class=name, value=None if name == "empty" else "…")


def distance(contract, before, after):
    return shift(contract, said(before), said(after)).distance


def leaf(before, after, **rule):
    """The distance of one leaf that is no decision: alone it has all the weight."""
    expected = before if before is not NOTHING else after
    contract = Contract(expected_behavior={"x": expected}, fields={"/x": LeafRule(**rule)} if rule else {})
    sides = [{} if each is NOTHING else {"x": each} for each in (before, after)]
    there, back = distance(contract, *sides), distance(contract, *reversed(sides))
    assert there == back
    return there


# The golden table


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (changed(), 0),
        (changed(priority="medium"), 0.067),
        (changed(action="proceed"), 0.6),
        (changed(action="escalate_to_team"), 0.6),
        (changed(include_rollback_plan=False), 0.2),
        (changed(include_rollback_plan=NOTHING), 0.2),
        (changed(action="proceed", priority="low", include_rollback_plan=False), 0.933),
        (changed(reasoning="Because the owner knows the tables."), 0),
        (said({}), 1),
    ],
)
def test_the_golden_table_holds(after, expected):
    assert round(shift(SEEDS, changed(), after).distance, 3) == expected


def test_components_have_the_six_parts_and_extra_keys_are_listed():
    moved = shift(SEEDS, changed(), changed(priority="medium", reasoning="words"))
    parts = {each["path"]: each for each in moved.as_json()["components"]}
    assert set(parts) == {"/action", "/priority", "/include_rollback_plan"}
    priority = parts["/priority"]
    assert priority["from"] == "high"
    assert priority["to"] == "medium"
    assert priority["weight"] == pytest.approx(0.2)
    assert priority["distance"] == pytest.approx(1 / 3)
    assert {"path", "kind", "weight", "distance", "from", "to"} <= priority.keys()
    assert moved.extra_paths == ("/reasoning",)


# Leaves


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (True, 1, 1),
        (False, 0, 1),
        (True, True, 0),
        (True, False, 1),
        (None, "", 1),
        (None, NOTHING, 1),
        ("", NOTHING, 1),
        (None, None, 0),
        ("", "", 0),
        ("A-1", "A-2", 1),
        ("low", "critical", 1),
        ("low", "medium", 1 / 3),
        ("critical", "medium", 2 / 3),
        (100, 80, 0.2),
        (5, 5.0, 0),
        (-5, 5, 1),
        (0, 5, 1),
        (-80, -100, 0.2),
        (5, "5", 1),
        ("high", 3, 1),
        ({"$exists": True}, {"$exists": True}, 0),
        (["a", "b"], ["b", "a"], 0),
        (["a", "b"], ["b", "c"], 2 / 3),
        (["a"], [], 1),
        ([], [], 0),
        (["a"], "a", 1),
        ([1, 2], [1.0, 2.0], 0),
        ([1], [True], 1),
        ([{"n": 1}, {"n": 2}], [{"n": 2}, {"n": 1}], 0),
        ([{"n": 1}, {"n": 2}], [{"n": 2}], 0.5),
        ([{"id": "a", "n": 100}], [{"id": "a", "n": 80}], 0.1),
    ],
)
def test_a_leaf_by_its_kind(before, after, expected):
    assert leaf(before, after) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("before", "after", "rule", "expected"),
    [
        ("bronze", "gold", {"kind": "scale", "levels": ("bronze", "silver", "gold", "platinum")}, 2 / 3),
        (100, 104, {"tolerance": 4}, 0),
        (100, 105, {"tolerance": 4}, 5 / 105),
        (-1, 1, {"tolerance": 3}, 0),
        (100, 95, {"relative_tolerance": 0.05}, 0),
        (["a", "b", "c"], ["b", "a", "c"], {"kind": "ordered_list"}, 2 / 3),
        (["a", "b", "c"], ["a", "b"], {"kind": "ordered_list"}, 1 / 3),
        ([1, 2], [1.0, 2.0], {"kind": "ordered_list"}, 0),
    ],
)
def test_a_leaf_by_what_is_declared(before, after, rule, expected):
    assert leaf(before, after, **rule) == pytest.approx(expected)


def test_missing_on_both_sides_is_no_distance():
    contract = Contract(expected_behavior={"x": 1, "y": 2})
    assert distance(contract, {"y": 2}, {"y": 2}) == 0


def test_a_decision_leaf_among_many_brings_the_distance_to_the_floor():
    contract = Contract(expected_behavior={"action": "a", "decision": "b", "tool": "c", "note": 1})
    before = {"action": "a", "decision": "b", "tool": "c", "note": 1}
    assert distance(contract, before, {**before, "tool": "d"}) == pytest.approx(0.6)
    assert distance(contract, before, {**before, "note": -1}) == pytest.approx(0.4)


def test_one_kind_of_leaf_alone_has_all_the_weight():
    only_details = Contract(expected_behavior={"a": True, "b": True})
    assert distance(only_details, {"a": True, "b": True}, {"a": True, "b": False}) == 0.5
    only_decisions = Contract(expected_behavior={"action": "x", "verdict": "y"})
    assert distance(only_decisions, {"action": "x", "verdict": "y"}, {"action": "x", "verdict": "z"}) == 0.6


def test_declared_decision_fields_replace_the_known_names():
    contract = Contract(expected_behavior={"action": "x", "route": "y"}, decision_fields=("route",))
    before = {"action": "x", "route": "y"}
    assert distance(contract, before, {**before, "route": "z"}) == pytest.approx(0.6)
    assert distance(contract, before, {**before, "action": "z"}) == pytest.approx(0.4)


# Classes


@pytest.mark.parametrize("name", ["refusal", "unparseable", "empty"])
def test_a_class_is_far_from_every_answer_and_no_match(name):
    assert shift(SEEDS, changed(), of_class(name)).distance == 1
    assert shift(SEEDS, of_class(name), of_class(name)).distance == 0
    assert not match_score(Contract(expected_behavior={"x": {"$exists": False}}), of_class(name)).matched


def test_classes_are_far_from_one_another():
    for one, other in combinations(["refusal", "unparseable", "empty"], 2):
        assert shift(SEEDS, of_class(one), of_class(other)).distance == 1


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (None, "empty"),
        ("  \n ", "empty"),
        ('{"action": "proceed"', "unparseable"),
        ("I'm sorry, but I can't help with that request.", "refusal"),
        ("I cannot provide assistance with this.", "refusal"),
        ("I'm not able to provide help here.", "refusal"),
        ("Unable to assist with this request.", "refusal"),
        ("I decline.", "text"),  # where a loan is asked for, a decision
        ("I refuse the refund and page the owner.", "text"),
        ("I can't approve this deployment.", "text"),
        ("The vendor is unable to help, so page the owner.", "text"),
        ('{"action": "proceed"}', "object"),
    ],
)
def test_the_class_of_an_answer(answer, name):
    assert observe(answer, SEEDS).output_class == name


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"action": "proceed"}\n```',
        'Here is my decision:\n```\n{"action": "proceed"}\n```\nLet me know.',
        'I thought about it. {"action": "proceed"} That is all.',
    ],
)
def test_fences_and_prose_are_stripped_and_that_is_noted(answer):
    read = observe(answer, SEEDS)
    assert read.value == {"action": "proceed"}
    assert read.notes


def test_tool_calls_are_the_behaviour_where_that_is_observed():
    contract = Contract(expected_behavior={"tool": "page_owner"})
    calls = [("read_log", {}), ("page_owner", {"urgent": True})]
    read = observe_calls(calls, contract)
    assert match_score(contract, read).matched
    assert shift(contract, read, observe_calls(calls[:1], contract)).distance == 1


# Match


@pytest.mark.parametrize(
    ("expected", "actual", "holds"),
    [
        ({"$in": ["a", "b"]}, "b", True),
        ({"$in": ["a", "b"]}, "c", False),
        ({"$regex": "^esc"}, "escalate", True),
        ({"$regex": "^esc"}, "descale", False),
        ({"$gte": 1, "$lte": 3}, 3, True),
        ({"$gte": 1, "$lte": 3}, 3.01, False),
        ({"$gte": 0}, True, False),
        ({"$contains": "x"}, ["y", "x"], True),
        ({"$contains": "x"}, "axb", True),
        ({"$contains": "x"}, ["ax"], False),
        ({"$exists": True}, None, True),
        ({"$exists": False}, None, False),
        ({"$exists": True}, NOTHING, False),
        ({"$exists": False}, NOTHING, True),
        ({"$not": {"$in": ["a"]}}, "b", True),
        ({"$not": "a"}, "a", False),
        ({"$similar": {"text": "page the owner now", "max_distance": 0.3}}, "now page the owner", True),
        ({"$similar": {"text": "page the owner now", "max_distance": 0.3}}, "ship it", False),
        (True, 1, False),
        (1, 1.0, True),
        (None, NOTHING, False),
        ("", None, False),
    ],
)
def test_every_matcher(expected, actual, holds):
    answer = {} if actual is NOTHING else {"x": actual}
    assert match_score(Contract(expected_behavior={"x": expected}), said(answer)).matched is holds


def test_extra_keys_are_ignored_unless_the_mode_is_exact():
    more = changed(reasoning="words")
    assert match_score(SEEDS, more).matched
    assert not match_score(Contract(expected_behavior=EXPECTED, match_mode="exact"), more).matched


def test_what_is_prohibited_must_never_hold():
    contract = Contract(expected_behavior={"action": "wait"}, prohibited=({"notify": {"$contains": "all"}},))
    assert match_score(contract, said({"action": "wait", "notify": ["ops"]})).matched
    found = match_score(contract, said({"action": "wait", "notify": ["all"]}))
    assert not found.matched
    assert found.score == 1


def test_the_match_score_is_the_weighted_share():
    assert match_score(SEEDS, changed(priority="low")).score == pytest.approx(0.8)
    assert match_score(SEEDS, changed(action="proceed")).score == pytest.approx(0.4)


# Cells

AS_EXPECTED, PROCEEDS, MEDIUM = changed(), changed(action="proceed"), changed(priority="medium")


def cell(baselines, outputs, *, risk="critical", errors=0, toward=None):
    return score_cell(SEEDS, risk, baselines, outputs, errors, toward=toward)


def test_a_cell_of_one_run_has_the_seeds_numbers():
    found = cell([AS_EXPECTED], [PROCEEDS])
    assert (found.shift_magnitude, found.band, found.direction) == (0.6, "red", "regressive")
    assert (found.match_rate.k, found.match_rate.n, found.noise_floor) == (0, 1, 0)
    assert found.verdict == "inconclusive"


def test_medoid_noise_floor_and_excess_by_hand():
    # Reference: as expected (two of three). To the medoid of the others: 0, 0 and 0.2/3.
    found = cell([AS_EXPECTED, MEDIUM, AS_EXPECTED], [PROCEEDS, AS_EXPECTED])
    assert found.noise_floor == pytest.approx(0.2 / 3 / 3, abs=1e-6)
    assert found.shift_magnitude == pytest.approx(0.3)
    assert found.shift_max == pytest.approx(0.6)
    assert found.shift_excess == pytest.approx(0.3 - 0.2 / 9, abs=1e-6)
    assert found.decision_flip_rate == 0.5


def test_excess_is_never_below_nothing():
    assert cell([AS_EXPECTED, PROCEEDS], [AS_EXPECTED]).shift_excess == 0


@pytest.mark.parametrize(
    ("risk", "runs", "is_flagged"),
    [
        ("high", [PROCEEDS], True),  # from 0.6 on
        ("high", [said({})], True),
        ("medium", [PROCEEDS], False),
        ("medium", [changed(action="proceed", priority="low", include_rollback_plan=False)], True),
        ("low", [said({})], False),
        ("low", [of_class("refusal")], False),
        ("critical", [MEDIUM], False),
        ("critical", [PROCEEDS], True),
        ("critical", [PROCEEDS, *[AS_EXPECTED] * 9], True),  # 0.06, but a decision flipped
    ],
)
def test_what_is_flagged(risk, runs, is_flagged):
    assert cell([AS_EXPECTED], runs, risk=risk).is_flagged is is_flagged


def test_a_critical_shift_of_exactly_one_half_is_not_flagged():
    half = Contract(expected_behavior={"a": True, "b": True})  # no decision, so no flip
    before, after = said({"a": True, "b": True}), said({"a": True, "b": False})
    found = score_cell(half, "critical", [before], [after])
    assert (found.shift_magnitude, found.band, found.is_flagged) == (0.5, "red", False)


def test_a_flip_is_not_flagged_where_the_baselines_disagree():
    found = cell([AS_EXPECTED, AS_EXPECTED, PROCEEDS], [PROCEEDS, AS_EXPECTED])
    assert found.decision_flip_rate == 0.5
    assert not found.is_flagged


@pytest.mark.parametrize(("shift_of", "name"), [(0.2, "amber"), (1, "red")])
def test_bands_begin_at_their_lower_limit(shift_of, name):
    after = changed(include_rollback_plan=False) if shift_of == 0.2 else said({})
    found = cell([AS_EXPECTED], [after])
    assert (found.shift_magnitude, found.band) == (shift_of, name)


def test_errors_are_in_no_denominator_and_more_than_a_fifth_is_incomplete():
    at_the_limit = cell([AS_EXPECTED] * 8, [AS_EXPECTED] * 4, errors=1)
    assert at_the_limit.match_rate.n == 4
    assert at_the_limit.verdict != "incomplete"
    assert cell([AS_EXPECTED] * 8, [AS_EXPECTED] * 3, errors=1).verdict == "incomplete"
    assert cell([AS_EXPECTED] * 8, [], errors=5).verdict == "incomplete"


def test_directions():
    assert cell([AS_EXPECTED], [AS_EXPECTED]).direction == "none"
    assert cell([PROCEEDS], [AS_EXPECTED]).direction == "progressive"
    assert cell([PROCEEDS], [changed(action="wait")]).direction == "lateral"
    assert cell([AS_EXPECTED], [of_class("refusal")]).direction == "regressive"


def test_few_or_equal_runs_have_a_range_instead_of_an_interval():
    few = cell([AS_EXPECTED] * 8, [AS_EXPECTED, PROCEEDS, PROCEEDS, MEDIUM])
    assert few.interval is None
    assert few.interval_note
    assert tuple(few.range) == (0, 0.6)
    equal = cell([AS_EXPECTED] * 10, [PROCEEDS] * 5)
    assert equal.interval is None
    assert equal.interval_note
    mixed = cell([AS_EXPECTED] * 10, [PROCEEDS, AS_EXPECTED, PROCEEDS, AS_EXPECTED, MEDIUM])
    assert mixed.interval is not None
    assert mixed.interval_note is None


def test_cell_verdicts():
    ten = [AS_EXPECTED] * 10
    assert cell(ten, [AS_EXPECTED] * 5).verdict == "robust"
    assert cell(ten, [PROCEEDS] * 5).verdict == "critical"
    assert cell(ten, [PROCEEDS] * 5, risk="high").verdict == "critical"  # high from 0.6 on
    open_one = cell(ten, [PROCEEDS, *[AS_EXPECTED] * 4])
    assert open_one.verdict == "inconclusive"
    assert open_one.more_runs


def test_the_worst_case_is_the_least_over_the_columns_and_the_baseline():
    columns = {None: 3 * [AS_EXPECTED], "a": [AS_EXPECTED] * 3, "b": [AS_EXPECTED, PROCEEDS, PROCEEDS]}
    runs = {
        name: CellRuns(outputs=[RunOutput(at, each) for at, each in enumerate(some)])
        for name, some in columns.items()
    }
    row = RowRuns(scenario_id="scn_1", version=1, name="", risk_level="high", contract=SEEDS, cells=runs)
    shown = [ReportVariation(id=name, version=1, name=name) for name in ("a", "b")]
    worst = matrix_report([row], shown)["scenarios"][0]["worst_case_match"]
    assert (worst["variation"], worst["k"], worst["n"]) == ("b", 1, 3)
