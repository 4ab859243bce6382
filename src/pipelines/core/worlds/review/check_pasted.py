"""Whether a world that somebody pasted fits the tools and the ledger schema."""

from collections.abc import Iterator

from pipelines.core.ledger.initial_state import read_initial_state
from pipelines.core.tasks.seed_limits import size_problems
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import MOST_SHOWN, Problem
from pipelines.core.worlds.ground import Ground
from pipelines.core.worlds.shapes import Toolset
from pipelines.core.worlds.types.world_outline import types_in

PATH = "/state"


def check_pasted(toolset: Toolset, state: Json) -> list[Problem]:
    """Everything that keeps it from being a session's world: its size, its shape, what the schema does not
    allow, and types that no tool speaks of."""
    too_large = size_problems({"initial_state": state}, "")
    if too_large:
        return [Problem(path=PATH, message=each.message, hint=each.hint) for each in too_large.values()]
    problems: list[Problem] = []
    read = read_initial_state(state, ledger_schema=toolset.ledger_schema, path=PATH, problems=problems)
    if not problems and isinstance(state, dict) and not types_in(read):
        problems.append(
            Problem(path=PATH, message="holds no entity", hint='{"order": {"4521": {"status": "paid"}}}')
        )
    if not problems:
        problems += _unreachable(toolset, read)
    return problems[:MOST_SHOWN]


def _unreachable(toolset: Toolset, state: JsonObject) -> Iterator[Problem]:
    """A world that none of the tools speaks of is the world of another agent."""
    from pipelines.core.worlds.review.advisories import touched_types

    kinds = types_in(state)
    if kinds and not touched_types(Ground(toolset, state)) & set(kinds):
        spoken = sorted({tool.name for tool in toolset.tools})[:8]
        first = next(iter(kinds))
        hint = did_you_mean(first, spoken) or f"the tools are {', '.join(spoken)}"
        message = f"no tool reads or changes any of {', '.join(list(kinds)[:8])}"
        yield Problem(path=PATH + pointer([first]), message=message, hint=hint)
