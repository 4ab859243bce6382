"""What a run changed in its world, field by field: from its start to its end, not step by step."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.core.ledger.ledger import Ledger, World, fold, update_from_json
from pipelines.core.text.json_text import Json, JsonObject, loads_own, same
from pipelines.engine.find import find_run
from pipelines.engine.platform import Platform
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.trace_rows import updates_of_run
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks.datasets import world_by_hash

MOST_CHANGES = 200  # shown of a run; the rest is in its trace


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    kind: str  # added, changed, removed, flag
    place: str  # order.4521.status
    before: Json = None
    after: Json = None


async def run_changes(platform: Platform, org_id: int, run_id: int) -> list[Change]:
    """A value that was changed and changed back is no change."""
    run = await find_run(platform, org_id, run_id)
    return await platform.database.read(lambda connection: _changes(connection, run))


def _changes(connection: Connection, run: Run) -> list[Change]:
    updates = [
        update for _, text in updates_of_run(connection, run.id) if text for update in _parse_updates(text)
    ]
    if not updates:
        return []
    world = World.from_initial_state(world_by_hash(connection, run.world_hash))
    before, after = Ledger(world), fold(world, map(update_from_json, updates))
    touched = dict.fromkeys(
        (str(update["entity_type"]), str(update["id"])) for update in updates if update["op"] != "set_flag"
    )
    found: list[Change] = []
    for entity_type, id in touched:
        place = f"{entity_type}.{id}"
        found += _entity_changes(place, before.get(entity_type, id), after.get(entity_type, id))
    known = set(before.flags())
    found += [Change(kind="flag", place=flag) for flag in after.flags() if flag not in known]
    return found[: MOST_CHANGES + 1]


def _entity_changes(
    place: str, before: Mapping[str, Json] | None, after: Mapping[str, Json] | None
) -> Iterator[Change]:
    if before is None and after is not None:
        yield Change(kind="added", place=place, after=dict(after))
    elif after is None and before is not None:
        yield Change(kind="removed", place=place, before=dict(before))
    elif before is not None and after is not None:
        for name in dict.fromkeys((*before, *after)):
            if name not in after:
                yield Change(kind="removed", place=f"{place}.{name}", before=before[name])
            elif name not in before:
                yield Change(kind="added", place=f"{place}.{name}", after=after[name])
            elif not same(before[name], after[name]):
                yield Change(kind="changed", place=f"{place}.{name}", before=before[name], after=after[name])


def _parse_updates(text: str) -> list[JsonObject]:
    return loads_own(text)  # type: ignore[return-value]  # written by us as a list of objects
