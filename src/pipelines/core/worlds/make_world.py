"""A world made from tools, ledger schema and behaviour text: same `rng_seed`, same bytes."""

from collections.abc import Iterator

from pipelines.core.text.json_text import JsonObject
from pipelines.core.worlds.changes.refine import refine, sentences
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.outline import Outline, TypeOutline
from pipelines.core.worlds.records.entities import Builder
from pipelines.core.worlds.records.sides import with_both_sides
from pipelines.core.worlds.review.advisories import untouched_types
from pipelines.core.worlds.shapes import ENTITIES, MadeWorld, NotUnderstood, Toolset, WorldSize
from pipelines.core.worlds.types.toolset_outline import outline_of
from pipelines.core.worlds.values.ids import ids_of

#: A type grows for an enum of so many values; of a longer one some stay unused, and that is said.
LONGEST_ENUM = 40


def make_world(toolset: Toolset, *, size: WorldSize, rng_seed: int, now: str) -> MadeWorld:
    """The world, or Refused where the tools speak of nothing that a world could hold."""
    outline = outline_of(toolset)
    counts = {name: _count(one, ENTITIES[size]) for name, one in outline.types.items()}
    state = filled(outline, counts, rng_seed=rng_seed, now=now)
    state, left_out = _touched(toolset, state)
    sided = with_both_sides(toolset, outline, state, now=now)
    wished = _as_wished(toolset, sided.state, size=size, rng_seed=rng_seed, now=now)
    notes = (*outline.notes, *left_out, *_long_enums(outline, counts), *sided.notes, *wished.notes)
    return MadeWorld(state=wished.state, notes=notes)


def _touched(toolset: Toolset, state: JsonObject) -> tuple[JsonObject, tuple[str, ...]]:
    """Without types that only a word of some tool speaks of and no tool does anything with. What a ledger
    schema declares stays: its author wanted it."""
    if toolset.ledger_schema is not None:
        return state, ()
    idle = set(untouched_types(ground_of(toolset, state)))
    if not idle or idle >= set(state):
        return state, ()
    notes = tuple(
        f"No {name} is made: tools speak of one, but none reads or changes any." for name in sorted(idle)
    )
    return {name: records for name, records in state.items() if name not in idle}, notes


def _as_wished(toolset: Toolset, state: JsonObject, *, size: WorldSize, rng_seed: int, now: str) -> MadeWorld:
    """What the author's own words ask for, as far as they are sentences that `refine` follows."""
    notes: list[str] = []
    for sentence in sentences(toolset.instructions or ""):
        try:
            state = refine(toolset, state, sentence, rng_seed=rng_seed, now=now, size=size).state
        except NotUnderstood as why:
            notes.append(f"Of the instructions, not followed: “{sentence}” ({why.problems[0].message}).")
    return MadeWorld(state=state, notes=tuple(notes))


def filled(outline: Outline, counts: dict[str, int], *, rng_seed: int, now: str) -> JsonObject:
    """So many records of each type, before any rule of the behaviour text has been looked at."""
    draw = Draw(rng_seed)
    ids = {name: ids_of(one, counts[name], draw) for name, one in outline.types.items()}
    return Builder(outline, ids, draw, now).state()


def _count(own: TypeOutline, wanted: int) -> int:
    longest = max((len(one.values) for one in own.fields), default=0)
    return max(wanted, longest) if longest <= LONGEST_ENUM else max(wanted, LONGEST_ENUM)


def _long_enums(outline: Outline, counts: dict[str, int]) -> Iterator[str]:
    for name, own in outline.types.items():
        for one in own.fields:
            if len(one.values) > counts[name]:
                used = counts[name]
                yield f"`{name}.{one.name}` may be one of {len(one.values)} values; {used} of them are used."
