"""The question to a model and its answer. `models/` sends it, the engine decides when."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from pipelines.core.text.json_text import JsonObject, canonical
from pipelines.core.text.problems import Problem
from pipelines.wire.records import Record

NANO = 1_000_000_000  # costs are kept in billionths of a dollar: they are summed, and must add up
MOST_OUTPUT_TOKENS = 4_096


class Purpose(StrEnum):
    SIMULATOR = "simulator"  # answers a tool call that no plan covers
    JUDGE = "judge"  # says what a run proves where no oracle decides
    USER = "user"  # the other side of a conversation
    AUTHOR = "author"  # writes plans, rules and worlds, for people to review


class Failure(StrEnum):
    """Why a model gave nothing that can be used."""

    AUTH = "auth"  # no key, or one that the provider refuses
    UNKNOWN_MODEL = "unknown_model"
    UNAVAILABLE = "unavailable"  # cannot be reached, or 5xx after the retries
    RATE_LIMITED = "rate_limited"  # 429 after the retries
    TIMEOUT = "timeout"
    REFUSED = "refused"  # the provider or the model declined
    BAD_REQUEST = "bad_request"  # the provider does not take what was sent
    NOT_JSON = "not_json"  # cut off, or no JSON at all
    WRONG_SCHEMA = "wrong_schema"  # JSON, but not what was asked for
    TOO_LARGE = "too_large"
    CUT_OFF = "cut_off"  # whoever asked was cancelled; it may have been paid for
    NOT_RECORDED = "not_recorded"  # a stand-in has no answer for this


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelMessage(Record):
    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelQuestion(Record):
    """Asks for JSON of a schema, whose root is an object."""

    purpose: Purpose
    prompt_version: str  # names the text of `system`, such as "judge/1"
    system: str
    messages: tuple[ModelMessage, ...]
    schema: JsonObject
    max_output_tokens: int = MOST_OUTPUT_TOKENS

    def key(self, model: str) -> str:
        """The same for the same question to the same model: what is answered once is not asked again."""
        return hashlib.sha256(canonical([model, self.as_json()])).hexdigest()

    def again(self, answer: str, problems: Sequence[Problem]) -> "ModelQuestion":
        """The one regeneration: the same question with the answer it got and what is wrong with it."""
        listed = "\n".join(f"- {problem.said()}" for problem in problems)
        complaint = f"That answer cannot be used:\n{listed}\nAnswer again, whole, with these mended."
        more = (ModelMessage(role="assistant", content=answer), ModelMessage(role="user", content=complaint))
        return replace(self, messages=(*self.messages, *more))


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer:
    """What came back, not yet checked. `data` is None where the text is no JSON object."""

    text: str
    data: JsonObject | None
    requests: int = 1  # sent for it, retries included
    perhaps_paid: int = 0  # of these: brought nothing, and nobody says whether they were billed
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_nanousd: int | None = None  # None: nobody knows a price


class ModelCallFailed(Exception):
    """A request that brought no answer. `tokens` is what it used all the same; None: nobody knows."""

    def __init__(
        self,
        failure: Failure,
        message: str,
        *,
        requests: int = 1,
        tokens: int | None = None,
        cost_nanousd: int | None = None,
        is_worth_retry: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.failure = failure
        self.requests = requests
        self.perhaps_paid = 0  # of the requests before the last
        self.tokens = tokens
        self.cost_nanousd = 0 if tokens == 0 else cost_nanousd
        self.is_worth_retry = is_worth_retry  # the same request may be answered a little later
        self.retry_after_s = retry_after_s  # what the provider asked to wait


def cost_usd(nanousd: int | None) -> float | None:
    return None if nanousd is None else nanousd / NANO
