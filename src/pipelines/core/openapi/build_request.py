"""The request that one call of an operation becomes.

Arguments decide no more than the document gives them: never the host, who is asking, a header or cookie that
is not declared, or a path outside the operation's own.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from pipelines.core.openapi.forms import EncodedForm, encode_multipart, encode_urlencoded, from_base64
from pipelines.core.openapi.operation import Body, Operation, Parameter
from pipelines.core.openapi.styles import (
    CannotBuild,
    Pairs,
    check_header,
    content_text,
    cookie_pairs,
    encode,
    header_text,
    is_json_type,
    json_bytes,
    path_text,
    query_pairs,
)
from pipelines.core.text.authored import quote_names
from pipelines.core.text.json_text import Json, JsonObject

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_LITERAL_SAFE = "!$&'()*+,;=:@~%-._"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STEPS = re.compile(r"[/\\]")
_MOST_DECODED = 8  # times a server behind servers may decode a path
LONGEST_TARGET = 64 * 1024  # characters of path and query, or of all headers; no common server reads more


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenapiRequest:
    method: str
    target: str  # path and query as they are sent, without what stands before the document's paths
    headers: dict[str, str]
    body: bytes | None


def build_request(operation: Operation, arguments: JsonObject) -> OpenapiRequest:
    """Raises CannotBuild."""
    given = {name: value for name, value in arguments.items() if not _is_left_out(name, value, operation)}
    _check_known(operation, given)
    by_place: dict[str, list[tuple[Parameter, Json]]] = {"path": [], "query": [], "header": [], "cookie": []}
    for parameter in operation.parameters:
        if parameter.argument in given:
            by_place[parameter.place].append((parameter, given[parameter.argument]))
    target = _path(operation.path, by_place["path"])
    if query := _query(operation, by_place["query"]):
        target += "?" + "&".join(f"{name}={value}" for name, value in query)
    _check_length(len(target), "path and query")
    headers = {"Accept": operation.accept} | _headers(by_place["header"])
    if cookies := _cookies(by_place["cookie"]):
        headers["Cookie"] = check_header("; ".join(f"{name}={value}" for name, value in cookies), "cookies")
    _check_length(sum(len(value) for value in headers.values()), "headers")
    written = None if operation.body is None else _body(operation, operation.body, given)
    if written is not None:
        headers["Content-Type"] = check_header(written.content_type, "the media type")
    body = None if written is None else written.body
    return OpenapiRequest(method=operation.method, target=target, headers=headers, body=body)


def _check_length(characters: int, what: str) -> None:
    if characters > LONGEST_TARGET:
        raise CannotBuild(
            f"its {what} would have {characters:,} characters; at most {LONGEST_TARGET:,} are allowed"
        )


def _is_left_out(name: str, value: Json, operation: Operation) -> bool:
    """A parameter of null is one that is not given: models that must name every argument write it so."""
    return value is None and any(name == parameter.argument for parameter in operation.parameters)


def _check_known(operation: Operation, given: JsonObject) -> None:
    body = operation.body
    if body is not None and body.takes_more:
        return
    known = {parameter.argument for parameter in operation.parameters}
    if body is not None:
        known.update([body.argument] if body.argument is not None else (name for name, _ in body.properties))
    if unknown := sorted(given.keys() - known):
        complaint = f"the operation has no argument {quote_names(unknown[:5])}"
        raise CannotBuild(f"{complaint}; it has {quote_names(sorted(known))}" if known else complaint)


# -- the path


def _path(template: str, given: list[tuple[Parameter, Json]]) -> str:
    texts = {parameter.name: _path_value(parameter, value) for parameter, value in given}
    return "/".join(_segment(segment, texts) for segment in template.split("/"))


def _path_value(parameter: Parameter, value: Json) -> str:
    if parameter.content is not None:
        return encode(content_text(value, parameter.content, parameter.argument), parameter.argument)
    return path_text(value, parameter.name, style=parameter.style, explode=parameter.explode)


def _segment(segment: str, texts: dict[str, str]) -> str:
    parts = PLACEHOLDER.split(segment)
    if len(parts) == 1:
        return literal(segment)
    for name in parts[1::2]:
        if name not in texts:
            raise CannotBuild(f"`{name}` is part of the path and must be given")
    whole = "".join(texts[part] if at % 2 else literal(part) for at, part in enumerate(parts))
    _check_length(len(whole), "path")
    _check_segment(whole, parts[1::2])
    return whole


def literal(text: str) -> str:
    """What a document's path says between its placeholders, as it is sent."""
    return quote(text, safe=_LITERAL_SAFE)


def _check_segment(text: str, names: list[str]) -> None:
    """However often it is decoded on its way, and whoever takes `\\` for `/` or cuts a step at `;`: it stays
    one step down."""
    for _ in range(_MOST_DECODED):
        decoded = unquote(text)
        steps = _STEPS.split(decoded)
        if "" in steps or any(step.partition(";")[0] in (".", "..") for step in steps):
            raise CannotBuild(f"{quote_names(names)} would make a part of the path empty, `.` or `..`")
        if _CONTROL.search(decoded):
            raise CannotBuild(
                f"{quote_names(names)} is part of the path and must not have control characters"
            )
        if decoded == text:
            return
        text = decoded
    raise CannotBuild(f"{quote_names(names)} is percent-encoded too many times")


# -- query, headers, cookies


def _query(operation: Operation, given: list[tuple[Parameter, Json]]) -> Pairs:
    found: Pairs = []
    for parameter, value in given:
        if parameter.content is not None:
            text = content_text(value, parameter.content, parameter.argument)
            found.append((encode(parameter.name, parameter.name), encode(text, parameter.argument)))
            continue
        pairs = query_pairs(
            value,
            parameter.name,
            style=parameter.style,
            explode=parameter.explode,
            reserved=parameter.reserved,
        )
        if isinstance(value, dict) and parameter.explode and parameter.style != "deepObject":
            _check_free_names(operation, parameter, value, "query")
        found += pairs
    return found


def _check_free_names(operation: Operation, parameter: Parameter, value: JsonObject, place: str) -> None:
    """The members of such an object stand beside the other parameters, and must not pass for one of them."""
    used_names = {each.name for each in operation.parameters if each.place == place and each is not parameter}
    used_names.update(operation.guarded)
    if clash := sorted(used_names & value.keys()):
        raise CannotBuild(
            f"`{parameter.argument}` has members with the names of other parameters: {quote_names(clash)}"
        )


def _headers(given: list[tuple[Parameter, Json]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter, value in given:
        if parameter.content is not None:
            text = content_text(value, parameter.content, parameter.argument)
            found[parameter.name] = check_header(text, parameter.argument)
        else:
            found[parameter.name] = header_text(value, parameter.argument, explode=parameter.explode)
    return found


def _cookies(given: list[tuple[Parameter, Json]]) -> Pairs:
    found: Pairs = []
    for parameter, value in given:
        if parameter.content is not None:
            text = content_text(value, parameter.content, parameter.argument)
            found.append((parameter.name, encode(text, parameter.argument)))
            continue
        if isinstance(value, dict) and parameter.explode:
            raise CannotBuild(f"`{parameter.argument}` would set cookies that are not declared")
        found += cookie_pairs(value, parameter.name, style=parameter.style, explode=parameter.explode)
    return found


# -- the body


def _body(operation: Operation, body: Body, given: JsonObject) -> EncodedForm | None:
    if body.argument is not None:
        if body.argument not in given:
            return None
        return _write_body(body, given[body.argument], body.argument)
    fields: JsonObject = {name: given[argument] for argument, name in body.properties if argument in given}
    if body.takes_more:
        mine = {argument for argument, _ in body.properties}
        others = {parameter.argument for parameter in operation.parameters}
        fields |= {name: value for name, value in given.items() if name not in mine | others}
    if not fields and not body.is_required:
        return None
    return _write_body(body, fields, "the body")


def _write_body(body: Body, value: Json, name: str) -> EncodedForm:
    media_type = body.media_type.partition(";")[0].strip().lower()
    if body.is_binary:
        return EncodedForm(body.media_type, from_base64(value, name))
    if is_json_type(media_type):
        return EncodedForm(body.media_type, json_bytes(value, name))
    encodings = dict(body.encodings)
    if isinstance(value, dict) and media_type == "application/x-www-form-urlencoded":
        return encode_urlencoded(value, encodings)
    if isinstance(value, dict) and media_type == "multipart/form-data":
        return encode_multipart(value, encodings)
    try:
        return EncodedForm(body.media_type, content_text(value, media_type, name).encode())
    except UnicodeEncodeError:
        raise CannotBuild(f"`{name}` has characters that are not valid Unicode") from None
