"""The result of a scorer that ran a command: from its exit code, reward or report, and from pytest's own
events.

The graded code ran in the same sandbox, so output that it could have forged is not trusted, and nothing of a
test session that did not end by itself is.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.core.coding.junit import BadReport, TestCase, read_junit, score_tests
from pipelines.core.coding.scorers import CommandScorer, Running, ScorerResult, Status, TestsScorer
from pipelines.core.coding.scoring import result_of
from pipelines.core.text.json_text import InvalidJson, loads

JUNIT_FILE = "/logs/junit.xml"
_TESTS_FAILED = 1  # pytest's own exit code
_SHOWN = 5
_KILLED = 128  # and the signal's number, as shells tell it
_PYTEST = re.compile(r"\b(pytest|py\.test)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerRun:
    """A command that has ended, as the sandbox told it."""

    code: int | None
    timed_out: bool
    output: str
    left: Sequence[str]
    sessions: Sequence[Mapping[str, Any]]
    files: Mapping[str, bytes | None]
    rewritten: Sequence[str] = ()  # files of the tests that are others than when it began
    touched: Sequence[str] = ()  # that something was done to, and are the same


def score_run(scorer: Running, ran: ScorerRun, reward_path: str | None = None) -> ScorerResult:
    problem = session_problem(ran) or rewritten_tests_sign(ran)
    if ran.timed_out:
        problem = f"It did not finish within {scorer.timeout_s} s."
    if problem is not None:
        return result_of(scorer, Status.FAIL, problem, output=ran.output)
    if isinstance(scorer, CommandScorer):
        return _command(scorer, ran, reward_path)
    if scorer.command is None:
        return _pytest(scorer, ran)
    try:
        cases = read_junit(ran.files.get(JUNIT_FILE) or b"")
    except BadReport as error:
        return result_of(scorer, Status.FAIL, f"The test report cannot be read: {error}.", output=ran.output)
    if ran.left:
        return result_of(scorer, Status.FAIL, _processes_reason(ran, "the report"), output=ran.output)
    return score_tests(scorer, cases, ran.output)


def session_problem(ran: ScorerRun) -> str | None:
    """Of a test session that ended otherwise than by itself, or in which nothing can fail."""
    for session in ran.sessions:
        if "ended" not in session:
            return "A pytest session started but did not finish: the process was ended from inside."
        if session.get("must_fail") == "passed":
            return "A test that must fail passed in this pytest session: the runner was changed from inside."
        if not session.get("left"):
            return "A pytest session was ended after its last test, so its exit code is not valid."
    return None


def changed_runner_sign(ran: ScorerRun) -> str | None:
    """Of a session in which the test runner was another at its end than when it was loaded, or that
    contradicts itself. Plugins of a project may do so for good reasons: a person looks."""
    for session in ran.sessions:
        changed = session.get("changed")
        if isinstance(changed, list) and changed:
            names = ", ".join(str(name) for name in changed[:_SHOWN])[:300]
            return f"The test runner was changed while it ran: {names}."
        outcomes = session.get("outcomes")
        reported = set(outcomes.values()) if isinstance(outcomes, dict) else set()
        if session.get("ended") == _TESTS_FAILED and reported and not reported & {"failed", "error"}:
            return "pytest reports failed tests, but does not name any."
    return None


def rewritten_tests_sign(ran: ScorerRun) -> str | None:
    """Of tests that were changed while they ran: a shell reads its script as it goes."""
    if not ran.rewritten:
        return None
    return f"Files of the tests were changed while they ran: {', '.join(ran.rewritten[:_SHOWN])[:300]}."


def touched_tests_sign(ran: ScorerRun) -> str | None:
    """They are as they were; somebody may have seen to that. A script that runs chmod does it, too."""
    if not ran.touched:
        return None
    return f"Files of the tests were touched while they ran: {', '.join(ran.touched[:_SHOWN])[:300]}."


def cut_off_problem(scorer: Running, ran: ScorerRun) -> str | None:
    """Of a command that leaves a reward and was killed: whoever did it may have written that."""
    if not isinstance(scorer, CommandScorer) or scorer.reward_file is None or ran.code is None:
        return None
    if 0 <= ran.code <= _KILLED or ran.code > _KILLED + 64:
        return None
    return "The command was killed before it finished, so its reward is not trusted."


def left_processes_sign(ran: ScorerRun) -> str | None:
    """Of processes that a change started while it was graded, and that would have gone on."""
    return f"Processes were still running: {', '.join(ran.left[:5])[:200]}." if ran.left else None


def _command(scorer: CommandScorer, ran: ScorerRun, reward_path: str | None) -> ScorerResult:
    if reward_path is not None:
        return _reward(scorer, ran, ran.files.get(reward_path))
    if ran.code != 0:
        return result_of(scorer, Status.FAIL, f"The command exited with code {ran.code}.", output=ran.output)
    if _PYTEST.search(scorer.command) and not ran.sessions:
        reason = "The command runs pytest and exited with code 0, but no pytest session was seen."
        return result_of(scorer, Status.FAIL, reason, output=ran.output)
    statuses = [session.get("ended") for session in ran.sessions]
    if statuses and all(statuses):
        reason = f"The command exited with code 0, but pytest itself reported {statuses[0]}."
        return result_of(scorer, Status.FAIL, reason, output=ran.output)
    return result_of(scorer, Status.PASS, "The command exited with code 0.", output=ran.output)


def _reward(scorer: CommandScorer, ran: ScorerRun, data: bytes | None) -> ScorerResult:
    if ran.left:
        return result_of(scorer, Status.FAIL, _processes_reason(ran, "the reward"), output=ran.output)
    if (problem := cut_off_problem(scorer, ran)) is not None:
        return result_of(scorer, Status.FAIL, problem, output=ran.output)
    reward = _number(data)
    if reward is None:
        complaint = "no reward" if data is None else "a reward that is not a number from 0 to 1"
        return result_of(scorer, Status.FAIL, f"The command left {complaint}.", output=ran.output)
    status = Status.PASS if reward >= scorer.pass_at else Status.FAIL
    reason = f"The reward is {reward:g}; {scorer.pass_at:g} is needed to pass."
    return result_of(scorer, status, reason, score=reward, output=ran.output)


def _number(data: bytes | None) -> float | None:
    try:
        value = loads((data or b"").strip())
    except InvalidJson:
        return None
    if isinstance(value, dict):
        value = value.get("reward")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def _pytest(scorer: TestsScorer, ran: ScorerRun) -> ScorerResult:
    if len(ran.sessions) != 1:
        reason = f"pytest did not run: the process exited with code {ran.code}."
        return result_of(scorer, Status.FAIL, reason, output=ran.output)
    reported = ran.sessions[0].get("outcomes")
    outcomes = reported if isinstance(reported, dict) else {}
    cases = {str(name): TestCase(outcome=str(outcome)) for name, outcome in outcomes.items()}
    return score_tests(scorer, cases, ran.output)


def _processes_reason(ran: ScorerRun, what: str) -> str:
    names = ", ".join(ran.left[:5])[:200]
    return f"Processes were still running ({names}) and could have written {what}, so it is not trusted."
