"""The oracle of a row, from what its reference calls changed: what an agent decides is asserted, what only
the backend's clock and chance decide is left open."""

from collections.abc import Iterable, Iterator, Sequence

from pipelines.core.ledger.ledger import (
    Add,
    Ledger,
    LedgerUpdate,
    Remove,
    SetFlag,
    Update,
    World,
    differences,
)
from pipelines.core.oracles.paths import FLAGS, NEW
from pipelines.core.proposed_oracles.oracle_writing import UNCHANGED as UNCHANGED
from pipelines.core.proposed_oracles.oracle_writing import expectation_for, path_key
from pipelines.core.text.json_text import Json, JsonObject, same
from pipelines.core.worlds.rows.trials import Trial

#: An agent can refuse rightly only after it has looked, or tried: one that calls nothing has done neither.
SOME_CALL: JsonObject = {"must": [{"tool": "*", "only_successful": False}]}


def state_oracle(trials: Iterable[Trial], world: World) -> JsonObject | None:
    """None where nothing that stays the same was changed."""
    return _joined(
        one
        for trial in trials
        for one in _assertions(
            trial.answer.updates, trial.again, list(leaves(trial.candidate.arguments)), world
        )
    )


def change_oracle(
    updates: Sequence[LedgerUpdate], again: Sequence[LedgerUpdate], arguments: Sequence[Json], world: World
) -> JsonObject | None:
    """The same for all that some calls came to; `again` is what they come to at another moment."""
    return _joined(_assertions(updates, again, arguments, world))


def net_updates(ledger: Ledger) -> list[LedgerUpdate]:
    """What a run has changed by now: of a record that was changed twice, how it ends."""
    before: JsonObject = {}
    after: JsonObject = {}
    for kind in ledger.entity_types():
        seeded, changed = ledger.world.entities.get(kind, {}), ledger.changed(kind)
        before[kind] = {id: seeded[id] for id in changed if id in seeded}
        after[kind] = {id: attributes for id, attributes in changed.items() if attributes is not None}
    flags = sorted({*ledger.world.flags, *ledger.flags()})
    moved = [flag for flag in flags if ledger.is_flagged(flag) != (flag in ledger.world.flags)]
    return differences(before, after) + [SetFlag(flag=flag, value=ledger.is_flagged(flag)) for flag in moved]


def _joined(assertions: Iterable[tuple[str, Json]]) -> JsonObject | None:
    found: JsonObject = {}
    for key, value in assertions:
        if key.endswith(NEW) and key in found:
            before = found[key]
            found[key] = [*before, value] if isinstance(before, list) else [before, value]
        elif key in found and not same(found[key], value):
            return None  # two requests about one value
        else:
            found[key] = value
    return found or None


def _assertions(
    updates: Sequence[LedgerUpdate], again: Sequence[LedgerUpdate], arguments: Sequence[Json], world: World
) -> Iterator[tuple[str, Json]]:
    others = list(again)
    for one in updates:
        twin = next((each for each in others if _is_twin(one, each)), None)
        if twin is not None:
            others.remove(twin)
        if isinstance(one, Update):
            yield from _updated(one, twin, arguments, world)
        elif isinstance(one, Add):
            yield path_key(one.entity_type, NEW), _described(one, twin, arguments)
        elif isinstance(one, Remove):
            yield path_key(one.entity_type, one.id), {"$exists": False}
        elif isinstance(one, SetFlag):
            yield path_key(FLAGS, one.flag), one.value


def _is_twin(one: LedgerUpdate, other: LedgerUpdate) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, SetFlag) or isinstance(other, SetFlag):
        return one == other
    return one.entity_type == other.entity_type and (isinstance(one, Add) or one.id == other.id)


def _updated(
    one: Update, twin: LedgerUpdate | None, arguments: Sequence[Json], world: World
) -> Iterator[tuple[str, Json]]:
    before = world.entities.get(one.entity_type, {}).get(one.id, {})
    later = twin.set if isinstance(twin, Update) else {}
    for name, value in one.set.items():
        if name in before and same(before[name], value):
            continue
        stays = name in later and same(later[name], value)
        yield (
            path_key(one.entity_type, one.id, name),
            expectation_for(value, arguments) if stays else {"$exists": True},
        )
    for name in one.unset:
        if name in before:
            yield path_key(one.entity_type, one.id, name), {"$exists": False}


def _described(one: Add, twin: LedgerUpdate | None, arguments: Sequence[Json]) -> JsonObject:
    """A new record by what the request says of it; by all that stays the same where it says nothing."""
    later = twin.attrs if isinstance(twin, Add) else {}
    stays = {name: value for name, value in one.attrs.items() if name in later and same(later[name], value)}
    unchanged_fields = {
        name: value for name, value in stays.items() if any(same(value, each) for each in arguments)
    }
    return {
        name: expectation_for(value, arguments)
        for name, value in (unchanged_fields or stays).items()
        if value is not None
    }


def call_oracle(trials: Iterable[Trial]) -> JsonObject:
    """For requests that change nothing: they have to be looked up."""
    must: list[Json] = []
    for trial in trials:
        given = list(leaves(trial.candidate.arguments))
        arguments = {name: expectation_for(value, given) for name, value in trial.candidate.arguments.items()}
        must.append({"tool": trial.tool, "arguments": arguments} if arguments else {"tool": trial.tool})
    return {"must": must}


def leaves(value: Json) -> Iterator[Json]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from leaves(inner)
