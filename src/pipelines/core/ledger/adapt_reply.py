"""Applies a tool's ledger adapter: what a live reply changes in the ledger.

Best effort: what does not fit is left out and noted in the trace; nothing here fails a call. `update` also
adds an entity that the ledger does not have: a live service knows more than a seed does, and a later
simulated tool must find the entity. `add` only adds, `remove` only removes.
"""

import re
from typing import NamedTuple

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, SetFlag, Update
from pipelines.core.ledger.ledger_adapter import LedgerAdapter
from pipelines.core.ledger.ledger_schema import EntityType, LedgerSchema
from pipelines.core.text.json_text import Json, JsonObject, count_values, same

LONGEST_ID = 512  # characters; of a flag too
_MOST_COMPARED = 5_000  # values in one attribute
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_NOT_COMPLETE = "ledger adapter: nothing was changed"


class AdapterResult(NamedTuple):
    updates: tuple[LedgerUpdate, ...]
    notes: tuple[str, ...]  # what was left out, and why


class _PathMatch(NamedTuple):
    values: list[Json]
    is_singular: bool


def adapt_reply(
    adapter: LedgerAdapter,
    arguments: JsonObject,
    response: Json,
    ledger: Ledger,
    ledger_schema: LedgerSchema | None,
) -> AdapterResult:
    """The updates of a reply, and notes on what was left out. Deterministic; never raises."""
    try:
        return _Adapter(adapter, arguments, response, ledger, ledger_schema).all()
    except Exception as error:  # noqa: BLE001  # the call has its answer already: an adapter must not take it away
        return AdapterResult((), (f"{_NOT_COMPLETE}: {type(error).__name__}",))


class _Adapter:
    """Applies one reply to the ledger."""

    def __init__(
        self,
        adapter: LedgerAdapter,
        arguments: JsonObject,
        response: Json,
        ledger: Ledger,
        ledger_schema: LedgerSchema | None,
    ) -> None:
        from pipelines.core.text.json_path import Steps  # with the package: only who adapts needs it

        self.adapter, self.arguments, self.response = adapter, arguments, response
        self.ledger, self.schema = ledger, ledger_schema
        self.steps = Steps()
        self.notes: list[str] = []
        self.updates: list[LedgerUpdate] = []

    def all(self) -> AdapterResult:
        entity_id: str | None = None
        if self.adapter.op != "set_flag":
            entity_id = self._change_entity()
            if entity_id is None:  # without an id the whole adapter does nothing
                return AdapterResult((), tuple(self.notes))
        for template in self.adapter.flags:
            self._set_flag(template, entity_id)
        return AdapterResult(tuple(self.updates), tuple(self.notes))

    def _note(self, text: str) -> None:
        self.notes.append(f"ledger adapter: {text}")

    # -- the entity

    def _change_entity(self) -> str | None:
        """The id of the entity that the reply is about; None when it cannot be told."""
        entity_type = self.adapter.entity_type or ""
        declared = self.schema.entities.get(entity_type) if self.schema is not None else None
        if not entity_type or (self.schema is not None and declared is None):
            self._note(f"the ledger schema declares no entity type `{entity_type}`, so nothing was changed")
            return None
        raw, id = self._entity_id()
        if id is None:
            return None
        current, subject = self.ledger.get(entity_type, id), f"{entity_type} `{id}`"
        if self.adapter.op == "remove":
            if current is None:
                self._note(f"{subject} is not in the ledger, so it was not removed")
            else:
                self.updates.append(Remove(entity_type=entity_type, id=id))
            return id
        if self.adapter.op == "add" and current is not None:
            self._note(f"{subject} is already in the ledger, so it was not added")
            return id
        attrs = self._attributes(declared, subject)
        if current is None:
            self._add(entity_type, id, {**self._own_id(declared, raw, id, attrs), **attrs})
            return id
        changed = {name: value for name, value in attrs.items() if not _holds(current, name, value)}
        if changed:
            self.updates.append(Update(entity_type=entity_type, id=id, set=changed))
        else:
            self._note(f"{subject} already has these values")
        return id

    def _add(self, entity_type: str, id: str, attrs: JsonObject) -> None:
        if self.adapter.op == "update":
            self._note(f"{entity_type} `{id}` was not in the ledger, so it was added")
        self.updates.append(Add(entity_type=entity_type, id=id, attrs=attrs))

    def _entity_id(self) -> tuple[Json, str | None]:
        path = self.adapter.id_from or ""
        found = self._found("id_from", path)
        if found is None:
            return None, None
        if len(found.values) != 1:
            self._note(f"`id_from` {path} matches nothing in the response, so nothing was changed")
            return None, None
        raw = found.values[0]
        id = _as_id(raw)
        if id is None:
            self._note(f"`id_from` {path} gives {_kind(raw)}, which is not an id, so nothing was changed")
        return raw, id

    def _own_id(self, declared: EntityType | None, raw: Json, id: str, attrs: JsonObject) -> JsonObject:
        """The attribute in which an entity that is added holds its own id."""
        if declared is None or declared.id_field in attrs:
            return {}
        field = declared.fields.get(declared.id_field)
        fitting = [value for value in (raw, id) if field is None or field.complaint(value) is None]
        if not fitting:
            self._note(f"`{declared.id_field}` is left out: {_kind(raw)} does not fit the ledger schema")
            return {}
        return {declared.id_field: fitting[0]}

    def _attributes(self, declared: EntityType | None, subject: str) -> JsonObject:
        attrs: JsonObject = {}
        for name, path in self.adapter.field_map.items():
            found = self._found(f"`{name}`", path)
            if found is None:
                continue
            field = declared.fields.get(name) if declared is not None else None
            takes_list = field is None or field.type == "array"
            if not found.values:
                self._note(f"`{name}` is left out: {path} matches nothing in the response")
            elif len(found.values) > 1 and not takes_list:
                self._note(f"`{name}` is left out: {path} matches {len(found.values)} values, not one")
            else:
                value = found.values[0] if found.is_singular or not takes_list else found.values
                complaint = field.complaint(value) if field is not None else None
                if complaint is None:
                    attrs[name] = value
                else:
                    self._note(f"`{name}` is left out: {subject}: {complaint}")
        return attrs

    def _found(self, name: str, path: str) -> _PathMatch | None:
        """What a path matches; None, with a note, when it could not be asked to its end."""
        from pipelines.core.text.json_path import MAX_STEPS, InvalidPath, TooManySteps, compile_path

        try:
            read = compile_path(path)
            return _PathMatch(read.found_in(self.response, self.steps), read.is_singular)
        except InvalidPath as error:
            self._note(f"{name} {path[:80]} {error}")
        except TooManySteps:
            self._note(f"{name} {path} was stopped: it would look at more than {MAX_STEPS} values")
            self.steps.left = (
                0  # the rest is not tried either, however cheap: the budget is one for the reply
            )
        except RecursionError:
            self._note(f"{name} {path} was stopped: it is nested too deeply")
        return None

    # -- flags

    def _set_flag(self, template: str, entity_id: str | None) -> None:
        values = {
            name: text for name, value in self.arguments.items() if (text := _as_text(value)) is not None
        }
        if entity_id is not None:
            values["id"] = entity_id
        missing = [name for name in _PLACEHOLDER.findall(template) if name not in values]
        if missing:
            self._note(f"flag `{template}` is dropped: no value for {{{missing[0]}}}")
            return
        flag = _PLACEHOLDER.sub(lambda match: values[match[1]], template)
        if not flag.strip() or len(flag) > LONGEST_ID:
            self._note(f"flag `{template}` is dropped: it would be empty or over {LONGEST_ID} characters")
        elif self.schema is not None and not self.schema.allows_flag(flag):
            self._note(f"flag `{flag}` is dropped: the ledger schema's flags do not include it")
        elif self.ledger.is_flagged(flag) or SetFlag(flag=flag) in self.updates:
            self._note(f"flag `{flag}` is already set")
        else:
            self.updates.append(SetFlag(flag=flag))


def _holds(attrs: JsonObject, name: str, value: Json) -> bool:
    """Whether the attribute has this value already. A value too large to compare counts as new."""
    return (
        name in attrs and count_values(value, _MOST_COMPARED) <= _MOST_COMPARED and same(attrs[name], value)
    )


def _as_id(value: Json) -> str | None:
    """A text or a number, as an initial state would spell it; true, false and null name nothing."""
    text = None if isinstance(value, bool) else _as_text(value)
    return text if text is not None and text.strip() and len(text) <= LONGEST_ID else None


def _as_text(value: Json) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case str() | int():
            return str(value)
    return None


def _kind(value: Json) -> str:
    if isinstance(value, (list, dict)):
        return "an array" if isinstance(value, list) else "an object"
    text = str(value) if not isinstance(value, bool) and value is not None else str(value).lower()
    return "null" if value is None else f"`{text[:40]}`{'…' if len(text) > 40 else ''}"
