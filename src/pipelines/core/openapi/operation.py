"""What is kept of an operation to make requests of it: a record each, and their JSON in `FoundTool.call`."""

from dataclasses import dataclass
from typing import Any

from pipelines.core.text.json_text import JsonObject

#: Where a body's arguments come from: each its own, or all as one argument.
BODY_ARGUMENT = "body"


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    argument: str  # what a caller gives
    name: str  # what the server reads
    place: str  # path, query, header or cookie
    style: str
    explode: bool
    content: str | None = None  # the media type, where it is a document of its own
    reserved: bool = False  # `allowReserved`

    def as_json(self) -> JsonObject:
        body: JsonObject = {"argument": self.argument, "name": self.name, "in": self.place}
        body |= {"style": self.style, "explode": self.explode}
        body |= {"content": self.content} if self.content is not None else {}
        return body | ({"reserved": True} if self.reserved else {})

    @classmethod
    def from_json(cls, body: Any) -> "Parameter":
        return cls(
            argument=body["argument"],
            name=body["name"],
            place=body["in"],
            style=body["style"],
            explode=body["explode"],
            content=body.get("content"),
            reserved=body.get("reserved", False),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoding:
    """How one property of a form is written."""

    content: str | None = None
    style: str | None = None
    explode: bool = True
    is_binary: bool = False  # the argument is base64, the part its bytes

    def as_json(self) -> JsonObject:
        body: JsonObject = {"content": self.content} if self.content is not None else {}
        body |= {"style": self.style, "explode": self.explode} if self.style is not None else {}
        return body | ({"binary": True} if self.is_binary else {})

    @classmethod
    def from_json(cls, body: Any) -> "Encoding":
        return cls(
            content=body.get("content"),
            style=body.get("style"),
            explode=body.get("explode", True),
            is_binary=body.get("binary", False),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    media_type: str
    is_required: bool = False
    argument: str | None = None  # the one that is all of the body; None: each property is an argument
    properties: tuple[tuple[str, str], ...] = ()  # argument and property
    takes_more: bool = False  # arguments that are not declared are properties of it, too
    is_binary: bool = False
    encodings: tuple[tuple[str, Encoding], ...] = ()  # by property, of forms

    def as_json(self) -> JsonObject:
        body: JsonObject = {"media_type": self.media_type, "required": self.is_required}
        if self.argument is not None:
            body["argument"] = self.argument
        else:
            body["properties"] = dict(self.properties)
        body |= {"takes_more": True} if self.takes_more else {}
        body |= {"binary": True} if self.is_binary else {}
        written: JsonObject = {name: encoding.as_json() for name, encoding in self.encodings}
        return body | ({"encodings": written} if written else {})

    @classmethod
    def from_json(cls, body: Any) -> "Body":
        encodings = body.get("encodings", {})
        return cls(
            media_type=body["media_type"],
            is_required=body["required"],
            argument=body.get("argument"),
            properties=tuple(body.get("properties", {}).items()),
            takes_more=body.get("takes_more", False),
            is_binary=body.get("binary", False),
            encodings=tuple((name, Encoding.from_json(each)) for name, each in encodings.items()),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    method: str  # upper case
    path: str  # the template
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    operation_id: str | None = None  # the document's own name for it, for people
    accept: str = "application/json, */*;q=0.5"
    #: Names in a query that prove who asks, by the document's security schemes: no argument sets one.
    guarded: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        body: JsonObject = {"method": self.method, "path": self.path}
        body |= {"operation_id": self.operation_id} if self.operation_id is not None else {}
        body["parameters"] = [parameter.as_json() for parameter in self.parameters]
        body |= {"body": self.body.as_json()} if self.body is not None else {}
        return body | ({"guarded": list(self.guarded)} if self.guarded else {})

    @classmethod
    def from_json(cls, body: Any) -> "Operation":
        kept = body.get("body")
        return cls(
            method=body["method"],
            path=body["path"],
            parameters=tuple(map(Parameter.from_json, body["parameters"])),
            body=None if kept is None else Body.from_json(kept),
            operation_id=body.get("operation_id"),
            guarded=tuple(body.get("guarded", ())),
        )
