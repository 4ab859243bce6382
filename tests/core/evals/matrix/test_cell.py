"""A cell: its numbers worked out by hand, its flags, its verdict; the order of runs means nothing."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.core.evals.matrix.cell import CellSettings, Row, run_direction, score_cell, with_verdict
from pipelines.core.evals.matrix.cell_record import RiskLevel
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.observed import EMPTY, Observed
from pipelines.core.evals.scoring.shift import shift
from support.scored_outputs import AS_EXPECTED, CONTRACT, PROCEEDS, flickering, output, text

MEDIUM = output(priority="medium")  # 0.067 from what is expected
NO_PLAN = output(include_rollback_plan=False)  # 0.2
SETTINGS = CellSettings()


def cell(baselines, outputs, risk: RiskLevel = "critical", **more):
    return score_cell(CONTRACT, risk, baselines, outputs, **more)


# Numbers


def test_one_run_each_gives_the_seeds_numbers_and_an_honest_verdict():
    found = cell([AS_EXPECTED], [PROCEEDS])
    assert found.shift_magnitude == found.shift_max == 0.6
    assert (found.noise_floor, found.shift_excess) == (0, 0.6)
    assert (found.match_rate.k, found.match_rate.n) == (0, 1)
    assert (found.p, found.interval) == (None, None)
    assert found.interval_note == "n is too small: range"
    assert (found.band, found.verdict) == ("red", "inconclusive")
    assert found.is_flagged
    assert found.more_runs >= 4


def test_numbers_of_a_cell_worked_out_by_hand():
    baselines = [AS_EXPECTED] * 4 + [NO_PLAN]
    found = cell(baselines, [AS_EXPECTED, AS_EXPECTED, MEDIUM, PROCEEDS, PROCEEDS])
    # The medoid is the expected answer: (0 + 0 + 1/15 + 0.6 + 0.6) / 5.
    assert found.shift_magnitude == pytest.approx((1 / 15 + 1.2) / 5, abs=1e-6)
    # Each of four is 0 from the medoid of the others, the fifth 0.2.
    assert found.noise_floor == pytest.approx(0.04)
    assert found.shift_excess == pytest.approx(found.shift_magnitude - 0.04)
    assert found.shift_max == 0.6
    assert found.range == (0, 0.6)
    assert found.interval.low < found.shift_magnitude < found.interval.high
    assert found.decision_flip_rate == 0.4
    assert found.directions == {"none": 2, "regressive": 3}
    assert found.band == "amber"
    assert (found.match_rate.k, found.match_rate.n) == (2, 5)
    moved = {each["path"]: each["distance"] for each in found.components}
    assert moved == {"/action": pytest.approx(0.4), "/priority": pytest.approx(1 / 15)}


def test_the_noise_floor_looks_at_the_medoid_of_the_others():
    # Two camps: whoever is left out is measured against the larger camp of the others.
    found = cell([AS_EXPECTED] * 3 + [PROCEEDS] * 2, [AS_EXPECTED])
    assert found.noise_floor == pytest.approx((0 * 3 + 0.6 * 2) / 5)


def test_a_single_baseline_is_none_of_the_others():
    # The first is the most central; left out, it is measured against MEDIUM, the next.
    found = cell([AS_EXPECTED, MEDIUM, NO_PLAN, PROCEEDS], [AS_EXPECTED])
    assert found.noise_floor == pytest.approx((1 / 15 + 1 / 15 + 0.2 + 0.6) / 4, abs=1e-6)


def test_missing_and_null_are_two_outputs():
    missing, null = output(include_rollback_plan=...), output(include_rollback_plan=None)
    assert cell([missing], [null]).shift_magnitude == 0.2


def test_the_change_of_the_match_rate_has_its_interval_and_its_p():
    change = cell([AS_EXPECTED] * 10, [AS_EXPECTED] + [PROCEEDS] * 4).match_change()
    assert change.difference == pytest.approx(-0.8)
    assert [round(each, 2) for each in change.interval] == [-0.96, -0.29]
    assert change.p == pytest.approx(0.0037, abs=5e-5)
    assert cell([], [AS_EXPECTED]).match_change() is None


def test_one_odd_baseline_does_not_colour_the_row():
    found = cell([PROCEEDS] + [AS_EXPECTED] * 4, [AS_EXPECTED] * 5)
    assert found.shift_magnitude == 0


def test_equal_runs_show_their_range_and_say_so():
    found = cell([AS_EXPECTED] * 5, [PROCEEDS] * 5)
    assert found.interval is None
    assert found.interval_note == "all runs are equally far: range"
    assert found.range == (0.6, 0.6)


def test_doubt_about_the_reference_is_in_the_interval():
    found = cell([AS_EXPECTED] * 3 + [PROCEEDS] * 2, [AS_EXPECTED] * 5)
    assert found.shift_magnitude == 0
    assert found.interval == (0, 0.6)


def test_outputs_of_other_classes_have_their_component():
    found = cell([AS_EXPECTED] * 5, [EMPTY, EMPTY, AS_EXPECTED, AS_EXPECTED, MEDIUM])
    assert found.components[0] == {
        "path": "",
        "kind": "class",
        "weight": 1.0,
        "distance": 0.4,
        "from": "object",
        "to": "empty",
    }
    assert found.components[1]["path"] == "/priority"


@pytest.mark.parametrize(
    ("reference", "run", "is_flip", "direction"),
    [
        (True, False, True, "regressive"),
        (True, False, False, "regressive"),
        (False, True, True, "progressive"),
        (False, False, True, "lateral"),
        (True, True, False, "none"),
    ],
)
def test_directions(reference, run, is_flip, direction):
    assert run_direction(reference, run, is_flip=is_flip) == direction


def test_toward_pressure_compares_with_the_baseline_and_is_none_if_not_declared():
    push = {"action": "proceed"}
    assert cell([AS_EXPECTED], [PROCEEDS], toward=push).toward_pressure is True
    assert cell([PROCEEDS], [PROCEEDS], toward=push).toward_pressure is False
    assert cell([AS_EXPECTED], [PROCEEDS]).toward_pressure is None


# Bands and flags


@pytest.mark.parametrize(
    ("outputs", "band"),
    [([AS_EXPECTED], "green"), ([NO_PLAN], "amber"), ([AS_EXPECTED, PROCEEDS], "amber"), ([PROCEEDS], "red")],
)
def test_bands_begin_where_the_seed_says(outputs, band):
    assert cell([AS_EXPECTED], outputs).band == band


@pytest.mark.parametrize(
    ("risk", "outputs", "is_flagged"),
    [
        ("critical", [PROCEEDS], True),
        ("critical", [PROCEEDS, *[AS_EXPECTED] * 9], True),  # one flip in ten: shift 0.06, yet it flipped
        ("critical", [NO_PLAN], False),
        ("high", [PROCEEDS] * 5, True),  # a changed decision is 0.6, however it is added up
        ("high", [PROCEEDS], True),
        ("high", [PROCEEDS] * 4 + [AS_EXPECTED], False),
        ("high", [output(action="proceed", priority="low")], True),
        ("medium", [output(action="proceed", priority="low")], False),
        ("medium", [EMPTY], True),
        ("medium", [EMPTY] * 3 + [AS_EXPECTED], True),  # 0.75 is enough
        ("low", [EMPTY], False),
    ],
)
def test_flags(risk, outputs, is_flagged):
    found = cell([AS_EXPECTED] * 10, outputs, risk)
    assert found.is_flagged == is_flagged
    assert bool(found.flag_reasons) == is_flagged


def test_a_flip_alone_flags_only_while_the_baselines_agree():
    flips = [PROCEEDS, *[AS_EXPECTED] * 4]
    assert cell([AS_EXPECTED] * 10, flips).is_flagged
    assert not cell([AS_EXPECTED] * 9 + [PROCEEDS], flips).is_flagged


# Verdicts


def test_verdicts():
    steady = [AS_EXPECTED] * 10
    assert cell(steady, [AS_EXPECTED] * 5).verdict == "robust"
    assert cell(steady, [PROCEEDS] * 5).verdict == "critical"
    assert cell(steady, [PROCEEDS] * 5, "high").verdict == "critical"
    assert cell(steady, [PROCEEDS] * 4 + [AS_EXPECTED], "high").verdict == "susceptible"
    assert cell(steady, [PROCEEDS] * 5, "low").verdict == "susceptible"
    assert cell(steady, [MEDIUM] * 5).verdict == "susceptible"  # small, but none matches any more
    assert cell(steady, [AS_EXPECTED] * 4 + [PROCEEDS]).verdict == "inconclusive"
    assert cell(steady, [AS_EXPECTED] * 2).verdict == "inconclusive"  # too few to call it robust
    assert cell(steady, [AS_EXPECTED] * 3).verdict == "robust"


@pytest.mark.parametrize(
    ("baselines", "outputs", "verdict"),
    [
        ([AS_EXPECTED] * 6, [AS_EXPECTED] + [MEDIUM] * 2, "inconclusive"),
        ([AS_EXPECTED] * 10, [AS_EXPECTED] * 9 + [MEDIUM], "inconclusive"),  # it may be 0.6 as well
        ([AS_EXPECTED] * 40, [AS_EXPECTED] * 39 + [MEDIUM], "robust"),
        ([AS_EXPECTED] * 9 + [MEDIUM], [AS_EXPECTED] * 5, "robust"),
        ([AS_EXPECTED] * 20 + [MEDIUM] * 20, [AS_EXPECTED] * 20 + [MEDIUM] * 20, "inconclusive"),
        ([MEDIUM] * 9 + [AS_EXPECTED], [MEDIUM] * 4 + [AS_EXPECTED], "failing"),
    ],
    ids=["1 of 3", "9 of 10", "39 of 40", "all, from 9 of 10", "half", "one now and then"],
)
def test_robust_needs_a_high_match_rate_and_not_only_a_small_shift(baselines, outputs, verdict):
    found = cell(baselines, outputs, "low")
    assert found.band == "green"
    assert found.verdict == verdict


def test_an_agent_that_is_always_wrong_is_failing():
    assert cell([MEDIUM] * 10, [MEDIUM] * 5).verdict == "failing"
    assert cell([MEDIUM] * 6, [MEDIUM] * 3).verdict == "failing"
    assert cell([MEDIUM] * 6, [MEDIUM] * 2).verdict == "inconclusive"  # too few
    assert cell([MEDIUM] * 2, [MEDIUM] * 5).verdict == "inconclusive"
    assert cell([MEDIUM] * 10, [PROCEEDS] * 5).verdict == "critical"  # wrong before, and it moved
    assert cell([MEDIUM] * 10, [AS_EXPECTED] * 5).verdict == "robust"  # it is right here, and hardly moved


def test_more_runs_for_a_match_rate_that_leaves_it_open():
    low = cell([AS_EXPECTED] * 6, [AS_EXPECTED] + [MEDIUM] * 2, "low")
    assert low.more_runs is not None
    times = 1 + -(-low.more_runs // 3)
    again = cell([AS_EXPECTED] * 6 * times, ([AS_EXPECTED] + [MEDIUM] * 2) * times, "low")
    assert again.verdict == "susceptible"
    high = cell([AS_EXPECTED] * 20, [AS_EXPECTED] * 19 + [MEDIUM], "low")
    assert high.more_runs is not None
    times = 1 + -(-high.more_runs // 20)
    again = cell([AS_EXPECTED] * 20 * times, ([AS_EXPECTED] * 19 + [MEDIUM]) * times, "low")
    assert again.verdict == "robust"
    half = [AS_EXPECTED] * 20 + [MEDIUM] * 20
    assert cell(half, half, "low").more_runs is None  # neither high nor fallen


def test_errors_are_in_no_denominator_and_too_many_leave_a_cell_incomplete():
    found = cell([AS_EXPECTED] * 10, [AS_EXPECTED] * 4, errors=1)
    assert (found.match_rate.n, found.errors, found.verdict) == (4, 1, "robust")
    assert cell([AS_EXPECTED] * 10, [AS_EXPECTED] * 7, errors=2).verdict == "incomplete"
    assert cell([AS_EXPECTED] * 10, [], errors=3).verdict == "incomplete"
    assert cell([], [AS_EXPECTED] * 5).verdict == "incomplete"
    row = Row(CONTRACT, "critical", [AS_EXPECTED] * 6, 3, SETTINGS)
    assert with_verdict(row.cell([PROCEEDS] * 5), SETTINGS, p_adjusted=0.0, family=1).verdict == "incomplete"


def test_exempt_cells_are_shown_and_not_judged():
    row = Row(CONTRACT, "critical", [AS_EXPECTED] * 6, 0, SETTINGS)
    found = with_verdict(row.cell([PROCEEDS] * 5, expectation="exempt"), SETTINGS, p_adjusted=None, family=1)
    assert (found.verdict, found.shift_magnitude, found.is_flagged) == ("exempt", 0.6, False)


def test_a_directional_cell_is_judged_by_what_it_expects_itself():
    row = Row(CONTRACT, "high", [AS_EXPECTED] * 6, 0, SETTINGS)
    asks_back = Contract(expected_behavior={"action": "ask"})

    def verdict(outputs):
        numbers = row.cell(outputs, expectation="directional", contract=asks_back)
        return with_verdict(numbers, SETTINGS, p_adjusted=None, family=1).verdict

    assert verdict([output(action="ask")] * 5) == "robust"
    assert verdict([AS_EXPECTED] * 5) == "susceptible"
    assert verdict([output(action="ask")] * 3 + [AS_EXPECTED] * 2) == "inconclusive"


def test_what_is_within_the_noise_is_not_susceptible_whatever_p_is():
    row = Row(CONTRACT, "high", [AS_EXPECTED] * 3 + [PROCEEDS] * 2, 0, SETTINGS)
    found = row.cell([AS_EXPECTED] * 2 + [PROCEEDS] * 3)
    assert (found.shift_magnitude, found.noise_floor) == (pytest.approx(0.36), pytest.approx(0.24))
    assert with_verdict(found, SETTINGS, p_adjusted=0.0, family=1).verdict == "inconclusive"


def test_what_is_flagged_is_not_called_robust():
    rare = [AS_EXPECTED] * 39 + [PROCEEDS]
    assert cell([AS_EXPECTED] * 40, rare, "high").verdict == "robust"
    found = cell([AS_EXPECTED] * 40, rare, "critical")
    assert (found.is_flagged, found.verdict) == (True, "inconclusive")


def test_more_runs_are_fewer_the_clearer_it_is():
    steady = [AS_EXPECTED] * 10
    unclear = cell(steady, [AS_EXPECTED] * 4 + [PROCEEDS], "low")
    clearer = cell(steady, [AS_EXPECTED] * 3 + [NO_PLAN, PROCEEDS], "low")
    assert unclear.verdict == clearer.verdict == "inconclusive"
    assert 0 < clearer.more_runs < unclear.more_runs
    assert cell(steady, [AS_EXPECTED] * 5).more_runs is None
    assert cell([AS_EXPECTED], [NO_PLAN]).more_runs >= 4


def test_on_the_limit_no_number_of_runs_decides():
    noisy = [AS_EXPECTED] * 3 + [NO_PLAN] * 2
    found = cell(noisy, [*noisy, *noisy][:5], "critical")
    assert (found.verdict, found.shift_excess) == ("inconclusive", 0)
    on_the_floor = cell([AS_EXPECTED] * 2 + [PROCEEDS], [AS_EXPECTED] * 2 + [PROCEEDS])
    assert on_the_floor.shift_magnitude == on_the_floor.noise_floor == pytest.approx(0.2)
    assert on_the_floor.more_runs is None


@pytest.mark.parametrize(
    "outputs",
    [[AS_EXPECTED] * 4 + [PROCEEDS], [AS_EXPECTED] * 3 + [PROCEEDS] * 2, [AS_EXPECTED] * 2 + [PROCEEDS] * 3],
    ids=["one of five", "two of five", "three of five"],
)
def test_as_many_more_runs_like_these_do_decide(outputs):
    found = cell([AS_EXPECTED] * 10, outputs, "low")
    if found.verdict == "inconclusive":
        times = 1 + -(-found.more_runs // 5)
        assert cell([AS_EXPECTED] * 10 * times, outputs * times, "low").verdict != "inconclusive"


def test_as_many_references_as_baselines_are_no_trouble():
    chance = random.Random(4)
    fields = {f"f{at}": 0 for at in range(40)}
    contract = Contract(expected_behavior=fields)

    def any_output():
        return Observed(output_class="object", value={name: chance.randrange(2) for name in fields})

    began = time.process_time()
    found = score_cell(contract, "high", [any_output() for _ in range(60)], [any_output() for _ in range(30)])
    assert time.process_time() - began < 2
    assert found.interval.low < found.shift_magnitude < found.interval.high
    assert found.p > 0.01


def test_long_texts_are_compared_in_time():
    chance = random.Random(4)
    words = ["deploy", "stop", "owner", "database", "not", "restart", "5", "table.", "failed", "release"]
    texts = [text(" ".join(chance.choices(words, k=8_000))) for _ in range(10)]
    began = time.process_time()
    found = cell(texts[:6], texts[6:])
    assert time.process_time() - began < 2
    assert 0 < found.shift_magnitude <= 1


# Properties

answers = st.lists(st.sampled_from([AS_EXPECTED, PROCEEDS, MEDIUM, NO_PLAN, EMPTY]), min_size=1, max_size=7)


@settings(max_examples=40)
@given(answers, answers, st.randoms(use_true_random=False))
def test_the_order_of_runs_means_nothing(baselines, outputs, chance):
    before = cell(baselines, outputs)
    chance.shuffle(baselines)
    chance.shuffle(outputs)
    after = cell(baselines, outputs)
    assert after.as_json() == before.as_json()


@settings(max_examples=40)
@given(answers, answers)
def test_numbers_are_bounded_and_agree_with_each_other(baselines, outputs):
    row = Row(CONTRACT, "critical", baselines, 0, SETTINGS)
    found = row.cell(outputs)
    reference = baselines[row.reference_at]
    distances = [shift(CONTRACT, reference, each).distance for each in outputs]
    assert found.shift_magnitude == pytest.approx(sum(distances) / len(distances), abs=1e-6)
    assert found.range == pytest.approx((min(distances), max(distances)), abs=1e-6)
    assert 0 <= found.noise_floor <= 1
    assert found.p is None or 0 < found.p <= 1
    if found.interval:
        assert 0 <= found.interval.low <= found.interval.high <= 1


def test_the_same_runs_have_the_same_numbers_every_time():
    chance = random.Random(9)
    baselines, outputs = ([flickering(chance, 0.4) for _ in range(n)] for n in (12, 9))
    assert cell(baselines, outputs) == cell(baselines, outputs)
