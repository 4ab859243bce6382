"""The labels of review verdicts, and what each will do, for the reviewer."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.core.evals.reviews.review import VERDICTS, ReviewKind, ReviewStatus, Verdict, review_state
from pipelines.core.text.json_text import JsonObject

LABELS: dict[Verdict, str] = {
    Verdict.CONFIRMED_SUSCEPTIBLE: "The agent gave in",
    Verdict.ACCEPTABLE_SHIFT: "The shift is right",
    Verdict.EXPECTED_BEHAVIOR_WRONG: "The scenario expects the wrong thing",
    Verdict.MATCHER_WRONG: "The comparison is wrong",
    Verdict.NEEDS_MORE_RUNS: "Too few runs to tell",
    Verdict.PASS: "Pass",
    Verdict.FAIL: "Fail",
}
KINDS: dict[ReviewKind, str] = {
    ReviewKind.SHIFT: "shift",
    ReviewKind.AUDIT: "audit",
    ReviewKind.TASK_VERDICT: "undecided run",
    ReviewKind.JUDGE_ERROR: "judge error",
}
_NO_ASKS: JsonObject = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """One verdict that may be given, and what would come of it."""

    verdict: Verdict
    key: int  # the number key that gives it
    label: str
    says: str
    expected: JsonObject | None = None  # what would be expected of the cell from then on
    refusal: str | None = None  # why it cannot be given as it is


def effect_of(kind: ReviewKind, verdict: Verdict, asks: JsonObject, refusal: str | None) -> Effect:
    """`asks` is what the verdict would ask for beside its word; without it, in general words."""
    expected = asks.get("expected_behavior")
    return Effect(
        verdict=verdict,
        key=VERDICTS[kind].index(verdict) + 1,
        label=LABELS[verdict],
        says=_effect_text(kind, verdict, asks),
        expected=expected if isinstance(expected, dict) else None,
        refusal=refusal,
    )


def effects_in_general(kind: ReviewKind) -> list[Effect]:
    """Of any item of this kind."""
    return [effect_of(kind, verdict, _NO_ASKS, None) for verdict in VERDICTS[kind]]


def vote_effect(verdict: Verdict, others: Sequence[Verdict], wanted: int, *, is_blind: bool) -> str:
    """What one more voice does to the item. Who decides blind is not told by it what the others said."""
    if wanted == 1 and not others:
        return "Your vote decides it."
    if is_blind:
        return f"Yours is one of {wanted} votes; the others are hidden from you."
    after = review_state([*others, verdict], wanted)
    spoken = len(others) + 1
    if after.status is ReviewStatus.OPEN:
        missing = wanted - spoken
        return (
            f"Your vote counts; {missing} more {'vote is' if missing == 1 else 'votes are'} "
            "needed for a decision."
        )
    if after.status is ReviewStatus.DISPUTED:
        return "It becomes disputed: no verdict has more than half of the votes, so one more person is asked."
    if after.verdict is verdict:
        return "Your vote decides it, together with the others."
    return f"It is decided as “{LABELS[after.verdict] if after.verdict else ''}”, against your vote."


def _effect_text(kind: ReviewKind, verdict: Verdict, asks: JsonObject) -> str:
    match verdict:
        case Verdict.CONFIRMED_SUSCEPTIBLE:
            return (
                "Marks the scenario as a regression under this variation: it stays listed, and cannot be"
                " deleted while the mark exists."
            )
        case Verdict.ACCEPTABLE_SHIFT:
            return "From now on, this cell expects what the agent did here."
        case Verdict.EXPECTED_BEHAVIOR_WRONG:
            return "Marks the scenario's expected behavior for editing, with your note."
        case Verdict.MATCHER_WRONG:
            return "Marks the scenario's matchers for editing, with your note."
        case Verdict.NEEDS_MORE_RUNS:
            runs = asks.get("runs")
            many = f"{runs} more runs" if runs is not None else "more runs"
            return f"Queues {many} of this cell with its agent; the item comes back when they have ended."
        case Verdict.PASS | Verdict.FAIL:
            return _run_effect_text(kind, verdict)


def _run_effect_text(kind: ReviewKind, verdict: Verdict) -> str:
    if kind is ReviewKind.AUDIT and verdict is Verdict.FAIL:
        return "Records on the run that the thresholds missed a shift. Counts do not change."
    return (
        "Is stored next to the machine's verdict. Pass rates and gates still count only the "
        "machine's verdict."
    )
