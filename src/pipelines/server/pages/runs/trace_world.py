"""The world after a step, as much of it as a column can show: changed entities first, then the rest."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pipelines.core.ledger.ledger_steps import EntityChange, WorldAfter, changed_entities
from pipelines.core.text.json_text import Json
from pipelines.engine.runs.read_steps import StepInFull

MOST_CHANGED = 40  # entities with their fields
MOST_OF_TYPE = 20  # entities that nobody changed, of each type
MOST_TYPES = 40
MOST_FLAGS = 60
MOST_FIELDS = 60
MOST_KEPT = 12
MOST_SHOWN = 300  # fields of all entities together


def world_context(step: StepInFull) -> dict[str, Any] | None:
    world = step.world
    if world is None:
        return None
    is_after_this = step.row is not None and step.row.sequence == world.step
    changed = [
        each
        for each in changed_entities(world)
        if each.what != "kept"
        # What this step alone has touched is told as its own change.
        and not (is_after_this and world.first_steps[each.entity_type, each.id] == world.step)
    ]
    entities = list(_within(changed))
    return {
        "step": world.step,
        "is_after_this": is_after_this,
        "changes": [(change, _unchanged_fields(world, change)) for change in world.changes[:MOST_CHANGED]],
        "more_changes": max(0, len(world.changes) - MOST_CHANGED),
        "flag_changes": world.flag_changes[:MOST_FLAGS],
        "changed": entities,
        "more_changed": len(changed) - len(entities),
        "most_fields": MOST_FIELDS,
        "types": _types(world),
        "more_types": max(0, len(world.ledger.entity_types()) - MOST_TYPES),
        "flags": _flags(world)[:MOST_FLAGS],
        "more_flags": max(0, len(_flags(world)) - MOST_FLAGS),
    }


def _within(changed: list[EntityChange]) -> Iterator[EntityChange]:
    """As many entities as fit into the column with their fields."""
    fields_left = MOST_SHOWN
    for entity in changed[:MOST_CHANGED]:
        if fields_left <= 0:
            return
        fields_left -= len(entity.fields) + 1
        yield entity


def _unchanged_fields(world: WorldAfter, change: EntityChange) -> list[tuple[str, Json]]:
    """Unchanged fields of a changed entity, so that the reader recognises it."""
    if change.what != "changed":
        return []
    own = {each.name for each in change.fields}
    attributes = world.ledger.get(change.entity_type, change.id) or {}
    return [(name, value) for name, value in attributes.items() if name not in own][:MOST_KEPT]


def _types(world: WorldAfter) -> list[dict[str, Any]]:
    """Each type with its number of entities, and the first unchanged ones."""
    found = []
    for kind in world.ledger.entity_types()[:MOST_TYPES]:
        touched = world.ledger.changed(kind)
        untouched = ((id, attrs) for id, attrs in world.ledger.entities(kind) if id not in touched)
        total = world.ledger.count(kind)
        records = list(islice(untouched, MOST_OF_TYPE))
        if not records and touched:  # all of it is told above
            continue
        found.append(
            {
                "name": kind,
                "count": total,
                "changed": sum(1 for attrs in touched.values() if attrs is not None),
                "entities": records,
            }
        )
    return found


def _flags(world: WorldAfter) -> list[dict[str, Any]]:
    """The flags with the step that set or cleared them; None for flags of the start."""
    named = dict.fromkeys([*world.flags_set, *world.ledger.flags()])
    return [
        {
            "name": flag,
            "value": world.ledger.is_flagged(flag),
            "step": world.flags_set[flag].step if flag in world.flags_set else None,
        }
        for flag in named
    ]
