"""Translates the OpenAI Agents SDK: its items to messages of a transcript, its strict schemas to
schemas of a backend.

Items have the `type`s of the Responses API, and are objects or dictionaries.
"""

from collections.abc import Iterable
from typing import Any

from .conversation import Message, assistant_message, call_record, tool_message

REQUIREMENT = "openai-agents>=0.24,<0.25"


def input_schema_of(tool: Any) -> dict[str, Any]:
    """A strict schema requires every parameter, and null stands for one that is not given. To a backend such
    a parameter is optional."""
    schema: dict[str, Any] = dict(tool.params_json_schema)
    if tool.strict_json_schema and "required" in schema:
        optional = _optional(schema)
        schema["required"] = [name for name in schema["required"] if name not in optional]
    return schema


def drop_null_arguments(tool: Any, arguments: dict[str, Any]) -> dict[str, Any]:
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
    return _group_items(item.raw_item for item in items)


def messages_in(output: Iterable[Any]) -> list[Message]:
    """The same for the output of one model call."""
    return _group_items(output)


def _group_items(raw_items: Iterable[Any]) -> list[Message]:
    messages: list[Message] = []
    open_turn = _Turn()
    for raw in raw_items:
        kind = str(_get(raw, "type") or "")
        if kind.endswith("_output"):
            messages += open_turn.close()
            messages.append(tool_message(str(_get(raw, "call_id") or _get(raw, "id")), _get(raw, "output")))
        elif kind == "message":
            if open_turn.text or open_turn.calls:
                messages += open_turn.close()
            open_turn.text = _text(_get(raw, "content") or [])
        elif kind == "reasoning":
            blocks = [*(_get(raw, "summary") or []), *(_get(raw, "content") or [])]
            open_turn.thinking += [str(_get(block, "text") or "") for block in blocks]
        elif kind.endswith("_call"):
            open_turn.calls.append(_call(raw, kind))
    return messages + open_turn.close()


class _Turn:
    """The output of one model call so far."""

    def __init__(self) -> None:
        self.text = ""
        self.calls: list[dict[str, Any]] = []
        self.thinking: list[str] = []

    def close(self) -> list[Message]:
        is_empty = not (self.text or self.calls or self.thinking)
        message = assistant_message(self.text, self.calls, self.thinking)
        self.__init__()  # type: ignore[misc]
        return [] if is_empty else [message]


def _call(raw: Any, kind: str) -> dict[str, Any]:
    """A function call; for a hosted tool's call, only its kind is known."""
    id = str(_get(raw, "call_id") or _get(raw, "id") or kind)
    if kind == "function_call":
        return call_record(id, str(_get(raw, "name")), _get(raw, "arguments") or {})
    return call_record(id, kind.removesuffix("_call"), {})


def _text(parts: list[Any]) -> str:
    words = [_get(part, "text") or _get(part, "refusal") for part in parts]
    return "\n".join(str(word) for word in words if word)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
