"""The question to a judge model. What others wrote is in it as data: one line of JSON between two lines
with a word that nobody outside can foresee, and of which nothing in between can make a copy.

Outside those lines stands nothing but our own text: of a run, only how many lines and claims it has shows.
"""

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from pipelines.core.models.model_question import MOST_OUTPUT_TOKENS, ModelMessage, ModelQuestion, Purpose
from pipelines.core.text.fence import fence_word, fenced
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.model_judge.judge_answer import AnswerContext, answer_schema
from pipelines.core.verdict.model_judge.judge_data import run_excerpt
from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION, SYSTEM, Criterion, criteria_of
from pipelines.core.verdict.verdict import Verdict

TOKENS_A_CRITERION = 600  # with what a model thinks before it writes
#: Characters that end a line, hide text or mark a role where some program reads more into a text than its
#: letters. JSON writes them as escapes, and means the same.
_ESCAPED = re.compile(
    "[<\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_ASTRAL = re.compile("[\U000e0000-\U000e0fff]")  # tags and variation selectors: letters that nobody sees
_ROLE = re.compile(r"\[(?=/?(?:INST|SYS)\])")  # the one marker that some chat templates spell without a `<`


class JudgeQuestion(NamedTuple):
    question: ModelQuestion
    asked: AnswerContext
    cuts: tuple[str, ...]


def judge_question(
    evidence: RunEvidence, verdict: Verdict, user_turns: Sequence[str], *, fence_key: bytes
) -> JudgeQuestion:
    """What a judge is asked about a run that `verdict` leaves open: by the same key, always the same."""
    criteria = criteria_of(evidence, verdict)
    excerpt = run_excerpt(evidence, verdict, criteria, user_turns)
    text = data_text(excerpt.data)
    fence = fence_for(fence_key, text)
    question = ModelQuestion(
        purpose=Purpose.JUDGE,
        prompt_version=PROMPT_VERSION,
        system=SYSTEM.format(fence=fence),
        messages=(ModelMessage(role="user", content=_message(criteria, fence, text)),),
        schema=answer_schema(criteria),
        max_output_tokens=max(MOST_OUTPUT_TOKENS, TOKENS_A_CRITERION * len(criteria)),
    )
    context = AnswerContext(
        criteria=criteria, shown=excerpt.rows, existing=excerpt.existing, changed_by=excerpt.changed_by
    )
    return JudgeQuestion(question, context, excerpt.cuts)


def _message(criteria: Sequence[Criterion], fence: str, text: str) -> str:
    listed = "\n".join(criterion.describe() for criterion in criteria)
    ids = ", ".join(criterion.id for criterion in criteria)
    return (
        f"CRITERIA\n{listed}\n\nTHE RUN, as data:\n{fenced(fence, text)}\n"
        f"That was the data. Answer these criteria, each once: {ids}."
    )


def data_text(data: JsonObject) -> str:
    """One line of JSON, whatever stands in it."""
    text = dumps(data).decode("utf-8", "replace")
    text = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    text = _ASTRAL.sub(lambda match: _pair(match[0]), text)
    return _ROLE.sub("\\\\u005b", text)


def _pair(character: str) -> str:
    high, low = divmod(ord(character) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def fence_for(key: bytes, text: str) -> str:
    """A word that does not stand in the text. The agent cannot know the key; if its text holds the word all
    the same, another one is taken."""
    words = (fence_word("judge", key.hex(), str(attempt)) for attempt in count())
    return next(word for word in words if word not in text)
