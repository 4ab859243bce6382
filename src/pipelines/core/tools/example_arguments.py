"""Example arguments for trying a tool by hand: of the right types, with ids of the world."""

from pipelines.core.text.json_text import Json, JsonObject

MOST_DEPTH = 4  # of objects within objects
_BY_TYPE: dict[str, Json] = {"string": "", "integer": 1, "number": 1, "boolean": True, "null": None}


def example_arguments(schema: JsonObject, state: JsonObject) -> JsonObject:
    """The required properties of a tool's `input_schema`, or all of them if none is required."""
    found = _object_example(schema, state, 0)
    return found if isinstance(found, dict) else {}


def _object_example(schema: JsonObject, state: JsonObject, depth: int) -> Json:
    fields = schema.get("properties")
    if not isinstance(fields, dict) or depth >= MOST_DEPTH:
        return {}
    required = schema.get("required")
    named = [name for name in fields if not isinstance(required, list) or name in required]
    return {name: _field_example(name, fields[name], state, depth) for name in named or list(fields)}


def _field_example(name: str, schema: Json, state: JsonObject, depth: int) -> Json:
    if not isinstance(schema, dict):
        return ""
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        listed = schema.get(key)
        if isinstance(listed, list) and listed:
            return listed[0]
    kinds = schema.get("type", "string")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    if kind == "object":
        return _object_example(schema, state, depth + 1)
    if kind == "array":
        return [_field_example(name, schema.get("items"), state, depth + 1)] if "items" in schema else []
    known = _example_id(name, state)
    if known is not None and kind in ("string", "integer"):
        return known if kind == "string" else int(known) if known.isdigit() else 1
    least = schema.get("minimum")
    return least if isinstance(least, int | float) else _BY_TYPE.get(str(kind), "")


def _example_id(name: str, state: JsonObject) -> str | None:
    """For `order_id` or `order_ids`, the id of an order of this world, if there is one."""
    word = name.lower().removesuffix("s").removesuffix("_id").removesuffix("id").strip("_")
    for entity_type, of_type in state.items():
        kind = entity_type.lower()
        if isinstance(of_type, dict) and of_type and (not word or kind in (word, f"{word}s")):
            return next(iter(of_type))
    return None
