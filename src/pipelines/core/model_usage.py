"""What an answer of a model says about itself, read as it goes by: which model, how many tokens.

Three shapes of it are known: OpenAI's chat and responses, and Anthropic's messages; each as one object of
JSON or as server-sent events. What an answer does not say stays unknown.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.json_text import InvalidJson, Json, JsonObject, loads

MOST_BODY_BYTES = 1024 * 1024  # of an answer or a question that is read; longer ones are only passed on
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


def model_of(body: bytes) -> str | None:
    """Which model a question names."""
    if len(body) > MOST_BODY_BYTES:
        return None
    return _usage_of(_read(body)).model


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
        *lines, rest = part.split(b"\n")
        for line in lines:
            self._hold(line, MOST_LINE_BYTES)
            self._end_line()
        self._hold(rest, MOST_LINE_BYTES)

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
        if self._held.startswith(b"data:") and b'"usage"' in self._held:
            self._found = self._found.then(_usage_of(_read(bytes(self._held[5:]))))
        self._held.clear()
        self._is_too_long = False


def _read(raw: bytes) -> Json:
    try:
        return loads(raw)
    except InvalidJson:
        return None


def _usage_of(body: Json) -> ModelUsage:
    found = ModelUsage()
    for each in _tellers(body):
        usage = each.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        model = each.get("model")
        told = ModelUsage(
            model=model[:LONGEST_MODEL] if isinstance(model, str) and model.strip() else None,
            input_tokens=_input(usage),
            output_tokens=_count(usage, "output_tokens", "completion_tokens"),
        )
        found = found.then(told)
    return found


def _tellers(body: Json) -> Iterator[JsonObject]:
    if isinstance(body, dict):
        yield body
        yield from (inner for name in _INSIDE if isinstance(inner := body.get(name), dict))


def _input(usage: JsonObject) -> int | None:
    own = _count(usage, "input_tokens", "prompt_tokens")
    return None if own is None else own + sum(_count(usage, name) or 0 for name in _CACHED)


def _count(usage: JsonObject, *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS:
            return value
    return None
