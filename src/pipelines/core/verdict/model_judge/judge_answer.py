"""Reading what a judge model answered. An answer that leaves something out, cites what is not there or
contradicts itself is no answer: its problems are told, and nothing is filled in for it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.verdict.model_judge.model_verdict import CriterionAnswer, CriterionStatus
from pipelines.core.verdict.model_judge.rubric import Criterion, CriterionKind
from pipelines.core.verdict.verdict import BEST_SCORE, LEAST_SCORE, in_order

LONGEST_REASONING = 4_000  # characters
MOST_CITED = 100  # rows of one criterion
_MIDDLE = 3  # the one score that goes with both `met` and `not_met`
_BLAMED_BY_ROWS = (CriterionKind.TOOL_USE, CriterionKind.RECOVERY, CriterionKind.CLAIM)


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerContext:
    """What an answer is held against."""

    criteria: tuple[Criterion, ...]
    shown: frozenset[int]  # sequences of the rows that the judge was shown
    existing: frozenset[int]
    changed_by: tuple[int, ...]  # rows that changed the world


def answer_schema(criteria: Sequence[Criterion]) -> JsonObject:
    """Reasoning stands before status: a model writes in this order, and is to think first."""
    ids: list[Json] = [criterion.id for criterion in criteria]
    answer: JsonObject = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "enum": ids},
            "reasoning": {"type": "string", "minLength": 1, "maxLength": LONGEST_REASONING},
            "evidence": {"type": "array", "items": {"type": "integer"}, "maxItems": MOST_CITED},
            "status": {"type": "string", "enum": [status.value for status in CriterionStatus]},
            "score": {"type": ["integer", "null"], "minimum": LEAST_SCORE, "maximum": BEST_SCORE},
        },
        "required": ["id", "reasoning", "evidence", "status", "score"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "criteria": {"type": "array", "items": answer, "minItems": len(ids), "maxItems": len(ids)}
        },
        "required": ["criteria"],
        "additionalProperties": False,
    }


def read_answers(data: JsonObject, criteria: Sequence[Criterion]) -> tuple[CriterionAnswer, ...]:
    """Of data that fits the schema and has no problems."""
    by_id = {criterion.id: criterion for criterion in criteria}
    return tuple(_answer(entry, by_id[str(entry["id"])]) for entry in _entries(data))


def problems_in(data: JsonObject, asked: AnswerContext) -> list[Problem]:
    """What the schema cannot see. `data` fits it."""
    entries = list(_entries(data))
    given = [str(entry["id"]) for entry in entries]
    missing = [criterion.id for criterion in asked.criteria if criterion.id not in given]
    found = [Problem(path="/criteria", message=f"`{id}` is not answered") for id in missing]
    by_id = {criterion.id: criterion for criterion in asked.criteria}
    for place, entry in enumerate(entries):
        at = f"/criteria/{place}"
        if given.index(given[place]) != place:
            found.append(Problem(path=at, message=f"`{given[place]}` is answered twice"))
        found += _criterion_problems(at, entry, by_id[given[place]], asked)
    return found or list(_contradiction_problems(entries))


def _criterion_problems(
    at: str, entry: JsonObject, criterion: Criterion, asked: AnswerContext
) -> Iterator[Problem]:
    names = list(entry)
    if names.index("reasoning") > names.index("status"):
        yield Problem(path=at, message="`reasoning` must stand before `status`")
    answer = _answer(entry, criterion)
    if not answer.reasoning.strip():
        yield Problem(path=f"{at}/reasoning", message="is blank")
    yield from _evidence_problems(f"{at}/evidence", answer.evidence, asked)
    yield from _status_problems(at, answer, asked)
    yield from _score_problems(f"{at}/score", answer)


def _evidence_problems(at: str, cited: Sequence[int], asked: AnswerContext) -> Iterator[Problem]:
    unknown = [row for row in cited if row not in asked.existing]
    hidden = [row for row in cited if row in asked.existing and row not in asked.shown]
    if unknown:
        yield Problem(path=at, message=f"cites {_rows(unknown)}: the trace has no such row")
    if hidden:
        message = f"cites {_rows(hidden)}, which you were not shown"
        yield Problem(path=at, message=message, hint="cite rows of `trace`, or answer cannot_tell")


def _status_problems(at: str, answer: CriterionAnswer, asked: AnswerContext) -> Iterator[Problem]:
    kind = answer.criterion.kind
    if answer.status is CriterionStatus.NOT_APPLICABLE and not answer.criterion.may_not_apply:
        yield Problem(path=f"{at}/status", message=f"`{answer.criterion.id}` always applies")
    is_blamed = answer.status is CriterionStatus.NOT_MET and kind in _BLAMED_BY_ROWS
    if is_blamed and asked.shown and not answer.evidence:
        yield Problem(path=f"{at}/evidence", message="must cite the rows that `not_met` rests on")
    if kind is CriterionKind.RIGHT_REFUSAL and answer.status is CriterionStatus.MET and asked.changed_by:
        message = (
            f"cannot be met: {_rows(asked.changed_by)} changed the world, and a clean refusal changes nothing"
        )
        yield Problem(path=f"{at}/status", message=message)


def _score_problems(at: str, answer: CriterionAnswer) -> Iterator[Problem]:
    is_met, score = answer.status is CriterionStatus.MET, answer.score
    is_told = answer.criterion.is_scored and (is_met or answer.status is CriterionStatus.NOT_MET)
    if is_told and score is None:
        yield Problem(path=at, message=f"must be {LEAST_SCORE} to {BEST_SCORE}")
    elif not is_told and score is not None:
        yield Problem(path=at, message=f"must be null with `{answer.status.value}` here")
    elif score is not None and (score < _MIDDLE if is_met else score > _MIDDLE):
        yield Problem(path=at, message=f"is {score}, which contradicts `{answer.status.value}`")


def _contradiction_problems(entries: Sequence[JsonObject]) -> Iterator[Problem]:
    status = {str(entry["id"]): entry["status"] for entry in entries}
    both = (CriterionKind.TASK_COMPLETION.value, CriterionKind.RIGHT_REFUSAL.value)
    if all(status.get(id) == CriterionStatus.MET for id in both):
        yield Problem(path="/criteria", message="what was done cannot have been refused: both are `met`")


def _answer(entry: JsonObject, criterion: Criterion) -> CriterionAnswer:
    evidence, score = entry["evidence"], entry["score"]
    assert isinstance(evidence, list)
    return CriterionAnswer(
        criterion=criterion,
        reasoning=str(entry["reasoning"]),
        status=CriterionStatus(str(entry["status"])),
        score=None if score is None else int(str(score)),
        evidence=in_order(int(str(row)) for row in evidence),
    )


def _entries(data: JsonObject) -> Iterator[JsonObject]:
    entries = data["criteria"]
    assert isinstance(entries, list)
    for entry in entries:
        assert isinstance(entry, dict)
        yield entry


def _rows(rows: Collection[int]) -> str:
    listed = sorted(rows)
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    return f"row{'s' if len(listed) > 1 else ''} {', '.join(map(str, listed[:10]))}{more}"
