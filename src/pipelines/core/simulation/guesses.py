"""Plans that are only a guess, and what would confirm each. Shown wherever plans are shown or used."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from pipelines.core.simulation.build import PlannedSimulator, ToolPlan
from pipelines.core.simulation.guessed_refusals import Refusal
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.tools_schema import Tool

MOST_WORLDS = 50  # that differ in their types, read for one answer
SETTLED_BY = "a plan for the tool (`simulation`), or a recording of the real tool to compare with"


Types = tuple[str, ...]


class Guess(NamedTuple):
    tool: str
    confidence: float
    why: str
    settled_by: str

    def as_text(self) -> str:
        return f"{self.tool} is a guess (confidence {self.confidence:.2f}): {self.why}"


def guess_of(tool: Tool, found: ToolPlan) -> Guess | None:
    """None where the plan is its author's, or sure enough, or a live endpoint answers instead of it."""
    if tool.is_passthrough or not found.is_guess:
        return None
    why = "; ".join(found.notes) or "its name, description and the world do not show what it returns"
    shape = "" if tool.output_schema else "an `output_schema`, if it only reads; "
    return Guess(tool.name, found.confidence, why, shape + SETTLED_BY)


def guesses_of(simulator: PlannedSimulator, called: Collection[str]) -> list[Guess]:
    """Those among the tools that were called."""
    tools = [tool for name, tool in simulator.tools.items() if name in called]
    found = (guess_of(tool, simulator.plan_of(tool.name)) for tool in tools)
    return [one for one in found if one is not None]


def refusal_notes(found: ToolPlan) -> list[str]:
    """The inferred refusals of a plan, for showing it."""
    return [f"{status} {code}: {why}" for (status, code), why in found.guessed_refusals.items()]


def assumption_warnings(simulator: PlannedSimulator, called: Collection[str]) -> list[str]:
    """The assumptions in the plans of these tools, except plans that are a guess as a whole."""
    plans = [(name, simulator.plan_of(name)) for name in simulator.tools if name in called]
    return [f"{name}: {note}" for name, plan in plans if not plan.is_guess for note in plan.assumed]


def refusal_warnings(simulator: PlannedSimulator, refused: Iterable[tuple[str, Refusal]]) -> list[str]:
    """Of calls that were refused, those that a guess refused, once for each tool and reason."""
    known = [(tool, refusal) for tool, refusal in refused if tool in simulator.tools]
    guesses = ((tool, simulator.plan_of(tool).guessed_refusals.get(refusal)) for tool, refusal in known)
    return list(dict.fromkeys(f"{tool}: {why}" for tool, why in guesses if why is not None))


def guesses_over(read: Iterable[tuple[int, PlannedSimulator]], tools: Sequence[Tool]) -> Iterator[Problem]:
    """Tools that are a guess in every world of these rows; by the first row where they are least of one."""
    best: dict[str, tuple[ToolPlan, int]] = {}
    for row, simulator in read:
        for name, plan in simulator.plans.items():
            if name not in best or plan.confidence > best[name][0].confidence:
                best[name] = (plan, row)
    for tool in tools:
        if tool.name not in best:
            continue
        plan, row = best[tool.name]
        guess = guess_of(tool, plan)
        if guess is not None:
            hint = f"to confirm it, give {guess.settled_by}"
            yield Problem(
                path=f"/tools/{tool.name}", message=guess.as_text(), hint=hint, row=row, column="state"
            )


def types_of(initial_state: JsonObject) -> Types:
    """Worlds with the same types count as alike: a plan depends on the types, seldom on their fields."""
    return tuple(sorted(initial_state))
