"""`recorded:FILE`: answers that a real model gave, played again. Nothing is sent.

A cassette is JSON lines, one exchange each, as `pipelines exchanges RUN --cassette FILE` writes them. A
question is found by all of its text; which model is asked is not part of it.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import JsonObject, canonical
from pipelines.core.text.problems import Problem, Refused
from pipelines.models.script_file import entries_of
from pipelines.models.scripted import object_in

_FIELDS = ("purpose", "model", "request", "answer", "failure", "input_tokens", "output_tokens", "cost_usd")


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    answer: str | None
    failure: Failure | None
    input_tokens: int | None
    output_tokens: int | None


class RecordedModel:
    """Of several answers to one question each is given once, and the last from then on."""

    def __init__(self, exchanges: dict[str, list[Recorded]]) -> None:
        self._exchanges = exchanges

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        found = self._exchanges.get(_key(question.as_json()))
        if not found:
            raise ModelCallFailed(
                Failure.NOT_RECORDED, f"the cassette has no such {question.purpose} question", tokens=0
            )
        recorded = found.pop(0) if len(found) > 1 else found[0]
        if recorded.answer is None:
            raise ModelCallFailed(recorded.failure or Failure.UNAVAILABLE, "so it was recorded", tokens=0)
        return ModelAnswer(
            text=recorded.answer,
            data=object_in(recorded.answer),
            input_tokens=recorded.input_tokens,
            output_tokens=recorded.output_tokens,
            cost_nanousd=0,  # paid when it was recorded
        )

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return 0


def read_cassette(path: Path) -> RecordedModel:
    """Refused with everything that is wrong with it."""
    problems: list[Problem] = []
    exchanges: dict[str, list[Recorded]] = {}
    for place, entry in entries_of(path, problems):
        body = as_object(entry, place, problems, "an exchange")
        if body is None:
            continue
        fields = Fields(body, place, problems)
        fields.refuse_unknown(_FIELDS)
        fields.require("request")
        request = as_object(fields.get("request") or {}, fields.at("request"), problems, "`request`")
        exchanges.setdefault(_key(request or {}), []).append(_read(fields))
    if problems:
        raise Refused(problems, str(path))
    return RecordedModel(exchanges)


def _read(fields: Fields) -> Recorded:
    failure = fields.choice("failure", [each.value for each in Failure])
    return Recorded(
        answer=fields.text("answer", may_be_blank=True),
        failure=Failure(failure) if failure is not None else None,
        input_tokens=_count(fields, "input_tokens"),
        output_tokens=_count(fields, "output_tokens"),
    )


def _count(fields: Fields, key: str) -> int | None:
    return fields.whole_number(key, 0, least=0) if fields.has(key) else None


def _key(request: JsonObject) -> str:
    return hashlib.sha256(canonical(request)).hexdigest()
