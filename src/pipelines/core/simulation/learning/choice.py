"""One tool: its candidates measured on calls that they were not learnt from, and the one that is kept."""

from collections.abc import Callable, Sequence

from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.learning.examples import Example, chosen, contradictions
from pipelines.core.simulation.learning.learned import (
    Candidate,
    LearnedTool,
    Options,
    UnexplainedCall,
)
from pipelines.core.simulation.learning.tool_search import search_plan
from pipelines.core.simulation.learning.trial import Reading, answers_of_plan
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import Tool

MOST_UNEXPLAINED = 20  # shown
SMALL, MANY_FOLDS = 12, 6  # of few examples, less is kept back each time
MOST_MEASURED = 300  # calls of a tool


def learn_tool(
    tool: Tool,
    examples: Sequence[Example],
    reading: Reading,
    options: Options,
    is_over: Callable[[], bool],
) -> LearnedTool:
    measured = list(examples[:MOST_MEASURED])
    conflicts = contradictions(examples)
    read_right = {at for at, one in enumerate(measured) if reading.is_right(one)}
    read_plan = reading.plan_for(tool.name, examples[0].before.world)
    candidates = [_candidate("read", len(read_right), len(measured), len(read_right), read_plan)]
    right = {"read": read_right}
    if not (conflicts and options.refuse_contradictions):
        searched = _searched(measured, options, is_over)
        if searched is not None:
            candidates.append(searched[0])
            right["searched"] = searched[1]
    if tool.name in options.model_plans:
        plan = options.model_plans[tool.name]
        answers = answers_of_plan(plan)
        right["model"] = {at for at, one in enumerate(measured) if answers(one)}
        count = len(right["model"])
        candidates.append(_candidate("model", count, len(measured), count, plan))
    best = max(candidates, key=lambda one: (_worth(one), _PREFERRED.index(one.origin)))
    left = [one for at, one in enumerate(measured) if at not in right[best.origin]]
    return LearnedTool(
        tool=tool.name,
        kept=best.origin,
        reason=_reason(best, candidates),
        plan=best.plan,
        calls=len(examples),
        confidence=best.confidence,
        candidates=tuple(candidates),
        unexplained=tuple(map(_shown, left[:MOST_UNEXPLAINED])),
        contradictions=tuple(tuple(map(_shown, group)) for group in conflicts),
        is_cut_short=is_over(),
    )


def _worth(candidate: Candidate) -> float:
    """Calls answered right. A plan that explains every call saw more than the plans that were measured: half
    of what they missed counts."""
    missed = candidate.calls - candidate.right
    return candidate.right + (missed / 2 if candidate.explained == candidate.calls else 0)


#: Of equally good plans the one is kept that needs no recording, then the one that people wrote least of.
_PREFERRED = ("model", "searched", "read")


def _candidate(origin: str, right: int, calls: int, explained: int, plan: Json) -> Candidate:
    return Candidate(origin=origin, right=right, calls=calls, explained=explained, plan=plan)  # type: ignore[arg-type]


def _searched(
    examples: Sequence[Example],
    options: Options,
    is_over: Callable[[], bool],
) -> tuple[Candidate, set[int]] | None:
    """The plan found from all calls, with how plans found from parts of them answer the other parts."""
    if is_over():
        return None
    plan = plan_from(examples, is_over)
    if plan is None:
        return None
    answers = answers_of_plan(plan)
    explained = {at for at, one in enumerate(examples) if answers(one)}
    folds = _folds(examples, options.folds if len(examples) > SMALL else max(options.folds, MANY_FOLDS))
    right = 0
    for fold in folds:
        rest = [one for at, one in enumerate(examples) if at not in fold]
        learnt = plan_from(rest, is_over)
        if learnt is not None:
            own = answers_of_plan(learnt)
            right += sum(own(examples[at]) for at in sorted(fold))
    return _candidate("searched", right, len(examples), len(explained), plan), explained


def plan_from(examples: Sequence[Example], is_over: Callable[[], bool]) -> Json:
    """None where the language refuses what was found: it is too long, mostly."""
    plan = search_plan(chosen(examples), is_over=is_over).plan
    try:
        parse_plan(plan, origin="authored")
    except Refused:
        return None
    return plan


def _folds(examples: Sequence[Example], most: int) -> list[set[int]]:
    """Whole tasks stay together, if there are several: what a call saw, the next one often sees, too. Of one
    call nothing is left to learn from: no plan is right about a call that it has not seen."""
    are_several = len({one.task for one in examples}) > 1
    groups = [one.task if are_several else str(at) for at, one in enumerate(examples)]
    number = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    count = min(most, len(number))
    if count < 2:
        return []
    return [{at for at, group in enumerate(groups) if number[group] % count == fold} for fold in range(count)]


def _reason(best: Candidate, candidates: Sequence[Candidate]) -> str:
    others = [one for one in candidates if one is not best]
    told = ", ".join(f"{_WORDS[one.origin]} {one.right}" for one in others) or "there is no other plan"
    return f"{_WORDS[best.origin]} answers {best.right} of {best.calls} calls exactly right; {told}"


_WORDS = {
    "read": "the plan that is read",
    "searched": "the plan that was searched",
    "model": "the model's plan",
}


def _shown(example: Example) -> UnexplainedCall:
    return UnexplainedCall(
        task=example.task,
        call=example.number,
        arguments=example.call.arguments,
        recorded=example.call.response,
    )
