"""The kind of a leaf, from its expectation or from what two values have in common."""

import unicodedata
from collections.abc import Sequence

from pipelines.core.matchers.matching import is_matcher
from pipelines.core.text.json_text import Json, JsonObject

KNOWN_SCALE = ("low", "medium", "high", "critical")
TEXT_FROM_WORDS = 5  # a value of five words or more is a sentence, not an id


def expected_kind(expected: Json) -> str | None:
    if isinstance(expected, dict) and is_matcher(expected):
        return _matcher_kind(expected)
    return kind_of(expected, expected)


def _matcher_kind(expected: JsonObject) -> str | None:
    if expected.keys() & {"$gte", "$lte", "$number"}:
        return "number"
    if "$date" in expected:
        return "enum"
    if "$similar" in expected:
        return "text"
    if "$text" in expected:
        return expected_kind(expected["$text"])
    every = expected.get("$all_of")
    if isinstance(every, list):
        return next((kind for kind in map(expected_kind, every) if kind is not None), None)
    options = expected.get("$in", expected.get("$any_of"))
    if isinstance(options, list):
        kinds = {expected_kind(option) for option in options}
        return kinds.pop() if len(kinds) == 1 else "enum" if kinds <= {"enum", "scale"} else None
    return expected_kind(expected["$not"]) if "$not" in expected else None


def kind_of(left: Json, right: Json) -> str | None:
    """What two values have in common; None if nothing, or if they are null."""
    if isinstance(left, bool) and isinstance(right, bool):
        return "boolean"
    if is_number(left) and is_number(right):
        return "number"
    if isinstance(left, str) and isinstance(right, str):
        if level(left, KNOWN_SCALE) is not None and level(right, KNOWN_SCALE) is not None:
            return "scale"
        return "text" if is_sentence(left) or is_sentence(right) else "enum"
    if isinstance(left, list) and isinstance(right, list):
        return "list"
    return "object" if isinstance(left, dict) and isinstance(right, dict) else None


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_sentence(text: str) -> bool:
    return len(text.split(None, TEXT_FROM_WORDS - 1)) >= TEXT_FROM_WORDS


def level(text: str, levels: Sequence[str]) -> int | None:
    """The rank of a word on a scale; None if it is not on it."""
    word = fold(text)
    return next((rank for rank, each in enumerate(levels) if fold(each) == word), None)


def fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()
