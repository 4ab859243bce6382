"""A world changed by a sentence: what was not asked about keeps its ids and values."""

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.shapes import Refined, Toolset, WorldSize


def refine(
    toolset: Toolset, state: JsonObject, prompt: str, *, rng_seed: int, now: str, size: WorldSize
) -> Refined:
    """The world as it is then, or NotUnderstood with every part of the prompt that cannot be followed."""
    raise NotImplementedError
