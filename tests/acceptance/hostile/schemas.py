"""C1: schemas that are costly to check something against, to say what is wrong by, or to read at all."""

from typing import Any

from hostile.kind import kind
from hostile.tenant import MEBIBYTE, Row, Tenant

ONES = [1] * (MEBIBYTE // 3 - 100)
KEYS = {f"{at:x}": 1 for at in range(80_000)}
LETTERS = "a" * (MEBIBYTE - 1_000)


def _texts(count: int) -> list[Row]:
    return [{"type": "string", "minLength": at} for at in range(count)]


def _chain(levels: int, word: str) -> Row:
    """Definitions that each name the next one twice: a short text, and a tree of 2 ** levels."""
    definitions = {f"d{at}": {word: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": definitions | {f"d{levels}": {"type": "string"}}}


def _tree(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value, value]
    return value


_NODE = {"$ref": "#/$defs/node"}
_TREE = {
    "anyOf": [
        {"type": "array", "items": _NODE, "minItems": 3},
        {"type": "array", "items": _NODE},
        {"maxItems": 0},
    ]
}
SHAPES: dict[str, tuple[Row, Any]] = {
    "anyOf": ({"items": {"anyOf": _texts(3)}}, ONES),
    "oneOf": ({"items": {"oneOf": _texts(500)}}, ONES),
    "enum": ({"items": {"enum": [f"e{at}" for at in range(2_000)]}}, ONES),
    "const": ({"items": {"const": {"a": list(range(2_000))}}}, [{}] * 200_000),
    "uniqueItems": ({"uniqueItems": True}, [{"a": at} for at in range(60_000)]),
    "unique lists": ({"uniqueItems": True}, [[[at]] for at in range(80_000)]),
    "patternProperties": (
        {"patternProperties": {f"^x{at}.*a$": {"type": "string"} for at in range(300)}},
        KEYS,
    ),
    "propertyNames": (
        {"propertyNames": {"pattern": "^(a+)+$"}},
        {"a" * 40 + f"{at}!": 1 for at in range(15_000)},
    ),
    "required": ({"items": {"required": [f"r{at}" for at in range(1_000)]}}, [{}] * 200_000),
    "dependentSchemas": ({"dependentSchemas": {f"{at:x}": {"required": ["z"]} for at in range(2_000)}}, KEYS),
    "unevaluated": (
        {"anyOf": [{"properties": {f"{at:x}": True}} for at in range(200)], "unevaluatedProperties": False},
        KEYS,
    ),
    "contains": ({"contains": {"anyOf": _texts(500)}}, ONES),
    "deep $ref": (_chain(18, "allOf"), ONES),
    "deep $ref of alternatives": (_chain(18, "anyOf"), ONES),
    "recursion": (_NODE | {"$defs": {"node": _TREE}}, _tree(16)),
    "if and then": (
        {"items": {"if": {"type": "integer"}, "then": {"allOf": [{"minimum": at} for at in range(200)]}}},
        ONES,
    ),
    "multipleOf": ({"items": {"multipleOf": 0.0001}}, [0.30000001] * 80_000),
    "a pattern": ({"pattern": "^(a+)+$"}, LETTERS + "!"),
    "a pattern that looks ahead": ({"pattern": "^(?=(a+))\\1*b$"}, LETTERS),
    "a pattern that counts": ({"pattern": "^(?:a{1,500}){1,500}$"}, LETTERS + "!"),
    "a long format": ({"format": "email"}, "a." * 500_000 + "@"),
    "a long date": ({"format": "date-time"}, "2026-01-01T" + "0" * 1_000_000),
}


@kind("C1-arguments", seconds=1.0)
def calls_against_schemas(tenant: Tenant) -> None:
    """A megabyte of arguments against each schema."""

    def attack(item: tuple[str, tuple[Row, Any]]) -> None:
        name, (schema, value) = item
        reply = tenant.post("/api/agents", _agent(schema), what=f"declare {name}")
        if reply.status != 201:
            return
        run = tenant.run(reply.json()["id"], task)
        for _ in range(tenant.size(1, 3)):
            run.call("t", {"x": value}, what=f"call against {name}")

    task = tenant.tasks({"user": "x"})["task_ids"][0]
    tenant.together(
        attack, tenant.shuffled(SHAPES, "unique lists", "a long date", "enum", "anyOf"), at_once=4
    )


def _agent(schema: Row, **more: Any) -> Row:
    declared = dict(schema)
    definitions = declared.pop("$defs", {})
    input_schema = {"type": "object", "properties": {"x": declared}, "$defs": definitions}
    endpoint = "http://127.0.0.1:9/dispatch"
    return {
        "name": "schemas",
        "endpoint_url": endpoint,
        "tools_schema": [{"name": "t", "description": "t", "input_schema": input_schema, **more}],
    }


@kind("C1-outputs")
def replies_against_schemas(tenant: Tenant) -> None:
    """A plan whose reply is as large as may be, against an output schema."""
    plan = [{"return": {"x": "range(90000)"}}]
    for name, (schema, _) in tenant.in_turn(SHAPES, "unique lists", "multipleOf"):
        declared = dict(schema)
        output = {"type": "object", "$defs": declared.pop("$defs", {}), "properties": {"x": declared}}
        reply = tenant.post(
            "/api/agents", _agent({}, output_schema=output, simulation=plan), what=f"declare {name}"
        )
        if reply.status == 201:
            run = tenant.run(reply.json()["id"], tenant.tasks({"user": "x"})["task_ids"][0])
            run.call("t", {}, what=f"answer against {name}")


@kind("C1-definitions")
def definitions(tenant: Tenant) -> None:
    """Schemas that are themselves the attack: as large, as deep and as tangled as a body may be."""
    deep: Row = {"type": "string"}
    for _ in range(25):
        deep = {"anyOf": [{"properties": {"a": deep}}, {"items": {"not": {"type": "null"}}}]}
    shapes: dict[str, Row] = {
        "a long enum": {"enum": [f"value {at}" for at in range(60_000)]},
        "many properties": {
            "type": "object",
            "properties": {f"p{at}": {"type": "string"} for at in range(40_000)},
        },
        "many patterns": {"patternProperties": {f"^(a|b{at})+[x-z]{{1,20}}$": {} for at in range(5_000)}},
        "large patterns": {
            "allOf": [{"pattern": f"^(?:[a-z]{{1,100}}{at}){{1,100}}$"} for at in range(1_000)]
        },
        "many definitions": {"$defs": {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(20_000)}},
        "deep": deep,
        "exponential": _chain(60, "allOf"),
        "exponential alternatives": _chain(60, "oneOf"),
        "wrong everywhere": {
            "properties": {f"p{at}": {"type": "strin", "minLength": -1} for at in range(20_000)}
        },
        "a circle": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        "dynamic": {"$dynamicRef": "#x", "$defs": {f"d{at}": {"$dynamicAnchor": "x"} for at in range(5_000)}},
    }
    tenant.together(
        lambda item: tenant.post("/api/agents", _agent(item[1]), what=f"declare {item[0]}"),
        tenant.shuffled(shapes, "large patterns", "many patterns"),
        at_once=4,
    )


@kind("C1-ledger-schema")
def worlds_against_schemas(tenant: Tenant) -> None:
    """A field that has many allowed values, worlds in which none of them occurs, names that nearly fit."""
    count = tenant.size(600, 20_000)
    values = [f"value {at}" for at in range(count)]
    entities = [{"type": f"order_{at}", "id_field": "id"} for at in range(99)]
    fields = [{"name": "x", "type": "string", "enum": values}]
    ledger = {"entities": [*entities, {"type": "order", "id_field": "id", "fields": fields}]}
    agent_id = tenant.agent([], ledger_schema=ledger, what="a ledger schema with a long enum")
    worlds: dict[str, Row] = {
        "wrong values": {"order": {str(at): {"x": "wrong"} for at in range(count)}},
        "the last value": {"order": {str(at): {"x": values[-1]} for at in range(count)}},
        "undeclared types": {f"ordre_{at}": {"1": {}} for at in range(count)},
    }

    def upload(item: tuple[str, Row]) -> None:
        body = {"name": "x", "agent_id": agent_id, "rows": [{"user": "x", "state": item[1]}]}
        tenant.post("/api/datasets", body, what=f"a world of {item[0]}")

    tenant.together(upload, tenant.shuffled(worlds))
