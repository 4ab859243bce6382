"""The world behind a recording that has replies alone: what reads say is what the world holds.

A record of a reply that names its id is a record of the world. What it was before the first call is what it
said first; what changed between two reads was changed by the last call between them that is no read and names
it. Whatever no read shows stays open, and is told.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pipelines.core.ledger.ledger import Add, LedgerUpdate, Update
from pipelines.core.simulation.domain.tool_names import kind_of_tool
from pipelines.core.simulation.fidelity.recording import (
    RecordedCall,
    RecordedTask,
    Recording,
    looks_like_error,
)
from pipelines.core.text.json_text import Json, JsonObject, same

Key = tuple[str, str]  # a type and an id
_WRITE = "write"


@dataclass(frozen=True, kw_only=True, slots=True)
class InferredWorld:
    recording: Recording  # with states and changes
    state: JsonObject  # what is the same in all tasks
    unseen: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Seen:
    call: int
    key: Key
    fields: JsonObject


def has_replies_alone(recording: Recording) -> bool:
    calls = [call for task in recording.tasks for call in task.calls]
    has_state = bool(recording.state) or any(task.state for task in recording.tasks)
    return not has_state and not any(call.updates for call in calls)


def with_inferred_world(recording: Recording) -> InferredWorld:
    """The recording as if the state had been recorded, as far as its reads show it."""
    fields = _id_fields(recording)
    seen = [list(_seen_in(task, fields)) for task in recording.tasks]
    kept = _fields_of_types(recording, seen)
    first = [_first_values(task, ours) for task, ours in zip(recording.tasks, seen, strict=True)]
    shared = _shared(first)
    hidden: Counter[str] = Counter()
    tasks = []
    for task, ours, own in zip(recording.tasks, seen, first, strict=True):
        state = _merged(shared, own)
        updates = _effects(task, ours, state, kept)
        for number, call in enumerate(task.calls):
            if _is_write(call) and not updates.get(number):
                hidden[call.tool] += 1
        calls = tuple(replace(call, updates=tuple(updates.get(at, ()))) for at, call in enumerate(task.calls))
        tasks.append(replace(task, state=_as_state(state), calls=calls))
    return InferredWorld(
        recording=replace(recording, tasks=tuple(tasks)),
        state=_as_state(shared),
        unseen=_told(recording, hidden, bool(shared)),
    )


# -- what replies say


def _id_fields(recording: Recording) -> dict[str, str]:
    """Fields that repeat the argument that named the record, with its type: `{number: order}` for
    `ship_order(order_number)`."""
    found: dict[str, Counter[str]] = {}
    for call in (call for task in recording.tasks for call in task.calls if not call.is_error):
        reply = call.response
        if not isinstance(reply, dict) or len(reply) < 2:
            continue
        for name, value in call.arguments.items():
            for field in (name, name.rpartition("_")[2]):
                if _is_id(value) and field in reply and same(reply[field], value) and _names_one(field):
                    noun = name.removesuffix(field).strip("_") or field.removesuffix("_id")
                    found.setdefault(field, Counter())[noun] += 1
                    break
    return {field: nouns.most_common(1)[0][0] for field, nouns in found.items()}


#: What ends the name of a field that names one record.
_NAMING = re.compile(r"(^|_)(id|no|number|code|sku|ref|key|uuid|isbn)$", re.IGNORECASE)


def _names_one(field: str) -> bool:
    return _NAMING.search(field) is not None


def _seen_in(task: RecordedTask, fields: Mapping[str, str]) -> Iterator[_Seen]:
    for number, call in enumerate(task.calls):
        if not call.is_error and not looks_like_error(call.response):
            for key, record in _records(call.response, "", call.arguments, fields):
                yield _Seen(call=number, key=key, fields=record)


def _records(
    value: Json, name: str, arguments: JsonObject, fields: Mapping[str, str]
) -> Iterator[tuple[Key, JsonObject]]:
    if isinstance(value, list):
        for element in value:
            yield from _records(element, name, arguments, fields)
    elif isinstance(value, dict):
        key = _key_of(value, name, arguments, fields)
        if key is not None and len(value) > 1:
            yield key, value
        for field, part in value.items():
            if isinstance(part, (dict, list)):
                yield from _records(part, field, {}, fields)


def _key_of(value: JsonObject, name: str, arguments: JsonObject, fields: Mapping[str, str]) -> Key | None:
    """`{id: …}` and `{order_id: …}` name themselves; a reply to `get_order(order_id)` is of the order it was
    asked for."""
    own = value.get("id")
    given = {name: one for name, one in arguments.items() if _names_one(name) and _is_id(one)}
    asked = [(_NAMING.sub("", name) or name, str(one)) for name, one in given.items()]
    if _is_id(own):
        noun = next((kind for kind, id in asked if id == str(own)), _singular(name))
        return (noun, str(own)) if noun else None
    if len(asked) == 1 and not any(field in fields and str(value[field]) != asked[0][1] for field in value):
        return asked[0]
    for field, one in value.items():
        if field in fields and _is_id(one):
            return fields[field], str(one)
    first = next(iter(value), "")
    return (first[:-3], str(value[first])) if first.endswith("_id") and _is_id(value[first]) else None


def _is_id(value: Json) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") else name


def _is_write(call: RecordedCall) -> bool:
    return not call.is_error and kind_of_tool(call.tool) == _WRITE


# -- states


def _fields_of_types(recording: Recording, seen: list[list[_Seen]]) -> dict[str, set[str]]:
    """The fields that reads show of each type."""
    found: dict[str, set[str]] = {}
    for task, ours in zip(recording.tasks, seen, strict=True):
        for one in ours:
            if not _is_write(task.calls[one.call]):
                found.setdefault(one.key[0], set()).update(one.fields)
    return found


def _first_values(task: RecordedTask, seen: list[_Seen]) -> dict[Key, JsonObject]:
    """What each record was before the first call. One that a write answered first was added by it."""
    found: dict[Key, JsonObject] = {}
    made: set[Key] = set()
    for one in seen:
        call = task.calls[one.call]
        if one.key not in found and one.key not in made and _is_write(call) and not _names(call, one.key[1]):
            made.add(one.key)
        if one.key in made or _is_write(call):
            continue
        known = found.setdefault(one.key, {})
        for field, value in one.fields.items():
            known.setdefault(field, value)
    return found


def _shared(tasks: list[dict[Key, JsonObject]]) -> dict[Key, JsonObject]:
    """Fields that have one value in every task that shows them."""
    values: dict[Key, dict[str, list[Json]]] = {}
    for task in tasks:
        for key, fields in task.items():
            for field, value in fields.items():
                values.setdefault(key, {}).setdefault(field, []).append(value)
    return {
        key: {name: some[0] for name, some in fields.items() if all(same(some[0], one) for one in some)}
        for key, fields in values.items()
    }


def _merged(shared: Mapping[Key, JsonObject], own: Mapping[Key, JsonObject]) -> dict[Key, JsonObject]:
    return {key: {**shared.get(key, {}), **own.get(key, {})} for key in {**shared, **own}}


def _as_state(records: Mapping[Key, JsonObject]) -> JsonObject:
    state: dict[str, dict[str, Json]] = {}
    for (kind, id), fields in records.items():
        state.setdefault(kind, {})[id] = fields
    return state  # type: ignore[return-value]


# -- effects


def _effects(
    task: RecordedTask,
    seen: list[_Seen],
    first: Mapping[Key, JsonObject],
    kept: Mapping[str, set[str]],
) -> dict[int, list[LedgerUpdate]]:
    """What each write changed: fields in its own reply that reads show too, or what the next read shows."""
    known: dict[Key, JsonObject] = {key: dict(fields) for key, fields in first.items()}
    last: dict[Key, int] = {}
    found: dict[int, list[LedgerUpdate]] = {}
    for one in seen:
        call = task.calls[one.call]
        kind, id = one.key
        before = known.get(one.key)
        fields = one.fields
        if _is_write(call):
            fields = {field: value for field, value in fields.items() if field in kept.get(kind, ())}
        if before is None:
            if _is_write(call) and not _names(call, id) and fields:
                known[one.key] = dict(fields)
                found.setdefault(one.call, []).append(Add(entity_type=kind, id=id, attrs=dict(fields)))
                last[one.key] = one.call
            continue
        changed = {
            field: value
            for field, value in fields.items()
            if not same(before.get(field), value) and (field in before or _is_write(call))
        }
        by = one.call if _is_write(call) else _writer(task, one, last.get(one.key, -1))
        if changed and by is not None:
            found.setdefault(by, []).append(Update(entity_type=kind, id=id, set=changed))
        before.update(fields)
        last[one.key] = one.call
    return found


def _writer(task: RecordedTask, one: _Seen, since: int) -> int | None:
    """The last write since the record was read that names it; the only one there was, where none does."""
    writes = [at for at in range(since + 1, one.call) if _is_write(task.calls[at])]
    naming = [at for at in writes if _names(task.calls[at], one.key[1])]
    if naming:
        return naming[-1]
    return writes[0] if len(writes) == 1 else None


def _names(call: RecordedCall, id: str) -> bool:
    return any(str(value) == id for value in call.arguments.values() if isinstance(value, (str, int)))


def _told(recording: Recording, hidden: Counter[str], has_records: bool) -> tuple[str, ...]:
    told = []
    if not has_records:
        told.append("No reply names a record by its id: the world behind the replies is not known")
    calls = Counter(call.tool for task in recording.tasks for call in task.calls if _is_write(call))
    for tool, count in sorted(hidden.items()):
        told.append(
            f"What {count} of {calls[tool]} calls of {tool} changed: nothing that was read later shows it"
        )
    return tuple(told)
