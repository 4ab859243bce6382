"""Which part of its task's oracle a finding is about: where an author corrects it."""

from pipelines.core.oracles import expected_answer, expected_calls, expected_state
from pipelines.core.verdict.evidence import COMPLETION, NO_CHANGE, REFUSAL
from pipelines.core.verdict.state_oracle import COLLATERAL

_AXES = {
    expected_state.CHECK: "expected_state",
    COLLATERAL: "expected_state",
    expected_calls.CHECK: "expected_calls",
    expected_answer.CHECK: "expected_answer",
    COMPLETION: "expected_outcome",
    REFUSAL: "expected_outcome",
    NO_CHANGE: "expected_outcome",
}
_KINDS = {"constraint": "tracked_constraints", "rubric": "rubric"}


def axis_of_check(check: str) -> str | None:
    """None for a check that no oracle decides, such as a contradiction between the answer and the calls."""
    kind, slash, _ = check.partition("/")
    return _KINDS.get(kind) if slash else _AXES.get(check)
