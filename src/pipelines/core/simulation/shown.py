"""Plans as values to show: the same record for the API, the command line and the pages."""

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.build import PlannedSimulator, ToolPlan
from pipelines.core.simulation.guesses import guess_of
from pipelines.core.tools_schema import Tool


def shown_plans(simulator: PlannedSimulator) -> JsonObject:
    """Each tool's plan, its author and what is to be said about it; then what was not understood at all."""
    items: list[Json] = [_shown(tool, simulator.plan_of(name)) for name, tool in simulator.tools.items()]
    return {"items": items, "not_understood": list(simulator.not_understood)}


def _shown(tool: Tool, found: ToolPlan) -> JsonObject:
    guess = guess_of(tool, found)
    return {
        "tool": tool.name,
        "origin": found.origin,
        "confidence": round(found.confidence, 2),
        "is_guess": guess is not None,
        "settled_by": guess.settled_by if guess is not None else None,
        "plan": found.plan.as_json() if found.plan is not None else None,
        "notes": list(found.notes),
    }
