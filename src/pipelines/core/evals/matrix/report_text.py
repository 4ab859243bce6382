"""Parses the text of a matrix's report cell by cell.

orjson sets aside some twelve times the length of what it reads: 100,000 cells at once would not fit into a
helper process, though what is made of them does.
"""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from pipelines.core.text.json_text import Json, JsonObject, loads_own

_CELLS, _BEHIND = b'"cells":[', b'],"summary":'
#: Where a cell may begin. In a text the quotes would be escaped; in a value that moved it may stand as well.
_NEXT = b',{"scenario_id":'


def _identity(cell: JsonObject) -> JsonObject:
    return cell


def read_report(text: bytes, keep: Callable[[JsonObject], JsonObject] = _identity) -> JsonObject:
    """A report that `dumps` wrote; `keep` says what is held of each cell."""
    begin, end = text.find(_CELLS), text.rfind(_BEHIND)
    if 0 <= begin < end:
        try:
            report: Any = loads_own(text[:begin] + _CELLS + text[end:])
            cells: list[Json] = [keep(cell) for cell in _cells(text, begin + len(_CELLS), end)]
            return {**report, "cells": cells}
        except orjson.JSONDecodeError:
            pass  # another version wrote it, in another order
    whole: Any = loads_own(text)
    return {**whole, "cells": [keep(cell) for cell in whole["cells"]]}


def _cells(text: bytes, begin: int, end: int) -> Iterator[JsonObject]:
    stop = begin
    while begin < end:
        found = text.find(_NEXT, stop + 1, end)
        stop = found if found >= 0 else end
        try:
            cell: Any = orjson.loads(memoryview(text)[begin:stop])
        except orjson.JSONDecodeError:
            if stop == end:
                raise
            continue  # a value within the cell looked like the next one: go on to the one behind it
        yield cell
        begin = stop + 1
