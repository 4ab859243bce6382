"""Whether a world that somebody pasted fits the tools and the ledger schema."""

from pipelines.core.json_text import Json
from pipelines.core.problems import Problem
from pipelines.core.worlds.shapes import Toolset


def check_pasted(toolset: Toolset, state: Json) -> list[Problem]:
    raise NotImplementedError
