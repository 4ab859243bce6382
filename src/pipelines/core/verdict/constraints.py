"""Judges a run by its tracked constraints. A constraint without a check is left to a person.

Two ids have a special meaning: `answer` decides whether a question was answered correctly, `refusal_reason`
whether a refusal gave the right reason.
"""

from collections.abc import Iterator

from pipelines.core.matchers.matching import matches, with_today
from pipelines.core.oracles.constraint_check import ConstraintCheck, parse_check
from pipelines.core.oracles.wording import expectation_text, shorten
from pipelines.core.tasks.seed import TrackedConstraint
from pipelines.core.verdict.call_oracle import evaluate_expected_calls
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    PendingReason,
    Status,
    broken,
    held,
    left_open,
)

ANSWER = "answer"
REFUSAL_REASON = "refusal_reason"
#: The failure mode of breaking one of them; of any other it is constraint_violated.
_MODES = {ANSWER: FailureMode.INCOMPLETE, REFUSAL_REASON: FailureMode.INCORRECT_COMPLETION}


def constraint_findings(evidence: RunEvidence) -> Iterator[Finding]:
    """One finding for each tracked constraint. Raises Refused for a check that cannot be read."""
    for constraint in evidence.tracked_constraints:
        yield _finding(constraint, evidence)


def rubric_findings(evidence: RunEvidence) -> Iterator[Finding]:
    """Each line of the rubric is left to a judge model or a person."""
    for line in evidence.rubric:
        says = f'No check decides whether "{shorten(line.text, 160)}" holds.'
        yield left_open(f"rubric/{line.id}", PendingReason.NOT_CHECKED, says)


def _finding(constraint: TrackedConstraint, evidence: RunEvidence) -> Finding:
    name, described = f"constraint/{constraint.id}", shorten(constraint.description, 160)
    if constraint.check is None:
        says = f'No check decides whether the agent kept to "{described}".'
        return left_open(name, PendingReason.NOT_CHECKED, says)
    dated = with_today(constraint.check, evidence.now)
    check = parse_check(dated, path=f"/tracked_constraints/{constraint.id}/check")
    complaint = _complaint(check, evidence)
    if complaint is None:
        return held(name, f'The agent kept to "{described}".')
    says, rows = complaint
    mode = _MODES.get(constraint.id, FailureMode.CONSTRAINT_VIOLATED)
    return broken(name, mode, f'The agent did not keep to "{described}": {says}', rows)


def _complaint(check: ConstraintCheck, evidence: RunEvidence) -> tuple[str, tuple[int, ...]] | None:
    """How the agent broke it, and in which calls; None when it holds."""
    if check.responses is not None:
        for turn, response in enumerate(evidence.responses or ("",), start=1):
            evidence.keep_going()
            if not matches(check.responses, response):
                which = f"turn {turn}" if len(evidence.responses) > 1 else "the answer"
                return f"{which} should {expectation_text(check.responses)}.", ()
    if check.final_response is not None and not matches(check.final_response, evidence.final_response):
        return f"the final response should {expectation_text(check.final_response)}.", ()
    for finding in evaluate_expected_calls(check.calls, evidence) if check.calls is not None else ():
        if finding.status is Status.BROKEN:
            return finding.says, finding.evidence
    return None
