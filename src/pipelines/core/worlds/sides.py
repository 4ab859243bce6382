"""Both sides of every rule in the behaviour text: something that it lets through, and something that it does not."""

from typing import NamedTuple

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.outline import Outline
from pipelines.core.worlds.shapes import Toolset


class Sided(NamedTuple):
    state: JsonObject
    notes: tuple[str, ...]


def with_both_sides(toolset: Toolset, outline: Outline, state: JsonObject, *, now: str) -> Sided:
    return Sided(state, ())
