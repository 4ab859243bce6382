"""A model whose answers are written down: for tests, ours and users'.

    ScriptedModel([Scripted(answer={"verdict": "PASS"}, about="order 4521")])

The first line whose words all stand in the question answers, as often as it is asked or `times` times.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads

CHARACTERS_A_TOKEN = 4  # about; a script has no tokenizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Scripted:
    """`answer`: JSON; a text as it stands; a function of the question; or a failure."""

    answer: Json | Failure | Callable[[ModelQuestion], Json]
    about: str | tuple[str, ...] = ()
    purpose: str | None = None
    times: int | None = None  # None: as often as asked
    delay_s: float = 0.0  # before it answers

    def fits(self, question: ModelQuestion, text: str) -> bool:
        words = (self.about,) if isinstance(self.about, str) else self.about
        is_meant = self.purpose is None or self.purpose == question.purpose
        return is_meant and all(word in text for word in words)


class ScriptedModel:
    """Remembers what it was asked, in `asked`."""

    def __init__(self, script: Sequence[Scripted], *, nanousd_a_token: int | None = None) -> None:
        self._script = tuple(script)
        self._given = [0] * len(self._script)
        self._nanousd_a_token = nanousd_a_token
        self.asked: list[ModelQuestion] = []

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        self.asked.append(question)
        text = question.system + "\n" + "\n".join(message.content for message in question.messages)
        for number, line in enumerate(self._script):
            if line.fits(question, text) and (line.times is None or self._given[number] < line.times):
                self._given[number] += 1
                if line.delay_s:
                    await asyncio.sleep(line.delay_s)
                return self._answered(line, question, text)
        raise ModelCallFailed(
            Failure.NOT_RECORDED, f"no line of the script answers this {question.purpose} question"
        )

    def _answered(self, line: Scripted, question: ModelQuestion, asked: str) -> ModelAnswer:
        answer = line.answer(question) if callable(line.answer) else line.answer
        if isinstance(answer, Failure):
            raise ModelCallFailed(answer, f"the script says: {answer.value}")
        text = answer if isinstance(answer, str) else dumps(answer).decode()
        tokens = len(asked) // CHARACTERS_A_TOKEN + 1, len(text) // CHARACTERS_A_TOKEN + 1
        return ModelAnswer(
            text=text,
            data=object_in(text),
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost_nanousd=self.cost_nanousd(*tokens),
        )

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        a_token = self._nanousd_a_token
        return None if a_token is None else a_token * (input_tokens + output_tokens)


def object_in(text: str) -> JsonObject | None:
    """The JSON object that a text is, and nothing else: what stands around one is not guessed away."""
    try:
        value = loads(text)
    except InvalidJson:
        return None
    return value if isinstance(value, dict) else None
