"""The question of a call to a model, and its reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.core.models.model_question import ModelQuestion, Purpose
from pipelines.core.simulation.by_model.answer_check import ExpectedAnswer
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem

ENGINE = "model"
#: With the one regeneration and what a provider's own limits cost; then the call has failed.
LONGEST_S = 300.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """Whose run asks: who pays, and where the exchange is shown."""

    org_id: int
    run_id: int | None = None
    batch_id: int | None = None
    named: Mapping[Purpose, str] = field(default_factory=dict)  # models that agent or dataset name


class ModelReply(NamedTuple):
    """An answer that passed its schema and its check."""

    data: JsonObject
    model: str
    exchange_id: int
    attempts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    asked_for: RunContext
    tool: str
    arguments: JsonObject
    why: str  # no plan answers this call
    question: ModelQuestion
    # what the schema cannot say, held against the world as it is while the question is out
    expected: ExpectedAnswer
    before: ModelReply | None = None  # an answer about records that are shown only now
    longest_s: float = LONGEST_S


class ModelFailure(NamedTuple):
    """Nothing usable came. `message` and `problems` are for the trace: they may speak of the world."""

    reason: str  # a stable word, such as `timeout`
    message: str
    problems: tuple[Problem, ...] = ()
