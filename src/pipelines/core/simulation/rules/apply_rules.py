"""Adds rules to the plan of a tool: guards before its first change, effects before its final return, and
changes to lists and replies. A rule that cannot be added is returned with the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.rules import apply_effects as effects
from pipelines.core.simulation.rules import apply_replies as replies
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.conditions import Nature, nature_of, unless_omitted
from pipelines.core.simulation.rules.messages import message_of
from pipelines.core.simulation.rules.open_plan import CannotApply, OpenPlan, Step, with_note
from pipelines.core.simulation.rules.refusals import failure, missing
from pipelines.core.simulation.rules.rule import ARGS, Rule
from pipelines.core.simulation.rules.vocabulary import ToolNouns, Vocabulary
from pipelines.core.text.json_text import Json

_NO_TOOL = ToolNouns(
    name="", verb="", things=frozenset(), reads=False, arguments={}, required=frozenset(), output={}
)
_MOST_TOO_LARGE = 10  # rules for which the plan has no room; after them it is full, and no other is tried
_FIRST, _STORED, _LAST = (
    -1,
    9,
    50,
)  # ranks: values kept for later come after the guards, what must hold at the end last


class UnappliedRule(NamedTuple):
    rule: Rule
    reason: str


class AppliedRules(NamedTuple):
    body: list[Json]
    unapplied: tuple[UnappliedRule, ...] = ()


def apply_rules(
    body: Sequence[Json],
    *,
    tool: str,
    rules: Sequence[Rule],
    vocabulary: Vocabulary,
    is_inferred: bool = False,
) -> AppliedRules:
    """The plan with the rules for the tool, and the rules that could not be added.

    A plan `is_inferred` when it was read from names and schemas: where a rule lists the values with which a
    call succeeds, it replaces the guesses about them.
    """
    covering = [(turn, rule) for turn, rule in enumerate(rules) if rule.covers(tool)]
    if not covering:
        return AppliedRules([*body])
    nouns = vocabulary.tools.get(tool, replace(_NO_TOOL, name=tool))
    plan = OpenPlan.of(body, tool=nouns, vocabulary=vocabulary, is_inferred=is_inferred)
    unapplied: dict[int, UnappliedRule] = {}
    too_large, too_large_with_it = 0, f"the plan of {tool} would be too large with it"
    for turn, rule in sorted(covering, key=lambda one: _order(one[1])):
        if too_large >= _MOST_TOO_LARGE:
            unapplied[turn] = UnappliedRule(rule, too_large_with_it)
            continue
        trial = plan.copy(turn)
        try:
            _APPLIERS[type(rule.form)](rule, rule.form, trial)
            if not trial.fits():
                too_large += 1
                raise CannotApply(too_large_with_it)
        except (CannotApply, r.NoSuchRecord) as none:
            unapplied[turn] = UnappliedRule(rule, str(none))
        else:
            plan = trial
    return AppliedRules(plan.finish(), tuple(unapplied[turn] for turn in sorted(unapplied)))


def _order(rule: Rule) -> int:
    """Lists are cut after they are sorted, and sorted after they are filtered. What is answered unchanged is
    answered in the shape of the reply, so the reply is shaped before."""
    match rule.form:
        case r.Require(after_changes=True):
            return len(_APPLIERS)
        case r.Require(answer=r.Unchanged()):
            return len(_APPLIERS) + 1
    return [*_APPLIERS].index(type(rule.form))


# -- guards -------------------------------------------------------------------------------------------------


def _guard(rule: Rule, form: r.Guard, plan: OpenPlan) -> None:
    requirement = r.as_requirement(form, plan.tool.name, plan.vocabulary.id_argument)
    if requirement.after_changes:
        _invariant(rule, requirement, plan)
        return
    roots, latest = requirement.need.roots(), plan.first_change
    place = plan.place_after(roots, latest)
    records = plan.records(roots, latest)
    nature = nature_of(requirement.need, plan.tool, plan.vocabulary)
    need = plan.substituted(requirement.need, records)
    need = need if nature is Nature.CALLER else unless_omitted(need, plan.tool)
    if isinstance(requirement.answer, r.Refusal):
        answer = _refusal(form, requirement, nature, records, plan)
        step = with_note({"require": need, "else": answer}, rule, answers=True)
    else:
        kind = next((root for root in sorted(roots) if root in plan.vocabulary.kinds), plan.tool.about)
        if isinstance(requirement.answer, r.Reply):
            value = replies.value_of(requirement.answer.value)
        else:
            place = max(place, plan.place_after({kind} if kind is not None else (), latest))
            value = replies.unchanged_value(plan, kind, place)
        returned = with_note({"return": value}, rule, answers=True)
        step = with_note({"if": need.negated(), "then": [returned]}, rule)
    status = requirement.answer.status if isinstance(requirement.answer, r.Refusal) else None
    rank = Nature.CALLER if status == 403 and nature is Nature.STATE else nature
    plan.insert((place,), step, _FIRST if requirement.first else rank.value)
    if plan.is_inferred:
        _drop_guesses(requirement.need, plan)


def _refusal(
    form: r.Guard, asked: r.Require, nature: Nature, records: Mapping[str, Expr], plan: OpenPlan
) -> Draft:
    assert isinstance(asked.answer, r.Refusal)
    message = message_of(form, asked.need, plan.tool, plan.vocabulary).replaced(records)
    assert isinstance(message, n.Format)
    return failure(asked.answer, asked.need, nature, message)


def _drop_guesses(need: Expr, plan: OpenPlan) -> None:
    """Without the plan's own conditions on a field for which a rule lists the values that are allowed."""
    match need:
        case n.Compare(first=first, rest=((("==" | "in"), (n.Constant() | n.ListOf())),)):
            settled = n.path_of(first)
        case _:
            return
    kinds = {one.name: one.kind for one in plan.bound()}
    for at, step in enumerate(plan.steps):
        condition = step.get("require")
        read = condition.refs() if isinstance(condition, Expr) else ()
        fields = {n.Path(kinds.get(path.root, path.root), path.keys) for path in read if path.keys}
        if settled is not None and fields == {settled}:
            plan.steps[at] = {}


def _invariant(rule: Rule, asked: r.Require, plan: OpenPlan) -> None:
    """What must hold after the call's changes; a call that left the values as they were is not refused."""
    if not isinstance(asked.answer, r.Refusal):
        raise CannotApply("a condition after the changes can only be refused with an error")
    if plan.first_change >= plan.end and not plan.ahead:
        raise CannotApply(f"the plan of {plan.tool.name} changes nothing")
    records = plan.records(asked.need.roots(), plan.end)
    need = unless_omitted(plan.substituted(asked.need, records), plan.tool)
    same = _as_before(rule, asked.need, records, plan)
    nature = nature_of(asked.need, plan.tool, plan.vocabulary)
    answer = _refusal(asked, asked, nature, records, plan)
    step: Step = {"require": m.any_of(need, *([m.all_of(*same)] if same else [])), "else": answer}
    plan.at_end(with_note(step, rule, answers=True), _LAST)


def _as_before(rule: Rule, need: Expr, records: Mapping[str, Expr], plan: OpenPlan) -> list[Expr]:
    same: list[Expr] = []
    for path in need.refs():
        if path.root == ARGS or not path.keys or path.root not in records:
            continue
        try:
            before = plan.record(path.root, plan.first_change)
            place = plan.place_after({path.root}, plan.first_change)
        except CannotApply:
            return []  # a new record: nothing of it is as it was
        name = plan.fresh(f"{path.keys[-1]}_before")
        plan.insert((place,), with_note({"let": {name: m.fields(before, *path.keys)}}, rule), _STORED)
        same.append(m.is_equal(m.fields(records[path.root], *path.keys), n.Name(name)))
    return same


def _not_found(rule: Rule, form: r.NotFound, plan: OpenPlan) -> None:
    kind, argument = form.entity_type, plan.tool.id_argument(form.entity_type)
    found = [step for _, step in plan.walk() if _looks_up(step, kind)]
    for step in found:
        find = {key: part for key, part in step["find"].items() if key != "optional"}
        find["else"] = missing(form.answer, kind, find["id"], plan.vocabulary)
        step.update(with_note({**step, "find": find}, rule, answers=True))
    if not found and argument is None:
        raise CannotApply(f"the plan of {plan.tool.name} looks up no {kind}")
    if not found and argument is not None:
        known = unless_omitted(m.call("exists", n.Constant(kind), m.arg(argument)), plan.tool)
        answer = missing(form.answer, kind, m.arg(argument), plan.vocabulary)
        plan.insert(
            (0,), with_note({"require": known, "else": answer}, rule, answers=True), Nature.STATE.value
        )


def _looks_up(step: Step, kind: str) -> bool:
    find = step.get("find")
    return isinstance(find, dict) and find.get("in") == kind and "id" in find and not find.get("all")


#: In the order in which rules are applied.
_APPLIERS: Mapping[type, Callable[[Rule, Any, OpenPlan], None]] = {
    r.Drop: effects.drop,
    r.Amend: lambda rule, form, plan: None,  # the rule that it is about is applied as it says
    r.NotFound: _not_found,
    r.Require: _guard,
    r.LimitCalls: _guard,
    r.After: _guard,
    r.RunningTotal: _guard,
    r.Keep: replies.keep,
    r.Sort: replies.sort,
    r.Take: replies.take,
    r.Set: effects.set_field,
    r.Flag: effects.flag,
    r.Add: effects.add,
    r.Remove: effects.remove,
    r.Put: replies.put,
    r.Without: replies.shape,
    r.Only: replies.shape,
    r.Mask: replies.shape,
}
