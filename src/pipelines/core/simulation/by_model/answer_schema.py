"""The JSON Schema of a model's answer for one tool: `{reason, status, response, updates}`.

The tool's own schema stands inside as `$defs/reply`, its references led there. Providers take no schema that
refers to itself, so where one does, the reference that closes the circle is left open here: the schema as it
is declared is held against the answer afterwards.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pipelines.core.limits.json_schema import DEFAULT_DRAFT
from pipelines.core.text.json_text import Json, JsonObject, dumps

MOST_UPDATES = 50
LONGEST_REASON = 1_000
LARGEST_WRAPPED = 32_768  # characters: a larger one is told in the question, and held against the answer
_WITHIN = "#/$defs/reply"
#: Keywords that mean something else, or nothing, inside another document.
_NOT_MOVABLE = (
    "$id",
    "id",
    "$anchor",
    "$dynamicRef",
    "$recursiveRef",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
)
_PLAIN_DATA = ("const", "default", "enum", "example", "examples")
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")

_TEXT: JsonObject = {"type": "string"}
_NAMED_ENTITY: JsonObject = {"entity_type": _TEXT, "id": _TEXT}


def _update_schema(op: str, properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": {"op": {"const": op}, **properties},
        "required": ["op", *properties],
        "additionalProperties": False,
    }


#: Changes of records, as `core.ledger` reads them.
RECORD_UPDATES: list[Json] = [
    _update_schema("add", {**_NAMED_ENTITY, "attrs": {"type": "object"}}),
    _update_schema(
        "update", {**_NAMED_ENTITY, "set": {"type": "object"}, "unset": {"type": "array", "items": _TEXT}}
    ),
    _update_schema("remove", _NAMED_ENTITY),
]
_SET_FLAG = _update_schema("set_flag", {"flag": _TEXT, "value": {"type": "boolean"}})
_UPDATE: JsonObject = {"anyOf": [*RECORD_UPDATES, _SET_FLAG]}
#: How a backend that a model plays says no.
FAILURE: JsonObject = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"code": _TEXT, "message": _TEXT},
            "required": ["code", "message"],
        }
    },
    "required": ["error"],
}


def answer_schema(output_schema: JsonObject | None) -> JsonObject:
    moved = _embedded_schema(output_schema) if output_schema is not None else None
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "maxLength": LONGEST_REASON},
            "status": {"type": "integer", "minimum": 200, "maximum": 599},
            "response": {"anyOf": [{"$ref": _WITHIN}, FAILURE]} if moved is not None else {},
            "updates": {"type": "array", "items": _UPDATE, "maxItems": MOST_UPDATES},
        },
        "required": ["reason", "status", "response", "updates"],
        "additionalProperties": False,
    }
    return schema | ({"$defs": {"reply": moved}} if moved is not None else {})


def _embedded_schema(schema: JsonObject) -> JsonObject | None:
    """The tool's schema as part of ours; None where it cannot be."""
    if schema.get("$schema", DEFAULT_DRAFT) != DEFAULT_DRAFT or len(dumps(schema)) > LARGEST_WRAPPED:
        return None
    if any(key in node for node in _schemas(schema) for key in _NOT_MOVABLE):
        return None
    closing = _closing_references(schema)
    moved = _redirect_references(schema, closing)
    assert isinstance(moved, dict)
    return {key: value for key, value in moved.items() if key != "$schema"}


def _redirect_references(node: Json, closing: frozenset[int], as_table: bool = False) -> Json:
    if isinstance(node, list):
        return [_redirect_references(item, closing) for item in node]
    if not isinstance(node, dict):
        return node
    if id(node) in closing and not as_table:
        return {}
    led: JsonObject = {}
    for key, value in node.items():
        if key == "$ref" and isinstance(value, str) and not as_table:
            led[key] = _WITHIN + value.removeprefix("#")
        elif key in _PLAIN_DATA and not as_table:
            led[key] = value
        else:
            led[key] = _redirect_references(value, closing, as_table=key in _BY_NAME and not as_table)
    return led


def _schemas(schema: Json) -> Iterator[dict[str, Any]]:
    pending: list[tuple[Json, bool]] = [(schema, False)]
    while pending:
        node, is_table = pending.pop()
        if isinstance(node, list):
            pending.extend((item, False) for item in node)
        elif isinstance(node, dict):
            if not is_table:
                yield node
            for key, value in node.items():
                if is_table or key not in _PLAIN_DATA:
                    pending.append((value, key in _BY_NAME and not is_table))


def _closing_references(schema: JsonObject) -> frozenset[int]:
    """Of every circle of references, the node whose `$ref` closes it; by identity."""
    closing: set[int] = set()
    entered: dict[int, bool] = {}  # whether one is done; those that are not are above what is looked at

    def visit(node: Json) -> None:
        if isinstance(node, list):
            for item in node:
                visit(item)
        if not isinstance(node, dict) or id(node) in entered:
            return
        entered[id(node)] = False
        for key, value in node.items():
            if key not in _PLAIN_DATA:
                visit(value)
        target = _target(schema, node.get("$ref"))
        if target is not None and entered.get(id(target)) is False:
            closing.add(id(node))
        else:
            visit(target)
        entered[id(node)] = True

    visit(schema)
    return frozenset(closing)


def _target(schema: JsonObject, reference: Json) -> Json:
    """What a local reference leads to; it was found to lead somewhere when the tool was registered."""
    if not isinstance(reference, str):
        return None
    found: Json = schema
    for part in unquote(reference.removeprefix("#")).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(key)] if key.isdecimal() and int(key) < len(found) else None
        else:
            found = found.get(key) if isinstance(found, dict) else None
    return found
