"""The first reason why a run did not pass, in one line."""

from typing import Any

import pytest

from pipelines.core.text.json_text import Json
from pipelines.core.verdict.first_reason import LONGEST_REASON, first_reason


def judged(verdict: str, *findings: tuple[str, str], reasoning: str = "In short.") -> Json:
    listed: list[Any] = [{"status": status, "says": says} for status, says in findings]
    return {"verdict": verdict, "reasoning": reasoning, "findings": listed}


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (judged("FAIL", ("held", "Fine."), ("open", "Unclear."), ("broken", "Paid twice.")), "Paid twice."),
        (judged("PENDING", ("held", "Fine."), ("open", "Unclear.")), "Unclear."),
        (judged("PENDING", ("held", "Fine.")), "In short."),
        (judged("PASS", ("held", "Fine.")), None),
        (judged("FAIL", ("broken", "two\n lines")), "two lines"),
        (None, None),
        ("text", None),
    ],
)
def test_the_first_finding_that_does_not_hold_is_the_reason(judgement: Json, reason: str | None):
    assert first_reason(judge_error=None, error=None, judgement=judgement) == reason


def test_an_error_goes_before_the_judgement():
    judgement = judged("FAIL", ("broken", "Paid twice."))
    error: Json = {"detail": "connection refused"}
    assert first_reason(judge_error=None, error=error, judgement=judgement) == "connection refused"
    assert first_reason(judge_error="no reply", error=error, judgement=judgement) == "no reply"


def test_a_long_reason_is_cut():
    reason = first_reason(judge_error="x" * 10_000, error=None, judgement=None)
    assert reason is not None
    assert len(reason) == LONGEST_REASON
    assert reason.endswith("…")
