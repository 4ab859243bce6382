"""Plans as values to show: the same record for the API, the command line and the pages."""

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.build import PlannedSimulator


def shown_plans(simulator: PlannedSimulator) -> JsonObject:
    """Each tool's plan, its author and what is to be said about it; then what was not understood at all."""
    items: list[Json] = [
        {
            "tool": name,
            "origin": found.origin,
            "confidence": round(found.confidence, 2),
            "plan": found.plan.as_json() if found.plan is not None else None,
            "notes": list(found.notes),
        }
        for name, found in simulator.plans.items()
    ]
    return {"items": items, "not_understood": list(simulator.not_understood)}
