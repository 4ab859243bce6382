"""What an author should look at in a world before rows are asked of it."""

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.shapes import Advisory, Toolset


def advisories(toolset: Toolset, state: JsonObject, *, now: str) -> list[Advisory]:
    raise NotImplementedError
