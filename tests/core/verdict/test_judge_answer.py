"""An answer of a judge that leaves out, invents or contradicts is no answer."""

from typing import Any

import pytest

from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.verdict.model_judge.judge_answer import (
    AnswerContext,
    answer_schema,
    problems_in,
    read_answers,
)
from pipelines.core.verdict.model_judge.rubric import QUESTIONS, Criterion, CriterionKind


def criterion(id: str) -> Criterion:
    kind = CriterionKind(id.removesuffix("_1"))
    return Criterion(id=id, kind=kind, name=id, question=QUESTIONS.get(kind, "?"))


CRITERIA = tuple(
    criterion(id) for id in ("task_completion", "right_refusal", "tool_use", "recovery", "claim_1")
)
ASKED = AnswerContext(
    criteria=CRITERIA, shown=frozenset({1, 2, 9}), existing=frozenset(range(1, 10)), changed_by=()
)
SCORED = ("task_completion", "tool_use", "recovery")


def entry(id: str, status: str = "met", **changes: Any) -> dict[str, Any]:
    score = {"met": 5, "not_met": 1}.get(status) if id in SCORED else None
    body = {"id": id, "reasoning": "It is so.", "evidence": [1], "status": status, "score": score}
    return body | changes


def whole(**changes: Any) -> dict[str, Any]:
    given = {criterion.id: entry(criterion.id) for criterion in CRITERIA}
    given["right_refusal"] = entry("right_refusal", "not_applicable")
    return {"criteria": list((given | changes).values())}


def said(data: dict[str, Any], asked: AnswerContext = ASKED) -> list[str]:
    broken = CompiledSchema(answer_schema(asked.criteria)).problems(data)
    return [problem.said() for problem in broken or problems_in(data, asked)]


def test_a_whole_answer_has_no_problems_and_is_read():
    assert said(whole()) == []
    read = read_answers(whole(), CRITERIA)
    assert [answer.criterion.id for answer in read] == [criterion.id for criterion in CRITERIA]


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (entry("recovery", evidence=[10]), "cites row 10: the trace has no such row"),
        (entry("recovery", evidence=[0, -3, 99]), "cites rows -3, 0, 99: the trace has no such row"),
        (entry("recovery", evidence=[5]), "cites row 5, which you were not shown"),
        (entry("recovery", "met", score=1), "is 1, which contradicts `met`"),
        (entry("recovery", "not_met", score=5), "is 5, which contradicts `not_met`"),
        (entry("recovery", "met", score=None), "must be 1 to 5"),
        (entry("recovery", "cannot_tell", score=3), "must be null"),
        (entry("recovery", score=6), "6 is greater"),
        (entry("recovery", "PASS"), "/criteria/3/status"),
        (entry("recovery", reasoning=""), "/criteria/3/reasoning"),
        (entry("recovery", reasoning=" \n"), "is blank"),
        (entry("recovery", evidence="all"), "/criteria/3/evidence"),
        (entry("recovery", verdict="PASS"), "verdict"),
    ],
)
def test_what_is_wrong_with_one_criterion_is_said(changed, complaint):
    (first, *_) = said(whole(recovery=changed))
    assert complaint in first


def test_a_missing_criterion_and_one_answered_twice_are_told():
    data = whole(recovery=entry("tool_use"))
    assert any("`recovery` is not answered" in each for each in said(data))
    assert any("`tool_use` is answered twice" in each for each in said(data))
    most = len(CRITERIA)
    (few,) = said({"criteria": whole()["criteria"][:-1]})
    assert few == f"/criteria has {most - 1} items: at least {most} are needed"
    (many,) = said({"criteria": [*whole()["criteria"], entry("recovery")]})
    assert many == f"/criteria has {most + 1} items: at most {most} may be"
    assert said({"criteria": []}) != []
    assert said({"verdict": "PASS"}) != []


def test_reasoning_stands_before_status():
    turned = {"id": "recovery", "status": "met", "score": 5, "reasoning": "So.", "evidence": []}
    assert any("before `status`" in each for each in said(whole(recovery=turned)))


def test_completion_always_applies():
    assert any(
        "always applies" in each
        for each in said(whole(task_completion=entry("task_completion", "not_applicable")))
    )


def test_blame_for_an_action_names_the_row():
    blamed = entry("tool_use", "not_met", evidence=[])
    assert any("must cite the rows" in each for each in said(whole(tool_use=blamed)))


def test_a_claim_called_unsupported_names_the_rows_that_were_looked_at():
    blamed = whole(claim_1=entry("claim_1", "not_met", evidence=[]))
    assert any("must cite the rows" in each for each in said(blamed))
    nothing = AnswerContext(criteria=CRITERIA, shown=frozenset(), existing=frozenset(), changed_by=())
    bare = {"criteria": [each | {"evidence": []} for each in blamed["criteria"]]}
    assert said(bare, nothing) == [], "a run without rows has none to cite"
    assert said(whole(claim_1=entry("claim_1", "met", evidence=[]))) == [], "the user's words may support it"
    assert said(whole(claim_1=entry("claim_1", "not_applicable"))) == []


def test_what_was_done_cannot_have_been_refused():
    assert any("both are `met`" in each for each in said(whole(right_refusal=entry("right_refusal"))))


def test_a_run_that_changed_the_world_is_no_clean_refusal():
    changing = AnswerContext(criteria=CRITERIA, shown=ASKED.shown, existing=ASKED.existing, changed_by=(2,))
    refused = whole(task_completion=entry("task_completion", "not_met"), right_refusal=entry("right_refusal"))
    assert said(refused) == []
    assert any("row 2 changed the world" in each for each in said(refused, changing))
