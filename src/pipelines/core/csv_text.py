"""CSV as text: RFC 4180 records, read exactly and written so that reading gives the same cells.

Not the standard library's reader: its limit on a cell belongs to the whole process, and a quote that is never
closed swallows the rest of a file without a word. What the cells mean is core.tasks_csv's.
"""

import re
from collections.abc import Iterable, Sequence

from pipelines.core.problems import Problem, Refused

# A quoted cell, or an unquoted one in which a quote is a character like any other. The possessive `*+` keeps
# a quote that is never closed from costing more than one pass.
_CELL = re.compile(r'"((?:[^"]++|"")*+)"|([^,\r\n]*)')
_LINE_END = re.compile(r"\r\n|\n|\r")
_NEEDS_QUOTES = re.compile(r'[",\r\n]')

_SAVE_AS = "save the file as CSV in UTF-8 (in Excel: the type “CSV UTF-8”)"


def decode(data: bytes) -> str:
    """The text of an uploaded file, with or without a UTF-8 byte order mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:2]:
        raise _refused("the file is UTF-16, not UTF-8", _SAVE_AS)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(f"the file is not UTF-8 (line {line}, byte {error.start})", _SAVE_AS) from None


def read_records(text: str) -> list[list[str]]:
    """Every record, blank lines as one with a single empty cell."""
    records: list[list[str]] = []
    record: list[str] = []
    at = 0
    while at < len(text):
        cell, at = _read_cell(text, at, len(records))
        record.append(cell)
        if at < len(text) and text[at] == ",":
            at += 1
            if at == len(text):
                record.append("")  # a comma at the very end opens one more cell
            else:
                continue
        elif (line_end := _LINE_END.match(text, at)) is not None:
            at = line_end.end()
        records.append(record)
        record = []
    return records


def _read_cell(text: str, at: int, records_before: int) -> tuple[str, int]:
    found = _CELL.match(text, at)
    assert found is not None, "the unquoted form matches the empty text"
    quoted, end = found[1], found.end()
    row = records_before or None  # the header is no row
    if quoted is None:
        if text[at : at + 1] == '"':
            hint = 'every quoted cell ends with a quote; a quote inside one is written twice: ""'
            raise _refused("a quoted cell is never closed", hint, row)
        return found[2], end
    if end < len(text) and text[end] not in ",\r\n":
        hint = 'a quote inside a quoted cell is written twice, as in "{""status"": ""paid""}"'
        raise _refused(f"text follows a closing quote: `{text[end : end + 20]}`", hint, row)
    return quoted.replace('""', '"'), end


def write_records(records: Iterable[Sequence[str]]) -> bytes:
    return "".join(",".join(map(_written, record)) + "\r\n" for record in records).encode()


def _written(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _NEEDS_QUOTES.search(cell) else cell


def _refused(message: str, hint: str, row: int | None = None) -> Refused:
    path = f"row {row}" if row is not None else "file"
    return Refused([Problem(path=path, message=message, hint=hint, row=row)], "the CSV file")
