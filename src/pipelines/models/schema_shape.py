"""Whether a schema leaves objects open: maps of any key, which a provider's grammar would close."""

from pipelines.core.text.json_text import Json

_OF_SCHEMAS = ("properties", "$defs", "definitions", "dependentSchemas")
_OF_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_OF_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


def has_open_objects(schema: Json) -> bool:
    """An object that lists its properties may be closed: what is valid then is valid in any case.

    >>> has_open_objects({"type": "object", "properties": {"n": {"type": "integer"}}})
    False
    >>> has_open_objects({"type": "object", "properties": {"reply": {"type": "object"}}})
    True
    >>> has_open_objects({"properties": {"anything": {}}})
    True
    """
    pending: list[Json] = [schema]
    while pending:
        node = pending.pop()
        if node is True or node == {}:
            return True
        if not isinstance(node, dict):
            continue
        if _is_open(node):
            return True
        for key in _OF_SCHEMAS:
            inner = node.get(key)
            pending += inner.values() if isinstance(inner, dict) else ()
        for key in _OF_LISTS:
            several = node.get(key)
            pending += several if isinstance(several, list) else ()
        pending += [node[key] for key in _OF_ONE if key in node]
    return False


def _is_open(node: dict[str, Json]) -> bool:
    if node.get("patternProperties") or node.get("additionalProperties") not in (None, False):
        return True
    kinds = node.get("type")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    is_array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    says_nothing = not node.keys() & {
        *("type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf", "properties", "items"),
    }
    is_map = is_object and not node.get("properties") and node.get("additionalProperties") is not False
    return is_map or (is_array and "items" not in node and "prefixItems" not in node) or says_nothing
