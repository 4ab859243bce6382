"""The shape of a reply: what output_schema asks for, filled from the record, the arguments and the ids.

Without an output schema a record is returned as it is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipelines.core.english.words import is_plural, joined, singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import field_at
from pipelines.core.simulation.domain.references import noun_of_id
from pipelines.core.simulation.domain.shapes import Field, find_field
from pipelines.core.simulation.expr.make import (
    ARGS,
    NULL,
    Draft,
    arg,
    call,
    constant,
    is_given,
    is_null,
    listed,
)
from pipelines.core.simulation.expr.nodes import Conditional, Constant, Entry, Expr, ListOf, MappingOf, Name
from pipelines.core.simulation.reading.steps import dot
from pipelines.core.text.json_text import Json, JsonObject

_DONE_WORDS = word_set("success ok succeeded done acknowledged accepted valid")
_COUNT_WORDS = word_set("count total total_count num number size length")


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a reply can be made of: one record, or a list of them."""

    value: Expr  # the record, or the list
    noun: str
    fields: Mapping[str, Field]
    id: Expr | None = None  # the record's id
    is_list: bool = False
    element: str = "each"  # the name of an element, inside a list
    extra: Mapping[str, Expr] = field(default_factory=dict)  # further values by name
    id_words: frozenset[str] = frozenset()  # what its ids are called: slug
    own_names: frozenset[str] = frozenset()  # what such a record is called, for properties that are its id
    id_is_number: bool = False  # the id is a whole number written as text
    tells_done: bool = (
        True  # `ok` and `success` say that it was done: not of a read, which asks whether it is so
    )
    invents_all: bool = False  # nothing of it is in the world: optional properties are invented, too


def reply(source: Source, schema: Mapping[str, Json] | None, arguments: Sequence[Argument] = ()) -> Draft:
    """The VALUE a plan returns."""
    if not schema or not (schema.get("properties") or schema.get("items") or schema.get("type")):
        return source.value
    return _fitted(source, schema, arguments)


def _fitted(source: Source, schema: Mapping[str, Json], arguments: Sequence[Argument]) -> Draft:
    kind = _type(schema)
    properties = schema.get("properties")
    if kind == "array":
        return (
            _list(source, schema, arguments)
            if source.is_list
            else [_fitted(source, _items(schema), arguments)]
        )
    if isinstance(properties, dict) and properties:
        return _object(source, properties, schema.get("required"), arguments)
    if kind == "boolean" and not source.is_list:
        return is_given(source.value)
    return source.value


def _list(source: Source, schema: Mapping[str, Json], arguments: Sequence[Argument]) -> Expr:
    """A comprehension over the list, each element in the shape asked for."""
    items = _items(schema)
    if items.get("properties"):
        one = replace(source, value=Name(source.element), is_list=False)
        return listed(as_expression(_fitted(one, items, arguments)), source.element, source.value)
    has_ids = _type(items) in ("string", "integer") and source.id is not None
    return listed(source.id or NULL, source.element, source.value) if has_ids else source.value


def _object(
    source: Source, properties: JsonObject, required: Json, arguments: Sequence[Argument]
) -> dict[str, Draft]:
    needed = required if isinstance(required, list) else []
    shaped: dict[str, Draft] = {}
    for name, schema in properties.items():
        part = schema if isinstance(schema, dict) else {}
        value = _property(name, part, source, arguments)
        if value is _NOTHING and (name in needed or source.invents_all):
            value = _invented(name, part, source)
        if value is not _NOTHING:
            shaped[name] = value
    return shaped


def _invented(name: str, schema: JsonObject, source: Source) -> Expr | None:
    """A value of the type declared, always the same for this record, or for these arguments."""
    declared = schema.get("type")
    if isinstance(declared, list) and "null" in declared:
        return None
    of = ARGS if source.id is None or source.is_list else source.id
    return call("invented", constant(schema), constant(name), of)


_NOTHING: Draft = object()


def _property(name: str, schema: JsonObject, source: Source, arguments: Sequence[Argument]) -> Draft:
    if name in source.extra:
        extra = source.extra[name]
        return _whole(extra, schema) if source.id_is_number and extra == source.id else extra
    if source.is_list:
        return _property_of_list(name, schema, source, arguments)
    words = tokens(name)
    own = find_path(source.fields, name)
    if own is not None:
        return _part(dot(source.value, *own), schema, field_at(source.fields, own))
    if schema.get("properties") and singular(words[-1]) in tokens(source.noun):
        return _fitted(source, schema, arguments)
    if source.id is not None and _is_own_id(name, source):
        return _whole(source.id, schema) if source.id_is_number else source.id
    given = next((one for one in arguments if joined(one.words) == joined(words)), None)
    if given is not None:
        return arg(given.name)
    if source.tells_done and words[-1] in _DONE_WORDS and _type(schema) in ("boolean", ""):
        return True
    return _stated(schema)


def _property_of_list(name: str, schema: JsonObject, source: Source, arguments: Sequence[Argument]) -> Draft:
    if _type(schema) == "array":
        return _list(source, schema, arguments)
    if tokens(name)[-1] in _COUNT_WORDS and _type(schema) in ("integer", "number", ""):
        return call("len", source.value)
    given = next((one for one in arguments if joined(one.words) == joined(tokens(name))), None)
    return arg(given.name) if given is not None else _stated(schema)


def _part(value: Expr, schema: JsonObject, field: Field | None) -> Draft:
    """A nested object or list, cut down to the properties asked for."""
    if field is None or not (schema.get("properties") or _items(schema).get("properties")):
        return _converted(value, schema, field) if field is not None else value
    kept = call("values", value) if field.keeps == "map" else value
    noun = singular(tokens(field.name)[-1])
    inner = Source(value=kept, noun=noun, fields=field.parts, is_list=field.keeps is not None, element="part")
    return _fitted(inner, schema, ())


def _converted(value: Expr, schema: JsonObject, field: Field) -> Expr:
    """In the type declared, where the world keeps another and nothing is lost on the way."""
    wanted_type, kinds = _type(schema), field.kinds - {"null"}
    if wanted_type == "string" and kinds == {"number"}:
        return Conditional(is_null(value), NULL, call("str", value))
    texts = field.values or (field.example,)
    is_whole = kinds == {"text"} and all(str(one).isdecimal() and str(int(str(one))) == one for one in texts)
    return call("int", value) if wanted_type in ("integer", "number") and is_whole else value


def _is_own_id(name: str, source: Source) -> bool:
    words = tokens(name)
    if len(words) == 1 and words[0] in source.id_words:
        return True
    if words == ("id",) or words == (*tokens(source.noun), "id"):
        return True
    return joined(noun_of_id(name)) in source.own_names


def _whole(value: Expr, schema: Mapping[str, Json]) -> Expr:
    return call("int", value) if _type(schema) in ("integer", "number") else value


def _stated(schema: JsonObject) -> Draft:
    """const, default, example, or the first of an enum; never a value made up."""
    for key in ("const", "default"):
        if key in schema:
            return constant(schema[key])
    return _NOTHING


def _type(schema: Mapping[str, Json]) -> str:
    declared = schema.get("type")
    if isinstance(declared, list):
        return next((str(one) for one in declared if one != "null"), "")
    return str(declared) if declared else ""


def _items(schema: Mapping[str, Json]) -> JsonObject:
    items = schema.get("items")
    return items if isinstance(items, dict) else {}


def find_path(fields: Mapping[str, Field], name: str, depth: int = 2) -> tuple[str, ...] | None:
    """Where such a field is: at the top, else inside an object; `customer_email` is customer.email."""
    own = find_field(fields, name)
    if own is not None:
        return (own,)
    words = tokens(name)
    inside = {known: one.parts for known, one in fields.items() if one.keeps is None and one.parts}
    begun = {
        known: words[len(tokens(known)) :] for known in inside if words[: len(tokens(known))] == tokens(known)
    }
    options = [(known, "_".join(rest)) for known, rest in begun.items() if rest]
    options += [(known, name) for known in inside] if depth > 0 else []
    found = ((known, find_path(inside[known], other, depth - 1)) for known, other in options)
    return next(((known, *rest) for known, rest in found if rest is not None), None)


def as_expression(value: Draft) -> Expr:
    """A VALUE (mapping, list, expression) as one expression, for use inside a comprehension."""
    if isinstance(value, dict):
        return MappingOf(tuple(Entry(Constant(key), as_expression(part)) for key, part in value.items()))
    if isinstance(value, list):
        return ListOf(tuple(map(as_expression, value)))
    return value if isinstance(value, Expr) else constant(value)


def properties_of(schema: Mapping[str, Json] | None) -> Mapping[str, Json]:
    properties = schema.get("properties") if schema else None
    return properties if isinstance(properties, dict) else {}


def wants_list(schema: Mapping[str, Json] | None) -> bool | None:
    """Whether the output schema asks for many; None where there is none to say."""
    if not schema:
        return None
    if _type(schema) == "array":
        return True
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return None
    lists = [name for name, part in properties.items() if isinstance(part, dict) and _type(part) == "array"]
    return (
        any(is_plural(tokens(name)[-1]) or tokens(name)[-1] == "result" for name in lists)
        and len(properties) <= 4
    ) or len(lists) == len(properties) == 1  # `equipment`, which has no plural
