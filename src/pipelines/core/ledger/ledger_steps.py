"""A run's world step by step: what a step changed, the world after it, and the history of an entity.

Everything is read from the log of updates. A value that was set to what it was before is no change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.ledger.ledger import Add, Attributes, Ledger, LedgerUpdate, Remove, SetFlag, World
from pipelines.core.text.json_text import Json, same

What: TypeAlias = Literal["added", "changed", "removed", "kept"]
#: Sequence numbers of trace rows with what each changed, in order.
StepLog: TypeAlias = Sequence[tuple[int, Sequence[LedgerUpdate]]]
EntityName: TypeAlias = tuple[str, str]  # type, id


class FieldChange(NamedTuple):
    name: str
    what: What
    before: Json  # None of one that was added
    after: Json  # None of one that was removed
    step: int  # that made it so


class EntityChange(NamedTuple):
    entity_type: str
    id: str
    what: What
    fields: tuple[FieldChange, ...]
    step: int


class FlagChange(NamedTuple):
    flag: str
    value: bool
    step: int


@dataclass(kw_only=True, slots=True)
class WorldAfter:
    """The world after a step, and who made it so."""

    ledger: Ledger
    step: int
    changes: list[EntityChange] = field(default_factory=list)  # of that step alone
    flag_changes: list[FlagChange] = field(default_factory=list)
    #: Of everything that any step up to it wrote: entity -> field -> last step that changed it.
    written: dict[EntityName, dict[str, int]] = field(default_factory=dict)
    first_steps: dict[EntityName, int] = field(default_factory=dict)
    last_steps: dict[EntityName, int] = field(default_factory=dict)
    flags_set: dict[str, FlagChange] = field(default_factory=dict)


def world_after(world: World, log: StepLog, step: int) -> WorldAfter:
    found = WorldAfter(ledger=Ledger(world), step=step)
    for sequence, updates in log:
        if sequence > step:
            break
        for update in updates:
            _record_update(found, sequence, update)
    return found


def changed_entities(after: WorldAfter) -> Iterator[EntityChange]:
    """What differs from the initial state, field by field with the step it is from; last touched first.

    One that was changed and changed back is there, as kept.
    """
    before = Ledger(after.ledger.world)
    for name, last in sorted(after.last_steps.items(), key=lambda entry: -entry[1]):
        steps = after.written[name]
        old, new = before.get(*name), after.ledger.get(*name)
        if old is None and new is None:
            yield EntityChange(*name, "removed", (), last)
            continue
        yield EntityChange(*name, _what(old, new), tuple(_fields(old, new, last, steps)), last)


def entity_history(world: World, log: StepLog, name: EntityName) -> list[EntityChange]:
    """What every step changed of one entity."""
    ledger, found = Ledger(world), []
    for sequence, updates in log:
        for update in updates:
            if isinstance(update, SetFlag) or (update.entity_type, update.id) != name:
                continue
            old = ledger.get(*name)
            ledger.apply([update])
            found.append(_change(name, old, ledger.get(*name), sequence))
    return found


def _record_update(found: WorldAfter, sequence: int, update: LedgerUpdate) -> None:
    if isinstance(update, SetFlag):
        was = found.ledger.is_flagged(update.flag)
        found.ledger.apply([update])
        if was != update.value:
            change = FlagChange(update.flag, update.value, sequence)
            found.flags_set[update.flag] = change
            found.flag_changes += [change] if sequence == found.step else []
        return
    name = (update.entity_type, update.id)
    steps = found.written.setdefault(name, {})
    found.first_steps.setdefault(name, sequence)
    found.last_steps[name] = sequence
    if sequence == found.step:
        old = found.ledger.get(*name)
        found.ledger.apply([update])
        found.changes.append(_change(name, old, found.ledger.get(*name), sequence))
    else:
        found.ledger.apply([update])
    if isinstance(update, Add | Remove):
        steps.clear()
    else:
        steps.update(dict.fromkeys((*update.set, *update.unset), sequence))


def _change(name: EntityName, old: Attributes | None, new: Attributes | None, step: int) -> EntityChange:
    fields = tuple(each for each in _fields(old, new, step, {}) if each.what != "kept")
    return EntityChange(*name, _what(old, new), fields, step)


def _what(old: Attributes | None, new: Attributes | None) -> What:
    if old is None or new is None:
        return "added" if old is None else "removed"
    return "kept" if old.keys() == new.keys() and all(same(old[key], new[key]) for key in old) else "changed"


def _fields(
    old: Attributes | None, new: Attributes | None, last: int, steps: Mapping[str, int]
) -> Iterator[FieldChange]:
    before, after = old or {}, new or {}
    for name in dict.fromkeys((*before, *after)):
        step = steps.get(name, last)
        if name not in after:
            yield FieldChange(name, "removed", before[name], None, step)
        elif name not in before:
            yield FieldChange(name, "added", None, after[name], step)
        else:
            what: What = "kept" if same(before[name], after[name]) else "changed"
            yield FieldChange(name, what, before[name], after[name], step)
