"""What the OpenAI Agents SDK says, and how we say it: its items as messages of a transcript, its strict
schemas as those of a backend.

Items are read by the words of the Responses API (`type`), from objects and dictionaries alike.
"""

from collections.abc import Iterable
from typing import Any

from .conversation import Message, assistant_message, made_call, tool_message

REQUIREMENT = "openai-agents>=0.24,<0.25"


def input_schema_of(tool: Any) -> dict[str, Any]:
    """A strict schema requires every parameter, and null stands for one that is not given. To a backend such
    a parameter is optional."""
    schema: dict[str, Any] = dict(tool.params_json_schema)
    if tool.strict_json_schema and "required" in schema:
        optional = _optional(schema)
        schema["required"] = [name for name in schema["required"] if name not in optional]
    return schema


def given_arguments(tool: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Without the nulls that a strict schema makes the model write: a backend would store them."""
    optional = _optional(tool.params_json_schema) if tool.strict_json_schema else ()
    return {name: value for name, value in arguments.items() if value is not None or name not in optional}


def _optional(schema: dict[str, Any]) -> set[str]:
    described = schema.get("properties", {}).items()
    return {
        name
        for name, about in described
        if "default" in about or {"type": "null"} in about.get("anyOf", ()) or "null" in about.get("type", ())
    }


def messages_of(items: Iterable[Any]) -> list[Message]:
    """The items of a run in their order; what one model call brought is one message."""
    return _grouped(item.raw_item for item in items)


def spoken_in(output: Iterable[Any]) -> list[Message]:
    """The same for the output of one model call."""
    return _grouped(output)


def _grouped(raw_items: Iterable[Any]) -> list[Message]:
    messages: list[Message] = []
    open_turn = _Turn()
    for raw in raw_items:
        kind = str(_get(raw, "type") or "")
        if kind.endswith("_output"):
            messages += open_turn.closed()
            messages.append(tool_message(str(_get(raw, "call_id") or _get(raw, "id")), _get(raw, "output")))
        elif kind == "message":
            if open_turn.text or open_turn.calls:
                messages += open_turn.closed()
            open_turn.text = _text(_get(raw, "content") or [])
        elif kind == "reasoning":
            blocks = [*(_get(raw, "summary") or []), *(_get(raw, "content") or [])]
            open_turn.thinking += [str(_get(block, "text") or "") for block in blocks]
        elif kind.endswith("_call"):
            open_turn.calls.append(_call(raw, kind))
    return messages + open_turn.closed()


class _Turn:
    """What one model call has brought so far."""

    def __init__(self) -> None:
        self.text = ""
        self.calls: list[dict[str, Any]] = []
        self.thinking: list[str] = []

    def closed(self) -> list[Message]:
        is_empty = not (self.text or self.calls or self.thinking)
        message = assistant_message(self.text, self.calls, self.thinking)
        self.__init__()  # type: ignore[misc]
        return [] if is_empty else [message]


def _call(raw: Any, kind: str) -> dict[str, Any]:
    """A function call; of a hosted tool's call the kind is all that there is to tell."""
    id = str(_get(raw, "call_id") or _get(raw, "id") or kind)
    if kind == "function_call":
        return made_call(id, str(_get(raw, "name")), _get(raw, "arguments") or {})
    return made_call(id, kind.removesuffix("_call"), {})


def _text(parts: list[Any]) -> str:
    words = [_get(part, "text") or _get(part, "refusal") for part in parts]
    return "\n".join(str(word) for word in words if word)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
