"""Decodes the text of an uploaded file: detects a provable encoding, and refuses other kinds of files.

An encoding is never guessed: bytes that are neither UTF-8 nor UTF-16 are refused, with what they could say.
"""

import re
from typing import NamedTuple

from pipelines.core.text.problems import WHOLE_FILE, Problem, Refused

SAVE_AS = "save the file as CSV in UTF-8 (in Excel: the type “CSV UTF-8”)"
_EXPORT = "export the sheet as CSV and send that file (in Excel: File, Save As, the type “CSV UTF-8”)"
_MARKS = ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
READ_AS_UTF_16 = "The file is read as UTF-16."
#: What a file that is not UTF-8 most often is. They differ in most letters with accents, so neither is taken.
_OLD_ENCODINGS = (("Windows-1252", "cp1252"), ("Mac Roman", "mac-roman"))
_SHOWN = 40  # characters of the first line that is not UTF-8
_LOOKED_AT = 4_096  # bytes of an archive: the names of its first files

_KINDS = (
    (b"%PDF", "a PDF", "copy the table into a spreadsheet and export it as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Office file", _EXPORT),
    (b"\x1f\x8b", "a gzip archive", "unpack it and send the file inside"),
    (b"PAR1", "a Parquet file", "write its table as CSV or JSONL"),
    (b"SQLite format 3\0", "a SQLite database", "export its table as CSV"),
    *(
        (magic, "an image", "write the tasks into a CSV file")
        for magic in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8")
    ),
)
_ARCHIVES = (
    (b"opendocument.spreadsheet", "a LibreOffice spreadsheet"),
    (b"Index/", "a Numbers document"),
    (b"[Content_Types].xml", "an Excel workbook"),
    (b"xl/", "an Excel workbook"),
)
_MARKUP = (
    (re.compile(r"\s*<(!doctype html|html)\b", re.IGNORECASE), "an HTML page", "download the file itself"),
    (re.compile(r"\s*<\?xml\b"), "an XML file", _EXPORT),
)


class FileText(NamedTuple):
    text: str
    notes: tuple[str, ...] = ()  # what its author may want to know of how it was read


def decode(data: bytes) -> FileText:
    """The text of a file without its byte order mark; Refused with one problem for what is no text."""
    _refuse_other_kinds(data)
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _utf_16(data[2:], encoding)
    # A table, JSON or YAML begins with an ASCII character: half of its first two bytes are then zero.
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return _utf_16(data, "utf-16-le")
    if data[:1] == b"\0" and data[1:2] not in (b"", b"\0"):
        return _utf_16(data, "utf-16-be")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf_8(data, error.start) from None
    _refuse_markup(text)
    return FileText(text)


def file_refusal(
    message: str, hint: str | None, *, path: str = WHOLE_FILE, row: int | None = None
) -> Refused:
    """One problem with the file as a whole."""
    return Refused([Problem(path=path, message=message, hint=hint, row=row)], "the file")


def _refuse_other_kinds(data: bytes) -> None:
    for magic, kind, hint in _KINDS:
        if data.startswith(magic):
            raise file_refusal(f"this is {kind}, not a file of tasks", hint)
    if data.startswith(b"PK\x03\x04"):
        head = data[:_LOOKED_AT]
        kind = next((kind for sign, kind in _ARCHIVES if sign in head), "a zip archive")
        hint = _EXPORT if kind != "a zip archive" else "unpack it, and export a sheet inside as CSV"
        raise file_refusal(f"this is {kind}, not a file of tasks", hint)


def _refuse_markup(text: str) -> None:
    head = text[:_LOOKED_AT]
    for pattern, kind, hint in _MARKUP:
        if pattern.match(head):
            raise file_refusal(f"this is {kind}, not a file of tasks", hint)


def _utf_16(data: bytes, encoding: str) -> FileText:
    try:
        return FileText(data.decode(encoding), (READ_AS_UTF_16,))
    except UnicodeDecodeError as error:
        raise file_refusal(
            f"the file looks like UTF-16, but is invalid at byte {error.start}", SAVE_AS
        ) from None


def _not_utf_8(data: bytes, at: int) -> Refused:
    line = data.count(b"\n", 0, at) + 1
    start = data.rfind(b"\n", 0, at) + 1
    some = data[max(start, at - _SHOWN // 2) : at + _SHOWN // 2].splitlines()[0]
    readings = [f"{name} (`{some.decode(codec, 'replace')}`)" for name, codec in _OLD_ENCODINGS]
    message = f"the file is not UTF-8 (line {line}, byte {at}); it could be {' or '.join(readings)}"
    return file_refusal(message, SAVE_AS)
