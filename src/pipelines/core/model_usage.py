"""What an answer of a model says about itself, read as it goes by: which model, how many tokens.

Three shapes of it are known: OpenAI's chat and responses, and Anthropic's messages; each as one object of
JSON or as server-sent events. What an answer does not say stays unknown.

All of it happens on the event loop. pydantic reads the few fields that are wanted and makes nothing of the
rest: a megabyte of prompt takes a millisecond, where `loads` of one that is made to be hard takes 300.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from pipelines.core.json_text import Json, JsonObject

MOST_QUESTION_BYTES = 64 * 1024  # that are looked at, since whoever asks is not trusted; answers tell it too
MOST_BODY_BYTES = 1024 * 1024  # of an answer; longer ones are only passed on
MOST_LINE_BYTES = 256 * 1024  # of one event
LONGEST_MODEL = 200
MOST_TOKENS = 2**53
_INSIDE = ("response", "message")  # events of OpenAI's responses and of Anthropic wrap what they tell
_CACHED = ("cache_creation_input_tokens", "cache_read_input_tokens")  # counted apart by Anthropic


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUsage:
    """None: it was not said."""

    model: str | None = None
    input_tokens: int | None = None  # those read from a cache among them
    output_tokens: int | None = None

    def then(self, later: "ModelUsage") -> "ModelUsage":
        """Counts in events are of all that came so far: the last word stands."""
        return ModelUsage(
            model=later.model or self.model,
            input_tokens=self.input_tokens if later.input_tokens is None else later.input_tokens,
            output_tokens=self.output_tokens if later.output_tokens is None else later.output_tokens,
        )


class _Question(BaseModel):
    model: str | None = None


class _Answer(BaseModel):
    model: Any = None
    usage: Any = None
    response: Any = None
    message: Any = None


def model_of(body: bytes) -> str | None:
    """Which model a question names."""
    if not body or len(body) > MOST_QUESTION_BYTES:
        return None
    try:
        return _named(_Question.model_validate_json(body).model)
    except ValidationError:
        return None


class AnswerUsage:
    """Takes an answer part by part. What it holds of it is bounded."""

    def __init__(self, content_type: str) -> None:
        self._is_events = content_type.lower().startswith("text/event-stream")
        self._held = bytearray()
        self._is_too_long = False  # what is held now; of events, the current line
        self._found = ModelUsage()

    def take(self, part: bytes) -> None:
        if not self._is_events:
            self._hold(part, MOST_BODY_BYTES)
            return
        first, *lines = part.split(b"\n")
        self._hold(first, MOST_LINE_BYTES)
        if lines:
            self._end_line()
            self._hold(lines.pop(), MOST_LINE_BYTES)
            for line in lines:
                self._read_line(line)

    def usage(self) -> ModelUsage:
        """Of all that was taken."""
        if self._is_events:
            self._end_line()
        elif not self._is_too_long:
            self._found = self._found.then(_usage_of(_read(bytes(self._held))))
        self._held.clear()
        return self._found

    def _hold(self, part: bytes, most: int) -> None:
        if self._is_too_long:
            return
        if len(self._held) + len(part) > most:
            self._is_too_long = True
            self._held.clear()
        else:
            self._held += part

    def _end_line(self) -> None:
        self._read_line(bytes(self._held))
        self._held.clear()
        self._is_too_long = False

    def _read_line(self, line: bytes) -> None:
        if line.startswith(b"data:") and b'"usage"' in line:
            self._found = self._found.then(_usage_of(_read(line[5:])))


def _read(raw: bytes) -> JsonObject:
    try:
        return dict(_Answer.model_validate_json(raw))
    except ValidationError:
        return {}


def _usage_of(body: JsonObject) -> ModelUsage:
    found = ModelUsage()
    for each in _tellers(body):
        usage = each.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        told = ModelUsage(
            model=_named(each.get("model")),
            input_tokens=_input(usage),
            output_tokens=_count(usage, "output_tokens", "completion_tokens"),
        )
        found = found.then(told)
    return found


def _tellers(body: JsonObject) -> Iterator[JsonObject]:
    yield body
    yield from (inner for name in _INSIDE if isinstance(inner := body.get(name), dict))


def _named(model: Json) -> str | None:
    return model[:LONGEST_MODEL] if isinstance(model, str) and model.strip() else None


def _input(usage: JsonObject) -> int | None:
    own = _count(usage, "input_tokens", "prompt_tokens")
    return None if own is None else own + sum(_count(usage, name) or 0 for name in _CACHED)


def _count(usage: JsonObject, *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
            return value
    return None
