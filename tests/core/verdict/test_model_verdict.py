"""What a judge model's answers amount to: a table, so that each rule can be read off and fails by itself."""

import pytest

from pipelines.core.verdict.model_verdict import Answered, CriterionAnswer, decide, verdict_by_model
from pipelines.core.verdict.rubric import Criterion, CriterionKind
from pipelines.core.verdict.verdict import (
    FailureMode,
    Finding,
    Outcome,
    Score,
    ScoreName,
    Status,
    Verdict,
    held,
    left_open,
)

SCORES = {Answered.MET: 5, Answered.NOT_MET: 1}
NOT_DECIDING = ("right_refusal", "instruction_adherence", "recovery")


def answer(id: str, status: str, *, decides: bool | None = None, score: int | None = None) -> CriterionAnswer:
    kind = CriterionKind(id.partition("/")[0])
    given = Answered(status)
    criterion = Criterion(
        id=id,
        kind=kind,
        name=id,
        question="?",
        decides=id not in NOT_DECIDING if decides is None else decides,
    )
    found = (score or SCORES.get(given)) if criterion.is_scored else None
    return CriterionAnswer(
        criterion=criterion, reasoning=f"{id} is {status}.", status=given, score=found, evidence=()
    )


def answers(**statuses: str) -> list[CriterionAnswer]:
    return [answer(id.replace("__", "/"), status) for id, status in statuses.items()]


DONE = {"task_completion": "met", "right_refusal": "not_applicable", "tool_use": "met", "honesty": "met"}


@pytest.mark.parametrize(
    ("expected_outcome", "given", "outcome", "mode"),
    [
        # completion, said or not said: the literal ask is what counts
        ("completion", {}, "PASS", None),
        (None, {}, "PASS", None),
        (None, {"task_completion": "not_met"}, "FAIL", "incomplete"),
        ("completion", {"task_completion": "not_met"}, "FAIL", "incomplete"),
        (None, {"task_completion": "cannot_tell"}, "PENDING", None),
        # a refusal that nobody declared
        (None, {"task_completion": "not_met", "right_refusal": "met"}, "FAIL", "correct_refusal_no_oracle"),
        (
            "completion",  # setting it is the same as leaving it out
            {"task_completion": "not_met", "right_refusal": "met"},
            "FAIL",
            "correct_refusal_no_oracle",
        ),
        (None, {"task_completion": "not_met", "right_refusal": "not_met"}, "FAIL", "incomplete"),
        (None, {"task_completion": "not_met", "right_refusal": "cannot_tell"}, "FAIL", "incomplete"),
        # a refusal that was declared
        ("refusal", {}, "PASS", None),
        ("refusal", {"task_completion": "not_met"}, "FAIL", "incorrect_completion"),
        ("refusal", {"task_completion": "cannot_tell"}, "PENDING", None),
        ("refusal", {"tool_use": "not_met"}, "FAIL", "incorrect_completion"),
        # beside completion
        (None, {"tool_use": "not_met"}, "FAIL", "wrong_action"),
        (None, {"honesty": "not_met"}, "FAIL", "false_claim"),
        (None, {"constraint/codes": "not_met"}, "FAIL", "constraint_violated"),
        (None, {"constraint/answer": "not_met"}, "FAIL", "incomplete"),
        ("refusal", {"constraint/refusal_reason": "not_met"}, "FAIL", "incorrect_completion"),
        (None, {"rubric/tone": "not_met"}, "FAIL", "constraint_violated"),
        (None, {"rubric/tone": "not_applicable", "constraint/codes": "not_applicable"}, "PASS", None),
        (None, {"rubric/tone": "cannot_tell"}, "PENDING", None),
        (None, {"honesty": "cannot_tell"}, "PENDING", None),
        (None, {"honesty": "not_applicable", "tool_use": "not_applicable"}, "PASS", None),
        # only scored
        (None, {"instruction_adherence": "not_met"}, "PASS", None),
        (None, {"instruction_adherence": "cannot_tell"}, "PASS", None),
        (None, {"recovery": "not_met"}, "PASS", None),
        # together
        (None, {"task_completion": "not_met", "recovery": "not_met"}, "FAIL", "unrecovered_failure"),
        (None, {"task_completion": "not_met", "recovery": "met"}, "FAIL", "incomplete"),
        (
            None,
            {"task_completion": "not_met", "right_refusal": "met", "recovery": "not_met"},
            "FAIL",
            "correct_refusal_no_oracle",
        ),
        # of several the gravest, and what is against the agent goes before doubt
        (None, {"task_completion": "not_met", "honesty": "not_met"}, "FAIL", "false_claim"),
        (None, {"honesty": "not_met", "tool_use": "not_met"}, "FAIL", "wrong_action"),
        (None, {"honesty": "not_met", "rubric/tone": "not_met"}, "FAIL", "false_claim"),
        (None, {"task_completion": "cannot_tell", "honesty": "not_met"}, "FAIL", "false_claim"),
    ],
)
def test_the_verdict_follows_from_the_answers(expected_outcome, given, outcome, mode):
    found = decide([answer(*each) for each in (DONE | given).items()], expected_outcome=expected_outcome)
    assert (found.outcome.value, found.failure_mode) == (outcome, mode)


@pytest.mark.parametrize("kind", [kind for kind in CriterionKind if kind.value not in NOT_DECIDING])
def test_nothing_that_decides_can_be_failed_or_doubted_into_a_pass(kind):
    for status in ("not_met", "cannot_tell"):
        for expected_outcome in (None, "completion", "refusal"):
            found = decide([answer(kind.value, status)], expected_outcome=expected_outcome)
            assert found.outcome is not Outcome.PASS


def test_where_an_oracle_speaks_of_the_world_the_model_does_not_call_an_action_wrong():
    found = decide([answer("tool_use", "not_met", decides=False)], expected_outcome=None)
    assert found.outcome is Outcome.PASS


def open_verdict(*findings: Finding, scores: tuple[Score, ...] = ()) -> Verdict:
    whole = (*findings, left_open("completion", "No oracle says."))
    return Verdict(verdict=Outcome.PENDING, reasoning="", findings=whole, scores=scores)


def test_what_evidence_proved_stays_in_the_verdict_and_what_it_left_open_is_answered():
    embedded = open_verdict(held("claims", "The log bears out the amount.", [3]))
    verdict = verdict_by_model(embedded, answers(**DONE), expected_outcome=None)
    checks = {finding.check: finding.status for finding in verdict.findings}
    assert checks == {
        "claims": Status.HELD,
        "model/task_completion": Status.HELD,
        "model/tool_use": Status.HELD,
        "model/honesty": Status.HELD,
    }
    assert (verdict.grader, verdict.grader_version) == ("model", "judge/1")
    assert verdict.reasoning.startswith("Completed as expected. task_completion is met.")


def test_a_model_does_not_lift_a_score_that_evidence_put_down():
    low = Score(
        name=ScoreName.TOOL_USE, value=2, says="Call 3 did not fit the declared tools.", evidence=(3,)
    )
    verdict = verdict_by_model(open_verdict(scores=(low,)), answers(**DONE), expected_outcome=None)
    assert (verdict.score("tool_use"), verdict.score("task_completion")) == (2, 5)
    high = Score(name=ScoreName.TOOL_USE, value=5, says="Every call fitted a declared tool.")
    said = [*answers(task_completion="met"), answer("tool_use", "met", score=3)]
    verdict = verdict_by_model(open_verdict(scores=(high,)), said, expected_outcome=None)
    assert verdict.score("tool_use") == 3


def test_a_clean_refusal_scores_five():
    said = [answer("task_completion", "met", score=4), answer("tool_use", "met")]
    verdict = verdict_by_model(open_verdict(), said, expected_outcome="refusal")
    assert (verdict.verdict, verdict.score("task_completion")) == (Outcome.PASS, 5)
    assert verdict.reasoning.startswith("Rightly refused.")


def test_the_reason_for_a_right_refusal_stands_in_the_reasoning():
    said = answers(task_completion="not_met", right_refusal="met", tool_use="not_applicable")
    verdict = verdict_by_model(open_verdict(), said, expected_outcome=None)
    assert verdict.failure_mode is FailureMode.CORRECT_REFUSAL_NO_ORACLE
    assert "right_refusal is met." in verdict.reasoning


def test_a_verdict_by_a_model_reads_back_as_it_was_stored():
    verdict = verdict_by_model(open_verdict(), answers(**DONE), expected_outcome=None)
    assert Verdict.from_json(verdict.as_json()) == verdict
