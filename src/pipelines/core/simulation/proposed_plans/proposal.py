"""A proposed plan as a person sees it: with the plan that the tool has now, what it was measured by, and
which of the two is suggested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from enum import StrEnum
from typing import Annotated

from pipelines.core.simulation.fidelity.examples import CallKey, CallSplit
from pipelines.core.simulation.fidelity.fidelity_report import CallOutcome
from pipelines.core.simulation.plan_text import plan_as_yaml
from pipelines.core.simulation.proposed_plans.conversation import AnsweredPlan
from pipelines.core.simulation.proposed_plans.plan_trial import PlanTrial, mismatch_text
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.wire.records import Id, Record

MOST_NOT_EXPLAINED = 20  # calls that are told


class Basis(StrEnum):
    HELD_OUT = "held_out"  # recorded calls that the model was not shown
    SHOWN = "shown"  # recorded calls that it was shown, where there were too few to hold some out
    EXAMPLES = "examples"  # calls that the model wrote itself: nothing was recorded


class Choice(StrEnum):
    PROPOSED = "proposed"
    CURRENT = "current"


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredPlan(Record):
    """How many calls come out right, in reply and changes, with the current and with the proposed plan."""

    basis: Annotated[
        Basis,
        "`held_out`: recorded calls that the model was not shown; `shown`: those that it was shown, where "
        "there were too few to hold some out; `examples`: calls that the model wrote",
    ]
    calls: int
    before: Annotated[int, "with the current plan"]
    after: Annotated[int | None, "with the proposed plan; null: it cannot be used"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedPlan(Record):
    """A plan that a model wrote for a tool. It is applied nowhere."""

    tool: str
    plan: Annotated[Json, "its steps"]
    text: Annotated[str | None, "the same as YAML; null where it cannot be read"]
    difference: Annotated[tuple[str, ...], "from the plan that the tool has now, line by line"]
    why: str
    rounds: Annotated[int, "answers of the model: 2 where the first was sent back"]
    is_usable: bool
    choice: Annotated[Choice, "which plan Odyssey suggests"]
    measured: MeasuredPlan
    not_explained: Annotated[
        tuple[str, ...], "recorded calls that the proposed plan answers otherwise; the first 20"
    ]
    problems: Annotated[tuple[Problem, ...], "why it cannot be accepted"]
    examples: Annotated[
        tuple[JsonObject, ...],
        "calls that the model wrote, as in the trial of a rule, with the proposed plan",
    ]
    model: str
    exchange_id: Annotated[Id, "with the model"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposedPlanList(Record):
    """Plans that a model wrote in one conversation."""

    items: tuple[ProposedPlan, ...]
    left_out: Annotated[tuple[str, ...], "tools past the 60 of one conversation"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentPlan:
    """The plan that a tool has, and how it answers the same calls."""

    body: Json
    outcomes: Mapping[CallKey, CallOutcome]
    right_examples: int  # of the model's


def proposal_of(
    answered: AnsweredPlan,
    trial: PlanTrial,
    present: PresentPlan,
    split: CallSplit | None,
    *,
    rounds: int,
    model: str,
    exchange_id: int,
) -> ProposedPlan:
    is_usable = not trial.problems
    measured = _measured(trial, present, split)
    wrong = [one for _, one in sorted(trial.outcomes.items()) if not one.is_right]
    return ProposedPlan(
        tool=answered.tool,
        plan=answered.steps,
        text=plan_as_yaml(answered.steps) if is_usable else None,
        difference=tuple(difference_in_plans(present.body, answered.steps)) if is_usable else (),
        why=answered.why,
        rounds=rounds,
        is_usable=is_usable,
        choice=_choice(measured, trial, present),
        measured=measured,
        not_explained=tuple(map(mismatch_text, wrong[:MOST_NOT_EXPLAINED])),
        problems=trial.problems,
        examples=trial.examples,
        model=model,
        exchange_id=exchange_id,
    )


def difference_in_plans(before: Json, after: Json) -> list[str]:
    """Line by line, as YAML."""
    old, new = (plan_as_yaml(body).splitlines() if body is not None else [] for body in (before, after))
    return [line.rstrip("\n") for line in unified_diff(old, new, "now", "proposed", lineterm="", n=100)]


def _measured(trial: PlanTrial, present: PresentPlan, split: CallSplit | None) -> MeasuredPlan:
    is_usable = not trial.problems
    if split is None:
        calls, before, after = len(trial.examples), present.right_examples, trial.right
        basis = Basis.EXAMPLES
    else:
        keys = sorted(split.held_out or split.shown)
        basis = Basis.HELD_OUT if split.held_out else Basis.SHOWN
        calls, before, after = len(keys), _right(keys, present.outcomes), _right(keys, trial.outcomes)
    return MeasuredPlan(basis=basis, calls=calls, before=before, after=after if is_usable else None)


def _right(keys: Sequence[CallKey], outcomes: Mapping[CallKey, CallOutcome]) -> int:
    return sum(outcomes[key].is_right for key in keys if key in outcomes)


def _choice(measured: MeasuredPlan, trial: PlanTrial, present: PresentPlan) -> Choice:
    """Held-out calls decide; where both plans explain as many of them, all recorded calls do. Without a
    recording no figure decides: a model was asked because nothing speaks for the current plan."""
    if measured.after is None:
        return Choice.CURRENT
    if measured.basis is Basis.EXAMPLES:
        return Choice.PROPOSED
    all_keys = [*trial.outcomes]
    now = measured.before, _right(all_keys, present.outcomes)
    then = measured.after, _right(all_keys, trial.outcomes)
    return Choice.PROPOSED if then > now else Choice.CURRENT
