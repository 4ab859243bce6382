"""JSON Schema from type hints: what a tool's parameters look like to a model."""

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Any

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array"},
    Any: {},
    object: {},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    decimal.Decimal: {"type": "string"},
}
_LISTS = (
    *(list, set, frozenset, collections.abc.Sequence, collections.abc.Iterable),
    *(collections.abc.Collection, collections.abc.Set, collections.abc.MutableSequence),
)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class NoSchema(TypeError):
    """A type that JSON has no form for, in words for the author of the tool."""


def schema_of(hint: Any, inside: tuple[Any, ...] = ()) -> dict[str, Any]:
    """The schema of one hint. Raises NoSchema. `inside` are the records that it stands in."""
    try:
        if hint in _PLAIN:
            return dict(_PLAIN[hint])
    except TypeError:  # not hashable, so none of these
        pass
    if typing.get_origin(hint) is typing.Annotated:
        return _annotated(hint, inside)
    if isinstance(hint, typing.NewType):
        return schema_of(hint.__supertype__, inside)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments, inside)
    if origin is typing.Literal:
        return _enum(list(arguments))
    if origin is tuple or hint is tuple:
        return _tuple(arguments, inside)
    if origin in _LISTS or hint in _LISTS:
        unique = {"uniqueItems": True} if (origin or hint) in (set, frozenset) else {}
        return {"type": "array"} | ({"items": schema_of(arguments[0], inside)} if arguments else {}) | unique
    if origin in _MAPPINGS or hint in _MAPPINGS:
        return {"type": "object"} | (
            {"additionalProperties": schema_of(arguments[1], inside)} if len(arguments) > 1 else {}
        )
    return _class_schema(hint, inside)


def _class_schema(hint: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    if hint in inside:
        return {"type": "object"}  # it holds itself: the outer one says what it looks like
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enum([member.value for member in hint])
    if hasattr(hint, "model_json_schema"):  # pydantic, which need not be installed
        return _inline_refs(hint.model_json_schema())
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        fields = [field for field in dataclasses.fields(hint) if field.init]
        needed = [
            field.name
            for field in fields
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
        return _record(hint, [field.name for field in fields], needed, inside)
    if typing.is_typeddict(hint):
        return _record(hint, list(hint.__annotations__), sorted(hint.__required_keys__), inside)
    text = getattr(hint, "__name__", str(hint))
    raise NoSchema(
        f"`{text}` cannot be represented in JSON; use str, int, a dataclass, a TypedDict, a pydantic model, …"
    )


def _annotated(hint: Any, inside: tuple[Any, ...]) -> dict[str, Any]:
    first, *notes = typing.get_args(hint)
    schema = schema_of(first, inside)
    for note in notes:
        text = note if isinstance(note, str) else getattr(note, "description", None)
        if isinstance(text, str) and text:
            schema["description"] = text
    return schema


def _union(options: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    schemas = [schema_of(option, inside) for option in options]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _enum(values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    named = _PLAIN.get(kinds.pop(), {}) if len(kinds) == 1 else {}
    return {**named, "enum": values}


def _tuple(items: tuple[Any, ...], inside: tuple[Any, ...]) -> dict[str, Any]:
    if not items:
        return {"type": "array"}
    if len(items) == 2 and items[1] is Ellipsis:
        return {"type": "array", "items": schema_of(items[0], inside)}
    each = [schema_of(item, inside) for item in items]
    return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}


def _record(hint: Any, names: list[str], needed: list[str], inside: tuple[Any, ...]) -> dict[str, Any]:
    hints = typing.get_type_hints(hint, include_extras=True)
    bare = {name: _strip_required(hints.get(name, Any)) for name in names}
    properties = {name: schema_of(each, (*inside, hint)) for name, each in bare.items()}
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _strip_required(hint: Any) -> Any:
    """Without `Required[…]` and `NotRequired[…]`."""
    is_marked = typing.get_origin(hint) in (typing.Required, typing.NotRequired)
    return typing.get_args(hint)[0] if is_marked else hint


def _inline_refs(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that holds what it refers to: it will stand inside another, where `#/$defs` is elsewhere."""
    defs = schema.get("$defs", {})

    def inline(part: Any, seen: tuple[str, ...]) -> Any:
        if isinstance(part, list):
            return [inline(item, seen) for item in part]
        if not isinstance(part, dict):
            return part
        name = str(part.get("$ref", "")).removeprefix("#/$defs/")
        if name in defs:
            return {"type": "object"} if name in seen else inline(defs[name], (*seen, name))
        return {key: inline(item, seen) for key, item in part.items() if key != "$defs"}

    inlined: dict[str, Any] = inline(schema, ())
    return inlined
