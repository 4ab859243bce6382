"""Plans as values to show: the same record for the API, the command line and the pages."""

from collections.abc import Callable, Collection

from pipelines.core.simulation.build import PlannedSimulator, ToolPlan
from pipelines.core.simulation.domain.side import hint_sentences
from pipelines.core.simulation.guesses import guess_of, refusal_notes
from pipelines.core.simulation.sentences import MOST_SHOWN_BY_CALLS, shown_findings, shown_sentences
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool


def shown_plans(
    simulator: PlannedSimulator,
    only: Collection[str] | None = None,
    *,
    may_read: Callable[[], bool] = lambda: True,
    with_examples: bool = False,
    now: str | None = None,
) -> JsonObject:
    """Each tool's plan (or of those that are named), its author and what is to be said about it; then how
    each sentence of the behaviour text is read, and what is wrong with the rules.
    """
    selected = simulator.tools if only is None else only
    items: list[Json] = [_tool_json(simulator.tools[name], simulator.plan_of(name)) for name in selected]
    not_understood: list[Json] = list(simulator.not_understood)
    uniform: list[Json] = [f"{sentence} ({how})" for sentence, how in simulator.uniform.items()]
    most = MOST_SHOWN_BY_CALLS if with_examples else 0
    sentences = shown_sentences(simulator, may_read=may_read, most_by_calls=most, now=now)
    return {
        "items": items,
        "not_understood": not_understood,
        "uniform": uniform,
        "sentences": [*sentences],
        "findings": [*shown_findings(simulator)],
    }


def _tool_json(tool: Tool, found: ToolPlan) -> JsonObject:
    guess = guess_of(tool, found)
    return {
        "tool": tool.name,
        "origin": found.origin,
        "confidence": round(found.confidence, 2),
        "is_guess": guess is not None,
        "settled_by": guess.settled_by if guess is not None else None,
        "hints": [*hint_sentences(tool.annotations)],
        "plan": found.plan.as_json() if found.plan is not None else None,
        "notes": [*found.notes, *refusal_notes(found)],
        "grounds": [*found.grounds],
    }
