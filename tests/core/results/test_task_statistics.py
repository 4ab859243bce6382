"""Intervals over repeated tasks: worked out by hand, held against statsmodels, and their properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.results.task_statistics import (
    clustered_wilson,
    design_effect,
    effective_runs,
    stability,
    summary_of,
)
from pipelines.core.text.statistics import wilson, wilson_of_rate

a_task = st.integers(1, 8).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged)))
some_tasks = st.lists(a_task, min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("tasks", "runs", "low", "high"),
    [
        # One run a task: Wilson's own, as before there were repeats.
        ([(1, 1)] * 7 + [(0, 1)] * 3, 10.0, 0.3968, 0.8922),
        # The worked example of docs/howto/verdicts.md. With the two imagined tasks 27 of 40 runs pass;
        # squares 4·1.625² + 0.625² + 0.375² + 2·3.375² = 33.875, effect 8/7·33.875/1600 / (0.2194/39) = 4.30.
        ([(5, 5), (5, 5), (5, 5), (4, 5), (3, 5), (0, 5)], 6.97, 0.3742, 0.9267),
        # Every repeat agrees with the others: ten tasks are ten runs, however often each was tried.
        ([(5, 5)] * 7 + [(0, 5)] * 3, 10.0, 0.3968, 0.8922),
        # All pass: nothing shows how alike the runs of a task are, so they count as one.
        ([(5, 5)] * 10, 10.0, 0.7225, 1.0),
        # Tasks that are all alike, each a coin that was thrown: nearly every run counts.
        ([(3, 5)] * 30, 150.0, 0.5201, 0.6750),
        # Two tasks tell little about a third.
        ([(30, 50), (30, 50)], 2.93, 0.1698, 0.9167),
        # One task tells what one run does.
        ([(8, 10)], 1.0, 0.1335, 0.9905),
    ],
)
def test_an_interval_over_tasks(tasks, runs, low, high):
    assert effective_runs(tasks) == pytest.approx(runs, abs=0.05)
    assert clustered_wilson(tasks) == pytest.approx((low, high), abs=5e-4)


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_with_one_run_a_task_it_is_wilsons(outcomes):
    tasks = [(int(passed), 1) for passed in outcomes]
    assert clustered_wilson(tasks) == wilson(sum(outcomes), len(outcomes))


@given(some_tasks)
def test_it_lies_between_tasks_and_runs_and_holds_the_rate(tasks):
    passed, runs = map(sum, zip(*tasks, strict=True))
    assert len(tasks) <= effective_runs(tasks) <= runs
    low, high = clustered_wilson(tasks)
    over_runs, over_tasks = wilson(passed, runs), wilson_of_rate(passed / runs, len(tasks))
    assert 0 <= over_tasks.low <= low + 1e-12
    assert low <= over_runs.low + 1e-12
    assert low - 1e-12 <= passed / runs <= high + 1e-12
    assert over_runs.high - 1e-12 <= high <= over_tasks.high + 1e-12 <= 1 + 1e-12


@given(some_tasks)
def test_passes_and_fails_mirror(tasks):
    low, high = clustered_wilson(tasks)
    turned = clustered_wilson([(judged - passes, judged) for passes, judged in tasks])
    assert turned == pytest.approx((1 - high, 1 - low))


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(2, 10))
def test_repeats_that_all_agree_are_no_new_evidence(outcomes, repeats):
    once = [(int(passed), 1) for passed in outcomes]
    often = [(repeats * int(passed), repeats) for passed in outcomes]
    assert clustered_wilson(often) == pytest.approx(clustered_wilson(once))


@pytest.mark.parametrize(
    "tasks",
    [
        [(5, 5), (5, 5), (4, 5), (0, 5)],
        [(1, 2), (3, 4), (0, 1), (6, 6), (2, 5)],
        [(1, 1), (0, 1), (1, 1), (1, 1)],
    ],
)
def test_the_variance_over_tasks_is_that_of_statsmodels(tasks):
    numpy = pytest.importorskip("numpy")
    api = pytest.importorskip("statsmodels.api")
    passed = [int(at < passes) for passes, judged in tasks for at in range(judged)]
    task = [number for number, (_, judged) in enumerate(tasks) for _ in range(judged)]
    ones = numpy.ones(len(passed))
    by_task = api.OLS(passed, ones).fit(cov_type="cluster", cov_kwds={"groups": numpy.array(task)})
    by_run = api.OLS(passed, ones).fit()
    ratio = (by_task.bse[0] / by_run.bse[0]) ** 2
    assert design_effect(tasks) == pytest.approx(ratio)


def test_the_bounds_are_those_of_statsmodels_for_as_many_runs():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    tasks = [(5, 5), (5, 5), (5, 5), (4, 5), (3, 5), (0, 5)]
    runs = effective_runs(tasks)
    low, high = proportion.proportion_confint(22 / 30 * runs, runs, method="wilson")
    assert clustered_wilson(tasks) == pytest.approx((low, high))


def test_tasks_are_stable_or_flaky_where_two_runs_of_them_were_judged():
    assert stability([(3, 3), (2, 2), (1, 3), (0, 3), (1, 1), (0, 1)]) == (2, 1, 1)
    assert summary_of([(1, 1)], 1)["stability"] is None
    assert summary_of([(3, 3), (1, 3)], 3)["stability"] == {"stable_pass": 1, "flaky": 1, "stable_fail": 0}


def test_without_a_judged_run_nothing_is_known():
    assert clustered_wilson([]) == (0, 1)
    nothing = {"pass_rate": None, "pass_rate_interval": None, "effective_runs": None}
    assert nothing.items() <= summary_of([], 3).items()
