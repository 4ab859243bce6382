"""Masks a key in a stream of bytes: each character becomes `*`, so that the length stays the same."""

import json
import re
from urllib.parse import quote


class KeyMask:
    """For one answer. Nothing is held back but what may be the beginning of the key."""

    __slots__ = ("_first", "_held", "_longest", "_spellings")

    def __init__(self, key: str | None) -> None:
        spelled = {key, json.dumps(key)[1:-1], quote(key, safe="")} if key else set()
        longest_first = sorted(spelled, key=len, reverse=True)
        self._spellings = [spelling.encode() for spelling in longest_first]
        self._longest = len(self._spellings[0]) if self._spellings else 0
        self._first = re.compile(b"|".join({re.escape(spelling[:1]) for spelling in self._spellings}))
        self._held = b""

    def masked(self, part: bytes) -> bytes:
        """As much as can be passed on now.

        >>> mask = KeyMask("sk-12345")
        >>> mask.masked(b"a sk-12"), mask.masked(b"345 b")
        (b'a ', b'******** b')
        """
        if not self._spellings:
            return part
        data = self._without(self._held + part)
        held = self._may_begin(data)
        self._held = data[len(data) - held :]
        return data[: len(data) - held]

    def rest(self) -> bytes:
        held, self._held = self._held, b""
        return held

    def text(self, text: str) -> str:
        return self._without(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def _without(self, data: bytes) -> bytes:
        for spelling in self._spellings:
            data = data.replace(spelling, b"*" * len(spelling))
        return data

    def _may_begin(self, data: bytes) -> int:
        """How many of the last bytes are the beginning of a spelling."""
        for place in self._first.finditer(data, max(0, len(data) - self._longest + 1)):
            tail = data[place.start() :]
            if any(spelling.startswith(tail) for spelling in self._spellings):
                return len(tail)
        return 0
