"""The parameters of an operation: what a caller may give, and where it goes."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pipelines.core.openapi.build_request import PLACEHOLDER
from pipelines.core.openapi.document import CannotTranslate, Document, place_of
from pipelines.core.text.authored import quote_names
from pipelines.core.text.json_text import Json, JsonObject

PLACES = ("path", "query", "header", "cookie")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.1
_IGNORED_HEADERS = frozenset(("accept", "content-type", "authorization"))  # by OpenAPI itself
#: Headers that say who asks, whom, and where a message ends: ours to send.
_OUR_HEADERS = _IGNORED_HEADERS.union(
    ("host", "cookie", "connection", "content-length", "te", "transfer-encoding", "upgrade", "trailer"),
    ("expect", "keep-alive", "proxy-connection", "via", "proxy-authorization", "accept-encoding"),
    ("content-encoding", "forwarded", "user-agent"),
)


class DeclaredParameter(NamedTuple):
    """A parameter as a document declares it, its references followed."""

    name: str
    place: str
    style: str
    explode: bool
    is_required: bool
    schema: Json
    schema_place: str  # in the document
    content: str | None
    reserved: bool
    description: str


class SecurityNames(NamedTuple):
    """Names by which the document's security schemes prove who asks: arguments never set them."""

    header: frozenset[str]  # lower case
    query: frozenset[str]
    cookie: frozenset[str]

    def covers(self, place: str, name: str) -> bool:
        if place == "header":
            return name.lower() in self.header
        return name in (self.query if place == "query" else self.cookie if place == "cookie" else ())


def security_names(document: Document) -> SecurityNames:
    found: dict[str, set[str]] = {"header": set(), "query": set(), "cookie": set()}
    components = document.root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
        try:
            body = document.resolved(scheme, name)
        except CannotTranslate:
            continue
        place, key = body.get("in"), body.get("name")
        if body.get("type") == "apiKey" and isinstance(key, str) and isinstance(place, str):
            found.get(place, set()).add(key.lower() if place == "header" else key)
    return SecurityNames(**{place: frozenset(names) for place, names in found.items()})


def parameters_of(
    document: Document,
    path: str,
    method: str,
    *,
    secured: SecurityNames,
    note: Callable[[str], None],
) -> list[DeclaredParameter]:
    """Those of the path and of the operation, which replace the path's of the same name and place."""
    found: dict[tuple[str, str], DeclaredParameter] = {}
    for node, place in _parameter_nodes(document, path, method):
        declared = _read_parameter(document, node, place)
        if declared.place == "header" and declared.name.lower() in _OUR_HEADERS:
            if declared.name.lower() not in _IGNORED_HEADERS:
                note(f"the header `{declared.name}` cannot be set by an argument")
        elif secured.covers(declared.place, declared.name):
            note(f"`{declared.name}` is for authentication: the endpoint's auth sets it, not an argument")
        else:
            found[declared.place, declared.name] = declared
    return _in_template(path, found, note)


def _parameter_nodes(document: Document, path: str, method: str) -> Iterator[tuple[Json, str]]:
    paths = document.root["paths"]
    assert isinstance(paths, dict)
    item = document.resolved(paths[path], place_of("paths", path))
    operation = document.resolved(item[method], place_of("paths", path, method))
    for body, place in ((item, place_of("paths", path)), (operation, place_of("paths", path, method))):
        listed = body.get("parameters")
        if listed is not None and not isinstance(listed, list):
            raise CannotTranslate(f"{place}/parameters must be a list")
        yield from ((node, f"{place}/parameters/{at}") for at, node in enumerate(listed or ()))


def _read_parameter(document: Document, node: Json, at: str) -> DeclaredParameter:
    body = document.resolved(node, at)
    name, place = body.get("name"), body.get("in")
    if not isinstance(name, str) or not name or not isinstance(place, str) or place not in PLACES:
        if place == "querystring":
            raise CannotTranslate(f"{at} declares the whole query as one parameter, which is not supported")
        raise CannotTranslate(f"{at} must have a `name`, and `in` one of {quote_names(PLACES)}")
    _check_name(name, place, at)
    style = body.get("style", _STYLES[place][0])
    if style not in _STYLES[place]:
        raise CannotTranslate(
            f"{at} has the style `{style}`; in a {place} it is {quote_names(_STYLES[place])}"
        )
    schema, schema_place, content = _schema(body, at)
    explode = body.get("explode")
    description = body.get("description")
    return DeclaredParameter(
        name=name,
        place=place,
        style=str(style),
        explode=explode if isinstance(explode, bool) else style == "form",
        is_required=body.get("required") is True or place == "path",
        schema=schema,
        schema_place=schema_place,
        content=content,
        reserved=body.get("allowReserved") is True,
        description=description if isinstance(description, str) else "",
    )


def _check_name(name: str, place: str, at: str) -> None:
    if place in ("header", "cookie") and _HEADER_NAME.fullmatch(name) is None:
        raise CannotTranslate(f"{at} has a name that is not allowed in a {place}")


def _schema(body: JsonObject, at: str) -> tuple[Json, str, str | None]:
    content = body.get("content")
    if isinstance(content, dict) and content:
        media_type, media = next(iter(content.items()))
        schema = media.get("schema", True) if isinstance(media, dict) else True
        return schema, f"{at}/content{place_of(media_type)}/schema", media_type
    return body.get("schema", True), f"{at}/schema", None


def _in_template(
    path: str, found: dict[tuple[str, str], DeclaredParameter], note: Callable[[str], None]
) -> list[DeclaredParameter]:
    names = PLACEHOLDER.findall(path)
    for place, name in list(found):
        if place == "path" and name not in names:
            note(f"the path parameter `{name}` is not in the path, so it is left out")
            del found[place, name]
    for name in names:
        if ("path", name) not in found:
            note(f"`{name}` of the path is not declared, so it is taken as text")
            found["path", name] = DeclaredParameter(
                name, "path", "simple", False, True, {"type": "string"}, "", None, False, ""
            )
    return sorted(found.values(), key=lambda declared: PLACES.index(declared.place))
