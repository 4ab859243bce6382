"""What a call changed in the world, field by field, with the old and the new value."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, SetFlag, Update
from pipelines.core.text.json_text import Json, same
from pipelines.wire.records import Record


@dataclass(frozen=True, slots=True)
class WorldChange(Record, component=""):
    """One change."""

    kind: Literal["added", "changed", "removed", "flag"]
    place: Annotated[str, "type.id, or the flag"]
    field: Annotated[str | None, "that was changed"] = None
    before: Json = None
    after: Json = None
    had: Annotated[bool, "the field was there before"] = True
    has: Annotated[bool, "and is now"] = True


def world_changes(before: Ledger, updates: Iterable[LedgerUpdate]) -> list[WorldChange]:
    """In the order they were made; each against the world as the ones before it left it."""
    world = before.draft()
    found: list[WorldChange] = []
    for update in updates:
        found += _changes_of(world, update)
        world.apply([update])
    return found


def _changes_of(world: Ledger, update: LedgerUpdate) -> Iterator[WorldChange]:
    if isinstance(update, SetFlag):
        was = world.is_flagged(update.flag)
        if was != update.value:
            yield WorldChange("flag", update.flag, None, was, update.value)
        return
    place = f"{update.entity_type}.{update.id}"
    current = world.get(update.entity_type, update.id) or {}
    if isinstance(update, Add):
        yield WorldChange("added", place, None, None, update.attrs)
    elif isinstance(update, Remove):
        yield WorldChange("removed", place, None, current, None)
    else:
        yield from _fields(place, current, update)


def _fields(place: str, current: dict[str, Json], update: Update) -> Iterator[WorldChange]:
    for name, value in update.set.items():
        if name not in current or not same(current[name], value):
            yield WorldChange("changed", place, name, current.get(name), value, had=name in current)
    for name in update.unset:
        if name in current:
            yield WorldChange("changed", place, name, current[name], None, has=False)
