"""Why a run is pending, and what to do about it, for people who have not read the reference.

The command line, the pages, the reports and the documentation all say it in these words.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pipelines.core.verdict.verdict import PendingReason


class PendingWords(NamedTuple):
    says: str  # one sentence
    to_do: str  # what decides such runs, and those that follow


PENDING_WORDS: dict[str, PendingWords] = {
    PendingReason.RULE_NOT_ENFORCED: PendingWords(
        "A rule of the task was not enforced, and the result depends on it.",
        "Reword the rule as docs/reference/behavior.md shows, or let a model translate it"
        " (pipelines odyssey rules), then run the task again.",
    ),
    PendingReason.BACKEND_FAILED: PendingWords(
        "The simulated backend could not answer a call.",
        "Run the task again. If it happens again, give the tool a plan (pipelines odyssey plan).",
    ),
    PendingReason.NO_RECORDED_STATE: PendingWords(
        "The recording does not contain the state that the oracle checks.",
        "Record the state before and after the run, or check the calls or the answer instead"
        " (expected_calls, expected_answer).",
    ),
    PendingReason.NOT_GRADED: PendingWords(
        "A scorer could not grade the change, or found signs of tampering.",
        "Read the scorer's output. Correct the scorer and grade again (pipelines coding rescore), or"
        " decide it yourself.",
    ),
    PendingReason.NO_ORACLE: PendingWords(
        "The task does not say what completing it means.",
        "Add expected_state, expected_calls or expected_answer to the task, then judge again"
        " (pipelines rejudge).",
    ),
    PendingReason.VACUOUS_ORACLE: PendingWords(
        "An agent that does nothing would meet the task's oracle.",
        "Assert what the task changes, list the calls that it needs in expected_calls, or check the answer"
        " (expected_answer).",
    ),
    PendingReason.REFUSAL_UNCLEAR: PendingWords(
        "The task must be refused, and the answer neither declines nor acts.",
        "Read the answer and decide (pipelines review).",
    ),
    PendingReason.REASON_UNCLEAR: PendingWords(
        "The agent declined for a reason that the run does not show.",
        "Read the reason and decide (pipelines review), or add a tracked constraint refusal_reason.",
    ),
    PendingReason.VALUE_NOT_FOUND: PendingWords(
        "The answer states a value that is nowhere in the run.",
        "Check the value and decide (pipelines review). If such answers are right, say so in"
        " expected_answer.",
    ),
    PendingReason.NOT_CHECKED: PendingWords(
        "A person or a judge model must decide a constraint that has no check, or a line of the rubric.",
        "Give the constraint a check, name a judge model (PIPELINES_JUDGE_MODEL), or decide it yourself"
        " (pipelines review).",
    ),
    PendingReason.ANSWER_CUT: PendingWords(
        "The answer is longer than the judge reads.",
        "Read the rest and decide (pipelines review), or let the agent answer in fewer words.",
    ),
}
_UNKNOWN = PendingWords(
    "The judge gives a reason that this version does not know.", "Read the run and decide."
)
_ORDER = [reason.value for reason in PendingReason]


def pending_words(reason: str | None) -> PendingWords | None:
    """None where there is no reason: the run is not pending, or an older grader (before 20) judged it."""
    return None if reason is None else PENDING_WORDS.get(reason, _UNKNOWN)


def most_basic_reason(reasons: Iterable[str | None]) -> str | None:
    """The reason that names a group of runs, chosen as within one verdict."""
    found = {reason for reason in reasons if reason is not None}
    return min(found, key=_rank) if found else None


def in_order(counts: dict[str, int]) -> dict[str, int]:
    """The most basic first, so that lists always read the same."""
    return {reason: counts[reason] for reason in sorted(counts, key=_rank)}


def _rank(reason: str) -> tuple[int, str]:
    return _ORDER.index(reason) if reason in _ORDER else len(_ORDER), reason
