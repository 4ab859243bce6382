"""The words in which the schemas of answers are written."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.wire.records import component_of

Schemas: TypeAlias = Mapping[str, JsonObject]
Content: TypeAlias = Mapping[str, "type | JsonObject"]  # by media type

TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}
NUMBER: JsonObject = {"type": "number"}
YES_NO: JsonObject = {"type": "boolean"}
ID: JsonObject = {"type": "integer", "minimum": 1}
MOMENT: JsonObject = {"type": "string", "format": "date-time"}
OBJECT: JsonObject = {"type": "object", "additionalProperties": True}
ANY: JsonObject = {}
BINARY: JsonObject = {"type": "string", "format": "binary"}


def record(
    description: str,
    required: Mapping[str, JsonObject],
    optional: Mapping[str, JsonObject] | None = None,
) -> JsonObject:
    """An object with these fields. Others may be added by later versions, so it is not closed."""
    schema: JsonObject = {"type": "object", "description": description}
    schema["properties"] = {**required, **(optional or {})}
    if required:
        schema["required"] = [*required]
    return schema


def one_of(values: Iterable[str]) -> JsonObject:
    return {"type": "string", "enum": [str(value) for value in values]}


def or_null(schema: JsonObject) -> JsonObject:
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def listed(schema: JsonObject) -> JsonObject:
    return {"type": "array", "items": schema}


def by_name(schema: JsonObject) -> JsonObject:
    """An object whose keys are data."""
    return {"type": "object", "additionalProperties": schema}


def either(*schemas: JsonObject) -> JsonObject:
    choices: list[Json] = [*schemas]
    return {"anyOf": choices}


def told(schema: JsonObject, description: str) -> JsonObject:
    return {**schema, "description": description}


def ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


class Page(NamedTuple):
    """The answer of a list: a page of these records."""

    of: type
    what: str

    @property
    def name(self) -> str:
        return f"{component_of(self.of).removesuffix('Summary')}Page"


def page_of(name: str, what: str) -> JsonObject:
    cursor = told(or_null(TEXT), "`cursor` of the next page; null: there is none")
    return record(f"A page of {what}.", {"items": listed(ref(name)), "next_cursor": cursor})


class Operation(NamedTuple):
    """What stays the same whatever path and function it has: its name, and what it answers with."""

    id: str
    method: str
    path: str
    #: By status: a record for JSON, or media types with their schemas, or None for no body.
    answers: Mapping[int, "type | Page | str | Content | None"]
