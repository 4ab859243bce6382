"""The ledger schema: which entity types, field values and flags an agent's world may hold.

Fields that a declared type does not declare are allowed: the schema says what is known of a type, and a
simulated reply may carry more. Null stands for "no value yet" in any field, except where an enum leaves it
out.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.core.ledger.ledger import Add, LedgerUpdate, SetFlag, Update, is_flag_section
from pipelines.core.text.authored import Fields, as_object, did_you_mean, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import MOST_SHOWN, Problem, Refused
from pipelines.core.text.stored import known_fields, stored_list

MAX_ENTITIES = 100
MAX_FIELDS = 100
FIELD_TYPES = ("string", "number", "integer", "boolean", "object", "array")
FLAG_POLICIES = ("open", "closed")


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityField:
    name: str
    type: str
    enum: tuple[Json, ...] | None = None
    description: str | None = None
    _members: frozenset[tuple[bool, Json]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scalars = [member for member in self.enum or () if not isinstance(member, (list, dict))]
        object.__setattr__(self, "_members", frozenset(map(_as_member, scalars)))

    def as_json(self) -> JsonObject:
        body: JsonObject = {"name": self.name, "type": self.type}
        body |= {"enum": list(self.enum)} if self.enum is not None else {}
        return body | _description(self.description)

    def complaint(self, value: Json) -> str | None:
        """Why a value does not fit, or None when it does."""
        if self.enum is not None:
            if isinstance(value, (list, dict)) or _as_member(value) not in self._members:
                return f"`{self.name}` must be {quote_names(self.enum)}, not {_format_value(value)}"
        elif value is not None and not is_of_type(value, self.type):
            return f"`{self.name}` must be of type {self.type}, not {_format_value(value)}"
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class EntityType:
    type: str
    id_field: str
    description: str | None = None
    fields: Mapping[str, EntityField] = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        body: JsonObject = {"type": self.type, "id_field": self.id_field}
        body |= _description(self.description)
        return body | ({"fields": [each.as_json() for each in self.fields.values()]} if self.fields else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerSchema:
    entities: Mapping[str, EntityType]
    flags_policy: str = "open"
    flag_values: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        body: JsonObject = {"entities": [each.as_json() for each in self.entities.values()]}
        if self.flags_policy == "open" and not self.flag_values:
            return body
        return body | {"flags": {"policy": self.flags_policy, "values": list(self.flag_values)}}

    @classmethod
    def from_stored(cls, body: Any) -> "LedgerSchema":
        """From what `as_json` wrote."""
        entities = [_entity_from_stored(entry) for entry in stored_list(body.get("entities"))]
        flags = body.get("flags") or {}
        return cls(
            entities={entity.type: entity for entity in entities},
            flags_policy=flags.get("policy", "open"),
            flag_values=tuple(stored_list(flags.get("values"))),
        )

    def allows_flag(self, flag: str) -> bool:
        return self.flags_policy == "open" or flag in self.flag_values


def _entity_from_stored(entry: Any) -> EntityType:
    fields = [_field_from_stored(each) for each in stored_list(entry.get("fields"))]
    return EntityType(**{**known_fields(EntityType, entry), "fields": {each.name: each for each in fields}})


def _field_from_stored(entry: Any) -> EntityField:
    known = known_fields(EntityField, entry)
    if known.get("enum") is not None:
        known["enum"] = tuple(known["enum"])
    return EntityField(**known)


def is_of_type(value: Json, type: str) -> bool:
    """As JSON Schema has it: true is no number, and 3.0 is an integer."""
    match type:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case _:
            return isinstance(value, list)


# What a world and its updates may hold


def state_problems(schema: LedgerSchema, initial_state: Mapping[str, Json], path: str) -> list[Problem]:
    """What of an initial state (already of the right shape) the schema does not allow."""
    problems: list[Problem] = []
    for kind_name, of_kind in initial_state.items():
        place = path + pointer([kind_name])
        assert isinstance(of_kind, dict)
        if is_flag_section(kind_name, of_kind):
            for flag in of_kind:
                problems.extend(_flag_problems(schema, flag, place + pointer([flag])))
            continue
        declared = schema.entities.get(kind_name)
        if declared is None:
            is_shown = len(problems) < MOST_SHOWN  # looking for what was meant takes milliseconds
            problems.append(_undeclared_type(schema, kind_name, place, with_hint=is_shown))
            continue
        for id, attrs in of_kind.items():
            assert isinstance(attrs, dict)
            subject = f"{kind_name} `{id}`: "
            problems.extend(_value_problems(declared, attrs, place + pointer([id]), subject))
    return problems


def update_problems(schema: LedgerSchema, update: LedgerUpdate) -> list[Problem]:
    """What of one update the schema does not allow; paths point into the update's JSON form."""
    if isinstance(update, SetFlag):
        return list(_flag_problems(schema, update.flag, "/flag"))
    declared = schema.entities.get(update.entity_type)
    if declared is None:
        return [_undeclared_type(schema, update.entity_type, "/entity_type")]
    subject = f"{update.entity_type} `{update.id}`: "
    match update:
        case Add():
            return list(_value_problems(declared, update.attrs, "/attrs", subject))
        case Update():
            return list(_value_problems(declared, update.set, "/set", subject))
        case _:
            return []


def _value_problems(
    declared: EntityType, attrs: Mapping[str, Json], path: str, subject: str
) -> Iterator[Problem]:
    for name, known in declared.fields.items():
        complaint = known.complaint(attrs[name]) if name in attrs else None
        if complaint is not None:
            yield Problem(path=path + pointer([name]), message=subject + complaint)


def _flag_problems(schema: LedgerSchema, flag: str, path: str) -> Iterator[Problem]:
    if not schema.allows_flag(flag):
        hint = did_you_mean(flag, schema.flag_values)
        yield Problem(path=path, message=f"the ledger schema's flags do not include `{flag}`", hint=hint)


def _undeclared_type(schema: LedgerSchema, entity_type: str, path: str, *, with_hint: bool = True) -> Problem:
    hint = did_you_mean(entity_type, schema.entities) if with_hint else None
    if hint is None and schema.entities:
        hint = f"declared: {quote_names(schema.entities)}"
    return Problem(path=path, message=f"the ledger schema declares no entity type `{entity_type}`", hint=hint)


def _as_member(value: Json) -> tuple[bool, Json]:
    """A scalar for a set in which True is not 1, but 1 and 1.0 are one number."""
    return isinstance(value, bool), value


def _format_value(value: Json) -> str:
    scalar = not isinstance(value, (list, dict)) and len(str(value)) <= 80
    return f"`{value}`" if scalar and value is not None and not isinstance(value, bool) else kind(value)


def _description(text: str | None) -> JsonObject:
    return {"description": text} if text is not None else {}


# Reading what an author wrote


def parse_ledger_schema(body: Json, *, path: str = "/ledger_schema") -> LedgerSchema | None:
    """The schema, None for an open ledger, or Refused with everything that is wrong."""
    problems: list[Problem] = []
    schema = read_ledger_schema(body, path=path, problems=problems)
    if problems:
        raise Refused(problems, "ledger_schema")
    return schema


def read_ledger_schema(body: Json, *, path: str, problems: list[Problem]) -> LedgerSchema | None:
    """What can be read of a schema; what is wrong with the rest is added to `problems`."""
    if body is None:
        return None
    whole = as_object(body, path, problems, "ledger_schema")
    if whole is None:
        return None
    fields = Fields(whole, path, problems)
    fields.refuse_unknown(("entities", "flags"))
    fields.require("entities", "an array of {type, id_field, fields}")
    entities: dict[str, EntityType] = {}
    for entry in _entries(fields, "entities", MAX_ENTITIES):
        entity = _read_entity(entry)
        if entity is not None and entity.type in entities:
            entry.refuse("type", f"entity type `{entity.type}` is declared twice")
        elif entity is not None:
            entities[entity.type] = entity
    policy, values = _read_flags(fields)
    return LedgerSchema(entities=entities, flags_policy=policy, flag_values=values)


def _read_entity(fields: Fields) -> EntityType | None:
    fields.refuse_unknown(("type", "id_field", "description", "fields"))
    fields.require("type", "a singular noun, such as `order`")
    fields.require("id_field", "the attribute that holds the entity's id, such as `order_id`")
    type, id_field = fields.text("type"), fields.text("id_field")
    declared: dict[str, EntityField] = {}
    for entry in _entries(fields, "fields", MAX_FIELDS):
        each = _read_field(entry)
        if each is not None and each.name in declared:
            entry.refuse("name", f"field `{each.name}` is declared twice")
        elif each is not None:
            declared[each.name] = each
    if type is None:
        return None
    description = fields.text("description", may_be_blank=True)
    return EntityType(type=type, id_field=id_field or "id", description=description, fields=declared)


def _read_field(fields: Fields) -> EntityField | None:
    fields.refuse_unknown(("name", "type", "enum", "description"))
    fields.require("name")
    fields.require("type", f"one of {quote_names(FIELD_TYPES)}")
    name, type = fields.text("name"), fields.choice("type", FIELD_TYPES)
    description = fields.text("description", may_be_blank=True)
    if name is None or type is None:
        return None
    return EntityField(name=name, type=type, enum=_read_enum(fields, type), description=description)


def _read_enum(fields: Fields, type: str) -> tuple[Json, ...] | None:
    members = fields.get("enum")
    if members is None:
        return None
    if not isinstance(members, list) or not members:
        fields.refuse("enum", "`enum` must be a non-empty array of scalars")
        return None
    for member in members:
        if isinstance(member, (list, dict)):
            fields.refuse("enum", f"`enum` members are scalars, not {kind(member)}")
        elif member is not None and not is_of_type(member, type):
            fields.refuse("enum", f"`enum` member {_format_value(member)} is not of type {type}")
    return tuple(members)


def _read_flags(fields: Fields) -> tuple[str, tuple[str, ...]]:
    if not fields.has("flags"):
        return "open", ()
    body = as_object(fields.get("flags"), fields.at("flags"), fields.problems, "`flags`")
    if body is None:
        return "open", ()
    flags = Fields(body, fields.at("flags"), fields.problems)
    flags.refuse_unknown(("policy", "values"))
    flags.require("policy", f"{quote_names(FLAG_POLICIES)}")
    values = flags.texts("values")
    for value, times in Counter(values).items():
        if times > 1:
            flags.refuse("values", f"flag `{value}` is listed {times} times")
    return flags.choice("policy", FLAG_POLICIES) or "open", values


def _entries(fields: Fields, key: str, most: int) -> Iterator[Fields]:
    """The objects of an array field, each as Fields of its own."""
    entries = fields.get(key)
    if entries is None:
        return
    if not isinstance(entries, list):
        fields.refuse(key, f"`{key}` must be an array, not {kind(entries)}")
        return
    if len(entries) > most:
        fields.refuse(key, f"`{key}` has {len(entries)} entries; at most {most} are allowed")
        return
    for index, entry in enumerate(entries):
        path = fields.at(key) + pointer([index])
        body = as_object(entry, path, fields.problems, f"each of `{key}`")
        if body is not None:
            yield Fields(body, path, fields.problems)
