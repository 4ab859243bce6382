"""What is said before a batch starts."""

import pytest

from pipelines.core.results.run_estimate import estimate_runs


def test_without_runs_before_nothing_is_foreseen_but_their_number() -> None:
    found = estimate_runs(10, at_once=4, took_ms=[], cost_usd=[])
    assert (found.runs, found.time.total_ms, found.agent.cost_usd) == (10, None, None)


@pytest.mark.parametrize(
    ("runs", "at_once", "total_ms"),
    [(10, 4, 600.0), (1, 8, 200.0), (8, 8, 200.0), (9, 8, 400.0), (0, 3, 0.0)],
    ids=["in rounds of four", "one run", "one full round", "one more than a round", "no runs"],
)
def test_time_is_so_many_rounds_of_what_a_run_took_on_average(
    runs: int, at_once: int, total_ms: float
) -> None:
    found = estimate_runs(runs, at_once=at_once, took_ms=[100, 300], cost_usd=[])
    assert found.time.total_ms == total_ms
    assert found.time.from_runs == 2


def test_cost_is_the_average_of_those_that_tell_it() -> None:
    found = estimate_runs(10, at_once=1, took_ms=[100.0] * 9, cost_usd=[0.1, 0.3])
    assert found.agent.cost_usd == pytest.approx(2.0)
    assert found.agent.from_runs == 2
