"""Reading JSON strictly: what two readers could understand differently is refused, not guessed.

Refused: bytes that are not UTF-8, NaN and infinities, a key twice in one object, nesting past
MAX_DEPTH. Writing is orjson's: compact, UTF-8, byte-equal for equal values in equal order.
"""

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import NoReturn, TypeAlias

import orjson

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
JsonObject: TypeAlias = dict[str, "Json"]

MOST_EXACT = 2**53  # above it a float is no certain whole number
MAX_DEPTH = 64  # far past any real tool call, well before a recursive reader runs out of stack

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_AS_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STRING_ONCE = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def nested_pattern(levels: int) -> bytes:
    """What may stand inside a value of valid JSON that has at most so many levels within it, one step of it.

    Linear, as nothing in it is tried twice. Which bracket closes which is not looked at.
    """
    flat = rb'[^"{}\[\]]++|' + _STRING_ONCE
    nested = flat
    for _ in range(levels):
        nested = flat + rb"|[\[{](?:" + nested + rb")*+[\]}]"
    return nested


_NOT_TOO_DEEP = re.compile(rb"(?:" + nested_pattern(MAX_DEPTH) + rb")*+")


class InvalidJson(ValueError):
    """The text is not JSON that can be read in only one way."""

    @property
    def predicate(self) -> str:
        """The reason as what is said of a place: "row 3, column state" + " is not valid JSON: …"."""
        reason = str(self)
        return f"is {reason}" if reason.startswith(("not ", "nested ")) else reason


def loads(raw: bytes | str) -> Json:
    """The value of a JSON text, or InvalidJson with a reason a person can act on."""
    return loads_and_text(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw)[0]


def loads_and_text(data: bytes) -> tuple[Json, bytes]:
    """The value and what `dumps` makes of it, which reading it strictly has to write anyway."""
    try:
        value: Json = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidJson(_reason(data, error)) from None
    # Depth cannot pass the limit while there are fewer brackets than that; likewise a document without
    # a repeated key has as many quotes as its own rewriting. Only the doubtful ones are walked.
    if len(data) > MAX_DEPTH and data.count(b"{") + data.count(b"[") > MAX_DEPTH and _is_too_deep(data):
        raise InvalidJson(f"nested deeper than {MAX_DEPTH} levels")
    text = orjson.dumps(value)
    if b"\\u" in data or text.count(b'"') != data.count(b'"'):
        json.loads(data, object_pairs_hook=_refuse_repeated_keys)
    return value, text


def loads_own(raw: bytes | str) -> Json:
    """The value of a text that `dumps` wrote. Taken as it stands: wrapped in an object of ours, a value that
    was let in at MAX_DEPTH goes deeper."""
    value: Json = orjson.loads(raw)
    return value


def dumps(value: object) -> bytes:
    return orjson.dumps(value, default=_plain)


def canonical(value: object) -> bytes:
    """As `dumps`, the keys of every object in order: equal for objects that differ only in that."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)


def canonical_by_value(value: Json) -> bytes:
    """As `canonical`, and equal for equal numbers: 1 and 1.0 are one."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    if b"." not in text and b"e" not in text:  # then no number is a float
        return text
    return orjson.dumps(_in_whole_numbers(value), option=orjson.OPT_SORT_KEYS)


def _in_whole_numbers(value: Json) -> Json:
    """The same with every 1.0 as 1, as far as a whole number is exact."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= MOST_EXACT else value
    if isinstance(value, list):
        return [_in_whole_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: _in_whole_numbers(item) for key, item in value.items()}
    return value


def raw_json(text: str) -> Json:
    """A value that stands in a larger one as the text it was stored as: `dumps` copies it unread."""
    return orjson.Fragment(text)  # type: ignore[return-value]


def depth(value: Json) -> int:
    """How many containers deep a value goes; 0 for a scalar. Iterative: the input may be hostile."""
    deepest = 0
    pending: list[tuple[Json, int]] = [(value, 0)]
    while pending:
        node, level = pending.pop()
        if isinstance(node, (dict, list)):
            level += 1
            deepest = max(deepest, level)
            children: Iterable[Json] = node.values() if isinstance(node, dict) else node
            pending.extend((child, level) for child in children)
    return deepest


def count_values(value: Json, most: int) -> int:
    """How many values are in a value; not counted much further than `most`."""
    counted = 0
    pending: list[Json] = [value]
    while pending and counted <= most:
        node = pending.pop()
        counted += 1
        if isinstance(node, dict):
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return counted


def text_depth(data: bytes) -> int:
    """As `depth`, of valid JSON and up to one level past MAX_DEPTH.

    Takes the innermost brackets away, level by level: a megabyte costs milliseconds, where walking its values
    would hold up every other call for a second.
    """
    brackets = _STRING.sub(b"", data).translate(_AS_BRACKETS, _NO_BRACKETS)
    for level in range(MAX_DEPTH + 1):
        if not brackets:
            return level
        brackets = brackets.replace(b"[]", b"")
    return MAX_DEPTH + 1


def same(left: Json, right: Json) -> bool:
    """JSON equality: True is not 1, but 1 and 1.0 are one number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def pointer(path: Iterable[str | int]) -> str:
    """A JSON Pointer (RFC 6901): `/items/0/price`, "" for the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _is_too_deep(data: bytes) -> bool:
    return _NOT_TOO_DEEP.fullmatch(data) is None


def _reason(data: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as bad:
        return f"not UTF-8 text (byte {bad.start})"
    if not data.strip():
        return "the body is empty"
    try:
        if b"NaN" in data or b"Infinity" in data:  # reading it again takes many times its size
            json.loads(data, parse_constant=_refuse_constant)
    except InvalidJson as found:
        return str(found)
    except (ValueError, RecursionError):
        pass  # orjson's own words are the better ones
    return f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJson(f"{name} is not JSON; use a number, or null")


def _refuse_repeated_keys(pairs: list[tuple[str, Json]]) -> JsonObject:
    seen: JsonObject = {}
    for key, value in pairs:
        if key in seen:
            raise InvalidJson(f"the key {key!r} occurs twice in one object")
        seen[key] = value
    return seen


def _plain(value: object) -> int | float:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
