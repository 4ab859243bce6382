"""Findings of a coding task's scorers, which decide as an oracle does."""

from pipelines.core.coding.scorers import ScorerResult, Status
from pipelines.core.coding.scoring import gating_results
from pipelines.core.text.stored import stored_list
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import FailureMode, Finding, PendingReason, broken, held, left_open

TAMPERED = "tamper_suspected"


def scorer_findings(evidence: RunEvidence) -> list[Finding]:
    """One for each gating scorer, and an open one for signs of tampering, which a person has to confirm."""
    if not evidence.is_coding:
        return []
    grading = evidence.grading if isinstance(evidence.grading, dict) else {}
    results = [ScorerResult.from_stored(one) for one in stored_list(grading.get("results"))]
    if not results:
        return [left_open("scorers", PendingReason.NOT_GRADED, "The agent's change was not graded.")]
    found = [_finding(result) for result in gating_results(results)]
    signs = [str(sign) for sign in stored_list(grading.get("tamper_signs"))]
    return [*found, *([left_open(TAMPERED, PendingReason.NOT_GRADED, " ".join(signs))] if signs else [])]


def _finding(result: ScorerResult) -> Finding:
    check = f"scorer/{result.name}"
    match result.status:
        case Status.PASS:
            return held(check, f"Scorer `{result.name}`: {result.reason}")
        case Status.FAIL:
            return broken(check, FailureMode.INCOMPLETE, f"Scorer `{result.name}`: {result.reason}")
        case Status.NOT_APPLICABLE:
            says = f"Scorer `{result.name}` gave no result: {result.reason}"
            return left_open(check, PendingReason.NOT_GRADED, says)
