"""JSON Schemas that authors write: whether one can be used, and what a value has against it.

Nothing is ever fetched: a schema is complete in itself. `format` is an annotation, as the standard has it by
default, so that a draft named in `$schema` does not change what a tool accepts.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import islice

import jsonschema_rs
from jsonschema_rs import ReferencingError, ValidationError, ValidationErrorKind

from pipelines.core.limits.check_limits import (
    BACKTRACKING,
    LARGEST_PATTERN,
    CheckLimits,
    is_pattern,
    size,
)
from pipelines.core.limits.pattern_cost import BYTES_OF_A_STEP, patterns_in, schema_pattern_problems
from pipelines.core.limits.schema_cost import REFERENCES, schema_cost
from pipelines.core.limits.weighed_cache import WeighedCache
from pipelines.core.text.authored import did_you_mean, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, dumps, pointer
from pipelines.core.text.problems import Problem

MOST_TOGETHER = 2 * LARGEST_PATTERN  # bytes of the patterns that one text is searched for, compiled
MOST_PROBLEMS = 20  # of one value: a list of ten thousand wrong items has one cause
AND_MORE = "more is wrong than is listed here"
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

# A check costs up to some 20 ns a node; finding words for what is wrong a thousand times that. jsonschema-rs
# collects every error before it gives the first, each with a copy of the value and of the keyword's own:
# half a million wrong items under `anyOf` took 21 s and 3 GB. So it is asked only where there can be few.
MOST_NODES = 1_000_000
MOST_EXPLAINED = 20_000  # steps of the schema over the whole value: at most 0.1 s and 50 MB
LONGEST_SEARCHED_AGAIN = 4_096  # characters under a pattern that needs backtracking
MOST_SCHEMA_EXPLAINED = 5_000  # values in a schema that is wrong
LARGEST_EXPLAINED = 256 * 1024  # bytes of a value of which the first error alone is asked for

_PLAIN_DATA = ("const", "default", "enum", "example", "examples")  # keywords whose values are no schemas
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")  # schemas by name


class CompiledSchema:
    """A schema for many checks, compiled before the first. Equal schemas share their compiled form."""

    __slots__ = ("_limits", "_validator", "accepts", "schema")

    #: Whether a value fits. Of an ordinary schema this is the validator's own function: nothing is counted.
    accepts: Callable[[Json], bool]
    _validator: jsonschema_rs.Validator
    _limits: CheckLimits

    def __init__(self, schema: JsonObject) -> None:
        self.schema = schema
        self.accepts = self._accepts_first

    def compile(self) -> None:
        """Asked for ahead where the first check must not wait for it: a thousand schemas take 0.1 s."""
        if self.accepts == self._accepts_first:
            self._validator, self._limits = _compiled(json.dumps(self.schema, sort_keys=True))
            self.accepts = self._accepts_in_time if self._limits.is_needed else self._validator.is_valid

    def _accepts_first(self, value: Json) -> bool:
        self.compile()
        return self.accepts(value)

    def _accepts_in_time(self, value: Json) -> bool:
        return self._limits.allows(value) and self._validator.is_valid(value)

    def problems(self, value: Json) -> list[Problem]:
        """What is wrong with a value; paths are JSON Pointers into it."""
        self.compile()
        limits = self._limits
        if limits.is_needed and not limits.allows(value):
            return [_too_large(limits, value)]
        if self._validator.is_valid(value):
            return []
        if _is_explainable(value, limits):
            return _first_of([p for error in self._validator.iter_errors(value) for p in _explained(error)])
        few = [] if len(dumps(value)) > LARGEST_EXPLAINED else self._at_the_beginning(value)
        if not few:
            return [Problem(path="", message="does not match the schema; it is too much to say where")]
        return [*few[: MOST_PROBLEMS - 1], Problem(path="", message=AND_MORE)]

    def _at_the_beginning(self, value: Json) -> list[Problem]:
        """What is wrong with the first items of each array, or else the first error that there is."""
        beginning, cut = _beginning(value)
        errors: Iterable[ValidationError] = ()
        # With `if`, what is cut away may decide what is asked of the rest.
        if not self._limits.is_conditional and _is_explainable(beginning, self._limits):
            errors = self._validator.iter_errors(beginning)
        certain = [error for error in errors if not any(_is_within(path, error) for path in cut)]
        # The first error of an alternative would hold all errors of all its branches.
        if not certain and not self._limits.is_alternative and not self._limits.work.backtracking:
            try:
                self._validator.validate(value)
            except ValidationError as error:
                certain = [error]
        return [problem for error in certain for problem in _explained(error)]


def _is_explainable(value: Json, limits: CheckLimits) -> bool:
    work = limits.work_at(value)
    if work.backtracking and size(value, MOST_EXPLAINED) > LONGEST_SEARCHED_AGAIN // 16:
        return False  # each error would be found at the price of one more search
    steps = (work.steps + work.names) * (1 + limits.largest_listed // 100)
    return size(value, MOST_EXPLAINED) * steps <= MOST_EXPLAINED


def _first_of(found: list[Problem]) -> list[Problem]:
    if len(found) <= MOST_PROBLEMS:
        return found
    unlisted = len(found) - MOST_PROBLEMS + 1
    more = Problem(path="", message=f"{AND_MORE}: {unlisted:,} problems are not listed")
    return [*found[: MOST_PROBLEMS - 1], more]


def _beginning(value: Json) -> tuple[Json, list[list[str | int]]]:
    """A value with its arrays cut to as many items as problems are told, and where they were cut."""
    cut: list[list[str | int]] = []

    def shortened(node: Json, path: list[str | int]) -> Json:
        if isinstance(node, dict):
            return {key: shortened(below, [*path, key]) for key, below in node.items()}
        if not isinstance(node, list):
            return node
        if len(node) > MOST_PROBLEMS:
            cut.append(path)
        return [shortened(below, [*path, at]) for at, below in enumerate(node[:MOST_PROBLEMS])]

    return shortened(value, []), cut


def _is_within(cut: list[str | int], error: ValidationError) -> bool:
    """Whether an error may come of the cut alone: it is about the array or what the array is in."""
    return cut[: len(error.instance_path)] == error.instance_path


def _too_large(limits: CheckLimits, value: Json) -> Problem:
    most = max(limits.work_at(value).most_bytes(), 0)
    message = f"has {len(dumps(value)):,} bytes, which would take too long to check against this schema"
    hint = f"up to {most:,} bytes are always checked"
    return Problem(path="", message=message, hint=hint)


def schema_problems(schema: Json, path: str, what: str) -> list[Problem]:
    """Everything that keeps a JSON value from being a schema we can use."""
    if not isinstance(schema, dict):
        return [Problem(path=path, message=f"{what} must be a JSON Schema object, not {kind(schema)}")]
    draft = schema.get("$schema", DEFAULT_DRAFT)
    if not isinstance(draft, str) or draft.rstrip("#") not in DRAFTS:
        message = f"{what} names a `$schema` we do not know"
        return [Problem(path=path + "/$schema", message=message, hint=f"known: {quote_names(DRAFTS)}")]
    if found := schema_pattern_problems(schema, path, what):
        return found  # before any of them is compiled
    found = _metaschema_problems(schema, draft.rstrip("#"), path, what)
    found.extend(_foreign_references(schema, path, what))
    if not found and schema_cost(schema).nodes > MOST_NODES:
        message = f"{what} stands for more than {MOST_NODES:,} nodes when its references are followed"
        return [Problem(path=path, message=message, hint="refer to fewer definitions, or nest them less")]
    return found or _compile_problems(schema, path, what) or _work_problems(schema, path, what)


def _metaschema_problems(schema: JsonObject, draft: str, path: str, what: str) -> list[Problem]:
    metaschema = _metaschema(draft)
    if metaschema.is_valid(schema):
        return []
    if size(schema, MOST_SCHEMA_EXPLAINED) > MOST_SCHEMA_EXPLAINED:  # every error holds a copy of its part
        return [Problem(path=path, message=f"{what} is not a valid JSON Schema, and too large to say where")]
    errors = islice(metaschema.iter_errors(schema), MOST_PROBLEMS)
    return [_schema_complaint(error, path, what) for error in errors]


def _compile_problems(schema: JsonObject, path: str, what: str) -> list[Problem]:
    """What only compiling shows: a local reference that leads nowhere."""
    try:
        _compiled(json.dumps(schema, sort_keys=True))
    except (ValidationError, ReferencingError) as error:
        return [Problem(path=path, message=f"{what} is not a usable JSON Schema: {_short(error.message)}")]
    return []


def _work_problems(schema: JsonObject, path: str, what: str) -> list[Problem]:
    work = _compiled(json.dumps(schema, sort_keys=True))[1].work
    if work.pattern_bytes <= MOST_TOGETHER:
        return []
    message = f"{what} applies patterns to one text that are too large together"
    return [Problem(path=path, message=message, hint="use smaller counts in `{…}`, or fewer patterns")]


# A process serves many agents. Compiled, a schema takes up to 40 times its text, and its patterns more.
_COMPILED: WeighedCache[tuple[jsonschema_rs.Validator, CheckLimits]] = WeighedCache(
    most_bytes=128 * 2**20, most_things=2048
)
_ONE_AT_A_TIME = threading.Lock()  # the interpreter is held for up to 0.1 s: between two, others have a turn


def _compiled(schema: str) -> tuple[jsonschema_rs.Validator, CheckLimits]:
    return _COMPILED.get(schema, partial(_compile, schema))


def _compile(schema: str) -> tuple[tuple[jsonschema_rs.Validator, CheckLimits], int]:
    body = json.loads(schema)
    weight = 40 * len(schema) + sum(each.steps * BYTES_OF_A_STEP for each in patterns_in(body))
    with _ONE_AT_A_TIME:
        validator = jsonschema_rs.validator_for(
            schema, offline=True, validate_formats=False, pattern_options=BACKTRACKING
        )
    return (validator, CheckLimits(body)), weight


@lru_cache(maxsize=len(DRAFTS))
def _metaschema(draft: str) -> jsonschema_rs.Validator:
    # With formats, since a metaschema says `format: regex` of every pattern; by our own limits.
    return jsonschema_rs.validator_for(
        {"$schema": draft, "$ref": draft}, offline=True, validate_formats=True, formats={"regex": is_pattern}
    )


def _schema_complaint(error: ValidationError, path: str, what: str) -> Problem:
    place = path + pointer(error.instance_path)
    message = f"{what} is not a valid JSON Schema: {_short(error.message)}"
    if error.instance_path and error.instance_path[-1] == "type":
        return Problem(
            path=place, message=message, hint=f"`type` is {quote_names(TYPES)}, or an array of these"
        )
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
                if not isinstance(below, (dict, list)):
                    continue
                here = f"{place}/{key}" if key.isidentifier() else place + pointer([key])
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
            option_texts = [str(option) for option in options]
            hint = did_you_mean(str(error.instance), option_texts)
            yield Problem(path=place, message=_short(f"must be {quote_names(option_texts)}"), hint=hint)
        case ValidationErrorKind.MinItems(limit=limit):  # without the value, which may be long
            yield Problem(path=place, message=f"has {_items(error)} items: at least {limit:,} are needed")
        case ValidationErrorKind.MaxItems(limit=limit):
            yield Problem(path=place, message=f"has {_items(error)} items: at most {limit:,} may be")
        case _:
            yield Problem(path=place, message=_short(error.message))


def _items(error: ValidationError) -> str:
    return f"{len(error.instance):,}" if isinstance(error.instance, list) else "other"


def _short(message: str) -> str:
    if len(message) <= LONGEST_MESSAGE:
        return message
    half = LONGEST_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"
