"""The rows of a large JSON text, found without reading it: each is then read, and let go, by itself.

As values a text takes ten to thirty times its size, and a reader that is given all of it holds all of that at
once. Here a pattern finds where rows begin and end; what a row says, and whether it is JSON at all, is read
by `json_text` as ever. A text that the pattern does not fit is left to whoever reads it whole.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.text.json_text import MAX_DEPTH, InvalidJson, Json, loads, loads_own, nested_pattern

READ_AT_ONCE = 256 * 1024  # bytes of rows that are checked together: small ones by the hundred
SMALL_ROW = 256  # bytes: after such a one the next are looked at by the thousand

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _value() -> bytes:
    """One value up to a comma or bracket that is not its own."""
    # It stands in an array or an object, and its own brackets are written here.
    inner = nested_pattern(MAX_DEPTH - 2)
    return rb'(?:[^"{}\[\],]++|' + _STRING + rb"|[\[{](?:" + inner + rb")*+[\]}])*+"


_VALUE = re.compile(_value())
_MANY = 1_000
_MANY_VALUES = re.compile(rb"(?:" + _value() + rb",){%d}+" % _MANY)
_OPENING = re.compile(rb"[ \t\r\n]*+([\[{])")
_KEY = re.compile(rb"[ \t\r\n]*+(" + _STRING + rb")[ \t\r\n]*+:[ \t\r\n]*+")
_BLANK = re.compile(rb"[ \t\r\n]*+")


class Span(NamedTuple):
    start: int
    end: int


class _Odd(Exception):
    """The text is not of the shape that is looked for; perhaps it is no JSON."""


class JsonRows:
    """The first `most` elements of an array in a text, read one by one; and how many there are in all."""

    def __init__(self, data: bytes, array: Span, most: int) -> None:
        self._data = data
        self._array = array
        self._first: list[Span] = []
        self._count = 0
        for span, count in self._spans(most):
            self._count += count
            if count == 1 and self._count <= most:
                self._first.append(span)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Json]:
        return (loads_own(self._data[start:end]) for start, end in self._first)

    def check(self) -> None:
        """InvalidJson where any of them is no JSON that can be read in only one way."""
        start = self._array.start + 1
        for span, _ in self._spans(0):
            if span.end - start >= READ_AT_ONCE or span.end == self._array.end - 1:
                loads(b"[" + self._data[start : span.end] + b"]")
                start = span.end + 1

    def _spans(self, singly: int) -> Iterator[tuple[Span, int]]:
        """Of every element, and how many it spans: one at first, past `singly` as many as fit in a step.

        One that is blank, as in `[1,,2]`, is for whoever reads it to refuse.
        """
        data, at, last = self._data, self._array.start + 1, self._array.end - 1
        if _BLANK.fullmatch(data, at, last):
            return
        found, is_small, many_from = 0, False, singly
        while True:
            many = None
            if is_small and found >= many_from:
                many = _MANY_VALUES.match(data, at, last)
                many_from = many_from if many is not None else sys.maxsize  # so few are looked at one by one
            end = many.end() - 1 if many is not None else _end_of_value(data, at, last)
            count = 1 if many is None else _MANY
            is_small = end - at <= SMALL_ROW * count
            found += count
            yield Span(at, end), count
            if end == last:
                return
            at = end + 1


@dataclass(frozen=True, kw_only=True, slots=True)
class SplitText:
    rest: Json  # the whole without its rows: an array, or an object whose `rows` is one, empty
    rows: JsonRows


def split_rows(data: bytes, *, most: int, is_checked: bool = False) -> SplitText | None:
    """An array of rows, or an object with `rows`; None for anything else, which is to be read whole.

    Unless it was checked before, all of it is read strictly, some rows at a time.
    """
    try:
        array = _array_of_rows(data)
        rows = JsonRows(data, array, most)
        rest = loads(data[: array.start] + b"[]" + data[array.end :])
        if not is_checked:
            rows.check()
    except (_Odd, InvalidJson):
        return None
    return SplitText(rest=rest, rows=rows)


def _array_of_rows(data: bytes) -> Span:
    opening = _OPENING.match(data)
    if opening is None:
        raise _Odd
    if opening[1] == b"[":
        closing = data.rfind(b"]")
        if closing < opening.end():
            raise _Odd
        return Span(opening.start(1), closing + 1)
    at = opening.end()
    while (key := _KEY.match(data, at)) is not None:
        end = _end_of_value(data, key.end(), len(data))
        if key[1] == b'"rows"':
            return _array_at(data, key.end(), end)
        at = end + 1
    raise _Odd


def _array_at(data: bytes, start: int, end: int) -> Span:
    closing = data.rfind(b"]", start, end)
    if data[start : start + 1] != b"[" or _BLANK.fullmatch(data, closing + 1, end) is None:
        raise _Odd
    return Span(start, closing + 1)


def _end_of_value(data: bytes, at: int, last: int) -> int:
    """Where the value ends that begins here: before a comma, or before `last`."""
    found = _VALUE.match(data, at, last)
    assert found is not None, "it matches the empty text"
    if found.end() < last and data[found.end()] not in b",}":
        raise _Odd
    return found.end()
