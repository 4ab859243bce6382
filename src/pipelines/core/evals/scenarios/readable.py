"""Formats a scenario's input as text that a person would write."""

import re

from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.yaml_text import scalar

EMPTY = "The input is empty."
DEEPEST = 4  # levels that are laid out; below that a value stands as JSON on one line
LONGEST_LINE = 100  # characters of a list or an object that stands on one line

_TOKEN = re.compile(r"\w+|[^\w\s]")


def readable(input_context: JsonObject) -> str:
    """One line per field, nested ones indented, in the author's order.

    >>> print(readable({"event": "deployment_failed", "tables": ["users", "orders"], "data_loss_risk": True}))
    event: deployment_failed
    tables: users, orders
    data_loss_risk: true
    """
    return "\n".join(_lines(input_context, 0)) or EMPTY


def user_message(instruction: str | None, input_context: JsonObject) -> str:
    """What the user says to the agent: the instruction, if there is one, and the input."""
    text = readable(input_context)
    if instruction is None:
        return text
    return f"{instruction}\n\n{text}" if input_context else instruction


def count_tokens(text: str) -> int:
    """Words and signs: no model's own count, but the same for every model."""
    return sum(1 for _ in _TOKEN.finditer(text))


def first_tokens(text: str, most: int) -> str:
    """The beginning of a text, of so many tokens at the most."""
    end = 0
    for index, token in enumerate(_TOKEN.finditer(text)):
        if index == most:
            return text[:end]
        end = token.end()
    return text


def _lines(value: JsonObject, indent: int) -> list[str]:
    return [line for key, below in value.items() for line in _entry(key, below, indent)]


def _entry(key: str, value: Json, indent: int) -> list[str]:
    head = f"{'  ' * indent}{_key(key)}:"
    inline = _inline(value)
    if inline is not None or indent + 1 >= DEEPEST:
        return [f"{head} {inline if inline is not None else dumps(value).decode()}"]
    if isinstance(value, dict):
        return [head, *_lines(value, indent + 1)]
    if isinstance(value, list):
        return [head, *(line for item in value for line in _item(item, indent + 1))]
    # Text of several lines stands under its key, each line indented.
    return [head, *(f"{'  ' * (indent + 1)}{line}" for line in str(value).split("\n"))]


def _item(value: Json, indent: int) -> list[str]:
    margin = "  " * indent
    inline = _inline(value)
    if inline is not None or indent + 1 >= DEEPEST or not isinstance(value, dict):
        return [f"{margin}- {inline if inline is not None else dumps(value).decode()}"]
    first, *rest = _lines(value, indent + 1)
    return [f"{margin}- {first.lstrip()}", *rest]


def _inline(value: Json) -> str | None:
    """The value on the line of its key; None if it needs lines of its own."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return None if value else "{}"
    if isinstance(value, list):
        if not value:
            return "[]"
        if any(isinstance(item, dict | list) or _has_separator(item) for item in value):
            return None
        items = [_inline(item) or "" for item in value]
        return ", ".join(items) if sum(map(len, items)) <= LONGEST_LINE and len(items) > 1 else None
    return dumps(value).decode()


def _has_separator(item: Json) -> bool:
    return isinstance(item, str) and ("," in item or "\n" in item)


def _text(value: str) -> str | None:
    """As it stands, in quotes where it would read as something else: "", "true" and "12" are texts."""
    if "\n" in value and not value.isspace():
        return None
    is_itself = value == value.strip() and scalar(value, is_plain=True) == value and value[:1] not in '"[{'
    return value if is_itself and value else dumps(value).decode()


def _key(key: str) -> str:
    return key if key.strip() == key and key and "\n" not in key else dumps(key).decode()
