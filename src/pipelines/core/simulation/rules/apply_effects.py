"""Adds the effects of rules to a plan: what a call changes because of a rule."""

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.conditions import arguments_in, operands
from pipelines.core.simulation.rules.open_plan import CannotApply, OpenPlan, Step, with_note
from pipelines.core.simulation.rules.rule import Rule

_STORED, _CHANGED, _REMOVED = 9, 10, 20  # ranks: a record is changed before it is removed


def set_field(rule: Rule, form: r.Set, plan: OpenPlan) -> None:
    kind = form.target.root
    if form.value is not None and _is_in_plan(form, form.value, plan):
        return
    name = existing_record(plan.bind(kind, rule), kind, plan)
    target = m.path(name, *form.target.keys)
    step: Step = {"unset": [target]}
    needed: list[Expr] = []
    if form.value is not None:
        records = plan.records(form.value.roots() - {kind}, plan.end) | {kind: n.Name(name)}
        step = {"set": {target: plan.substituted(form.value, records)}}
        needed = operands_present(form.value, records, plan)
    add_effect(rule, step, form.when, [*_unless_null(name, plan), *needed], plan)


def flag(rule: Rule, form: r.Flag, plan: OpenPlan) -> None:
    add_effect(rule, {"flag" if form.on else "unflag": n.Constant(form.flag)}, form.when, [], plan)


def add(rule: Rule, form: r.Add, plan: OpenPlan) -> None:
    roots = {root for _, value in form.fields for root in value.roots()}
    records = plan.records(roots, plan.end)
    attrs = {mapping_key(key): plan.substituted(value, records) for key, value in form.fields}
    needed = [one for _, value in form.fields for one in operands_present(value, records, plan)]
    add_effect(rule, {"add": {"in": form.entity_type, "attrs": attrs}}, form.when, needed, plan)


def remove(rule: Rule, form: r.Remove, plan: OpenPlan) -> None:
    name = existing_record(plan.bind(form.entity_type, rule), form.entity_type, plan)
    plan.removed |= {name}
    step: Step = {"remove": n.Name(name)}
    add_effect(rule, step, form.when, _unless_null(name, plan), plan, rank=_REMOVED)


def add_effect(
    rule: Rule, step: Step, when: Expr | None, needed: list[Expr], plan: OpenPlan, *, rank: int = _CHANGED
) -> None:
    """The step at the end of the plan, where the conditions hold."""
    tests = [*([condition_before(when, rule, plan)] if when is not None else []), *needed]
    if tests:
        step = {"if": m.all_of(*tests), "then": [step]}
    plan.at_end(with_note(step, rule), rank)


def condition_before(when: Expr, rule: Rule, plan: OpenPlan) -> Expr:
    """Whether a condition holds: it speaks of things as the call finds them, not as it leaves them."""
    try:
        place = plan.place_after(when.roots(), plan.first_change)
    except CannotApply:  # it speaks of what the call adds
        return plan.substituted(when, plan.records(when.roots(), plan.end))
    found = plan.substituted(when, plan.records(when.roots(), plan.first_change))
    name = plan.fresh("applies")
    plan.insert((place,), with_note({"let": {name: found}}, rule), _STORED)
    return n.Name(name)


def operands_present(value: Expr, records: dict[str, Expr], plan: OpenPlan) -> list[Expr]:
    """That everything is there which a sum needs: nothing is worked out of what is missing."""
    return [m.is_given(one.replaced(records)) for one in operands(value, plan.tool)]


def existing_record(name: str, kind: str, plan: OpenPlan) -> str:
    if name in plan.removed:
        raise CannotApply(f"the plan of {plan.tool.name} removes the {kind} already")
    return name


def mapping_key(key: str) -> Draft:
    """A key of a mapping as a plan writes it: `...` and `[x]` would mean something else there."""
    return key if key.isidentifier() else n.ListOf((n.Constant(key),))


def _unless_null(name: str, plan: OpenPlan) -> list[Expr]:
    """A shipment that is in no container leaves all containers alone."""
    return [m.is_given(n.Name(name))] if name in plan.optional else []


def _is_in_plan(form: r.Set, value: Expr, plan: OpenPlan) -> bool:
    """Whether the plan adds to the field, or takes from it, as the rule does: it is not done twice."""
    kinds = {one.name: one.kind for one in plan.bound()}
    sets = (step["set"] for _, step in plan.walk() if isinstance(step.get("set"), dict))
    for target, own in (change for changes in sets for change in changes.items()):
        path = n.path_of(target) if isinstance(target, Expr) else None
        reads = own.refs() if isinstance(own, Expr) else ()
        is_same = path is not None and (kinds.get(path.root), path.keys) == form.target
        if not is_same or path not in reads or form.target not in value.refs():
            continue
        if _signs(own) == _signs(value) and arguments_in(value) <= arguments_in(own):
            return True
        raise CannotApply(f"the plan of {plan.tool.name} counts {form.target.keys[-1]} in another way")
    return False


def _signs(value: Expr) -> set[str]:
    return {node.sign for node in value.walk() if isinstance(node, n.Arithmetic)}
