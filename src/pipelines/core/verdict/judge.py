"""The embedded judge. Oracles decide; plain contradictions fail; doubt is PENDING with its reason; what else
an agent says is noted beside the verdict and decides nothing.

judge -> findings of oracles, constraints, refusal or completion, and of what was said -> one verdict.
"""

from pipelines.core.ledger.ledger import InvalidUpdate
from pipelines.core.matchers.matching import CannotMatch
from pipelines.core.oracles import expected_answer
from pipelines.core.oracles.wording import listing, shortened
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.assembly import verdict_of, with_our_faults, with_unread_rules
from pipelines.core.verdict.completion import completion_findings, no_change_finding
from pipelines.core.verdict.constraints import ANSWER, REFUSAL_REASON, constraint_findings, rubric_findings
from pipelines.core.verdict.evidence import NO_CHANGE, REFUSAL, RunEvidence, TookTooLong
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.refusal import as_refusal, refusal_findings
from pipelines.core.verdict.said import Said, said_in
from pipelines.core.verdict.scorers import scorer_findings
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    JudgeError,
    Outcome,
    PendingReason,
    Status,
    Verdict,
    broken,
    left_open,
)
from pipelines.core.verdict.words.speech import LONGEST_READ
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.names import RunStatus


def judge(evidence: RunEvidence) -> Verdict | JudgeError:
    """The verdict on a run, or the error that kept it from being judged. Never raises."""
    if evidence.status != RunStatus.COMPLETED and not _raised(evidence):
        return _not_applicable(evidence)
    try:
        return _judged(evidence)
    except Refused as refused:
        details = tuple(problem.as_json() for problem in refused.problems)
        first = f": {refused.problems[0].message}" if refused.problems else ""
        return JudgeError(step="oracle", message=f"The oracle cannot be read{first}.", details=details)
    except InvalidUpdate as error:
        return JudgeError(step="ledger", message=f"The run's log does not fit its world: {error}.")
    except CannotMatch as error:
        return JudgeError(step="oracle", message=f"The oracle cannot be compared: {error}.")
    except TookTooLong as error:
        return JudgeError(step="limits", message=f"The run was not judged: {error}.")
    except Exception as error:  # noqa: BLE001 - a bug in a scorer must not look like a bad agent, nor stop a batch
        return JudgeError(step="judge", message=f"{type(error).__name__}: {shortened(str(error), 300)}")


def _judged(evidence: RunEvidence) -> Verdict:
    oracles = oracles_of(evidence)
    by_scorers = scorer_findings(evidence)
    by_oracle = [*oracles.findings(evidence), *by_scorers]
    constraints = list(constraint_findings(evidence))
    # Of work in a workspace the log tells nothing: what an agent says of it is for the scorers to bear out.
    said = said_in(evidence) if evidence.calls or not by_scorers else Said([], ())
    if evidence.expected_outcome == REFUSAL:
        found = [*as_refusal(by_oracle), *refusal_findings(evidence, oracles, constraints, said)]
        decided = [one for one in constraints if one.check == f"constraint/{REFUSAL_REASON}"]
    elif evidence.expected_outcome == NO_CHANGE:
        found, decided = [*by_oracle, no_change_finding(evidence)], []
    else:
        answers = (expected_answer.CHECK, f"constraint/{ANSWER}")
        decided = [one for one in [*by_oracle, *constraints] if one.check in answers]
        decides = oracles.decide_completion(evidence) or bool(decided) or bool(by_scorers)
        found = [*by_oracle, *completion_findings(evidence, [*by_oracle, *decided], decides, said)]
        decided += by_scorers
    if decided and all(finding.status is Status.HELD for finding in decided):
        said = said.without_doubt()
    found = [*_response(evidence), *found, *constraints, *rubric_findings(evidence), *said.findings]
    return verdict_of(with_our_faults(with_unread_rules(found, evidence), evidence), said, evidence)


def _raised(evidence: RunEvidence) -> bool:
    """Code that broke in the platform's own hands: what it did until then is all there, and is judged."""
    return evidence.error_class == ErrorClass.AGENT_EXCEPTION


def _response(evidence: RunEvidence) -> list[Finding]:
    if _raised(evidence):
        says = "The agent's code ended with an exception, not with an answer."
        return [broken("answer", FailureMode.NO_RESPONSE, says)]
    if not evidence.final_response.strip():
        return [broken("answer", FailureMode.NO_RESPONSE, "The final response is empty.")]
    cut = [str(turn) for turn, text in enumerate(evidence.responses, start=1) if len(text) > LONGEST_READ]
    if not cut:
        return []
    says = f"Only the first {LONGEST_READ:,} characters were read of turn {listing(cut)}."
    return [left_open("answer", PendingReason.ANSWER_CUT, says)]  # what was not read may say anything


def _not_applicable(evidence: RunEvidence) -> Verdict:
    why = f" ({evidence.error_class})" if evidence.error_class else ""
    did: dict[str, str] = {RunStatus.FAILED: "failed", RunStatus.CANCELLED: "was cancelled"}
    says = f"There is no answer to judge: the run {did.get(evidence.status, f'is {evidence.status}')}{why}."
    return Verdict(verdict=Outcome.NOT_APPLICABLE, reasoning=says)
