"""Runs of the newest blind set that evidence leaves open, read by the judge model."""

import json
from collections.abc import Iterator
from functools import partial

from transcript_scores import FIFTEENTH, evidence

from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.model_judge.judge_answer import problems_in, read_answers
from pipelines.core.verdict.model_judge.judge_prompt import judge_question
from pipelines.core.verdict.model_judge.model_verdict import verdict_by_model
from pipelines.core.verdict.verdict import Outcome, Verdict
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.wire.errors import ModelFailed
from quality.cases import FAILED, OPEN, RIGHT, WRONG_FAIL, WRONG_PASS, Answer, Asked, Question, Row, drawn

TITLE = "answers that evidence leaves open"
SET = FIFTEENTH


def questions(count: int) -> Iterator[Question]:
    found: list[tuple[str, Row, RunEvidence, Verdict]] = []
    for path in sorted(SET.glob("*.json")):
        body = json.loads(path.read_text())
        for case in body["transcripts"]:
            about = evidence(body, case)
            verdict = judge(about)
            if isinstance(verdict, Verdict) and verdict.verdict is Outcome.PENDING:
                found.append((f"{path.stem}/{case['id']}", case, about, verdict))
    for one in drawn(found, count, "judge"):
        yield Question((one[0],), partial(_ask, *one))


async def _ask(name: str, case: Row, about: RunEvidence, verdict: Verdict, asked: Asked) -> list[Answer]:
    put = judge_question(about, verdict, (about.user_instruction,), fence_key=name.encode())
    try:
        got = await asked.house.platform.models.ask(
            Asker(org_id=asked.org.id, subject=name),
            put.question,
            check=partial(problems_in, asked=put.asked),
        )
    except ModelFailed as failed:
        return [Answer(case=name, embedded=OPEN, model=FAILED, why=failed.message[:300])]
    answers = read_answers(got.data, put.asked.criteria)
    decided = verdict_by_model(verdict, answers, expected_outcome=about.expected_outcome)
    return [
        Answer(
            case=name,
            embedded=OPEN,
            model=outcome_of(decided.verdict.value, case),
            why=decided.reasoning[:300],
        )
    ]


def outcome_of(decided: str, case: Row) -> str:
    if decided == Outcome.PENDING.value:
        return OPEN
    if decided == case["verdict"]:
        return RIGHT
    return WRONG_PASS if decided == Outcome.PASS.value else WRONG_FAIL
