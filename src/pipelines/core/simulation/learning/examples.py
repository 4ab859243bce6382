"""The calls of one tool as examples: what it was given, the world before and after, what it answered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.fidelity.fidelity import apply_what_fits
from pipelines.core.simulation.fidelity.recording import RecordedCall, Recording, looks_like_error
from pipelines.core.simulation.fidelity.variety import most_varied
from pipelines.core.text.json_text import dumps

MOST_EXAMPLES = 120  # of a tool that a search looks at: more hardly ever say more


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    task: str
    number: int  # of the call in its task, from 1
    call: RecordedCall
    before: Ledger
    after: Ledger

    @property
    def is_error(self) -> bool:
        return self.call.is_error or looks_like_error(self.call.response)


def examples_of(recording: Recording) -> dict[str, list[Example]]:
    """By tool, in the order of the recording."""
    shared = World.from_initial_state(recording.state)
    found: dict[str, list[Example]] = {}
    for task in recording.tasks:
        before = Ledger(shared if task.state is None else World.from_initial_state(task.state))
        apply_what_fits(before, task.init)
        for number, call in enumerate(task.calls, start=1):
            after = copied(before) if call.updates else before
            apply_what_fits(after, call.updates)
            example = Example(task=task.name, number=number, call=call, before=before, after=after)
            found.setdefault(call.tool, []).append(example)
            before = after
    return found


def copied(ledger: Ledger) -> Ledger:
    other = Ledger(ledger.world)
    other._changed = {kind: dict(changed) for kind, changed in ledger._changed.items()}
    other._flags = dict(ledger._flags)
    return other


def chosen(examples: Sequence[Example], *, most: int = MOST_EXAMPLES) -> list[Example]:
    """The most different ones in the order of the recording, chosen as those that a model is shown."""
    if len(examples) <= most:
        return list(examples)
    picked = {at for at, _ in most_varied([(at, one.call) for at, one in enumerate(examples)], most)}
    return [example for at, example in enumerate(examples) if at in picked]


def contradictions(examples: Iterable[Example]) -> list[list[Example]]:
    """Calls with the same arguments in the same world whose answers differ."""
    groups: dict[object, list[Example]] = {}
    for example in examples:
        key = example.task, dumps(example.call.arguments), id(example.before)
        groups.setdefault(key, []).append(example)
    return [
        group
        for group in groups.values()
        if len({dumps([one.call.response, one.call.is_error]) for one in group}) > 1
    ]
