"""Schemas of a document as JSON Schema 2020-12, complete in themselves: what they refer to is under `$defs`.

A definition is converted once, however many operations use it, and a loop of references stays one. What only
a server may set (`readOnly`) is no part of an input, what it is only told (`writeOnly`) none of an output.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from pipelines.core.limits.check_limits import is_pattern
from pipelines.core.limits.pattern_cost import MOST_OF_A_PATTERN, pattern_steps
from pipelines.core.openapi.document import CannotTranslate, Document, fragment_parts
from pipelines.core.text.authored import kind
from pipelines.core.text.json_text import Json, JsonObject, pointer

_ONE = (
    *("additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties", "contentSchema"),
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_BY_NAME = ("properties", "patternProperties", "dependentSchemas")
#: Of OpenAPI alone, or of use only where they stand: definitions are collected from the whole document.
_LEFT_OUT = frozenset(
    (
        *("discriminator", "xml", "externalDocs", "nullable", "example", "examples", "readOnly"),
        *("writeOnly", "$defs", "definitions", "$schema", "$comment"),
    )
)
_DEEPEST_PARTS = 4  # of `allOf` in `allOf`, for what they drop: bases of bases of bases
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class _Definition(NamedTuple):
    schema: Json
    uses: frozenset[str]  # names of the definitions that it refers to
    problem: str | None  # why it cannot be used


class Schemas:
    """Those of a document for one direction. `note` is told what of a schema is not used."""

    def __init__(self, document: Document, *, are_inputs: bool, note: Callable[[str], None]) -> None:
        self._document = document
        self._are_inputs = are_inputs
        self._dropped_by = "readOnly" if are_inputs else "writeOnly"
        self._note = note
        self._names: dict[str, str] = {}  # by reference
        self._references: dict[str, str] = {}  # by name
        self._definitions: dict[str, _Definition] = {}
        self._uses: set[str] = set()  # of what is being converted
        self._at: list[str | int] = []

    def converted(self, node: Json, place: str) -> Json:
        """The schema with its references as `#/$defs/…`, which `with_definitions` then adds."""
        return self._converted(node, place).schema

    def with_definitions(self, schema: JsonObject) -> JsonObject:
        """The schema with every definition that it needs, and no other."""
        # Data in a schema may look like a reference: only names that were given out are followed.
        needed = self._needed(_definitions_used(schema) & self._references.keys())
        if not needed:
            return schema
        return schema | {"$defs": {name: self._definitions[name].schema for name in sorted(needed)}}

    def _needed(self, first: set[str]) -> set[str]:
        needed: set[str] = set()
        pending = list(first)
        while pending:
            name = pending.pop()
            if name in needed:
                continue
            needed.add(name)
            definition = self._definition(name)
            if definition.problem is not None:
                raise CannotTranslate(definition.problem)
            pending.extend(definition.uses)
        return needed

    def _definition(self, name: str) -> _Definition:
        known = self._definitions.get(name)
        if known is None:
            reference = self._references[name]
            try:
                known = self._converted(self._document.target(reference, reference[1:]), reference[1:])
            except CannotTranslate as error:
                known = _Definition(None, frozenset(), str(error))
            self._definitions[name] = known
        return known

    def _converted(self, node: Json, place: str) -> _Definition:
        outer = self._uses, self._at
        self._uses, self._at = set(), []
        try:
            schema = self._node(node)
            return _Definition(schema, frozenset(self._uses), None)
        except CannotTranslate as error:
            raise CannotTranslate(f"{place}{pointer(self._at)}: {error}") from None
        finally:
            self._uses, self._at = outer

    def _node(self, node: Json) -> Json:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            raise CannotTranslate(f"a schema must be a JSON object, not {kind(node)}")
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._referring(node, reference)
        return self._repaired(node, self._keywords(node))

    def _referring(self, node: JsonObject, reference: str) -> Json:
        found: JsonObject = {"$ref": f"#/$defs/{self._name(reference)}"}
        if self._document.is_3_0:  # which ignores what stands beside a reference; `nullable` is always meant
            return {"anyOf": [found, {"type": "null"}]} if node.get("nullable") is True else found
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return found | self._repaired(siblings, self._keywords(siblings))

    def _name(self, reference: str) -> str:
        known = self._names.get(reference)
        if known is None:
            if not reference.startswith("#"):
                complaint = (
                    f"refers to `{reference[:200]}`; references outside of the document are not followed"
                )
                raise CannotTranslate(complaint)
            parts = fragment_parts(reference)
            is_usual = parts[:2] == ["components", "schemas"] and len(parts) == 3
            candidate = _NOT_IN_A_NAME.sub("_", parts[-1] if is_usual else "_".join(parts)) or "_"
            known, count = candidate, 1
            while known in self._references:
                count += 1
                known = f"{candidate}_{count}"
            self._names[reference] = known
            self._references[known] = reference
        self._uses.add(known)
        return known

    def _keywords(self, node: JsonObject) -> JsonObject:
        found: JsonObject = {}
        for key, value in node.items():
            if key in _LEFT_OUT or key.startswith("x-"):
                continue
            self._at.append(key)
            if key in _BY_NAME and isinstance(value, dict):
                found[key] = self._by_name(value, is_properties=key == "properties")
            elif key in _LISTS and isinstance(value, list):
                found[key] = self._listed(value)
            elif key == "items":
                # A list of them is what 2020-12 calls `prefixItems`.
                is_list = isinstance(value, list)
                found["prefixItems" if is_list else "items"] = (
                    self._listed(value) if isinstance(value, list) else self._node(value)
                )
            elif key in _ONE:
                found[key] = self._node(value)
            elif key == "pattern" and not self._is_usable(value):
                pass
            else:
                found[key] = value
            self._at.pop()
        return found

    def _listed(self, values: list[Json]) -> list[Json]:
        found: list[Json] = []
        for at, value in enumerate(values):
            self._at.append(at)
            found.append(self._node(value))
            self._at.pop()
        return found

    def _by_name(self, schemas: Mapping[str, Json], *, is_properties: bool) -> JsonObject:
        found: JsonObject = {}
        for name, schema in schemas.items():
            if is_properties and self._is_dropped(schema):
                continue
            self._at.append(name)
            found[name] = self._node(schema)
            self._at.pop()
        return found

    def _is_dropped(self, schema: Json) -> bool:
        if not isinstance(schema, dict):
            return False
        if self._dropped_by in schema:
            return schema[self._dropped_by] is True
        try:
            return "$ref" in schema and self._document.resolved(schema, "").get(self._dropped_by) is True
        except CannotTranslate:
            return False  # which its conversion will say better

    def _dropped(self, node: JsonObject, depth: int = 0) -> set[str]:
        """The properties of a schema, those of its `allOf` too, that this direction does not have."""
        found: set[str] = set()
        properties, parts = node.get("properties"), node.get("allOf")
        if isinstance(properties, dict):
            found.update(name for name, schema in properties.items() if self._is_dropped(schema))
        for part in parts if isinstance(parts, list) and depth < _DEEPEST_PARTS else ():
            with suppress(CannotTranslate):  # which its conversion will say better
                found |= self._dropped(self._document.resolved(part, ""), depth + 1)
        return found

    def _is_usable(self, pattern: Json) -> bool:
        """Patterns are written for other engines than ours, and a backend checks them anyway."""
        if not isinstance(pattern, str):
            return True  # of which the check of the schema complains
        if pattern_steps(pattern) <= MOST_OF_A_PATTERN and is_pattern(pattern):
            return True
        self._note(f"the pattern `{pattern[:80]}` is not supported here; the backend has to check it")
        return False

    def _repaired(self, node: JsonObject, found: JsonObject) -> JsonObject:
        """What 3.0 says in words of its own, in those of 2020-12; some of 3.1 write them too."""
        for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            is_exclusive = found.get(bound)
            if isinstance(is_exclusive, bool):
                del found[bound]
                if is_exclusive and limit in found:
                    found[bound] = found.pop(limit)
        if isinstance(found.get("required"), bool):  # draft 3, beside a property instead of its object
            del found["required"]
        required = found.get("required")
        if isinstance(required, list) and (dropped := self._dropped(node)):
            found["required"] = [name for name in required if name not in dropped]
        if self._are_inputs:
            self._add_examples(node, found)
        return _nullable(found) if self._document.is_3_0 and node.get("nullable") is True else found

    def _add_examples(self, node: JsonObject, found: JsonObject) -> None:
        examples = node.get("examples")
        if isinstance(examples, list):
            found["examples"] = examples
        elif "example" in node:
            found["examples"] = [node["example"]]


def _nullable(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    if isinstance(kinds, str):
        schema["type"] = [kinds, "null"]
        listed = schema.get("enum")
        if isinstance(listed, list) and None not in listed:
            schema["enum"] = [*listed, None]
        return schema
    return {"anyOf": [schema, {"type": "null"}]} if schema else schema


def _definitions_used(schema: Json) -> set[str]:
    """The definitions that a converted schema names."""
    found: set[str] = set()
    pending: list[Json] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str) and target.startswith("#/$defs/"):
                found.add(target.removeprefix("#/$defs/"))
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return found
