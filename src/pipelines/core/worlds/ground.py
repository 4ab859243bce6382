"""One world, ready to be called: its plans are read and compiled once for all rows."""

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.shapes import Toolset


class Ground:
    """Belongs to one toolset and one state, and is not changed by what is tried on it."""


def ground_of(toolset: Toolset, state: JsonObject) -> Ground:
    raise NotImplementedError
