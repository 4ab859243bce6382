"""Ledger adapters as authors declare them: how a live reply of a passthrough tool enters the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.text.authored import Fields, as_object, did_you_mean, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.core.text.stored import known_fields, stored_list

WRITE_POLICIES = ("record_only", "adapter", "none")
DEFAULT_WRITE_POLICY = "record_only"
OPERATIONS = ("add", "update", "remove", "set_flag")
MOST_FIELDS = 200  # of one adapter: its paths are read, some of them for the first time, while a call waits


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerAdapter:
    op: str = "update"
    entity_type: str | None = None  # for every op but set_flag, with id_from
    id_from: str | None = None  # JSONPath into the response
    field_map: Mapping[str, str] = field(default_factory=dict)  # field → JSONPath
    flags: tuple[str, ...] = ()  # templates: {name} is filled in from the arguments, {id} from the entity

    @classmethod
    def from_stored(cls, body: Any) -> "LedgerAdapter":
        return cls(**{**known_fields(cls, body), "flags": tuple(stored_list(body.get("flags")))})

    def as_json(self) -> JsonObject:
        body: JsonObject = {"op": self.op}
        body |= {"entity_type": self.entity_type} if self.entity_type is not None else {}
        body |= {"id_from": self.id_from} if self.id_from is not None else {}
        body |= {"field_map": dict(self.field_map)} if self.field_map else {}
        return body | ({"flags": list(self.flags)} if self.flags else {})


def read_write_policy(
    tool: Fields, *, is_passthrough: bool, ledger_schema: LedgerSchema | None
) -> tuple[str, LedgerAdapter | None]:
    """The policy and the adapter of a tool, which belong together and to passthrough."""
    policy = tool.choice("ledger_write_policy", WRITE_POLICIES, DEFAULT_WRITE_POLICY)
    wants_adapter = policy == "adapter"
    if not is_passthrough and policy not in (DEFAULT_WRITE_POLICY, None):
        message = f"`ledger_write_policy` `{policy}` is for passthrough tools only"
        tool.refuse("ledger_write_policy", message, "remove it: a sandbox tool's updates are always written")
    if wants_adapter and not tool.has("ledger_adapter"):
        tool.refuse("ledger_adapter", "`ledger_write_policy` `adapter` needs a `ledger_adapter`")
    if tool.has("ledger_adapter") and policy is not None and not wants_adapter:
        hint = 'set `ledger_write_policy` to "adapter", or remove `ledger_adapter`'
        tool.refuse(
            "ledger_adapter", f"with `ledger_write_policy` `{policy}` the `ledger_adapter` never runs", hint
        )
    return policy or DEFAULT_WRITE_POLICY, _read_adapter(tool, ledger_schema)


def _read_adapter(tool: Fields, ledger_schema: LedgerSchema | None) -> LedgerAdapter | None:
    key = "ledger_adapter"
    if not tool.has(key):
        return None
    body = as_object(tool.get(key), tool.at(key), tool.problems, f"{tool.subject}`{key}`")
    if body is None:
        return None
    fields = Fields(body, tool.at(key), tool.problems, subject=tool.subject)
    fields.refuse_unknown(("op", "entity_type", "id_from", "field_map", "flags"))
    op = fields.choice("op", OPERATIONS, "update")
    flags = fields.texts("flags")
    _check_flags(fields, flags, ledger_schema)
    if op == "set_flag":
        _check_set_flag(fields, flags)
        return LedgerAdapter(op=op, flags=flags)
    entity_type = _read_entity_type(fields, ledger_schema)
    fields.require("id_from", "a JSONPath into the response, such as `$.order_id`")
    id_from = _read_json_path(fields, "id_from", fields.get("id_from"), fields.at("id_from"))
    field_map = _read_field_map(fields, entity_type, ledger_schema)
    return LedgerAdapter(
        op=op or "update", entity_type=entity_type, id_from=id_from, field_map=field_map, flags=flags
    )


def _check_set_flag(fields: Fields, flags: tuple[str, ...]) -> None:
    for key in ("entity_type", "id_from", "field_map"):
        if fields.has(key):
            fields.refuse(key, f"`set_flag` writes no entity, so `{key}` has no effect: remove it")
    if not flags:
        fields.refuse("flags", "`set_flag` needs `flags`", 'such as ["fetched_order:{order_id}"]')


def _check_flags(fields: Fields, flags: tuple[str, ...], ledger_schema: LedgerSchema | None) -> None:
    """Only a template without placeholders says already now which flag it will set."""
    for flag in flags:
        if ledger_schema is not None and "{" not in flag and not ledger_schema.allows_flag(flag):
            hint = did_you_mean(flag, ledger_schema.flag_values)
            fields.refuse("flags", f"the ledger schema's flags do not include `{flag}`", hint)


def _read_entity_type(fields: Fields, ledger_schema: LedgerSchema | None) -> str | None:
    fields.require("entity_type", "a type declared in the ledger schema")
    entity_type = fields.text("entity_type")
    if ledger_schema is None:
        message = "a `ledger_adapter` needs the agent to have a `ledger_schema`"
        fields.refuse("entity_type", message, "declare the entity type there")
    elif entity_type is not None and entity_type not in ledger_schema.entities:
        hint = did_you_mean(entity_type, ledger_schema.entities)
        fields.refuse("entity_type", f"the ledger schema declares no entity type `{entity_type}`", hint)
    return entity_type


def _read_field_map(
    fields: Fields, entity_type: str | None, ledger_schema: LedgerSchema | None
) -> dict[str, str]:
    if not fields.has("field_map"):
        return {}
    place = fields.at("field_map")
    body = as_object(fields.get("field_map"), place, fields.problems, f"{fields.subject}`field_map`")
    entity = ledger_schema.entities.get(entity_type) if ledger_schema and entity_type else None
    declared = entity.fields if entity is not None else {}
    read: dict[str, str] = {}
    if body is not None and len(body) > MOST_FIELDS:
        message = f"`field_map` has {len(body):,} fields; at most {MOST_FIELDS} are allowed"
        fields.refuse("field_map", message)
        return {}
    for name, json_path in (body or {}).items():
        here = place + pointer([name])
        if declared and name not in declared:
            message = f"{fields.subject}`{entity_type}` declares no field `{name}`"
            fields.problems.append(Problem(path=here, message=message, hint=did_you_mean(name, declared)))
        path = _read_json_path(fields, name, json_path, here)
        if path is not None:
            read[name] = path
    return read


def _read_json_path(fields: Fields, name: str, value: Json, path: str) -> str | None:
    from pipelines.core.text.json_path import InvalidPath, compile_path  # most programs never read one

    if value is None and name == "id_from":
        return None  # already noted as missing
    message = f"{fields.subject}`{name}` must be a JSONPath, not {kind(value)}"
    if isinstance(value, str):
        try:
            read = compile_path(value)
        except InvalidPath as error:
            message = f"{fields.subject}`{name}` {error}"
        else:
            if name != "id_from" or read.is_singular:
                return value
            message = f"{fields.subject}`id_from` must select one value: use member names and indexes only"
    fields.problems.append(Problem(path=path, message=message, hint="it starts with `$`, as in `$.order_id`"))
    return None
