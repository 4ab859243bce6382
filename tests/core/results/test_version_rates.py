"""Pass rates version by version: batches of one build are pooled, and a further batch is not a new task."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.results.version_rates import BatchOutcomes, rate_series

OUTCOME = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
TASKS = st.dictionaries(st.integers(1, 4), OUTCOME.filter(lambda outcome: outcome[1] > 0))


def batch(number: int, version: int, build: str | None = None, **changes: object) -> BatchOutcomes:
    made = BatchOutcomes(number, 1, 1, version, build, f"2026-05-0{number}", {1: (1, 2), 2: (0, 1)})
    return made._replace(**changes)  # type: ignore[arg-type]


def test_batches_of_a_version_and_a_build_are_one_rate():
    batches = [batch(1, 1), batch(3, 2, "b"), batch(2, 2, "a"), batch(4, 2, "a")]
    [series] = rate_series(batches)
    assert [(rate.name, rate.batch_ids) for rate in series.rates] == [
        ("v1", (1,)),
        ("v2 a", (2, 4)),
        ("v2 b", (3,)),
    ]
    assert [(rate.passed, rate.judged) for rate in series.rates] == [(1, 3), (2, 6), (1, 3)]


def test_the_agent_and_dataset_that_ran_last_come_first_and_unjudged_batches_say_nothing():
    batches = [batch(1, 1), batch(2, 1, dataset_id=7), batch(3, 1, agent_id=9, by_task={})]
    assert [(each.agent_id, each.dataset_id) for each in rate_series(batches)] == [(1, 7), (1, 1)]
    assert rate_series([]) == []


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from([None, "a", "b"]), TASKS), max_size=6))
def test_every_judged_run_counts_once(
    given_batches: list[tuple[int, str | None, dict[int, tuple[int, int]]]],
):
    batches = [
        batch(number, version, build, by_task=tasks)
        for number, (version, build, tasks) in enumerate(given_batches, 1)
    ]
    rates = [rate for series in rate_series(batches) for rate in series.rates]
    outcomes = [outcome for _, _, tasks in given_batches for outcome in tasks.values()]
    assert sum(rate.judged for rate in rates) == sum(judged for _, judged in outcomes)
    assert sum(rate.passed for rate in rates) == sum(passed for passed, _ in outcomes)
    for rate in rates:
        assert rate.interval.low <= rate.rate <= rate.interval.high
