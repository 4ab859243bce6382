"""One conversation with a model about the plans of an agent's tools, a few tools at a time. What it has
answered stays in the conversation, so that types, ids and the shapes of replies carry over from tool to tool.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.simulation.build import PlannedSimulator
from pipelines.core.simulation.by_model.prompt import as_data
from pipelines.core.simulation.example_calls import EXAMPLE_SCHEMA, MOST_EXAMPLES
from pipelines.core.simulation.proposed_plans.backend_data import Examples, Turn, setting_of, turns_of
from pipelines.core.simulation.proposed_plans.prompt import VERSION, instructions
from pipelines.core.text.fence import fence_word, fenced, rule_of
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem

MOST_STEPS = 60
MOST_ANSWERED_TOKENS = 16_384  # four plans with their examples
LONGEST_EARLIER = 150_000  # characters that are repeated of the turns before


def plan_schema(tools: Sequence[str]) -> JsonObject:
    plan: JsonObject = {
        "type": "object",
        "properties": {
            "tool": {"enum": [*tools]},
            "why": {"type": "string", "maxLength": 1_000},
            "steps": {"type": "array", "items": {"type": "object"}, "minItems": 1, "maxItems": MOST_STEPS},
            "examples": {"type": "array", "items": EXAMPLE_SCHEMA, "maxItems": MOST_EXAMPLES},
        },
        "required": ["tool", "why", "steps"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"plans": {"type": "array", "items": plan, "maxItems": len(tools)}},
        "required": ["plans"],
        "additionalProperties": False,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class AnsweredPlan:
    """A plan as the model wrote it."""

    tool: str
    why: str
    steps: Json
    examples: tuple[JsonObject, ...] = ()

    @classmethod
    def from_json(cls, body: JsonObject) -> "AnsweredPlan":
        """Of an answer that fits the schema."""
        one: Any = body
        return cls(
            tool=one["tool"], why=one["why"], steps=one["steps"], examples=tuple(one.get("examples", ()))
        )

    def as_json(self) -> JsonObject:
        body: JsonObject = {"tool": self.tool, "why": self.why, "steps": self.steps}
        return body | ({"examples": [*self.examples]} if self.examples else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    setting: str  # the backend, as JSON on one line
    turns: tuple[Turn, ...]
    word: str  # between which all data stand
    answered: tuple[str, ...] = ()  # the plans that were taken, turn by turn

    def question(self) -> ModelQuestion:
        """For the plans of the next turn."""
        turn = self.turns[len(self.answered)]
        return ModelQuestion(
            purpose=Purpose.AUTHOR,
            prompt_version=VERSION,
            system=f"{instructions()}\n{rule_of(self.word)}",
            messages=(*self._earlier(), _message("user", self._asks(len(self.answered), is_whole=True))),
            schema=plan_schema(turn.tools),
            max_output_tokens=MOST_ANSWERED_TOKENS,
        )

    def after(self, plans: Sequence[AnsweredPlan]) -> "Conversation":
        """With the plans that were taken of an answer."""
        answer = dumps({"plans": [one.as_json() for one in plans]}).decode()
        return replace(self, answered=(*self.answered, answer))

    def again(
        self, question: ModelQuestion, answer: JsonObject, wrong: Mapping[str, list[str]]
    ) -> ModelQuestion:
        """The same question with its answer and what is wrong with the plans of some tools."""
        problems: JsonObject = {tool: [*reasons] for tool, reasons in wrong.items()}
        request = (
            "The program has tried these plans. The data say what came out otherwise. Write the plans of"
            f" these tools again, and no others.\n{fenced(self.word, as_data(problems))}"
        )
        return replace(
            question,
            messages=(
                *question.messages,
                _message("assistant", dumps(answer).decode()),
                _message("user", request),
            ),
            schema=plan_schema([*wrong]),
        )

    def _earlier(self) -> Iterator[ModelMessage]:
        """The turns before. Where they are too long, the data of the oldest are left out. Plans stay."""
        room = LONGEST_EARLIER - sum(map(len, self.answered))
        whole: list[bool] = []
        for turn in reversed(self.turns[: len(self.answered)]):
            room -= len(turn.data)
            whole.append(room >= 0)
        for at, is_whole in enumerate(reversed(whole)):
            yield _message("user", self._asks(at, is_whole=is_whole))
            yield _message("assistant", self.answered[at])

    def _asks(self, at: int, *, is_whole: bool) -> str:
        turn = self.turns[at]
        request = f"Write the plans of {', '.join(turn.tools)}."
        if at == 0:
            request += (
                f" This is the backend:\n{fenced(self.word, self.setting)}\nThese are the tools to write:"
            )
        data = turn.data if is_whole else as_data({"left_out": "to save room"})
        return f"{request}\n{fenced(self.word, data)}"


def start_conversation(
    tools: Sequence[str], around: PlannedSimulator, examples: Examples, *, now: str | None = None
) -> Conversation:
    """About the tools in this order, in their backend. `examples` are recorded calls of a tool."""
    setting = as_data(setting_of(tools, around, now))
    turns = tuple(turns_of(tools, around, examples))
    # Of everything that is told: whoever writes a part of it cannot foresee the word.
    word = fence_word("plans", setting, *(turn.data for turn in turns))
    return Conversation(setting=setting, turns=turns, word=word)


def answered_plans(data: JsonObject) -> dict[str, AnsweredPlan]:
    """By tool, of an answer that fits the schema."""
    plans: Any = data["plans"]
    read = map(AnsweredPlan.from_json, plans)
    return {one.tool: one for one in read}


def answer_problems(data: JsonObject, tools: Sequence[str]) -> list[Problem]:
    """What the schema cannot say: one plan for each tool."""
    plans: Any = data["plans"]
    named = [one["tool"] for one in plans]
    repeated = [
        Problem(path=pointer(["plans", at, "tool"]), message="has a plan already")
        for at, name in enumerate(named)
        if name in named[:at]
    ]
    return repeated + [
        Problem(path="/plans", message=f"has no plan for {name}") for name in tools if name not in named
    ]


def _message(role: Literal["user", "assistant"], content: str) -> ModelMessage:
    return ModelMessage(role=role, content=content)
