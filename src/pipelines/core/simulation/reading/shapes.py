"""What the seeded world looks like: kinds of records, where they are kept, and which fields they have.

A world keeps records as entities of a type (a table), inside each entity of a type (an order's items), or
inside the one entity of a type, as a service keeps its state (`{"shop": {"self": {"orders": …}}}`).
A declared ledger schema adds types and fields that no seeded entity shows yet.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import World
from pipelines.core.ledger_schema import EntityField, EntityType, LedgerSchema
from pipelines.core.simulation.reading.words import is_plural, joined, singular, stem, tokens, word_set

Form = Literal["table", "map", "list"]
SAMPLE = (
    200  # entities looked at per type: enough to see every field of a real table, few enough for any size
)
FEW_VALUES = 12  # a text field with at most so many different values reads like an enumeration
MAX_DEPTH = 4

_LIST_NAMES = word_set("map list queue inbox index history log stack catalog registry table book record")


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One attribute, over all records in which it was seen."""

    name: str
    kinds: frozenset[str] = frozenset()  # text, number, boolean, null, list, object
    values: tuple[Json, ...] = ()  # the different scalar values, when they are few
    example: Json = None  # some scalar value, to write others like it
    keeps: Form | None = None  # map or list when it holds many things rather than being one
    of_records: bool = False  # the many things are objects
    of_pairs: bool = False  # the many things are objects with one key each, as {"U1": "Hello"}
    parts: Mapping[str, "Field"] = field(default_factory=dict)  # of the object, or of each record kept
    id_field: str | None = None  # of the records kept
    is_empty: bool = False  # a container in which nothing was ever seen

    @property
    def words(self) -> tuple[str, ...]:
        return tokens(self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """Somewhere records, or plain values, of one kind are kept."""

    entity_type: str
    owner: str | None  # the id of the one entity that keeps them; None: a table, or inside each entity
    path: tuple[str, ...]  # inside the owner; () for a table
    form: Form
    of_records: bool
    fields: Mapping[str, Field]
    id_field: str | None
    is_empty: bool = False
    numeric_ids: bool = False
    # A table that will take over from an empty container of a service: (entity type, id, path) of that.
    placeholder: tuple[str, str, tuple[str, ...]] | None = None

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else self.entity_type

    @property
    def words(self) -> tuple[str, ...]:
        return stem(tokens(self.name))

    @property
    def in_singleton(self) -> bool:
        return self.owner is not None

    @property
    def in_each(self) -> bool:
        return self.owner is None and bool(self.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class Singleton:
    """The one entity of a type that stands for a service: its session, its counters, its account."""

    entity_type: str
    id: str
    fields: Mapping[str, Field]
    attributes: JsonObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """Everything reading needs to know about a world, gathered once."""

    tables: Mapping[str, Collection]
    singletons: tuple[Singleton, ...]
    collections: tuple[Collection, ...]  # tables first, then those inside singletons, then inside entities
    is_closed: bool  # a ledger schema declares the types: no new ones
    is_empty: bool
    states: tuple[str, ...] = ()  # values of status fields anywhere: how this world spells its states

    def singleton(self, entity_type: str) -> Singleton | None:
        return next((one for one in self.singletons if one.entity_type == entity_type), None)


def survey(world: World, ledger_schema: LedgerSchema | None = None) -> Survey:
    declared = dict(ledger_schema.entities) if ledger_schema else {}
    tables: dict[str, Collection] = {}
    singletons: list[Singleton] = []
    for kind, entities in world.entities.items():
        only = singleton_of(kind, entities)
        if only is not None and kind not in declared:
            singletons.append(only)
        else:
            tables[kind] = _table(kind, entities, declared.pop(kind, None))
    tables |= {kind: _table(kind, {}, extra) for kind, extra in declared.items()}
    inside = [one for single in singletons for one in _kept_in(single.entity_type, single.id, single.fields)]
    nested = [one for table in tables.values() for one in _kept_in(table.entity_type, None, table.fields)]
    shapes = [one.fields for one in (*tables.values(), *inside, *nested)] + [one.fields for one in singletons]
    return Survey(
        tables=tables,
        singletons=tuple(singletons),
        collections=(*tables.values(), *inside, *nested),
        is_closed=ledger_schema is not None,
        is_empty=not world.entities,
        states=tuple(dict.fromkeys(state for fields in shapes for state in _states_in(fields))),
    )


def _states_in(fields: Mapping[str, Field]) -> Iterator[str]:
    for name, one in fields.items():
        if tokens(name)[-1:] in (("status",), ("state",)):
            yield from (value for value in one.values if isinstance(value, str))


def singleton_of(kind: str, entities: Mapping[str, JsonObject]) -> Singleton | None:
    """A type with one entity is a service when the entity's id says so, or it holds collections."""
    if len(entities) != 1:
        return None
    (id, attributes), *_ = entities.items()
    fields = _with_counted(fields_of([attributes]))
    named_so = id.lower() in ("self", "main", "default", "state", "singleton", "global", kind.lower())
    keeps_many = sum(one.keeps is not None for one in fields.values()) >= 2
    if named_so or (keeps_many and not _mentions_id(id, attributes)):
        return Singleton(entity_type=kind, id=id, fields=fields, attributes=attributes)
    return None


def _with_counted(fields: dict[str, Field]) -> dict[str, Field]:
    """`orders` beside an `order_counter` keeps orders, whatever else has got into it."""
    counted = {stem(tokens(name))[0] for name in fields if tokens(name)[-1:] in (("counter",), ("count",))}
    return {
        name: replace(one, keeps="map", of_records=True, parts={})
        if one.keeps is None and "object" in one.kinds and is_plural(name) and singular(name) in counted
        else one
        for name, one in fields.items()
    }


def fields_of(records: Iterable[Mapping[str, Json]], depth: int = 0) -> dict[str, Field]:
    seen: dict[str, list[Json]] = {}
    for record in records:
        for name, value in record.items():
            seen.setdefault(name, []).append(value)
    return {name: _field(name, values, depth) for name, values in seen.items()}


def find_field(fields: Mapping[str, Field], name: str) -> str | None:
    """The field meant by a name in another spelling: `orderStatus`, `qty`, `dob` for date_of_birth."""
    if name in fields:
        return name
    wanted = joined(map(_in_full, tokens(name)))
    same = next((known for known in fields if joined(map(_in_full, tokens(known))) == wanted), None)
    if same is not None or len(name) < 3:
        return same
    return next((known for known in fields if "".join(word[0] for word in tokens(known)) == name), None)


_SHORT = {
    "qty": "quantity",
    "num": "number",
    "no": "number",
    "addr": "address",
    "desc": "description",
    "amt": "amount",
    "tel": "phone",
    "msg": "message",
    "pwd": "password",
    "dept": "department",
    "mgr": "manager",
    "org": "organization",
    "temp": "temperature",
    "lang": "language",
    "lat": "latitude",
    "lng": "longitude",
    "lon": "longitude",
    "mobile": "phone",
    "mail": "email",
    "colour": "color",
    "postcode": "zip",
}


def _in_full(word: str) -> str:
    return _SHORT.get(word, word)


def kind_of(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "text", list: "list", dict: "object"}[type(value)]


def _table(kind: str, entities: Mapping[str, JsonObject], declared: EntityType | None) -> Collection:
    sample = list(islice(entities.items(), SAMPLE))
    fields = fields_of([attrs for _, attrs in sample])
    for name, one in (declared.fields if declared else {}).items():
        extra, known = _declared_field(one), fields.get(name)
        fields[name] = extra if known is None else replace(known, values=extra.values or known.values)
    id_field = declared.id_field if declared and not sample else _id_field(kind, sample, fields)
    return Collection(
        entity_type=kind,
        owner=None,
        path=(),
        form="table",
        of_records=True,
        fields=fields,
        id_field=id_field,
        is_empty=not entities,
        numeric_ids=_id_is_number(sample, id_field),
    )


def _kept_in(
    entity_type: str, owner: str | None, fields: Mapping[str, Field], path: tuple[str, ...] = ()
) -> Iterator[Collection]:
    for name, one in fields.items():
        if one.keeps is not None:
            yield Collection(
                entity_type=entity_type,
                owner=owner,
                path=(*path, name),
                form=one.keeps,
                of_records=one.of_records,
                fields=one.parts if one.of_records else {},
                id_field=one.id_field,
                is_empty=one.is_empty,
                numeric_ids=one.id_field is not None and "number" in one.parts[one.id_field].kinds,
            )
        elif one.parts and len(path) < MAX_DEPTH:
            yield from _kept_in(entity_type, owner, one.parts, (*path, name))


def _field(name: str, values: list[Json], depth: int) -> Field:
    kinds = frozenset(map(kind_of, values))
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    if objects and depth < MAX_DEPTH:
        return _object_field(name, kinds, objects, depth)
    if lists and depth < MAX_DEPTH:
        return _list_field(name, kinds, lists, depth)
    few = list(
        islice(dict.fromkeys(v for v in values if isinstance(v, (str, bool, int, float))), FEW_VALUES + 1)
    )
    values_or_none = tuple(few) if len(few) <= FEW_VALUES else ()
    return Field(name=name, kinds=kinds, values=values_or_none, example=few[0] if few else None)


def _object_field(name: str, kinds: frozenset[str], objects: list[JsonObject], depth: int) -> Field:
    if not any(objects):
        # Nothing was ever seen in it: whether it will be an object or keep many is for its name to say,
        # and a service (depth 0 of its only entity) keeps things.
        return Field(
            name=name, kinds=kinds, keeps="map" if _is_many(name) or depth == 0 else None, is_empty=True
        )
    records = [value for one in objects for value in one.values() if isinstance(value, dict)]
    if records and _is_map_of_records(objects):
        parts = fields_of(records[:SAMPLE], depth + 1)
        keyed = [(key, value) for one in objects for key, value in one.items() if isinstance(value, dict)]
        id_field = _id_field(name, keyed[:SAMPLE], parts)
        return Field(name=name, kinds=kinds, keeps="map", of_records=True, parts=parts, id_field=id_field)
    if _is_map_of_values(name, objects):
        return Field(name=name, kinds=kinds, keeps="map")
    return Field(name=name, kinds=kinds, parts=fields_of(objects, depth + 1))


def _list_field(name: str, kinds: frozenset[str], lists: list[list[Json]], depth: int) -> Field:
    elements = [element for one in lists for element in one]
    records = [element for element in elements if isinstance(element, dict)]
    if not records:
        return Field(name=name, kinds=kinds, keeps="list", is_empty=not elements)
    if _are_pairs(records):
        return Field(name=name, kinds=kinds, keeps="list", of_pairs=True)
    parts = fields_of(records[:SAMPLE], depth + 1)
    id_field = _own_id(name, parts)
    return Field(name=name, kinds=kinds, keeps="list", of_records=True, parts=parts, id_field=id_field)


def _are_pairs(records: list[JsonObject]) -> bool:
    """Each record is one key and its value, and the keys are no field names."""
    keys = [key for record in records for key in record]
    odd = sum(not re.fullmatch(r"[a-z][a-zA-Z_]*", key) for key in keys)
    return len(keys) <= len(records) * 2 and odd == len(keys) > 0


def _is_map_of_records(objects: list[JsonObject]) -> bool:
    """Keys that are ids rather than field names: they carry digits, or recur inside."""
    keys = [(key, value) for one in objects for key, value in one.items()]
    records = [(key, value) for key, value in keys if isinstance(value, dict)]
    if len(records) * 2 < len(keys):
        return False
    like_ids = sum(bool(re.search(r"\d", key)) or _mentions_id(key, value) for key, value in records)
    if like_ids * 2 >= len(records):
        return True
    names = [frozenset(value) for _, value in records]
    return len(records) > 1 and len(set(names)) == 1 and len(names[0]) > 1


def _is_map_of_values(name: str, objects: list[JsonObject]) -> bool:
    values = [value for one in objects for value in one.values()]
    alike = len({kind_of(value) for value in values}) == 1 and not isinstance(values[0], dict)
    odd_keys = any(not re.fullmatch(r"[a-z][a-z_]*\d?", key) for one in objects for key in one)
    return alike and _is_many(name) and (odd_keys or "map" in tokens(name))


def _is_many(name: str) -> bool:
    words = tokens(name)
    return bool(words) and (is_plural(words[-1]) or words[-1] in _LIST_NAMES)


def _mentions_id(id: str, attributes: Mapping[str, Json]) -> bool:
    return any(str(value) == id for value in attributes.values() if isinstance(value, (str, int)))


def _id_field(kind: str, keyed: list[tuple[str, JsonObject]], fields: Mapping[str, Field]) -> str | None:
    """The attribute that repeats the record's key; with no records, the one that is named like it."""
    for name in fields:
        repeats = all(str(attrs.get(name, key)) == key for key, attrs in keyed)
        if keyed and repeats and sum(name in attrs for _, attrs in keyed) * 2 > len(keyed):
            return name
    return None if keyed else _own_id(kind, fields)


def _own_id(kind: str, fields: Mapping[str, Field]) -> str | None:
    noun = singular(tokens(kind)[-1]) if tokens(kind) else ""
    for candidate in ("id", f"{noun}_id", f"{noun}Id", "uuid", "_id", "code", "number", f"{noun}_number"):
        if candidate in fields and fields[candidate].kinds <= {"text", "number"}:
            return candidate
    return next((name for name in fields if tokens(name)[-1:] == ("id",)), None)


def _id_is_number(sample: list[tuple[str, JsonObject]], id_field: str | None) -> bool:
    return id_field is not None and any(isinstance(attrs.get(id_field), int) for _, attrs in sample)


_DECLARED_KINDS = {"string": "text", "integer": "number", "array": "list"}


def _declared_field(declared: EntityField) -> Field:
    return Field(
        name=declared.name,
        kinds=frozenset({_DECLARED_KINDS.get(declared.type, declared.type)}),
        values=declared.enum or (),
        keeps="list" if declared.type == "array" else None,
        is_empty=declared.type == "array",
    )
