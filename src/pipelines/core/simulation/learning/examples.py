"""The calls of one tool as examples: what it was given, the world before and after, what it answered."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.fidelity.fidelity import _apply_what_fits as apply_what_fits
from pipelines.core.simulation.fidelity.recording import RecordedCall, Recording, looks_like_error
from pipelines.core.text.json_text import dumps

#: Whether an example takes part.
Chooses: TypeAlias = Callable[["Example"], bool]

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
    """Each status, each shape and each effect, then what was seen least: in the order of the recording.

    The examples that a model is shown are chosen in the same way.
    """
    if len(examples) <= most:
        return list(examples)
    groups: dict[object, list[int]] = {}
    for at, example in enumerate(examples):
        groups.setdefault(_shape(example), []).append(at)
    seen: Counter[bytes] = Counter()
    picked: list[int] = []
    while len(picked) < most:
        for members in list(groups.values()):
            if len(picked) >= most or not members:
                continue
            at = min(members[:40], key=lambda index: (seen[dumps(examples[index].call.arguments)], index))
            members.remove(at)
            seen[dumps(examples[at].call.arguments)] += 1
            picked.append(at)
    return [examples[at] for at in sorted(picked)]


def _shape(example: Example) -> object:
    call = example.call
    keys = tuple(sorted(call.response)) if isinstance(call.response, dict) else type(call.response).__name__
    given = tuple(sorted(call.arguments))
    effects = tuple(sorted({type(update).__name__ for update in call.updates}))
    return example.is_error, keys, given, effects


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
