"""The schema of a record, made of its class: see `pipelines.wire.records`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType
from typing import Any, Literal, NotRequired, Required, get_args, get_origin, is_typeddict

from pipelines.core.text.json_text import JsonObject
from pipelines.server.document.parts import (
    ANY,
    BINARY,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Page,
    by_name,
    either,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    ref,
)
from pipelines.wire.records import (
    As,
    Mark,
    Named,
    Schema,
    Via,
    Without,
    component_of,
    hints_of,
    is_any_json,
    is_union,
    keys_of,
    peeled,
)

_PLAIN: dict[Any, JsonObject] = {
    str: TEXT,
    int: WHOLE,
    float: NUMBER,
    bool: YES_NO,
    bytes: BINARY,
    NoneType: {"type": "null"},
}


def components(records: Iterable[type | Page]) -> dict[str, JsonObject]:
    """The schemas of these records and of all that are in them, by name."""
    schemas: dict[str, JsonObject] = {}
    for each in records:
        if isinstance(each, Page):
            _schema(each.of, (), schemas)
            schemas[each.name] = page_of(component_of(each.of), each.what)
        else:
            _schema(each, (), schemas)
    return schemas


def properties_of(record: type) -> dict[str, JsonObject]:
    """Of a record that stands in a larger answer."""
    return {name: schema for name, schema, _ in _keys(record, {})}


def schema_of(answered: type | Page | str | JsonObject) -> JsonObject:
    """A reference to the schema of a record or of a page of records; a schema stays as it is."""
    if isinstance(answered, dict):
        return answered
    if isinstance(answered, Page):
        return ref(answered.name)
    return ref(component_of(answered) if isinstance(answered, type) else answered)


def _schema(kind: Any, notes: Sequence[Any], made: dict[str, JsonObject]) -> JsonObject:
    """The schema of a type. What it refers to is added to `made`."""
    schema = _bare(kind, notes, made)
    for note in notes:
        if isinstance(note, str):
            schema = {**schema, "description": note}
        elif isinstance(note, Schema):
            schema = {**schema, **note.more}
    return schema


def _bare(kind: Any, notes: Sequence[Any], made: dict[str, JsonObject]) -> JsonObject:
    for note in notes:
        if isinstance(note, As):
            schema = ref(note.kind.key) if isinstance(note.kind, Named) else _of(note.kind, made)
            return or_null(schema) if note.or_null else schema
    for note in notes:
        if isinstance(note, Via):
            is_type = isinstance(note.change, type)
            return _of(note.change if is_type else hints_of(note.change)["return"], made)
    origin, arguments = get_origin(kind), get_args(kind)
    if is_any_json(kind):
        return ANY
    if is_union(kind):
        some = [_of(each, made) for each in arguments if each is not NoneType]
        schema = either(*some) if len(some) > 1 else some[0]
        return or_null(schema) if NoneType in arguments else schema
    if origin is Literal:
        return one_of(arguments) if len(arguments) > 1 else {"const": arguments[0]}
    if origin in (tuple, list, Sequence, frozenset):
        return listed(_of(arguments[0], made))
    if origin in (dict, Mapping):
        return OBJECT if is_any_json(arguments[1]) else by_name(_of(arguments[1], made))
    if kind in _PLAIN:
        return _PLAIN[kind]
    if issubclass(kind, tuple):
        return listed(_of(next(iter(hints_of(kind).values())), made))
    if issubclass(kind, Enum):
        return one_of(each.value for each in kind)
    return _of_record(kind, made)


def _of(kind: Any, made: dict[str, JsonObject]) -> JsonObject:
    return _schema(*peeled(kind), made)


def _of_record(kind: Any, made: dict[str, JsonObject]) -> JsonObject:
    name = component_of(kind)
    if name in made:
        return ref(name)
    if name:
        made[name] = {}  # a record may be in itself
    keys = {key: (schema, is_certain) for key, schema, is_certain in _keys(kind, made)}
    certain = {key: schema for key, (schema, is_certain) in keys.items() if is_certain}
    schema = record(_description(kind), certain)
    schema["properties"] = {key: schema for key, (schema, _) in keys.items()}
    if not name:
        return schema
    made[name] = schema
    return ref(name)


def _description(kind: type) -> str:
    """The first paragraph of the docstring; not what `dataclass` writes where there is none."""
    text = kind.__doc__ or ""
    return "" if text.startswith(f"{kind.__name__}(") else " ".join(text.split("\n\n")[0].split())


def _keys(kind: Any, made: dict[str, JsonObject]) -> Iterator[tuple[str, JsonObject, bool]]:
    """The key, the schema of its value, and whether it is always there."""
    if is_typeddict(kind):
        for name, hint in hints_of(kind).items():
            is_marked = get_origin(hint) in (Required, NotRequired)
            yield name, _of(get_args(hint)[0] if is_marked else hint, made), name in kind.__required_keys__
        return
    for key in keys_of(kind):
        if Mark.FLAT not in key.notes:
            is_certain = Mark.OMITTED not in key.notes and Mark.OFTEN not in key.notes
            yield key.name, _schema(key.type, key.notes, made), is_certain
            continue
        inner = next((note.kind for note in key.notes if isinstance(note, As)), key.type)
        left_out = next((note.keys for note in key.notes if isinstance(note, Without)), frozenset())
        if get_origin(inner) is not dict:
            yield from (each for each in _keys(inner, made) if each[0] not in left_out)
