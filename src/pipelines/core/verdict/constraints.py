"""Tracked constraints that a machine can check: what the agent said, turn by turn, and what it called.

    {"id": "codes", "description": "Tells no code.", "check": {"responses": {"$not": {"$regex": "[0-9]{6}"}}}}

Two ids mean more than the others: `answer` decides whether a question was answered rightly, `refusal_reason`
whether a refusal gave the right reason. A constraint without a check is left for a person.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pipelines.core.authored import Fields, as_object, quoted
from pipelines.core.json_text import Json
from pipelines.core.matching import check_expectation, matches
from pipelines.core.problems import Problem, Refused
from pipelines.core.seed import TrackedConstraint
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.expected_calls import ExpectedCalls, evaluate_expected_calls, read_expected_calls
from pipelines.core.verdict.verdict import FailureMode, Finding, Status, broken, held, left_open
from pipelines.core.verdict.wording import shortened, wish

ANSWER = "answer"
REFUSAL_REASON = "refusal_reason"
CHECKS = ("responses", "final_response", "calls")
#: What breaking one amounts to; any other is constraint_violated.
_MODES = {ANSWER: FailureMode.INCOMPLETE, REFUSAL_REASON: FailureMode.INCORRECT_COMPLETION}


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintCheck:
    """What must hold, all of it; None is not asked."""

    responses: Json = None  # an expectation on every turn of the agent
    final_response: Json = None  # an expectation on the last one
    calls: ExpectedCalls | None = None


def parse_check(body: Json, *, tools: Collection[str] | None = None, path: str = "/check") -> ConstraintCheck:
    problems: list[Problem] = []
    check = read_check(body, tools=tools, path=path, problems=problems)
    if problems:
        raise Refused(problems, "check")
    return check


def read_check(
    body: Json, *, tools: Collection[str] | None, path: str, problems: list[Problem]
) -> ConstraintCheck:
    """What can be read of a constraint's `check`; what is wrong with the rest is added to `problems`."""
    whole = as_object(body, path, problems, "`check`")
    if whole is None:
        return ConstraintCheck()
    fields = Fields(whole, path, problems)
    fields.refuse_unknown(CHECKS)
    if not any(fields.has(name) for name in CHECKS):
        hint = '{"responses": {"$not": {"$contains": "password"}}}'
        problems.append(Problem(path=path, message=f"`check` needs {quoted(CHECKS)}", hint=hint))
    for name in ("responses", "final_response"):
        problems.extend(check_expectation(fields.get(name), path=fields.at(name)))
    calls = None
    if fields.has("calls"):
        calls = read_expected_calls(
            fields.get("calls"), tools=tools, path=fields.at("calls"), problems=problems
        )
    return ConstraintCheck(
        responses=fields.get("responses"), final_response=fields.get("final_response"), calls=calls
    )


def constraint_findings(evidence: RunEvidence) -> Iterator[Finding]:
    """One finding for each tracked constraint. Raises Refused for a check that cannot be read."""
    for constraint in evidence.tracked_constraints:
        yield _finding(constraint, evidence)


def _finding(constraint: TrackedConstraint, evidence: RunEvidence) -> Finding:
    name, described = f"constraint/{constraint.id}", shortened(constraint.description, 160)
    if constraint.check is None:
        return left_open(name, f'Nothing can check by itself whether the agent kept to "{described}".')
    check = parse_check(constraint.check, path=f"/tracked_constraints/{constraint.id}/check")
    complaint = _complaint(check, evidence)
    if complaint is None:
        return held(name, f'The agent kept to "{described}".')
    says, rows = complaint
    mode = _MODES.get(constraint.id, FailureMode.CONSTRAINT_VIOLATED)
    return broken(name, mode, f'The agent did not keep to "{described}": {says}', rows)


def _complaint(check: ConstraintCheck, evidence: RunEvidence) -> tuple[str, tuple[int, ...]] | None:
    """What the agent did against it, and in which calls; None when all of it holds."""
    if check.responses is not None:
        for turn, said in enumerate(evidence.responses or ("",), start=1):
            if not matches(check.responses, said):
                which = f"turn {turn}" if len(evidence.responses) > 1 else "the answer"
                return f"{which} should {wish(check.responses)}.", ()
    if check.final_response is not None and not matches(check.final_response, evidence.final_response):
        return f"the final response should {wish(check.final_response)}.", ()
    for finding in evaluate_expected_calls(check.calls, evidence) if check.calls is not None else ():
        if finding.status is Status.BROKEN:
            return finding.says, finding.evidence
    return None
