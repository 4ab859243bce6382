"""Values as the parts of a request: the styles of OpenAPI for paths, queries, headers and cookies.

A value that a style has no form for is refused (CannotBuild): what a server makes of a guess is not known.
"""

import json
import re
from typing import TypeAlias
from urllib.parse import quote

from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, dumps

Pairs: TypeAlias = list[tuple[str, str]]  # names and values, encoded

#: Of what RFC 3986 reserves, what means nothing in a query to those who split it into names and values.
_RESERVED_BUT_HARMLESS = ":/?@!$'()*,"
_COOKIE_SAFE = "!#$&'()*+-./:<=>?@[]^_`{|}~"  # RFC 6265, 4.1.1, without `%`, which encodes the rest
_COOKIE_VALUE = re.compile(r"[!#-+\--:<-\[\]-~]*")
_HEADER_VALUE = re.compile(r"|[!-~]|[!-~][\t -~]*[!-~]")  # ASCII without line breaks or spaces around it
_JSON_TYPE = re.compile(r"application/json|[\w.+-]+/[\w.+-]*\+json|text/json", re.IGNORECASE | re.ASCII)


class CannotBuild(ValueError):
    """These arguments make no request of this operation; the message says which and why. Nothing was sent."""


def is_json_type(media_type: str) -> bool:
    return _JSON_TYPE.fullmatch(media_type.partition(";")[0].strip()) is not None


def scalar_text(value: Json, name: str) -> str:
    """A value of a parameter as text; 1.0 is the number 1, as in JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, (int, float)):
        return json.dumps(value)
    raise CannotBuild(f"`{name}` contains {kind(value)}, which cannot be written here")


def encode(text: str, name: str, safe: str = "") -> str:
    try:
        return quote(text, safe=safe)
    except UnicodeEncodeError:
        raise CannotBuild(f"`{name}` has characters that are not valid Unicode") from None


def path_text(value: Json, name: str, *, style: str, explode: bool) -> str:
    """A value in a path, by `simple`, `label` or `matrix`."""
    if style == "label":
        return "." + _join_items(value, name, separator="." if explode else ",", explode=explode)
    if style == "matrix":
        return _matrix(value, name, explode=explode)
    return _join_items(value, name, separator=",", explode=explode)


def _matrix(value: Json, name: str, *, explode: bool) -> str:
    key = encode(name, name)
    if explode and isinstance(value, list):
        return "".join(f";{key}={_part(item, name)}" for item in value)
    if explode and isinstance(value, dict):
        return "".join(f";{encode(key, name)}={_part(item, name)}" for key, item in value.items())
    return f";{key}={_join_items(value, name, separator=',', explode=False)}"


def _join_items(value: Json, name: str, *, separator: str, explode: bool, safe: str = "") -> str:
    """Items, or members as `k,v` or exploded as `k=v`, between separators."""
    if isinstance(value, list):
        return separator.join(_part(item, name, safe) for item in value)
    if isinstance(value, dict):
        pairs = [(encode(key, name, safe), _part(item, name, safe)) for key, item in value.items()]
        between = "=" if explode else separator
        return separator.join(f"{key}{between}{text}" for key, text in pairs)
    return _part(value, name, safe)


def _part(value: Json, name: str, safe: str = "") -> str:
    return encode(scalar_text(value, name), name, safe)


_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def query_pairs(value: Json, name: str, *, style: str, explode: bool, reserved: bool = False) -> Pairs:
    """A value in a query, by `form`, `spaceDelimited`, `pipeDelimited` or `deepObject`."""
    safe = _RESERVED_BUT_HARMLESS if reserved else ""
    key = encode(name, name)
    if style == "deepObject":
        return _deep(value, key, name, safe, is_outermost=True)
    if isinstance(value, (list, dict)) and not value:
        return []  # as RFC 6570 has it: a list of nothing is not defined
    if explode and isinstance(value, list):
        return [(key, _part(item, name, safe)) for item in value]
    if explode and isinstance(value, dict):
        return [(encode(each, name), _part(item, name, safe)) for each, item in value.items()]
    return [(key, _join_items(value, name, separator=_SEPARATORS[style], explode=False, safe=safe))]


def _deep(value: Json, key: str, name: str, safe: str, *, is_outermost: bool = False) -> Pairs:
    if isinstance(value, dict):
        below = [(f"{key}%5B{encode(each, name)}%5D", item) for each, item in value.items()]
        return [pair for each, item in below for pair in _deep(item, each, name, safe)]
    if is_outermost:
        raise CannotBuild(f"`{name}` must be an object in this query (deepObject), not {kind(value)}")
    if isinstance(value, list):
        return [(key, _part(item, name, safe)) for item in value]
    return [(key, _part(value, name, safe))]


def header_text(value: Json, name: str, *, explode: bool) -> str:
    """A value in a header, by `simple`: as it stands, since nobody decodes headers."""
    if isinstance(value, list):
        text = ",".join(scalar_text(item, name) for item in value)
    elif isinstance(value, dict):
        between = "=" if explode else ","
        text = ",".join(f"{key}{between}{scalar_text(item, name)}" for key, item in value.items())
    else:
        text = scalar_text(value, name)
    return check_header(text, name)


def check_header(text: str, name: str) -> str:
    if _HEADER_VALUE.fullmatch(text) is None:
        raise CannotBuild(
            f"`{name}` cannot be sent as a header: it must be one line of ASCII without spaces around it"
        )
    return text


def cookie_pairs(value: Json, name: str, *, style: str, explode: bool) -> Pairs:
    """A value in a cookie: encoded by `form`, as it stands by `cookie` (3.2)."""
    if style == "cookie":
        text = scalar_text(value, name)
        if _COOKIE_VALUE.fullmatch(text) is None:
            raise CannotBuild(f"`{name}` has characters that are not allowed in a cookie")
        return [(name, text)]
    if isinstance(value, (list, dict)) and not value:
        return []
    if explode and isinstance(value, list):
        return [(name, _part(item, name, _COOKIE_SAFE)) for item in value]
    if explode and isinstance(value, dict):
        return [(encode(each, name), _part(item, name, _COOKIE_SAFE)) for each, item in value.items()]
    return [(name, _join_items(value, name, separator=",", explode=False, safe=_COOKIE_SAFE))]


def json_bytes(value: Json, name: str) -> bytes:
    try:
        return dumps(value)
    except TypeError:  # whole numbers past 64 bits, or half of a character
        pass
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        raise CannotBuild(f"`{name}` has a value that JSON cannot represent") from None


def content_text(value: Json, media_type: str, name: str) -> str:
    """A parameter that is a document of its own (`content`): JSON, or text as it stands."""
    if is_json_type(media_type):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    if not isinstance(value, str):
        raise CannotBuild(f"`{name}` is sent as {media_type} and must be text, not {kind(value)}")
    return value
