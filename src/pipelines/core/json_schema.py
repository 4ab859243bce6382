"""JSON Schemas that authors write: whether one can be used, and what a value has against it.

Nothing is ever fetched: a schema is complete in itself. `format` is an annotation, as the standard has it by
default, so that a draft named in `$schema` does not change what a tool accepts.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import jsonschema_rs
from jsonschema_rs import ReferencingError, ValidationError, ValidationErrorKind

from pipelines.core.authored import did_you_mean, kind, quoted
from pipelines.core.json_text import Json, JsonObject, depth, pointer
from pipelines.core.problems import Problem
from pipelines.core.schema_cost import REFERENCES, SchemaCost, schema_cost

MOST_PROBLEMS = 100  # of one value: a list of ten thousand wrong items has one cause
LONGEST_MESSAGE = 300  # jsonschema-rs quotes the whole value it complains about

DEFAULT_DRAFT = "https://json-schema.org/draft/2020-12/schema"
DRAFTS = (
    DEFAULT_DRAFT,
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
)
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

# A check costs up to some 20 ns a node; finding words for what is wrong a thousand times that.
MOST_NODES = 1_000_000
MOST_NODES_EXPLAINED = 20_000
DEEPEST_EXPLAINED = 4  # value under a recursive schema, whose alternatives multiply with each level

_PLAIN_DATA = ("const", "default", "enum", "example", "examples")  # keywords whose values are no schemas
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")  # schemas by name

# Some patterns need backtracking; this much is a few milliseconds, after which the value counts as no match.
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000)


class _Compiled(NamedTuple):
    validator: jsonschema_rs.Validator
    cost: SchemaCost


class CompiledSchema:
    """A schema for many checks, compiled before the first. Equal schemas share their compiled form."""

    __slots__ = ("_made", "schema")

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self._made: _Compiled | None = None

    def compile(self) -> _Compiled:
        """Asked for ahead where the first check must not wait for it: a thousand schemas take 0.1 s."""
        if self._made is None:
            self._made = _Compiled(
                _compiled(json.dumps(self.schema, sort_keys=True)), schema_cost(self.schema)
            )
        return self._made

    def accepts(self, value: Json) -> bool:
        return (self._made or self.compile()).validator.is_valid(value)

    def problems(self, value: Json) -> list[Problem]:
        """What is wrong with a value; paths are JSON Pointers into it."""
        validator, cost = self._made or self.compile()
        if validator.is_valid(value):
            return []
        is_deep = cost.grows_with_depth and depth(value) > DEEPEST_EXPLAINED
        if is_deep or cost.nodes > MOST_NODES_EXPLAINED:
            return [Problem(path="", message="does not match the schema, which is too branched to say where")]
        errors = islice(validator.iter_errors(value), MOST_PROBLEMS)
        return [problem for error in errors for problem in _explained(error)][:MOST_PROBLEMS]


def schema_problems(schema: Json, path: str, what: str) -> list[Problem]:
    """Everything that keeps a JSON value from being a schema we can use."""
    if not isinstance(schema, dict):
        return [Problem(path=path, message=f"{what} must be a JSON Schema object, not {kind(schema)}")]
    draft = schema.get("$schema", DEFAULT_DRAFT)
    if not isinstance(draft, str) or draft.rstrip("#") not in DRAFTS:
        message = f"{what} names a `$schema` we do not know"
        return [Problem(path=path + "/$schema", message=message, hint=f"known: {quoted(DRAFTS)}")]
    errors = islice(_metaschema(draft.rstrip("#")).iter_errors(schema), MOST_PROBLEMS)
    found = [_schema_complaint(error, path, what) for error in errors]
    found.extend(_foreign_references(schema, path, what))
    if not found and schema_cost(schema).nodes > MOST_NODES:
        message = f"{what} stands for more than {MOST_NODES:,} nodes when its references are followed"
        return [Problem(path=path, message=message, hint="refer to fewer definitions, or nest them less")]
    return found or _compile_problems(schema, path, what)


def _compile_problems(schema: JsonObject, path: str, what: str) -> list[Problem]:
    """What only compiling shows: a local reference that leads nowhere."""
    try:
        _compiled(json.dumps(schema, sort_keys=True))
    except (ValidationError, ReferencingError) as error:
        return [Problem(path=path, message=f"{what} is not a usable JSON Schema: {_short(error.message)}")]
    return []


# Bounded: a process serves many agents, and each compiled schema holds some tens of kilobytes.
@lru_cache(maxsize=2048)
def _compiled(schema: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema, offline=True, validate_formats=False, pattern_options=_PATTERNS
    )


@lru_cache(maxsize=len(DRAFTS))
def _metaschema(draft: str) -> jsonschema_rs.Validator:
    # With formats, since a metaschema says `format: regex` of every pattern.
    return jsonschema_rs.validator_for({"$schema": draft, "$ref": draft}, offline=True, validate_formats=True)


def _schema_complaint(error: ValidationError, path: str, what: str) -> Problem:
    place = path + pointer(error.instance_path)
    message = f"{what} is not a valid JSON Schema: {_short(error.message)}"
    if error.instance_path and error.instance_path[-1] == "type":
        return Problem(path=place, message=message, hint=f"`type` is {quoted(TYPES)}, or an array of these")
    return Problem(path=place, message=message)


def _foreign_references(schema: JsonObject, path: str, what: str) -> Iterator[Problem]:
    """References out of the document, and ids inside it, which would change what `#` means below them."""
    own_id = "id" if "draft-04" in str(schema.get("$schema")) else "$id"
    for node, place in _subschemas(schema, path):
        for key in REFERENCES:
            target = node.get(key)
            if isinstance(target, str) and not target.startswith("#"):
                message = f"{what} refers to `{target}`; references to other documents are not followed"
                hint = "copy the definition under `$defs` and refer to it as `#/$defs/…`"
                yield Problem(path=place + pointer([key]), message=message, hint=hint)
        if isinstance(node.get(own_id), str) and node is not schema:
            message = f"{what} has an `{own_id}` of its own inside; a schema is one document here"
            yield Problem(path=place + pointer([own_id]), message=message, hint="leave it out")


def _subschemas(schema: JsonObject, path: str) -> Iterator[tuple[JsonObject, str]]:
    """Every object that may be read as a schema: not the data in it, nor the tables of schemas by name."""
    pending: list[tuple[Json, str]] = [(schema, path)]
    while pending:
        node, place = pending.pop()
        if isinstance(node, list):
            pending.extend((item, f"{place}/{index}") for index, item in enumerate(node))
        elif isinstance(node, dict):
            yield node, place
            for key, below in node.items():
                here = place + pointer([key])
                if key in _BY_NAME and isinstance(below, dict):
                    pending.extend((each, here + pointer([name])) for name, each in below.items())
                elif key not in _PLAIN_DATA:
                    pending.append((below, here))


def _explained(error: ValidationError) -> Iterator[Problem]:
    """jsonschema-rs's complaint, at the member it is about rather than at the object around it."""
    place = pointer(error.instance_path)
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            yield Problem(path=place + pointer([name]), message=f"`{name}` is required")
        case ValidationErrorKind.AdditionalProperties(unexpected=names):
            for name in names:
                yield Problem(path=place + pointer([name]), message=f"`{name}` is not declared")
        case ValidationErrorKind.Enum(options=options) if len(options) <= 20:
            shown = [str(option) for option in options]
            hint = did_you_mean(str(error.instance), shown)
            yield Problem(path=place, message=_short(f"must be {quoted(shown)}"), hint=hint)
        case _:
            yield Problem(path=place, message=_short(error.message))


def _short(message: str) -> str:
    if len(message) <= LONGEST_MESSAGE:
        return message
    half = LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"
