"""Answers of a model that writes plans, and what such a model was told."""

import json
from collections.abc import Callable
from typing import Any

from pipelines.core.models.model_question import ModelQuestion
from pipelines.models.scripted import Scripted
from support.scripted_models import fence_of


def answer_of(**plans: Any) -> Any:
    """One answer: the steps of each tool, or a whole plan."""
    return {
        "plans": [
            {"tool": tool, "why": "so"} | (plan if isinstance(plan, dict) else {"steps": plan})
            for tool, plan in plans.items()
        ]
    }


def with_examples(steps: Any, *examples: Any) -> Any:
    return {"steps": steps, "examples": [*examples]}


def writing(*answers: Any) -> Scripted:
    """A model that gives these answers, one after another; the last again and again."""
    left = list(answers)

    def next_answer(question: ModelQuestion) -> Any:
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(question) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]

    return Scripted(answer=next_answer, purpose="author")


def parts_of(question: ModelQuestion, at: int = -1) -> list[Any]:
    """Everything that stands inside the fence of one message, the last by default."""
    word = fence_of(question)
    pieces = question.messages[at].content.split(f"<{word}>\n")[1:]
    return [json.loads(piece.split(f"\n</{word}>", 1)[0]) for piece in pieces]


def told_of(question: ModelQuestion, tool: str) -> Any:
    """What the last message says of a tool to write."""
    return next(one for one in parts_of(question)[-1] if one["tool"]["name"] == tool)
