"""The body of an operation: which of its media types is sent, and whether its properties are arguments."""

from typing import NamedTuple

from pipelines.core.openapi.document import CannotTranslate, Document, place_of
from pipelines.core.openapi.operation import Encoding
from pipelines.core.openapi.schemas import Schemas
from pipelines.core.openapi.styles import is_json_type
from pipelines.core.text.json_text import Json, JsonObject

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_FORMS = (URLENCODED, MULTIPART)
#: Keywords of an object beside which its properties say everything about it.
_FLAT = frozenset(
    (
        *("type", "properties", "required", "additionalProperties", "title", "description", "examples"),
        *("default", "deprecated", "format"),
    )
)
_STYLES = ("form", "spaceDelimited", "pipeDelimited", "deepObject")
BASE64 = "Base64 text of the bytes to send."


class OperationBody(NamedTuple):
    media_type: str
    is_required: bool
    schema: Json  # converted
    description: str
    #: The properties where each is an argument; None where the body is one.
    properties: JsonObject | None
    required: tuple[str, ...]
    takes_more: bool
    is_binary: bool
    encodings: tuple[tuple[str, Encoding], ...]


def body_of(document: Document, operation: JsonObject, at: str, schemas: Schemas) -> OperationBody | None:
    node = operation.get("requestBody")
    if node is None:
        return None
    place = f"{at}/requestBody"
    body = document.resolved(node, place)
    content = body.get("content")
    if not isinstance(content, dict) or not content:
        return None
    media_type = _choose_media_type(list(content))
    media = document.resolved(content[media_type], f"{place}/content{place_of(media_type)}")
    source = media.get("schema", True)
    schema = schemas.converted(source, f"{place}/content{place_of(media_type)}/schema")
    sent = "application/json" if media_type.startswith(("*/*", "application/*")) else media_type
    is_form = _plain(sent) in _FORMS
    shape = _shape(document, source, schema, schemas)
    description = body.get("description")
    return OperationBody(
        media_type=sent,
        is_required=body.get("required") is True,
        schema=schema,
        description=description if isinstance(description, str) else "",
        properties=shape.properties if is_form or is_json_type(sent) else None,
        required=shape.required,
        takes_more=shape.takes_more,
        is_binary=not is_form and _is_bytes(sent, source),
        encodings=_encodings(media, shape, is_multipart=_plain(sent) == MULTIPART) if is_form else (),
    )


def _plain(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _choose_media_type(media_types: list[str]) -> str:
    """JSON where there is a choice, then forms, then whatever comes first."""

    def rank(media_type: str) -> int:
        plain = _plain(media_type)
        if plain == "application/json":
            return 0
        if is_json_type(plain):
            return 1
        return 2 + ([*_FORMS, "*/*", "application/*"].index(plain) if plain in (*_FORMS, "*/*") else 4)

    return min(media_types, key=rank)


class _Shape(NamedTuple):
    properties: JsonObject | None
    required: tuple[str, ...]
    takes_more: bool
    sources: dict[str, JsonObject]  # the properties as the document has them


def _shape(document: Document, source: Json, schema: Json, schemas: Schemas) -> _Shape:
    """An object of plain properties is flattened: its members become arguments. All else is one argument."""
    nothing = _Shape(None, (), False, {})
    try:
        resolved = document.resolved(source, "") if isinstance(source, dict) else None
    except CannotTranslate:
        return nothing
    flat = schemas.converted(resolved, "") if resolved is not None else None
    if not isinstance(flat, dict) or not flat.keys() <= _FLAT or flat.get("type", "object") != "object":
        return nothing
    properties, required, more = (
        flat.get("properties"),
        flat.get("required"),
        flat.get("additionalProperties"),
    )
    if not isinstance(properties, dict) or not properties:
        return nothing
    raw = resolved.get("properties") if resolved is not None else None
    sources = {
        name: node
        for name, node in (raw.items() if isinstance(raw, dict) else ())
        if isinstance(node, dict) and name in properties
    }
    return _Shape(
        properties,
        tuple(name for name in required if isinstance(name, str)) if isinstance(required, list) else (),
        more is True or isinstance(more, dict),
        sources,
    )


def _is_bytes(media_type: str, source: Json) -> bool:
    if isinstance(source, dict) and source.get("format") == "binary":
        return True
    plain = _plain(media_type)
    is_text = plain.startswith("text/") or plain.endswith(("+xml", "/xml", "javascript", "yaml", "graphql"))
    return not (is_text or is_json_type(plain)) and _is_opaque(source)


def _is_opaque(source: Json) -> bool:
    """A schema that says nothing of what the bytes mean: 3.1 leaves them out, or writes a mere string."""
    if not isinstance(source, dict):
        return True
    return not source.keys() - {"type", "format", "contentMediaType", "description", "title"}


def _encodings(media: JsonObject, shape: _Shape, *, is_multipart: bool) -> tuple[tuple[str, Encoding], ...]:
    declared = media.get("encoding")
    parts = declared if isinstance(declared, dict) else {}
    found: list[tuple[str, Encoding]] = []
    for name in dict.fromkeys([*shape.sources, *parts]):
        body = parts.get(name)
        body = body if isinstance(body, dict) else {}
        content, style, explode = body.get("contentType"), body.get("style"), body.get("explode")
        if style not in _STYLES:
            style = "form" if isinstance(explode, bool) else None
        encoding = Encoding(
            content=content if isinstance(content, str) else None,
            style=str(style) if style is not None and not is_multipart else None,
            explode=explode if isinstance(explode, bool) else style == "form",
            is_binary=is_multipart and is_file(shape.sources.get(name, {})),
        )
        if encoding.as_json():
            found.append((name, encoding))
    return tuple(found)


def is_file(source: JsonObject) -> bool:
    """Whether a property of a form is bytes, or a list of them: `format: binary`, or a media type of 3.1."""
    items = source.get("items")
    if isinstance(items, dict) and source.get("type") == "array":
        return is_file(items)
    if source.get("format") == "binary":
        return True
    return "contentMediaType" in source and "contentEncoding" not in source
