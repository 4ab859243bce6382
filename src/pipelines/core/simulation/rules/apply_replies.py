"""Changes the reply of a plan as rules say: filters, sorts and cuts lists; computes, removes or masks
fields."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.expr.steps import names_in
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.apply_effects import (
    condition_before,
    existing_record,
    mapping_key,
    operands_present,
)
from pipelines.core.simulation.rules.open_plan import CannotApply, OpenPlan, Step, StepPath, with_note
from pipelines.core.simulation.rules.rule import EACH, REPLY, Rule
from pipelines.core.text.json_text import Json

Shape: TypeAlias = Literal["record", "list"] | None
Change: TypeAlias = Callable[[Draft], Draft]
_RECORDS = frozenset(("without", "pick", "merge", "entity", "first", "last", "find"))
_LISTS = frozenset(("entities", "sort", "top", "reversed", "unique", "flatten", "values"))
_READS = frozenset(("id_of", "without", "pick", "merge"))
_PAGES = ("page", "page_number", "page_no")
_SPREAD = "..."
_KEPT, _SORTED, _CUT, _PUT = 4, 5, 6, 30
_LONG = 200  # nodes of a condition on candidates; more are looked at in steps of their own


def shape_of(value: Draft, plan: OpenPlan) -> Shape:
    """Whether a value is one record or a list, where the plan shows it."""
    match value:
        case dict() | n.MappingOf():
            return "record"
        case list() | n.ListOf() | n.Slice() | n.Comprehension(shape="list"):
            return "list"
        case n.Call(function=name):
            return "record" if name in _RECORDS else "list" if name in _LISTS else None
        case n.Arithmetic(left=left, sign="+"):
            return "list" if shape_of(left, plan) == "list" else None
        case n.Conditional(then=then, otherwise=otherwise):
            return shape_of(then, plan) or shape_of(otherwise, plan)
        case n.Name(name=name):
            return _shape_of_name(name, plan)
        case n.Field():
            return _shape_of_path(value, plan)
    return None


def _shape_of_name(name: str, plan: OpenPlan) -> Shape:
    found: Shape = None
    for _, step in plan.walk():
        spec, let = step.get("find") or step.get("add"), step.get("let")
        if isinstance(spec, dict) and spec.get("as") == name:
            found = "list" if spec.get("all") else "record"
        elif isinstance(let, dict) and name in let and name not in {*names_in(let[name])}:
            found = shape_of(let[name], plan)
    return found


def _shape_of_path(value: Expr, plan: OpenPlan) -> Shape:
    """`warehouse.items`: the list that a record keeps, or an object inside it."""
    path = n.path_of(value) or n.Path("")
    kinds = {one.name: one.kind for one in plan.bound() if not one.is_list}
    kind = plan.vocabulary.kinds.get(kinds.get(path.root, ""))
    field = kind.fields.get(path.keys) if kind is not None else None
    if field is None or field.keeps == "map":
        return None
    return "list" if field.keeps == "list" else "record" if field.parts else None


# -- lists --------------------------------------------------------------------------------------------------


def keep(rule: Rule, form: r.Keep, plan: OpenPlan) -> None:
    found = _list_step(plan)
    find = plan.steps[found]["find"] if found is not None else {}
    where = find.get("where", m.TRUE)
    is_short = isinstance(where, Expr) and sum(1 for _ in where.walk()) < _LONG
    if found is None or "id" in find or not is_short:
        _reshape(rule, plan, partial(_filter, form.need, plan), _KEPT)
        return
    records = plan.records(form.need.roots() - {EACH}, found) | {EACH: n.Name(find["as"])}
    tests = [] if where == m.TRUE else [where]
    find["where"] = m.all_of(*tests, plan.substituted(form.need, records))
    plan.steps[found] = with_note(plan.steps[found], rule)


def sort(rule: Rule, form: r.Sort, plan: OpenPlan) -> None:
    def change(items: Expr, until: int) -> Expr:
        if form.latest is not None:  # the ledger keeps records in the order in which they came
            return m.call("reversed", items) if form.latest else items
        for name in reversed(form.by):
            items = m.call("sort", items, n.Constant(name))
        if form.first is not None:
            parts = (_filter(test, plan, items, until) for test in (form.first, form.first.negated()))
            return m.arithmetic(next(parts), "+", next(parts))
        return items

    _reshape(rule, plan, change, _SORTED)


def take(rule: Rule, form: r.Take, plan: OpenPlan) -> None:
    most = n.Constant(form.count)
    argument = next((name for name in _PAGES if form.pages and name in plan.tool.arguments), None)

    def change(items: Expr, until: int) -> Expr:
        if argument is None:
            return n.Slice(items, None, most)
        page = m.call("max", m.call("default", m.arg(argument), n.Constant(1)), n.Constant(1))
        before = m.arithmetic(page, "-", n.Constant(1))
        return n.Slice(items, m.arithmetic(before, "*", most), m.arithmetic(page, "*", most))

    _reshape(rule, plan, change, _CUT)


def _filter(need: Expr, plan: OpenPlan, items: Expr, until: int) -> Expr:
    each = plan.fresh(EACH)
    records = plan.records(need.roots() - {EACH}, until) | {EACH: n.Name(each)}
    return m.listed(n.Name(each), each, items, plan.substituted(need, records))


def _list_step(plan: OpenPlan) -> int | None:
    """The step that finds the list of which the reply is made."""
    used = {name for _, step in plan.returns() for name in names_in(step["return"])}
    found = [one.at for one in plan.bound() if one.is_list and one.name in used]
    return found[0] if len(found) == 1 else None


def _reshape(rule: Rule, plan: OpenPlan, change: Callable[[Expr, int], Expr], rank: int) -> None:
    """The list where it is found; else every list that is returned."""
    found = _list_step(plan)
    if found is not None:
        name = plan.steps[found]["find"]["as"]
        step: Step = {"let": {name: change(n.Name(name), found + 1)}}
        plan.insert((found + 1,), with_note(step, rule), rank)
        return
    returns = [one for one in plan.returns() if not isinstance(one[1]["return"], n.Constant)]
    if not returns:
        raise CannotApply(f"the plan of {plan.tool.name} returns no list")
    for place, step in returns:
        value = step["return"]
        parts = value if isinstance(value, dict) else {"": value}
        lists = [key for key, part in parts.items() if shape_of(part, plan) == "list"]
        if len(lists) != 1 or not isinstance(parts[lists[0]], Expr):
            raise CannotApply(f"the plan of {plan.tool.name} returns no list, or more than one")
        changed = {**parts, lists[0]: change(parts[lists[0]], _until(place))}
        answer(step, changed if value is parts else changed[""], rule)


def answer(step: Step, value: Draft, rule: Rule) -> None:
    step.update(with_note({**step, "return": value}, rule))


def _until(place: StepPath) -> int:
    return place[0] if isinstance(place[0], int) else 0


# -- fields that are computed -------------------------------------------------------------------------------


def put(rule: Rule, form: r.Put, plan: OpenPlan) -> None:
    """A tool that writes keeps the value in the record too, and answers what it keeps."""
    when = condition_before(form.when, rule, plan) if form.when is not None else None
    keeper, closing = _keeper(rule, plan), plan.ends()
    returns = [one for one in plan.returns() if shape_of(one[1]["return"], plan) == "record"]
    if not returns or "." in form.name:
        raise CannotApply(f"the plan of {plan.tool.name} returns no record to put {form.name} into")
    for place, step in returns:
        whole = plan.fresh(REPLY)
        value, current = _put_value(form, when, whole, _until(place), plan)
        plan.insert(place, with_note({"let": {whole: step["return"]}}, rule), _PUT)
        if keeper is not None and place in closing:
            target = m.path(keeper, form.name)
            kept: Step = {"set": {target: value}}
            kept = kept if keeper not in plan.optional else {"if": m.is_given(n.Name(keeper)), "then": [kept]}
            plan.insert(place, with_note(kept, rule), _PUT)
            value = target if keeper not in plan.optional else m.call("default", target, current)
        answer(step, {_SPREAD: n.Name(whole), mapping_key(form.name): value}, rule)


def _put_value(form: r.Put, when: Expr | None, whole: str, until: int, plan: OpenPlan) -> tuple[Expr, Expr]:
    """What the field becomes, and what it would be without the rule."""
    records = plan.records(form.value.roots() - {REPLY}, until) | {REPLY: n.Name(whole)}
    value, current = plan.substituted(form.value, records), m.path(whole, form.name)
    tests = [*([when] if when is not None else []), *operands_present(form.value, records, plan)]
    return n.Conditional(m.all_of(*tests), value, current) if tests else value, current


def _keeper(rule: Rule, plan: OpenPlan) -> str | None:
    kind = plan.tool.makes or plan.tool.about
    if plan.tool.reads or kind is None:
        return None
    try:
        return existing_record(plan.bind(kind, rule, new_first=True), kind, plan)
    except CannotApply:
        return None


# -- fields that are left out or masked ---------------------------------------------------------------------


def shape(rule: Rule, form: r.Without | r.Only | r.Mask, plan: OpenPlan) -> None:
    """Every return with its records shaped; NoPlace when one of them shows no record."""
    change: Change
    if isinstance(form, r.Mask):
        change = partial(_apply_change, partial(_mask, form, plan))
    else:
        change = partial(
            _apply_change, partial(_pick, "pick" if isinstance(form, r.Only) else "without", form.names)
        )
    returns = [
        (step, step["return"]) for _, step in plan.returns() if not isinstance(step["return"], n.Constant)
    ]
    if not returns:
        raise CannotApply(f"the plan of {plan.tool.name} returns no record")
    for step, value in returns:
        answer(step, _reshape_value(value, change, plan), rule)
    plan.shapes = (*plan.shapes, change)


def _reshape_value(value: Draft, change: Change, plan: OpenPlan) -> Draft:
    if isinstance(value, dict) and _SPREAD not in value:
        inside = {key: shape_of(part, plan) for key, part in value.items()}
        if any(inside.values()):  # `{items: hits}`: the records are under keys of their own
            return {
                key: _reshape_value(part, change, plan) if inside[key] else part
                for key, part in value.items()
            }
    match shape_of(value, plan):
        case "record":
            return change(value)
        case "list" if isinstance(value, list):
            return [_reshape_value(part, change, plan) for part in value]
        case "list" if isinstance(value, n.Comprehension):
            return replace(value, results=(change(value.results[0]),))
        case "list":
            each = plan.fresh(EACH)
            return m.listed(change(n.Name(each)), each, value)
    raise CannotApply(f"what the plan of {plan.tool.name} returns is neither a record nor a list of records")


def _apply_change(change: Change, value: Draft) -> Draft:
    """A record as a mapping, changed, and as it was written before."""
    match value:
        case dict():
            return change(value)
        case n.MappingOf(entries=entries) if all(
            isinstance(key, (n.Constant, type(None))) for key, _ in entries
        ):
            fields = {_SPREAD if key is None else str(getattr(key, "value", "")): one for key, one in entries}
            changed = change(fields if len(fields) == len(entries) else {_SPREAD: value})
        case _:
            changed = change({_SPREAD: value})
    if [*changed] == [_SPREAD]:
        return changed[_SPREAD]
    return n.MappingOf(
        tuple(n.Entry(None if key == _SPREAD else _key(key), one) for key, one in changed.items())
    )


def _key(key: Draft) -> Expr:
    return key.parts[0] if isinstance(key, n.ListOf) else n.Constant(key)


def _pick(function: str, names: tuple[str, ...], record: Draft) -> Draft:
    kept = {
        key: part for key, part in record.items() if key == _SPREAD or (key in names) is (function == "pick")
    }
    base = kept.get(_SPREAD)
    if isinstance(base, Expr):
        is_same = isinstance(base, n.Call) and base.function == function == "without"
        before = base.arguments if is_same and isinstance(base, n.Call) else (base,)
        kept[_SPREAD] = n.Call(function, (*before, *map(n.Constant, names)))
    return kept


def _mask(form: r.Mask, plan: OpenPlan, record: Draft) -> Draft:
    base, own = record.get(_SPREAD), record.get(form.name)
    masked = m.fields(base, form.name) if own is None and isinstance(base, Expr) else own
    if not isinstance(masked, Expr) or "." in form.name:
        raise CannotApply(f"the reply of {plan.tool.name} has no {form.name}")
    return {**record, mapping_key(form.name): _masked_value(masked, form.count)}


def _masked_value(value: Expr, count: int) -> Expr:
    whole = m.call("str", value)
    last = n.Slice(whole, n.Constant(-count), None) if count else n.Constant("")
    stars = m.call("pad", last, m.call("len", whole), n.Constant("*"))
    return n.Conditional(m.is_given(value), stars, value)


# -- a call that changes nothing ----------------------------------------------------------------------------


def value_of(value: Json) -> Draft:
    """JSON as a value of the plan language, in which text is an expression."""
    if isinstance(value, dict):
        return {mapping_key(key): value_of(part) for key, part in value.items()}
    return [*map(value_of, value)] if isinstance(value, list) else n.Constant(value)


def unchanged_value(plan: OpenPlan, kind: str | None, place: int) -> Draft:
    """What the plan itself returns at its end where that only reads what is there, else the record."""
    bound = {one.name for one in plan.bound() if one.at < place}
    value = plan.closing
    if value is None or not _only_reads(value, bound):
        if kind is None:
            raise CannotApply(f"the plan of {plan.tool.name} has no record to return")
        value = plan.record(kind, place)
    for change in plan.shapes:
        value = _reshape_value(value, change, plan)
    return value


def _only_reads(value: Draft, bound: set[str]) -> bool:
    """Nothing but fields of what is bound: a text such as 'Order cancelled' would be a lie."""
    if isinstance(value, dict):
        return all(_only_reads(part, bound) for part in value.values())
    if isinstance(value, n.Call) and value.function in _READS:
        return _only_reads(value.arguments[0], bound)
    path = n.path_of(value) if isinstance(value, Expr) else None
    return path is not None and path.root in bound
