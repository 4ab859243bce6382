"""What a JSON Schema may cost to check: how many nodes it has once every reference is followed.

References let a short text stand for a huge schema: twenty definitions, each naming the next one twice, are
a million nodes. Such a schema would hold up every other run in the process, so it is measured before use.
"""

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from pipelines.core.text.json_text import Json, JsonObject

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_MOST_COUNTED = 10**9
_DEEPEST = 300  # nodes on one path; documents are at most 64 deep, so this is about chains of references


#: Keywords by which two schemas may look at one value: inside a loop, their work doubles with each level.
_MULTIPLYING = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "unevaluatedProperties"}
)


class SchemaCost(NamedTuple):
    nodes: int
    grows_with_depth: bool  # of the value: the schema contains itself, and not just once


def schema_cost(schema: JsonObject) -> SchemaCost:
    """The size of a schema with all its local references followed, a loop counted once."""
    measure = _Measure(schema)
    nodes = measure.nodes(schema, 0)
    return SchemaCost(nodes, measure.is_recursive and measure.multiplies)


#: Keywords by which a schema applies another one.
APPLYING = _MULTIPLYING.union(
    (
        "then",
        "else",
        "dependencies",
        "items",
        "prefixItems",
        "additionalItems",
        "contains",
        "unevaluatedItems",
    ),
    ("properties", "additionalProperties", "propertyNames", "uniqueItems"),
    REFERENCES,
)


class SchemaNodes:
    """A schema's subschemas by what they are applied to, references followed."""

    def __init__(self, schema: JsonObject) -> None:
        self._measure = _Measure(schema)
        self._measure.nodes(schema, 0)
        self.is_recursive = self._measure.is_recursive
        self.is_alternative = self._measure.multiplies
        self.is_conditional = self._measure.has_conditions

    def at_same_value(self, schema: JsonObject) -> list[Json]:
        """Those that look at the very value the schema looks at."""
        found = [each for key in ("allOf", "anyOf", "oneOf") for each in _listed(schema.get(key))]
        found += [schema[key] for key in ("not", "if", "then", "else") if key in schema]
        for key in ("dependentSchemas", "dependencies"):
            found += [each for each in _named(schema.get(key)) if isinstance(each, dict)]
        return [*found, *self._measure.targets(schema)]

    def of_items(self, schema: JsonObject) -> list[list[Json]]:
        """Groups of subschemas for the items of an array: of each group one is applied to an item."""
        items = schema.get("items")
        by_place = [*_listed(schema.get("prefixItems")), *(_listed(items) or [items])]
        return [
            [*by_place, schema.get("additionalItems")],
            [schema.get("contains")],
            [schema.get("unevaluatedItems")],
        ]

    def of_members(self, schema: JsonObject) -> list[list[Json]]:
        """The same for the members of an object. Keys are checked, too: as if they were members."""
        by_name = [*_named(schema.get("properties")), schema.get("additionalProperties")]
        by_pattern = [[each] for each in _named(schema.get("patternProperties"))]
        return [by_name, *by_pattern, [schema.get("propertyNames")], [schema.get("unevaluatedProperties")]]

    def met(self, schema: JsonObject, value: Json) -> Iterator[tuple[Json, Json]]:
        """The subschemas applied to a value, its items and members, each with what it is applied to."""
        if APPLYING.isdisjoint(schema):
            return
        yield from ((same, value) for same in self.at_same_value(schema))
        if isinstance(value, list):
            below = [each for group in self.of_items(schema) for each in group if isinstance(each, dict)]
            yield from ((each, item) for item in value for each in below)
        elif isinstance(value, dict):
            named = schema.get("properties")
            by_name = named if isinstance(named, dict) else {}
            others = [each for group in self.of_members(schema | {"properties": None}) for each in group]
            below = [each for each in others if isinstance(each, dict)]
            for key, member in value.items():
                yield from ((by_name[key], member) for _ in (key,) if key in by_name)
                yield from ((each, node) for each in below for node in (key, member))


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _named(value: Json) -> list[Json]:
    return list(value.values()) if isinstance(value, dict) else []


class _Measure:
    def __init__(self, root: JsonObject) -> None:
        self.is_recursive = False
        self.multiplies = False
        self.has_conditions = False
        self._root = root
        self._anchors = dict(_anchored(root))
        self._known: dict[int, int | None] = {}  # by identity of the node; None while it is being counted

    def nodes(self, node: Json, depth: int) -> int:
        if not isinstance(node, (dict, list)):
            return 0
        if depth > _DEEPEST:
            return _MOST_COUNTED
        if id(node) in self._known:
            known = self._known[id(node)]
            self.is_recursive = self.is_recursive or known is None
            return known or 1
        self._known[id(node)] = None
        self.multiplies = self.multiplies or not _MULTIPLYING.isdisjoint(
            node if isinstance(node, dict) else ()
        )
        self.has_conditions = self.has_conditions or (isinstance(node, dict) and "if" in node)
        below = [*(node.values() if isinstance(node, dict) else node), *self.targets(node)]
        total = 1
        for child in below:
            if isinstance(child, (dict, list)):  # asked here, too: most are not, and a call each is the most
                total += self.nodes(child, depth + 1)
        self._known[id(node)] = min(total, _MOST_COUNTED)
        return min(total, _MOST_COUNTED)

    def targets(self, node: Json) -> Iterator[Json]:
        for key in REFERENCES if isinstance(node, dict) else ():
            reference = node.get(key) if isinstance(node, dict) else None
            if isinstance(reference, str) and reference.startswith("#"):
                yield self._target(unquote(reference[1:]))

    def _target(self, fragment: str) -> Json:
        """What a local reference leads to; None where it leads nowhere, of which compiling will complain."""
        if not fragment:
            return self._root
        if not fragment.startswith("/"):
            return self._anchors.get(fragment)
        node: Json = self._root
        for part in fragment[1:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict):
                node = node.get(key)
            elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return node


def _anchored(schema: JsonObject) -> Iterator[tuple[str, Json]]:
    pending: list[Json] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield from ((name, node) for key in _ANCHORS if isinstance(name := node.get(key), str))
            pending.extend(each for each in node.values() if isinstance(each, (dict, list)))
        elif isinstance(node, list):
            pending.extend(node)
