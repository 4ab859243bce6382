"""Reads the model and the token counts from a model's answer while it is passed on.

Three shapes of it are known: OpenAI's chat and responses, and Anthropic's messages; each as one object of
JSON or as server-sent events. What an answer does not say stays unknown.

It happens on the event loop, but for the body of a large answer (`is_large`). pydantic reads the few fields
that are wanted and makes nothing of the rest: a megabyte of prompt takes a millisecond, where `loads` of one
that is made to be hard takes 300.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, GetCoreSchemaHandler, StrictInt, StrictStr, ValidationError
from pydantic_core import core_schema

MOST_QUESTION_BYTES = 64 * 1024  # that are looked at, since whoever asks is not trusted; answers tell it too
MOST_BODY_BYTES = 1024 * 1024  # of an answer; longer ones are only passed on
MOST_LINE_BYTES = 256 * 1024  # of one event
SMALL_LINE_BYTES = 8 * 1024  # events past this are read while they have no more than MOST_BODY_BYTES together
LONGEST_MODEL = 200
MOST_TOKENS = 2**53
LARGE_BYTES = 64 * 1024
FEW_LINES = 2  # of a part, from its beginning and from its end, that are read where many speak of usage
_USAGE_KEY = b'"usage"'


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


class _OrNone:
    """What is not of its type is taken for not said, and no objects are made of it."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.with_default_schema(handler(source), default=None, on_error="default")


_Text = Annotated[StrictStr | None, _OrNone()]
_Count = Annotated[StrictInt | None, _OrNone()]


class _Question(BaseModel):
    model: str | None = None


class _Usage(BaseModel):
    input_tokens: _Count = None
    prompt_tokens: _Count = None
    output_tokens: _Count = None
    completion_tokens: _Count = None
    cache_creation_input_tokens: _Count = None  # counted apart by Anthropic, as the next
    cache_read_input_tokens: _Count = None


class _UsageHolder(BaseModel):
    model: _Text = None
    usage: Annotated[_Usage | None, _OrNone()] = None


class _Answer(_UsageHolder):
    """Events of OpenAI's responses and of Anthropic wrap what they tell."""

    response: Annotated[_UsageHolder | None, _OrNone()] = None
    message: Annotated[_UsageHolder | None, _OrNone()] = None


def model_of(body: bytes) -> str | None:
    """Which model a question names."""
    if not body or len(body) > MOST_QUESTION_BYTES:
        return None
    try:
        return _model_name(_Question.model_validate_json(body).model)
    except ValidationError:
        return None


class AnswerUsage:
    """Takes an answer part by part. What it holds of it is bounded."""

    def __init__(self, content_type: str) -> None:
        self._is_events = content_type.lower().startswith("text/event-stream")
        self._held = bytearray()
        self._is_too_long = False  # what is held now; of events, the current line
        self._left = MOST_BODY_BYTES  # of long events that are read
        self._found = ModelUsage()

    def take(self, part: bytes) -> None:
        if not self._is_events:
            self._hold(part, MOST_BODY_BYTES)
            return
        first, newline, rest = part.partition(b"\n")
        self._hold(first, MOST_LINE_BYTES)
        if newline:
            self._end_line()
            lines, _, last = rest.rpartition(b"\n")
            for line in _usage_lines(lines):
                self._read_line(line)
            self._hold(last, MOST_LINE_BYTES)

    @property
    def is_large(self) -> bool:
        """Whether `usage` would take tens of milliseconds."""
        return not self._is_events and len(self._held) > LARGE_BYTES

    def usage(self) -> ModelUsage:
        """Of all that was taken."""
        if self._is_events:
            self._end_line()
        elif not self._is_too_long:
            self._found = self._found.then(_usage_of(bytes(self._held)))
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
        if not line.startswith(b"data:") or _USAGE_KEY not in line:
            return
        if len(line) > SMALL_LINE_BYTES:
            self._left -= len(line)
            if self._left < 0:
                return
        self._found = self._found.then(_usage_of(line[5:]))


def _usage_lines(lines: bytes) -> Iterator[bytes]:
    """The lines that may tell it, the first and the last few: counts are of all that came so far, so that the
    last word stands, and only what begins an answer is said once. An upstream that says it a thousand times
    in a part would take 15 ms of everybody's time for each."""
    first = 0
    for _ in range(FEW_LINES):
        if (place := lines.find(_USAGE_KEY, first)) < 0:
            return
        begins, first = lines.rfind(b"\n", 0, place) + 1, _end_of_line(lines, place)
        yield lines[begins:first]
    last: list[bytes] = []
    end = len(lines)
    while len(last) < FEW_LINES and (place := lines.rfind(_USAGE_KEY, first, end)) >= 0:
        begins = lines.rfind(b"\n", 0, place) + 1
        last.append(lines[begins : _end_of_line(lines, place)])
        end = begins
    yield from reversed(last)


def _end_of_line(lines: bytes, place: int) -> int:
    found = lines.find(b"\n", place)
    return len(lines) if found < 0 else found


def _usage_of(raw: bytes) -> ModelUsage:
    found = ModelUsage()
    try:
        answer = _Answer.model_validate_json(raw)
    except ValidationError:
        return found
    for each in _usage_holders(answer):
        usage = each.usage or _Usage()
        reported = ModelUsage(
            model=_model_name(each.model),
            input_tokens=_input(usage),
            output_tokens=_first(usage.output_tokens, usage.completion_tokens),
        )
        found = found.then(reported)
    return found


def _usage_holders(answer: _Answer) -> Iterator[_UsageHolder]:
    yield answer
    yield from (inner for inner in (answer.response, answer.message) if inner is not None)


def _model_name(model: str | None) -> str | None:
    return model[:LONGEST_MODEL] if model is not None and model.strip() else None


def _input(usage: _Usage) -> int | None:
    own = _first(usage.input_tokens, usage.prompt_tokens)
    cached = (usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    return None if own is None else own + sum(_first(each) or 0 for each in cached)


def _first(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None and 0 <= count < MOST_TOKENS), None)
