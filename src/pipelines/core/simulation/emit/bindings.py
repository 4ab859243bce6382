"""What can be known of a plan's names before it runs: where their values are kept, and of what kind they are.

A name that ever stands for a place inside an entity lives in `call.names`, where a change through one name
reaches the others (`places`). Every other name is a variable of the emitted function.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.core.simulation.emit.reading import bare_finds, changes_entities
from pipelines.core.simulation.emit.writer import Known
from pipelines.core.simulation.syntax import steps


class Bound(NamedTuple):
    name: str
    known: Known
    is_place: bool


class Names(NamedTuple):
    known: dict[str, Known]
    places: frozenset[str]
    bare: dict[str, steps.Find]  # bound by these; only attributes are looked at, and the plan changes none


def names_of(block: tuple[steps.Step, ...]) -> Names:
    known: dict[str, Known] = {}
    places = set()
    all_bound = list(_bound(block))
    for bound in all_bound:
        # Bound twice, as different things: nothing is known of it.
        same = known.setdefault(bound.name, bound.known) == bound.known
        known[bound.name] = bound.known if same else "value"
        if bound.is_place:
            places.add(bound.name)
    once = {name for name, times in Counter(bound.name for bound in all_bound).items() if times == 1}
    bare = {} if changes_entities(block) else bare_finds(block)
    bare = {name: step for name, step in bare.items() if name in once}
    return Names(known, frozenset(places), bare)


def _bound(block: tuple[steps.Step, ...]) -> Iterator[Bound]:
    for step in block:
        match step:
            case steps.Find():
                is_entity = step.inside is None and not step.all and not step.optional
                yield Bound(step.name, "entity" if is_entity else "value", step.is_place)
            case steps.Let():
                for binding in step.bindings:
                    yield Bound(binding.name, "value", binding.place is not None)
            case steps.AddEntity():
                if step.name is not None:
                    yield Bound(step.name, "entity", False)
            case steps.ForEach():
                for name in step.names:
                    yield Bound(name, "value", step.place is not None)
                yield from _bound(step.steps)
            case steps.If():
                yield from _bound(step.then)
                yield from _bound(step.otherwise)
