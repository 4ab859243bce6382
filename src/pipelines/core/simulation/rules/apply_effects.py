"""Adds the effects of rules to a plan: what a call changes because of a rule."""

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.expr.steps import BLOCKS, bound_by, names_in
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.conditions import arguments_in, operands
from pipelines.core.simulation.rules.open_plan import CannotApply, OpenPlan, Step, with_note
from pipelines.core.simulation.rules.rule import Rule

_PAIR = ("id", "value")  # of a record that is changed with others
_STORED, _CHANGED, _REMOVED, _MANY_REMOVED = 9, 10, 20, 40  # ranks: a record is changed before it is removed


def set_field(rule: Rule, form: r.Set, plan: OpenPlan) -> None:
    kind = form.target.root
    if form.where is not None:
        _for_each(rule, form, kind, form.where, plan)
        return
    if form.value is not None and _is_in_plan(form, form.value, plan):
        return
    name = existing_record(plan.bind(kind, rule), kind, plan)
    target = m.path(name, *form.target.keys)
    step: Step = {"unset": [target]}
    needed: list[Expr] = []
    if form.value is not None and form.before:
        step = {"set": {target: _value_before(form.value, rule, plan)}}
    elif form.value is not None:
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
    if form.where is not None:
        _for_each(rule, form, form.entity_type, form.where, plan)
        return
    name = existing_record(plan.bind(form.entity_type, rule), form.entity_type, plan)
    plan.removed |= {name}
    step: Step = {"remove": n.Name(name)}
    add_effect(rule, step, form.when, _unless_null(name, plan), plan, rank=_REMOVED)


def _value_before(value: Expr, rule: Rule, plan: OpenPlan) -> Expr:
    """A value as the call finds things; null where something is missing that it is worked out from."""
    place = plan.place_after(value.roots(), plan.first_change)
    records = plan.records(value.roots(), plan.first_change)
    name = plan.fresh("value")
    found = _where_present(value, records, plan)
    plan.insert((place,), with_note({"let": {name: found}}, rule), _STORED)
    return n.Name(name)


def _where_present(value: Expr, records: dict[str, Expr], plan: OpenPlan) -> Expr:
    needed, found = operands_present(value, records, plan), plan.substituted(value, records)
    return n.Conditional(m.all_of(*needed), found, m.NULL) if needed else found


def _for_each(rule: Rule, form: r.Set | r.Remove, kind: str, where: Expr, plan: OpenPlan) -> None:
    """The effect on every record of a type that is meant. Which these are, and their values, is worked out
    for all of them before any is changed."""
    value = form.value if isinstance(form, r.Set) and form.value is not None else m.NULL
    roots = (where.roots() | value.roots()) - {r.EACH}
    until = plan.first_change if form.before else plan.end
    each, meant_name, one, record = map(plan.fresh, (r.EACH, "meant", "one", kind))
    records = plan.records(roots, until) | {r.EACH: n.Name(each)}
    needed = operands_present(value, records, plan)
    entry = m.call("id_of", n.Name(each)), plan.substituted(value, records)
    pair = n.MappingOf(tuple(n.Entry(n.Constant(key), part) for key, part in zip(_PAIR, entry, strict=True)))
    test = m.all_of(plan.substituted(where, records), *needed)
    found: Step = {"let": {meant_name: m.listed(pair, each, m.entities(kind), test)}}
    if form.before:
        plan.insert((plan.place_after(roots, until),), with_note(found, rule), _STORED)
    else:
        plan.at_end(with_note(found, rule), _CHANGED)
    target = m.path(record, *form.target.keys) if isinstance(form, r.Set) else n.Name(record)
    change: Step = {"remove": target} if isinstance(form, r.Remove) else {"unset": [target]}
    if isinstance(form, r.Set) and form.value is not None:
        change = {"set": {target: m.path(one, "value")}}
    find = {"as": record, "in": kind, "id": m.path(one, "id"), "exact": True, "optional": True}
    body: list[Step] = [{"find": find}, {"if": m.is_given(n.Name(record)), "then": [change]}]
    # After everything else: what else is changed may be among them.
    rank = _MANY_REMOVED if isinstance(form, r.Remove) else _CHANGED
    add_effect(rule, {"for": one, "in": n.Name(meant_name), "do": body}, form.when, [], plan, rank=rank)


def drop(rule: Rule, form: r.Drop, plan: OpenPlan) -> None:
    """Without the steps of the plan itself that change a field, or records of a type."""
    kinds = {one.name: one.kind for one in plan.bound()}
    for _, step in plan.walk():
        find = step.get("find")
        kinds |= {str(find["as"]): str(find["in"])} if isinstance(find, dict) and "as" in find else {}
    if not _without(plan.steps, form, kinds):
        field = ".".join((form.entity_type, *form.keys))
        raise CannotApply(f"the plan of {plan.tool.name} changes no {field}")
    if not form.keys:
        plan.removed -= {name for name, kind in kinds.items() if kind == form.entity_type}
    bound = {name for _, step in plan.walk() for name in bound_by(step)}
    if ({*kinds} - bound) & {*names_in(plan.steps)}:
        raise CannotApply(f"the plan of {plan.tool.name} uses the {form.entity_type} that it adds")


def _without(steps: list[Step], form: r.Drop, kinds: dict[str, str]) -> bool:
    """Takes them out; whether there were any. A block that has nothing left goes, too."""
    found = False
    for step in steps:
        blocks = [key for key in BLOCKS if isinstance(step.get(key), list)]
        inside = [_without(step[key], form, kinds) for key in blocks]
        if any(inside) and not any(any(step[key]) for key in blocks):
            step.clear()
        found |= any(inside) or _is_dropped(step, form, kinds)
    return found


def _is_dropped(step: Step, form: r.Drop, kinds: dict[str, str]) -> bool:
    def is_meant(target: Draft) -> bool:
        path = n.path_of(target) if isinstance(target, Expr) else None
        is_type = path is not None and kinds.get(path.root) == form.entity_type
        return is_type and path is not None and path.keys[: len(form.keys)] == form.keys

    added = step.get("add")
    is_added = isinstance(added, dict) and added.get("in") == form.entity_type
    if not form.keys and (is_added or is_meant(step.get("remove"))):
        step.clear()
        return True
    for verb in ("set", "append", "unset"):
        targets = step.get(verb)
        targets = targets if isinstance(targets, dict | list) else []
        dropped = [one for one in targets if is_meant(one)]
        if dropped and isinstance(targets, dict):
            step[verb] = {one: value for one, value in targets.items() if one not in dropped}
        elif dropped:
            step[verb] = [one for one in targets if one not in dropped]
        if dropped and not step[verb]:
            step.clear()
        if dropped:
            return True
    return False


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
