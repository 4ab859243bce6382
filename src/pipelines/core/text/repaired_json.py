"""Reads JSON from foreign programs: strictly if possible, else repaired, with notes.

Repaired are common mistakes with only one sensible reading: byte order marks, NaN and infinities, lone
surrogates, repeated keys. Anything else is refused as json_text refuses it.
"""

import json
import math
import re

from pipelines.core.text.json_text import MAX_DEPTH, InvalidJson, Json, JsonObject, depth, loads

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_LARGEST_INTEGER = 2**64 - 1  # past it the writer has no integers, and the strict reader reads a float


def loads_repaired(raw: bytes) -> tuple[Json, list[str]]:
    """The value and what was mended in it, or InvalidJson."""
    try:
        return loads(raw), []
    except InvalidJson as refused:
        mended = _mend(raw)
        if mended is None:
            raise refused from None
        return mended


def _mend(raw: bytes) -> tuple[Json, list[str]] | None:
    notes: dict[str, None] = {}

    def not_a_number(_: str) -> None:
        notes["numbers that JSON does not have (NaN, Infinity) were read as null"] = None

    def real(text: str) -> float | None:
        value = float(text)
        if math.isfinite(value):
            return value
        not_a_number(text)
        return None

    def integer(text: str) -> int | float | None:
        return value if abs(value := int(text)) <= _LARGEST_INTEGER else real(text)

    def members(pairs: list[tuple[str, Json]]) -> JsonObject:
        read = dict(pairs)
        if len(read) < len(pairs):
            notes["a key occurred twice in one object; the last one is used"] = None
        return read

    try:
        value: Json = json.loads(
            raw.decode("utf-8-sig"),
            parse_float=real,
            parse_int=integer,
            parse_constant=not_a_number,
            object_pairs_hook=members,
        )
    except (ValueError, RecursionError):
        return None
    if depth(value) > MAX_DEPTH:
        return None
    whole = _whole(value)
    if whole != value:
        notes["lone surrogates (incomplete characters) were replaced"] = None
    return whole, list(notes)


def _whole(value: Json) -> Json:
    """Text cut in the middle of a character, as UTF-16 runtimes do, cannot be stored. Depth is bounded."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_LONE_SURROGATE.sub("\ufffd", key): _whole(item) for key, item in value.items()}
    return value
