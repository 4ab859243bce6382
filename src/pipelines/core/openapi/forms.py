"""Bodies that are forms: `application/x-www-form-urlencoded` and `encode_multipart/form-data`."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote_plus

from pipelines.core.openapi.operation import Encoding
from pipelines.core.openapi.styles import CannotBuild, content_text, json_bytes, query_pairs, scalar_text
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject

_PLAIN = Encoding()
_IN_QUOTES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers write names


class EncodedForm(NamedTuple):
    content_type: str
    body: bytes


def encode_urlencoded(fields: JsonObject, encodings: Mapping[str, Encoding]) -> EncodedForm:
    pairs = [pair for name, value in fields.items() for pair in _pairs(name, value, encodings.get(name))]
    text = "&".join(f"{name}={value}" for name, value in pairs)
    return EncodedForm("application/x-www-form-urlencoded", text.encode("ascii"))


def _pairs(name: str, value: Json, encoding: Encoding | None) -> Iterator[tuple[str, str]]:
    """As a query where a style is declared; else a list is its items, and what is nested is JSON."""
    encoding = encoding or _PLAIN
    if encoding.style is not None:
        yield from query_pairs(value, name, style=encoding.style, explode=encoding.explode)
        return
    for item in value if isinstance(value, list) else [value]:
        yield _plus(name, name), _plus(_text(item, name, encoding.content), name)


def _plus(text: str, name: str) -> str:
    try:
        return quote_plus(text)
    except UnicodeEncodeError:
        raise CannotBuild(f"`{name}` has characters that are not valid Unicode") from None


def _text(value: Json, name: str, content: str | None) -> str:
    if content is not None:
        # `encoding` may list several types; the first is as good as any.
        first = content.partition(",")[0].strip()
        return content_text(value, first, name) if isinstance(value, (dict, list)) else _plain(value, name)
    return json_bytes(value, name).decode() if isinstance(value, (dict, list)) else _plain(value, name)


def _plain(value: Json, name: str) -> str:
    return "" if value is None else scalar_text(value, name)


def encode_multipart(fields: JsonObject, encodings: Mapping[str, Encoding]) -> EncodedForm:
    parts = [
        part for name, value in fields.items() for part in _parts(name, value, encodings.get(name, _PLAIN))
    ]
    # A boundary of what it separates: equal calls are equal requests, and it stands in no part by chance.
    boundary = f"odyssey-{sha256(b''.join(parts)).hexdigest()[:32]}"
    lines = b"".join(b"--" + boundary.encode() + b"\r\n" + part + b"\r\n" for part in parts)
    return EncodedForm(f"multipart/form-data; boundary={boundary}", lines + f"--{boundary}--\r\n".encode())


def _parts(name: str, value: Json, encoding: Encoding) -> Iterator[bytes]:
    for item in value if isinstance(value, list) else [value]:
        head = f'Content-Disposition: form-data; name="{name.translate(_IN_QUOTES)}"'
        content = encoding.content.partition(",")[0].strip() if encoding.content is not None else None
        if encoding.is_binary:
            head += f'; filename="{name.translate(_IN_QUOTES)}"'
            content, body = content or "application/octet-stream", from_base64(item, name)
        else:
            if content is None and isinstance(item, (dict, list)):
                content = "application/json"
            body = _utf8(_text(item, name, content), name)
        head += f"\r\nContent-Type: {content}" if content is not None else ""
        yield _utf8(head, name) + b"\r\n\r\n" + body


def _utf8(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CannotBuild(f"`{name}` has characters that are not valid Unicode") from None


def from_base64(value: Json, name: str) -> bytes:
    """Bytes cannot stand in JSON: where a document wants them, the argument is base64."""
    if not isinstance(value, str):
        raise CannotBuild(f"`{name}` must be base64 text of the bytes to send, not {kind(value)}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise CannotBuild(f"`{name}` must be base64 text of the bytes to send") from None
