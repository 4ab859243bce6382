"""Indexes over a large world, built before its first call rather than in it.

A call pays for what it looks at, and not for an index that others use after it: over 240,000 entities the
spellings of ids take more than a second, in which everybody would wait.
"""

from collections.abc import Iterable, Iterator

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.library.world import seeded_numbering
from pipelines.core.simulation.syntax.lookups import index_of, positions
from pipelines.core.simulation.syntax.steps import Find, ForEach, If, Step

LARGE = 5_000  # entities: an index over fewer is built in some 20 ms


def prepare(world: World, plans: Iterable[Iterable[Step]]) -> None:
    """Whatever a call of these plans may ask for. For threads; nothing is done for an ordinary world."""
    if sum(len(of_kind) for of_kind in world.entities.values()) < LARGE:
        return
    for kind in world.entities:
        world.loose_ids(kind)
        seeded_numbering(world, kind)
        positions(world, kind)
    for steps in plans:
        for find in _finds(steps):
            if find.lookup is not None and find.entity_type in world.entities:
                index_of(world, find.entity_type, find.lookup.reach)


def _finds(steps: Iterable[Step]) -> Iterator[Find]:
    for step in steps:
        if isinstance(step, Find):
            yield step
        elif isinstance(step, ForEach):
            yield from _finds(step.steps)
        elif isinstance(step, If):
            yield from _finds((*step.then, *step.otherwise))
