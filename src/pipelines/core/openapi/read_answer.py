"""What a service's answer says: JSON decoded where it is JSON, else its text. All else is Unreadable."""

import zlib
from collections.abc import Mapping

from pipelines.core.openapi.styles import is_json_type
from pipelines.core.text.json_text import InvalidJson, Json, loads
from pipelines.core.tools.live_tools import LiveReply

MAX_ANSWER_BYTES = 1024 * 1024
#: Of texts that are not UTF-8 and say so.
_CHARSETS = (
    "us-ascii",
    "iso-8859-1",
    "latin-1",
    "iso-8859-15",
    "windows-1252",
    "utf-16",
    "utf-16le",
    "utf-16be",
)
_TOO_LARGE = f"it is over {MAX_ANSWER_BYTES // 1024**2} MiB"


class UnreadableAnswer(ValueError):
    """An answer came, and is no use; the message says why."""


def read_answer(status: int, headers: Mapping[str, str], raw: bytes) -> LiveReply:
    """`headers` have lower-case names. Secrets that a service repeats are hidden by whoever knows them."""
    if len(raw) > MAX_ANSWER_BYTES:
        raise UnreadableAnswer(_TOO_LARGE)
    media_type, charset = _content_type(headers.get("content-type", ""))
    text = _text(_inflate(raw, headers.get("content-encoding", "")), charset)
    if not _may_be_json(media_type, text):
        return LiveReply(status, text)
    return _decode(status, text, is_declared=is_json_type(media_type))


def _decode(status: int, text: str, *, is_declared: bool) -> LiveReply:
    try:
        response: Json = loads(text)
    except InvalidJson as error:
        notes = (f"the answer is declared as JSON but is not: {error}; it is passed on as text",)
        return LiveReply(status, text, notes if is_declared and text else ())
    return LiveReply(status, response)


def _may_be_json(media_type: str, text: str) -> bool:
    """Where nothing else is said, an object or a list says it itself; `true` or `12` may be mere words."""
    if is_json_type(media_type):
        return True
    return media_type in ("", "text/plain") and text.lstrip()[:1] in ("{", "[")


def _content_type(header: str) -> tuple[str, str]:
    media_type, _, parameters = header.partition(";")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return media_type.strip().lower(), value.strip().strip("\"'").lower()
    return media_type.strip().lower(), ""


def _inflate(raw: bytes, encoding: str) -> bytes:
    """Compressed although it was asked not to be: read as far as an answer may go, and no further."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UnreadableAnswer(
            f"it is compressed ({encoding[:40]}), though Accept-Encoding asked for identity"
        )
    reader = zlib.decompressobj(wbits=47)  # gzip and zlib alike
    try:
        found = reader.decompress(raw, MAX_ANSWER_BYTES + 1)
    except zlib.error:
        raise UnreadableAnswer(f"it is declared as compressed ({encoding}) but is not") from None
    if len(found) > MAX_ANSWER_BYTES:
        raise UnreadableAnswer(_TOO_LARGE)
    if not reader.eof:
        raise UnreadableAnswer(f"it is compressed ({encoding}) and incomplete")
    return found


def _text(raw: bytes, charset: str) -> str:
    try:
        text = raw.decode(charset if charset in _CHARSETS else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableAnswer(f"it is not UTF-8 text (byte {error.start})") from None
    if "\x00" in text:
        raise UnreadableAnswer("it is binary, not text")
    return text
