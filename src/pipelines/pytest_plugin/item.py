"""Runs the repeats of a marked test, and decides whether enough of them pass."""

import pytest

from pipelines.core.results.gate import Tally
from pipelines.core.results.results import is_met, outcome_of
from pipelines.core.verdict.pending_words import most_basic_reason, pending_words
from pipelines.pytest_plugin import CouldNotRun
from pipelines.pytest_plugin.attempt import Attempt, run_attempt
from pipelines.pytest_plugin.failure_text import failure_text
from pipelines.pytest_plugin.tasks import OdysseyTask


def run_item(item: pytest.Function, task: OdysseyTask) -> None:
    """Runs every repeat, even if the outcome is decided earlier: the pass rate is useful."""
    attempts: list[Attempt] = []
    try:
        if task.marked.is_served:
            from pipelines.pytest_plugin.served import served_attempts

            attempts = served_attempts(item, task)
        else:
            for number in range(task.marked.repeats):
                attempts.append(run_attempt(item, task, number))
    except CouldNotRun as error:
        _note(item, task, attempts, why=str(error))
        raise
    _note(item, task, attempts)
    _end(task, attempts)


def _end(task: OdysseyTask, attempts: list[Attempt]) -> None:
    runs = _tally(task, attempts)
    found = is_met(runs, task.marked.min_pass)
    if found is True:
        return
    if found is None and task.marked.pending == "skip":
        undecided = next(each for each in attempts if each.verdict == "PENDING")
        pytest.skip(f"could not be decided: {_why(undecided)}")
    pytest.fail(failure_text(task, attempts, runs, is_undecided=found is None), pytrace=False)


def _tally(task: OdysseyTask, attempts: list[Attempt]) -> Tally:
    verdicts = [each.verdict for each in attempts]
    return Tally(
        passed=verdicts.count("PASS"),
        failed=verdicts.count("FAIL"),
        undecided=verdicts.count("PENDING"),
        not_run=task.marked.repeats - len(attempts),
    )


def _note(item: pytest.Function, task: OdysseyTask, attempts: list[Attempt], why: str = "") -> None:
    """The record for the test's report, in plain values: xdist sends it between processes."""
    runs = _tally(task, attempts)
    reasons = [each.reasoning for each in attempts if each.verdict != "PASS"]
    item.__dict__["odyssey_record"] = {
        "suite": item.nodeid.rpartition("[")[0],
        "key": task.key,
        "name": task.instruction[:120],
        "runs": {
            "passed": runs.passed,
            "failed": runs.failed,
            "undecided": runs.undecided,
            "not_run": runs.not_run,
        },
        "min_pass": task.marked.min_pass,
        "outcome": outcome_of(runs),
        "why": why or (reasons[0] if reasons else ""),
        "pending_reason": most_basic_reason(each.pending_reason for each in attempts),
    }


def _why(undecided: Attempt) -> str:
    """`no_oracle: …`, with what to do about it."""
    words = pending_words(undecided.pending_reason)
    text = f"{undecided.pending_reason}: {undecided.reasoning}" if words else undecided.reasoning
    return f"{text} {words.to_do}" if words else text
