"""The embedded judge. Oracles decide; plain contradictions fail; doubt is PENDING with its reason. Other
statements of the agent are notes on the verdict and decide nothing.

judge -> findings of oracles, constraints, refusal or completion, and the answer -> one verdict.
"""

from pipelines.core.ledger.ledger import InvalidUpdate
from pipelines.core.matchers.matching import CannotMatch
from pipelines.core.oracles import expected_answer
from pipelines.core.oracles.wording import join_words, shorten
from pipelines.core.text.problems import Refused
from pipelines.core.verdict.answer_findings import AnswerFindings, answer_findings
from pipelines.core.verdict.assembly import verdict_of, with_backend_failures, with_unread_rules
from pipelines.core.verdict.completion import completion_findings, no_change_finding
from pipelines.core.verdict.constraints import ANSWER, REFUSAL_REASON, constraint_findings, rubric_findings
from pipelines.core.verdict.evidence import NO_CHANGE, REFUSAL, RunEvidence, TookTooLong
from pipelines.core.verdict.oracles import oracles_of
from pipelines.core.verdict.refusal import as_refusal, refusal_findings
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
    """The verdict on a run, or the error that prevented one. Never raises."""
    if evidence.status != RunStatus.COMPLETED and not _code_raised(evidence):
        return _not_applicable(evidence)
    try:
        return _judge(evidence)
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
        return JudgeError(step="judge", message=f"{type(error).__name__}: {shorten(str(error), 300)}")


def _judge(evidence: RunEvidence) -> Verdict:
    oracles = oracles_of(evidence)
    by_scorers = scorer_findings(evidence)
    by_oracle = [*oracles.findings(evidence), *by_scorers]
    constraints = list(constraint_findings(evidence))
    # The log does not show work in a workspace: the scorers check what the agent says about it.
    judgement = answer_findings(evidence) if evidence.calls or not by_scorers else AnswerFindings([], ())
    if evidence.expected_outcome == REFUSAL:
        found = [*as_refusal(by_oracle), *refusal_findings(evidence, oracles, constraints, judgement)]
        decided = [one for one in constraints if one.check == f"constraint/{REFUSAL_REASON}"]
    elif evidence.expected_outcome == NO_CHANGE:
        found, decided = [*by_oracle, no_change_finding(evidence)], []
    else:
        answers = (expected_answer.CHECK, f"constraint/{ANSWER}")
        decided = [one for one in [*by_oracle, *constraints] if one.check in answers]
        decides = oracles.decide_completion(evidence) or bool(decided) or bool(by_scorers)
        found = [*by_oracle, *completion_findings(evidence, [*by_oracle, *decided], decides, judgement)]
        decided += by_scorers
    if decided and all(finding.status is Status.HELD for finding in decided):
        judgement = judgement.without_doubt()
    found = [
        *_response_findings(evidence),
        *found,
        *constraints,
        *rubric_findings(evidence),
        *judgement.findings,
    ]
    return verdict_of(
        with_backend_failures(with_unread_rules(found, evidence), evidence), judgement, evidence
    )


def _code_raised(evidence: RunEvidence) -> bool:
    """Whether the agent's code raised on the platform: what it did until then is logged, and is judged."""
    return evidence.error_class == ErrorClass.AGENT_EXCEPTION


def _response_findings(evidence: RunEvidence) -> list[Finding]:
    if _code_raised(evidence):
        says = "The agent's code raised an exception and returned no answer."
        return [broken("answer", FailureMode.NO_RESPONSE, says)]
    if not evidence.final_response.strip():
        return [broken("answer", FailureMode.NO_RESPONSE, "The final response is empty.")]
    cut = [str(turn) for turn, text in enumerate(evidence.responses, start=1) if len(text) > LONGEST_READ]
    if not cut:
        return []
    says = f"The judge read only the first {LONGEST_READ:,} characters of turn {join_words(cut)}."
    return [left_open("answer", PendingReason.ANSWER_CUT, says)]  # the rest of the answer may say anything


def _not_applicable(evidence: RunEvidence) -> Verdict:
    why = f" ({evidence.error_class})" if evidence.error_class else ""
    did: dict[str, str] = {RunStatus.FAILED: "failed", RunStatus.CANCELLED: "was cancelled"}
    says = f"The run has no answer to judge: it {did.get(evidence.status, f'is {evidence.status}')}{why}."
    return Verdict(verdict=Outcome.NOT_APPLICABLE, reasoning=says)
