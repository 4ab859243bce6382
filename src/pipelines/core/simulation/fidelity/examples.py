"""Selects recorded calls of a tool as examples, each with the records that it met, as they were before it,
and with what it changed. Splits the calls of a tool into those that are shown and those that are held out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from pipelines.core.ledger.ledger import Attributes, Ledger, SetFlag, World
from pipelines.core.simulation.fidelity.fidelity import apply_what_fits, numbered_calls
from pipelines.core.simulation.fidelity.likeness import leaves
from pipelines.core.simulation.fidelity.recording import RecordedCall, RecordedTask, Recording
from pipelines.core.simulation.fidelity.variety import fingerprint, most_varied, outcome_of
from pipelines.core.text.json_text import Json, JsonObject

MOST_EXAMPLES = 12  # of a tool, where nobody says how many
MOST_RECORDS = 12  # of one call that are shown as they were before it
MOST_VALUES = 200  # of a call that are looked up as ids
MOST_TYPES = 100
SINGLE_TYPES = 5  # types of one record, such as a session: a call may read it without naming it
LONGEST_ID = 200
HELD_OUT_EVERY = 3  # of three different calls, one is kept to measure by

EntityKey = tuple[str, str]  # type and id


class CallKey(NamedTuple):
    """Which call of a recording: the task's place, and the call's number in it, 1 for the first."""

    task: int
    number: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedExample:
    """A recorded call with the records that it changed or named, and what is linked with them."""

    key: CallKey
    task: str
    call: RecordedCall
    before: Mapping[str, Mapping[str, Attributes]]  # by type and id, as they were before the call
    flags: tuple[str, ...] = ()  # that were raised before it

    def as_json(self) -> JsonObject:
        body: JsonObject = {
            "arguments": self.call.arguments,
            "status": "error" if self.call.is_error else "ok",
            "response": self.call.response,
            "before": {kind: {**records} for kind, records in self.before.items()},
            "changes": [update.as_json() for update in self.call.updates],
        }
        return body | ({"flags": [*self.flags]} if self.flags else {})


class CallSplit(NamedTuple):
    """The calls of a tool that examples may be taken from, and those that are kept to measure by."""

    shown: frozenset[CallKey]
    held_out: frozenset[CallKey]


def select_examples(
    recording: Recording,
    tool: str,
    *,
    most: int = MOST_EXAMPLES,
    among: Collection[CallKey] | None = None,
    world: World | None = None,
) -> list[RecordedExample]:
    """At most so many different calls of a tool, the most telling first. `world` is that of the recording,
    where it is at hand."""
    calls = [(key, call) for key, call in calls_of(recording, tool) if among is None or key in among]
    chosen = most_varied(calls, most)
    shared = world or World.from_initial_state(recording.state)
    found = {one.key: one for one in _as_they_were(recording, dict(chosen), shared)}
    return [found[key] for key, _ in chosen]


def calls_of(recording: Recording, tool: str) -> Iterator[tuple[CallKey, RecordedCall]]:
    for at, task in enumerate(recording.tasks):
        for number, call in numbered_calls(task):
            if call.tool == tool:
                yield CallKey(at, number), call


def split_calls(recording: Recording, tool: str) -> CallSplit:
    """Of the different calls with one outcome, the second and every third after it are held out. A call that
    occurs more than once is on one side, and an outcome that occurs once is shown."""
    calls = [*calls_of(recording, tool)]
    by_outcome: dict[str, dict[bytes, list[CallKey]]] = {}
    for key, call in calls:
        of_outcome = by_outcome.setdefault(outcome_of(call), {})
        of_outcome.setdefault(fingerprint(call), []).append(key)
    held_out = frozenset(
        key
        for different in by_outcome.values()
        for keys in islice(different.values(), 1, None, HELD_OUT_EVERY)
        for key in keys
    )
    return CallSplit(frozenset(key for key, _ in calls) - held_out, held_out)


def _as_they_were(
    recording: Recording, chosen: Mapping[CallKey, RecordedCall], shared: World
) -> Iterator[RecordedExample]:
    for at in dict.fromkeys(key.task for key in chosen):
        task = recording.tasks[at]
        world = shared if task.state is None else World.from_initial_state(task.state)
        for number, ledger in _ledgers(task, world):
            call = chosen.get(CallKey(at, number))
            if call is not None:
                yield RecordedExample(
                    key=CallKey(at, number),
                    task=task.name,
                    call=call,
                    before=_records(call, ledger),
                    flags=tuple(ledger.flags()),
                )


def _ledgers(task: RecordedTask, world: World) -> Iterator[tuple[int, Ledger]]:
    """The ledger before each call: the same one, which changes as the task goes on."""
    ledger = Ledger(world)
    apply_what_fits(ledger, task.init)
    for number, call in numbered_calls(task):
        yield number, ledger
        apply_what_fits(ledger, call.updates)


def _records(call: RecordedCall, ledger: Ledger) -> dict[str, dict[str, Attributes]]:
    """What the call changes, then what its arguments and its reply name, then what these records link to."""
    types = ledger.entity_types()[:MOST_TYPES]
    changed = [(one.entity_type, one.id) for one in call.updates if not isinstance(one, SetFlag)]
    named = [*changed, *_with_ids(_scalars(call.arguments), types, ledger, is_loose=True)]
    named += _with_ids((one for one in _scalars(call.response) if isinstance(one, str)), types, ledger)
    linked = [
        one
        for kind, id in islice(dict.fromkeys(named), MOST_RECORDS)
        if (attrs := ledger.get(kind, id)) is not None
        for one in _with_ids((each for each in _scalars(attrs) if isinstance(each, str)), types, ledger)
    ]
    found: dict[str, dict[str, Attributes]] = {}
    count = 0
    for kind, id in dict.fromkeys([*named, *_singles(types, ledger), *linked]):
        attrs = ledger.get(kind, id)
        if attrs is not None and count < MOST_RECORDS:
            found.setdefault(kind, {})[id] = attrs
            count += 1
    return found


def _with_ids(
    values: Iterable[str | int], types: Sequence[str], ledger: Ledger, *, is_loose: bool = False
) -> Iterator[EntityKey]:
    for value in islice(values, MOST_VALUES):
        id = str(value)
        if len(id) > LONGEST_ID:
            continue
        exact = [(kind, id) for kind in types if ledger.get(kind, id) is not None]
        yield from exact
        if is_loose and not exact:
            spelled = ((kind, ledger.resolve_id(kind, value)) for kind in types)
            yield from ((kind, known) for kind, known in spelled if known is not None)


def _singles(types: Sequence[str], ledger: Ledger) -> Iterator[EntityKey]:
    for kind in [one for one in types if len(ledger.world.entities.get(one, ())) == 1][:SINGLE_TYPES]:
        yield from ((kind, id) for id, _ in islice(ledger.entities(kind), 1))


def _scalars(value: Json) -> Iterator[str | int]:
    """What may be an id: keys, too."""
    for one in leaves(value):
        if isinstance(one, str | int) and not isinstance(one, bool):
            yield one
