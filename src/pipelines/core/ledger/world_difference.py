"""How one world differs from another, field by field. Lists only as many changes as people look at."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.ledger.world_changes import WorldChange
from pipelines.core.text.json_text import Json, JsonObject, dumps, same
from pipelines.wire.records import Record

MOST_CHANGES = 200  # listed; all are counted
MOST_BYTES = 128 * 1024  # of what is listed: it is stored with every revision


@dataclass(frozen=True, kw_only=True, slots=True)
class WorldDifference(Record, component=""):
    """How it differs from the revision before."""

    added: Annotated[int, "entities"]
    changed: int
    removed: int
    flags: int
    #: A changed entity field by field.
    listed: Annotated[tuple[WorldChange, ...], "the first of them"]
    is_cut: Annotated[bool, "there are more"]


def world_difference(before: JsonObject, after: JsonObject) -> WorldDifference:
    counts = {"added": 0, "changed": 0, "removed": 0, "flag": 0}
    listed: list[WorldChange] = []
    room = MOST_BYTES
    is_cut = False
    last_place = ""
    for change in _changes(before, after):
        if change.kind != "changed" or change.place != last_place:
            counts[change.kind] += 1
        last_place = change.place
        if is_cut or len(listed) == MOST_CHANGES:
            is_cut = True
            continue
        room -= len(dumps(change.as_json()))
        if room < 0:
            is_cut = True
        else:
            listed.append(change)
    return WorldDifference(
        added=counts["added"],
        changed=counts["changed"],
        removed=counts["removed"],
        flags=counts["flag"],
        listed=tuple(listed),
        is_cut=is_cut,
    )


class RecordMark(NamedTuple):
    """What a revision did to one record that is still there."""

    is_new: bool
    before: dict[str, Json]  # of its changed fields; a field that was not there has None


def record_marks(listed: Iterable[WorldChange]) -> dict[str, RecordMark]:
    """By place, `type.id`."""
    marks: dict[str, RecordMark] = {}
    for change in listed:
        if change.kind == "added":
            marks[change.place] = RecordMark(True, {})
        elif change.kind == "changed" and change.field is not None:
            mark = marks.setdefault(change.place, RecordMark(False, {}))
            mark.before[change.field] = change.before
    return marks


def change_from_json(body: JsonObject) -> WorldChange:
    """From what `as_json` listed."""
    return WorldChange(**body)  # type: ignore[arg-type]


def _changes(before: JsonObject, after: JsonObject) -> Iterator[WorldChange]:
    for entity_type in dict.fromkeys((*before, *after)):
        old, new = _section(before, entity_type), _section(after, entity_type)
        if is_flag_section(entity_type, old) and is_flag_section(entity_type, new):
            yield from _flags(old, new)
            continue
        for id in dict.fromkeys((*old, *new)):
            yield from _entity(f"{entity_type}.{id}", old.get(id), new.get(id))


def _section(state: JsonObject, entity_type: str) -> JsonObject:
    section = state.get(entity_type)
    return section if isinstance(section, dict) else {}


def _flags(old: JsonObject, new: JsonObject) -> Iterator[WorldChange]:
    for flag in dict.fromkeys((*old, *new)):
        if bool(old.get(flag)) != bool(new.get(flag)):
            yield WorldChange("flag", flag, None, bool(old.get(flag)), bool(new.get(flag)))


def _entity(place: str, old: Json, new: Json) -> Iterator[WorldChange]:
    if new is None:
        yield WorldChange("removed", place, None, old, None)
    elif old is None:
        yield WorldChange("added", place, None, None, new)
    elif isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            had, has = name in old, name in new
            if not (had and has and same(old[name], new[name])):
                yield WorldChange("changed", place, name, old.get(name), new.get(name), had=had, has=has)
