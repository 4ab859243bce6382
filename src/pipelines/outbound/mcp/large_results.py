"""Large messages of an MCP server, kept from the event loop: its result is taken out before the package reads
the message, and stands in the request's `Exchange` meanwhile.

The package reads a message, checks it and copies it on the loop, in one piece. A mebibyte of empty blocks
takes it four seconds and a gigabyte, for four million complaints of which one is told.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads

LARGE_BYTES = 8 * 1024  # the package takes half a millisecond for one that is made to be hard, and 4 ms a KiB
TAKEN = "pipelines/taken"  # in the `_meta` of what stands in a result's place
LONGEST_ERROR = 4_000
_LINE_END = rb"(?:\r\n|\n|\r(?!\n))"
_EVENT_END = re.compile(_LINE_END + _LINE_END)
#: What both a call's result and a list must have, in any version of the protocol.
_IN_ITS_PLACE: JsonObject = {
    "content": [],
    "tools": [],
    "resultType": "complete",
    "cacheScope": "private",
    "ttlMs": 0,
    "_meta": {TAKEN: True},
}
_NO_MESSAGE = b"data: 0\n\n"  # the package says of it what it says of all that is none


class LightMessage(NamedTuple):
    message: JsonObject | None  # None: nobody would miss it
    result: JsonObject | None  # what was taken out


def lighten(message: JsonObject) -> LightMessage:
    """What the package needs of a large message."""
    kept: JsonObject = {name: message[name] for name in ("jsonrpc", "id") if name in message}
    result, error = message.get("result"), message.get("error")
    if isinstance(result, dict):
        return LightMessage(kept | {"result": _IN_ITS_PLACE}, result)
    if isinstance(error, dict):
        error_text = str(error.get("message", ""))[:LONGEST_ERROR]
        return LightMessage(kept | {"error": {"code": error.get("code", 0), "message": error_text}}, None)
    if "id" in message and isinstance(message.get("method"), str):  # a request of the server's own
        return LightMessage(kept | {"method": message["method"], "params": {}}, None)
    return LightMessage(None if "method" in message else kept | {"result": 0}, None)


def is_taken(result: JsonObject) -> bool:
    meta = result.get("_meta")
    return isinstance(meta, dict) and TAKEN in meta


# Streams


class EventCutter:
    """Cuts the pieces of a stream where its events end; those of more than `large` bytes by themselves."""

    def __init__(self, large: int = LARGE_BYTES) -> None:
        self._large = large
        self._begun = bytearray()

    def add(self, piece: bytes) -> Iterator[tuple[bytes, bool]]:
        """The events that this piece ends: several small ones in one, or one that is large."""
        looked = max(0, len(self._begun) - 3)
        self._begun += piece
        done = begins = 0
        for end in _EVENT_END.finditer(self._begun, looked):
            if end.end() == len(self._begun) and self._begun.endswith(b"\r"):
                break  # half of a line's end, perhaps
            if end.end() - begins > self._large:
                if begins > done:
                    yield bytes(self._begun[done:begins]), False
                yield bytes(self._begun[begins : end.end()]), True
                done = end.end()
            begins = end.end()
        if begins > done:
            yield bytes(self._begun[done:begins]), False
        del self._begun[:begins]

    def rest(self) -> bytes:
        """What came after the last event's end, if it is small."""
        return bytes(self._begun) if len(self._begun) <= self._large else b""


def lighten_event(event: bytes) -> tuple[bytes, JsonObject | None]:
    """The event as the package may have it, and the result taken out of it."""
    data: list[bytes] = []
    kept = b""
    for line in re.split(_LINE_END, event):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data.append(value)
        elif name in (b"event", b"id", b"retry") and len(line) < LONGEST_ERROR:
            kept += line + b"\n"
    if not data:
        return kept + b"\n", None
    try:
        message: Json = loads(b"\n".join(data))
    except InvalidJson:
        return kept + _NO_MESSAGE, None
    if not isinstance(message, dict):
        return kept + _NO_MESSAGE, None
    light = lighten(message)
    if light.message is None:
        return kept + b"\n", None
    return kept + b"data: " + dumps(light.message) + b"\n\n", light.result
