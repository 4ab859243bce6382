"""A world made from tools, ledger schema and behaviour text: same `rng_seed`, same bytes."""

from pipelines.core.worlds.shapes import MadeWorld, Toolset, WorldSize


def make_world(toolset: Toolset, *, size: WorldSize, rng_seed: int, now: str) -> MadeWorld:
    """The world, or Refused where the tools speak of nothing that a world could hold."""
    raise NotImplementedError
