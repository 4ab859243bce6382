"""The gate of a batch: met, not met, or not known because runs could not be run."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.results.gate import COULD_NOT_RUN, ExitCode, Tally, tally, worst
from pipelines.wire.envelope import ErrorClass


def run_of(
    verdict: str | None, *, judge_error: str | None = None, error: str | None = None
) -> dict[str, Any]:
    return {"verdict": verdict, "judge_error": judge_error, "error_class": error}


PASS, FAIL, PENDING = run_of("PASS"), run_of("FAIL"), run_of("PENDING")
AWAY = run_of("NOT_APPLICABLE", error="agent_unreachable")
CASES: dict[str, tuple[list[dict[str, Any]], float, int]] = {
    "all pass": ([PASS, PASS], 1.0, 0),
    "one fails": ([PASS, FAIL], 1.0, 1),
    "half is enough": ([PASS, FAIL], 0.5, 0),
    "the undecided count for neither side": ([PASS, PENDING, PENDING], 1.0, 0),
    "what the agent did wrong counts against it": (
        [PASS, run_of("NOT_APPLICABLE", error="agent_5xx")],
        1.0,
        1,
    ),
    "a cancelled run leaves it open": ([PASS, run_of(None)], 1.0, 3),
    "a run that could not be judged leaves it open": ([PASS, run_of(None, judge_error="broke")], 1.0, 3),
    "nobody there": ([AWAY, AWAY], 1.0, 3),
    "nobody there is no success, whatever the gate": ([AWAY, AWAY], 0.0, 3),
    "a proven failure outranks what is not known": ([PASS, FAIL, AWAY], 1.0, 1),
    "met whatever the missing run would show": ([PASS, PASS, AWAY], 0.6, 0),
    "not known: the missing run would decide": ([PASS, FAIL, AWAY], 0.5, 3),
    "nothing decided proves nothing": ([PENDING], 0.1, 1),
    "unless nothing is asked for": ([PENDING], 0.0, 0),
    "shares are compared as they are written": ([PASS] * 7 + [FAIL] * 93, 0.07, 0),
    "and not more leniently": ([PASS] * 7 + [FAIL] * 93, 0.0700001, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_gate(name: str):
    runs, fail_under, code = CASES[name]
    assert tally(runs).exit_code(fail_under) == code


@pytest.mark.parametrize(
    ("runs", "fail_under", "code"),
    [
        ([PASS, PENDING], 1.0, 4),
        ([PASS, PASS, PASS, PENDING], 0.7, 0),
        ([PASS, PASS, PASS, PENDING], 0.8, 4),
        ([PASS, PASS, FAIL, PENDING], 0.6, 4),
        ([PASS, FAIL, PENDING], 1.0, 1),
        ([PASS, PENDING, AWAY], 1.0, 3),
        ([PASS, PASS], 1.0, 0),
        ([PENDING], 1.0, 1),
    ],
    ids=[
        "only passed and pending",
        "met, whatever the pending one is",
        "the pending one decides",
        "beside a failure that is allowed",
        "a proven failure outranks it",
        "what could not run outranks it",
        "nothing is pending",
        "nothing decided",
    ],
)
def test_a_gate_that_is_asked_for_is_open_while_pending_runs_would_decide_it(
    runs: list[dict[str, Any]], fail_under: float, code: int
) -> None:
    assert tally(runs).gate_code(fail_under) == code


counts = st.integers(0, 6)


@given(counts, counts, counts, st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]))
def test_it_is_not_known_exactly_where_the_missing_runs_would_decide(
    passed: int, failed: int, not_run: int, fail_under: float
):
    """Where anything was decided at all."""
    found = Tally(passed=passed, failed=failed, not_run=not_run).exit_code(fail_under)
    if passed + failed == 0:
        return
    outcomes = {
        Tally(passed=passed + more, failed=failed + not_run - more).exit_code(fail_under)
        for more in range(not_run + 1)
    }
    assert found == (outcomes.pop() if len(outcomes) == 1 else ExitCode.COULD_NOT_RUN)


def test_every_error_class_is_the_agents_or_not():
    """A new one has to be put on one side here."""
    agents = {"agent_timeout", "agent_5xx", "agent_4xx", "agent_exception", "agent_bad_response"}
    agents |= {"response_contract_violation"}
    cancelled = {"budget_exceeded"}  # by whoever set the budget: such runs are counted as not run
    assert agents | COULD_NOT_RUN | cancelled == set(ErrorClass)
    assert not agents & COULD_NOT_RUN


def test_of_several_suites_a_proven_failure_outranks_the_unknown():
    for first, second in product(ExitCode, repeat=2):
        both = {first, second}
        assert (worst(both) == 1) is (1 in both)
        assert (worst(both) == 0) is (both == {ExitCode.MET})
