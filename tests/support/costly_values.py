"""Schemas and values of up to one megabyte that are costly to check, to name, or to say what is wrong with.

Run as a program it checks them all, so that a test can do so in a process with limits.
"""

import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from pipelines.core.limits.json_schema import CompiledSchema, schema_problems

MEBIBYTE = 2**20


def _texts(least: int, count: int) -> list[dict[str, Any]]:
    return [{"type": "string", "minLength": least + at} for at in range(count)]


def _nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


ONES = [1] * (MEBIBYTE // 2 - 10)
EMPTY = [{}] * (MEBIBYTE // 3 - 10)
LETTERS = "a" * (MEBIBYTE - 100)
KEYS = {f"{at:x}": 1 for at in range(100_000)}
BITS = f"{random.Random(1).getrandbits(MEBIBYTE - 100):0{MEBIBYTE - 100}b}"
_NODE = {"$ref": "#/$defs/node"}
_TREE = [{"type": "array", "items": _NODE, "minItems": 3}, {"type": "array", "items": _NODE}, {"maxItems": 0}]

CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "alternatives for each item": ({"items": {"anyOf": _texts(0, 2)}}, ONES),
    "one of several for each item": ({"items": {"oneOf": _texts(0, 2)}}, ONES),
    "a thousand alternatives, the last one right": (
        {"items": {"anyOf": [*_texts(0, 1_000), {"type": "integer"}]}},
        ONES,
    ),
    "two thousand enum members": ({"items": {"enum": [f"e{at}" for at in range(2_000)]}}, ONES),
    "enum members that are objects": ({"items": {"enum": [{"a": at} for at in range(2_000)]}}, EMPTY),
    "a large constant": ({"items": {"const": {"a": list(range(1_000))}}}, EMPTY),
    "a thousand required names": ({"items": {"required": [f"r{at}" for at in range(1_000)]}}, EMPTY),
    "a thousand dependencies": (
        {"items": {"dependentRequired": {f"p{at}": ["a"] for at in range(1_000)}}},
        EMPTY,
    ),
    "hundred demands on each item": ({"items": {"allOf": [{"minimum": -at} for at in range(100)]}}, ONES),
    "fractions": ({"items": {"multipleOf": 0.01}}, [0.5] * 250_000),
    "different items": ({"uniqueItems": True, "minItems": MEBIBYTE}, list(range(140_000))),
    "none of the items": ({"contains": {"anyOf": _texts(0, 1_000)}}, ONES),
    "patterns for keys": ({"patternProperties": {f"^x{at}.*a$": {} for at in range(200)}}, KEYS),
    "undeclared keys": ({"additionalProperties": {"type": "string"}}, KEYS),
    "unevaluated members": (
        {"anyOf": [{"properties": {f"{at:x}": True}} for at in range(100)], "unevaluatedProperties": False},
        KEYS,
    ),
    "alternatives that all copy the value": ({"anyOf": [{"type": "integer"}] * 200}, ONES),
    "a pattern with lookahead": ({"pattern": "(?=a*b)a"}, LETTERS),
    "a pattern that counts": ({"pattern": "1[01]{400}2"}, BITS),
    "a pattern that counts twice": ({"pattern": "((0|1|01|10){1,50}){1,50}2"}, BITS),
    "items under a pattern": (
        {"items": {"not": {"pattern": "1[01]{400}2"}}},
        [BITS[at : at + 500] for at in range(0, MEBIBYTE - 600, 503)],
    ),
    "a text of the wrong type": ({"type": "integer"}, LETTERS),
    "a list of the wrong type": ({"allOf": [{"type": "string"}] * 200}, ONES),
    "alternatives that contain themselves": (
        {"anyOf": _TREE, "$defs": {"node": {"anyOf": _TREE}}},
        _nested(40),
    ),
}


def as_arguments(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The case as the schema of a tool and the arguments of a call."""
    schema, value = CASES[name]
    own = {key: below for key, below in schema.items() if key != "$defs"}
    return {"type": "object", "properties": {"v": own}, "$defs": schema.get("$defs", {})}, {"v": value}


def answers() -> Iterator[tuple[str, int]]:
    for name in CASES:
        schema, arguments = as_arguments(name)
        assert schema_problems(schema, "", "it") == [], name
        compiled = CompiledSchema(schema)
        yield name, 0 if compiled.accepts(arguments) else len(compiled.problems(arguments))


if __name__ == "__main__":
    import resource

    memory, seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    print(json.dumps(dict(answers())))
