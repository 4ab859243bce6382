"""What a session will ask of a model, before it does: from the length of the questions and of the answers
that are wanted. Retries, regenerations and drafts past the usual are not foreseen: it is said to be about."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from pipelines.core.models.model_question import ModelQuestion
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.worlds.by_model.prompt_data import MOST_WORLD
from pipelines.core.worlds.by_model.row_question import INSTRUCTIONS as ROW_INSTRUCTIONS
from pipelines.core.worlds.by_model.row_question import MOST_ROWS
from pipelines.core.worlds.by_model.world_question import (
    WorldBrief,
    expected_tokens,
    part_question,
    parts_of,
    plan_question,
)

CHARACTERS_A_TOKEN = 4  # about, in English and JSON
TOKENS_A_DRAFT = 220
TOKENS_A_PLANNED_ID = 20
DRAFTS_A_ROW = 1.5  # what is rejected is asked for again


@dataclass(frozen=True, kw_only=True, slots=True)
class AuthorEstimate:
    questions: int
    tokens_in: int
    tokens_out: int

    def __add__(self, other: "AuthorEstimate") -> "AuthorEstimate":
        return AuthorEstimate(
            questions=self.questions + other.questions,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
        )

    def as_json(self) -> JsonObject:
        return {"questions": self.questions, "tokens": self.tokens_in + self.tokens_out}


NOTHING = AuthorEstimate(questions=0, tokens_in=0, tokens_out=0)


def world_estimate(brief: WorldBrief) -> AuthorEstimate:
    parts = parts_of(brief)
    answered = sum(expected_tokens(brief, part) for part in parts)
    found = NOTHING
    if len(parts) > 1:
        ids = TOKENS_A_PLANNED_ID * brief.records * len(brief.types)
        found += AuthorEstimate(questions=1, tokens_in=_length(plan_question(brief)), tokens_out=ids)
        # Later parts are told the plan, and what the earlier ones came to: half of it, on average.
        again = len(parts) * ids + len(parts) * min(answered, MOST_WORLD // 2 // CHARACTERS_A_TOKEN) // 2
        found += AuthorEstimate(questions=0, tokens_in=again, tokens_out=0)
    question_size = sum(_length(part_question(brief, part, None, {})) for part in parts)
    return found + AuthorEstimate(questions=len(parts), tokens_in=question_size, tokens_out=answered)


def rows_estimate(brief: WorldBrief, buckets: Sequence[int], *, world: int | None = None) -> AuthorEstimate:
    """`buckets` are the rows that each still wants; `world` has so many characters, where it is there."""
    if world is None:
        world = CHARACTERS_A_TOKEN * sum(expected_tokens(brief, part) for part in parts_of(brief))
    brief_size = len(dumps(brief.tools)) + len(brief.behaviour or "") + len(ROW_INSTRUCTIONS)
    a_question = (brief_size + min(world, MOST_WORLD)) // CHARACTERS_A_TOKEN
    questions = sum(ceil(DRAFTS_A_ROW * rows / MOST_ROWS) for rows in buckets)
    drafts = ceil(DRAFTS_A_ROW * sum(buckets))
    return AuthorEstimate(
        questions=questions, tokens_in=questions * a_question, tokens_out=drafts * TOKENS_A_DRAFT
    )


def _length(question: ModelQuestion) -> int:
    size = len(question.system) + sum(len(message.content) for message in question.messages)
    return (size + len(dumps(question.schema))) // CHARACTERS_A_TOKEN
