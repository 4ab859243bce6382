"""Tables as text: RFC 4180 records, read exactly and written so that reading gives the same cells.

Not the standard library's reader: its limit on a cell belongs to the whole process, and a quote that is never
closed swallows the rest of a file without a word. What the cells mean is core.task_table's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from pipelines.core.text.file_text import file_refusal

COMMA = ","
_LINE_END = re.compile(r"\r\n|\n|\r")
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


@cache
def _cell(separator: str) -> re.Pattern[str]:
    # A quoted cell, or an unquoted one in which a quote is a character like any other. The possessive `*+`
    # keeps a quote that is never closed from costing more than one pass.
    return re.compile(rf'"((?:[^"]++|"")*+)"|([^{re.escape(separator)}\r\n]*)')


def records_of(text: str, separator: str = COMMA) -> Iterator[list[str]]:
    """Every record, blank lines as one with a single empty cell."""
    record: list[str] = []
    at = number = 0
    while at < len(text):
        cell, at = _read_cell(text, at, separator, number + 1)
        record.append(cell)
        if at < len(text) and text[at] == separator:
            at += 1
            if at == len(text):
                record.append("")  # a separator at the very end opens one more cell
            else:
                continue
        elif (line_end := _LINE_END.match(text, at)) is not None:
            at = line_end.end()
        yield record
        number += 1
        record = []


def _read_cell(text: str, at: int, separator: str, row: int) -> tuple[str, int]:
    found = _cell(separator).match(text, at)
    assert found is not None, "the unquoted form matches the empty text"
    quoted, end = found[1], found.end()
    if quoted is None:
        if text[at : at + 1] == '"':
            hint = 'every quoted cell ends with a quote; a quote inside one is written twice: ""'
            raise file_refusal("a quoted cell is never closed", hint, path=f"row {row}", row=row)
        return found[2], end
    if end < len(text) and text[end] not in (separator, "\r", "\n"):
        hint = 'a quote inside a quoted cell is written twice, as in "{""status"": ""paid""}"'
        message = f"text follows a closing quote: `{text[end : end + 20]}`"
        raise file_refusal(message, hint, path=f"row {row}", row=row)
    return quoted.replace('""', '"'), end


def write_records(records: Iterable[Sequence[str]]) -> bytes:
    return "".join(",".join(map(_write_cell, record)) + "\r\n" for record in records).encode()


def _write_cell(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell
