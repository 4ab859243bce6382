"""The reply of a plan, reshaped by rules: lists filtered, sorted and cut, fields computed, hidden or
masked.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.plan_editor import NoPlaceInPlan, PlanEditor, Step, names_of, parsed
from pipelines.core.simulation.behavior.rules import EACH, REPLY, Rule, literal

_PAGES = ("page", "page_number", "page_no")
_KEEP_SHAPE = frozenset(["without", "pick", "merge"])


def reshape(rule: Rule, editor: PlanEditor) -> None:
    """Every return of the plan with the rule applied; NoPlaceInPlan when one of them has no place for it."""
    body = rule.body
    if isinstance(body, (r.Take, r.Sort, r.Filter, r.SortFirst)):
        _reshape_lists(rule, editor)
        return
    returns = list(_returns(editor.steps))
    if not returns:
        raise NoPlaceInPlan("the plan returns nothing")
    changed = [(place, step, _shaped(rule, step["return"], editor, place)) for place, step in returns]
    for _, step, value in changed:
        step["return"] = value
        step["note"] = (
            f"{step['note']} {rule.sentence}" if isinstance(step.get("note"), str) else rule.sentence
        )


def _returns(steps: list[Step], place: int | None = None) -> Iterator[tuple[int, Step]]:
    """Each return and the place at the top level of the plan where it stands, or is inside of."""
    for at, step in enumerate(steps):
        here = at if place is None else place
        if "return" in step:
            yield here, step
        for key in ("then", "else", "do"):
            inner = step.get(key)
            if isinstance(inner, list):
                yield from _returns([one for one in inner if isinstance(one, dict)], here)


# -- what kind of reply it is --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Replied:
    """A value of a reply: one record, or a list of records."""

    value: Json
    is_list: bool


def _replied(value: Json, editor: PlanEditor, place: int) -> _Replied | None:
    """What a returned value is, where the plan shows it: null means it does not."""
    if isinstance(value, dict):
        return _Replied(value=value, is_list=False)
    if not isinstance(value, str):
        return None
    tree = parsed(value)
    if isinstance(tree, ast.Dict):
        return _Replied(value=value, is_list=False)
    if isinstance(tree, (ast.ListComp, ast.List)):
        return _Replied(value=value, is_list=True)
    if isinstance(tree, ast.Name):
        return _named(tree.id, value, editor, place)
    if (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id in (*_KEEP_SHAPE, "entity")
    ):
        return _Replied(value=value, is_list=False)
    if (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id in ("entities", "sort", "top", "reversed")
    ):
        return _Replied(value=value, is_list=True)
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Slice):
        return _Replied(value=value, is_list=True)
    if isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name):
        return _kept_inside(tree.value.id, tree.attr, value, editor, place)
    return None


def _kept_inside(name: str, field: str, value: Json, editor: PlanEditor, place: int) -> _Replied | None:
    """`warehouse.items`: the list that a record keeps."""
    for bound in editor.bound():
        kind = editor.lexicon.kinds.get(bound.kind)
        if bound.name == name and bound.at < place and not bound.is_list and kind is not None:
            kept = kind.fields.get((field,))
            return _Replied(value=value, is_list=True) if kept is not None and kept.keeps == "list" else None
    return None


def _named(name: str, value: Json, editor: PlanEditor, place: int) -> _Replied | None:
    for bound in reversed(list(editor.bound())):
        if bound.name == name and bound.at < place:
            return _Replied(value=value, is_list=bound.is_list)
    for step in reversed(editor.steps[:place]):
        let = step.get("let")
        if isinstance(let, dict) and name in let:
            inner = _replied(let[name], editor, place)
            return None if inner is None else _Replied(value=value, is_list=inner.is_list)
    return None


# -- fields of records ------------------------------------------------------------------------------------


def _shaped(rule: Rule, value: Json, editor: PlanEditor, place: int) -> Json:
    body = rule.body
    if isinstance(body, r.Put):
        return _with_field(body, value, editor, place)
    change = _record_change(body)
    if isinstance(value, dict) and not _has_record_inside(value, editor, place):
        return change("", value)
    if isinstance(value, dict):
        return {key: _shaped_inside(part, change, editor, place) for key, part in value.items()}
    replied = _replied(value, editor, place)
    if replied is None:
        raise NoPlaceInPlan("what the plan returns is not one record or a list of them")
    return _over_list(value, change, editor) if replied.is_list else change(str(value), value)


def _shaped_inside(part: Json, change: Callable[[str, Json], Json], editor: PlanEditor, place: int) -> Json:
    replied = _replied(part, editor, place) if isinstance(part, str) else None
    if replied is None:
        return part
    return _over_list(part, change, editor) if replied.is_list else change(str(part), part)


def _has_record_inside(value: JsonObject, editor: PlanEditor, place: int) -> bool:
    """`{user: user}` or `{items: hits}`: the records are under keys of their own."""
    inside = [part for key, part in value.items() if key != "..." and isinstance(part, str)]
    return any(_replied(part, editor, place) is not None for part in inside)


def _over_list(value: Json, change: Callable[[str, Json], Json], editor: PlanEditor) -> str:
    name = editor.fresh_name("each")
    return f"[{change(name, name)} for {name} in {value}]"


def _record_change(body: object) -> Callable[[str, Json], Json]:
    match body:
        case r.Without(names):
            return lambda text, value: _without(text, value, names)
        case r.Only(names):
            return lambda text, value: _only(text, value, names)
        case r.Masked(name, keep_last):
            return lambda text, value: _masked(text, value, name, keep_last)
    raise NoPlaceInPlan(f"{type(body).__name__} does not shape a reply")


def _without(text: str, value: Json, names: tuple[str, ...]) -> Json:
    listed = ", ".join(map(literal, names))
    if not isinstance(value, dict):
        return f"without({text}, {listed})"
    kept: JsonObject = {key: part for key, part in value.items() if key not in names}
    return kept | ({"...": f"without({value['...']}, {listed})"} if isinstance(value.get("..."), str) else {})


def _only(text: str, value: Json, names: tuple[str, ...]) -> Json:
    listed = ", ".join(map(literal, names))
    if not isinstance(value, dict):
        return f"pick({text}, {listed})"
    kept: JsonObject = {key: part for key, part in value.items() if key in names}
    return kept | ({"...": f"pick({value['...']}, {listed})"} if isinstance(value.get("..."), str) else {})


def _masked(text: str, value: Json, name: str, keep_last: int) -> Json:
    def hidden(field: str) -> str:
        return f"pad(str({field})[{-keep_last}:], len(str({field})), '*') if {field} != null else {field}"

    if not isinstance(value, dict):
        return f"merge({text}, {{{literal(name)}: {hidden(r.dotted(text, (name,)))}}})"
    source = value.get("...")
    if name in value:
        return {**value, name: hidden(f"({value[name]})")}
    if not isinstance(source, str):
        raise NoPlaceInPlan(f"the reply has no {name}")
    return {**value, name: hidden(r.dotted(f"({source})", (name,)))}


def _with_field(body: r.Put, value: Json, editor: PlanEditor, place: int) -> Json:
    replied = _replied(value, editor, place)
    if replied is None or replied.is_list:
        raise NoPlaceInPlan("what the plan returns is not one record")
    roots = body.value.roots() - {REPLY}
    names = editor.names(roots, place)
    # The reply so far is named only where the sum needs it: once written, the value reads from that name.
    whole = editor.fresh_name("reply")
    editor.insert(place, {"let": {whole: value}}, 30)
    return {"...": whole, body.name: body.value.written({**names, REPLY: whole})}


# -- lists ------------------------------------------------------------------------------------------------


def _reshape_lists(rule: Rule, editor: PlanEditor) -> None:
    """On the list that is found, where the reply is made of it as it is; else on the list that is
    returned.
    """
    found = _found_list(editor)
    if found is not None:
        _reshape_found(rule, editor, *found)
        return
    returns = list(_returns(editor.steps))
    if len(returns) != 1:
        raise NoPlaceInPlan("the plan has no one list that it returns")
    place, step = returns[0]
    key, expression = _returned_list(step["return"], editor, place)
    made = _list_expression(rule, expression, editor, place)
    returned = step["return"]
    step["return"] = {**returned, key: made} if isinstance(returned, dict) else made
    step["note"] = rule.sentence


def _found_list(editor: PlanEditor) -> tuple[int, str] | None:
    lists = [one for one in editor.bound() if one.is_list]
    used = set().union(*(names_of(step["return"]) for _, step in _returns(editor.steps)))
    direct = [one for one in lists if one.name in used]
    return (direct[0].at, direct[0].name) if len(direct) == 1 else None


def _reshape_found(rule: Rule, editor: PlanEditor, at: int, name: str) -> None:
    find = editor.steps[at]["find"]
    assert isinstance(find, dict)
    match rule.body:
        case r.Filter(keep):
            names = {**editor.names(keep.roots() - {EACH}, at), EACH: name}
            where = find.get("where")
            said = keep.written(names)
            find["where"] = f"({where}) and ({said})" if isinstance(where, str) else said
            editor.steps[at]["note"] = _also(editor.steps[at], rule)
        case _:
            made = _list_expression(rule, name, editor, at + 1)
            editor.insert(at + 1, {"let": {name: made}, "note": rule.sentence}, 5)


def _also(step: Step, rule: Rule) -> str:
    return f"{step['note']} {rule.sentence}" if isinstance(step.get("note"), str) else rule.sentence


def _returned_list(value: Json, editor: PlanEditor, place: int) -> tuple[str, str]:
    if isinstance(value, str):
        replied = _replied(value, editor, place)
        if replied is not None and replied.is_list:
            return "", value
    if isinstance(value, dict):
        lists = [
            (key, part)
            for key, part in value.items()
            if isinstance(part, str) and (one := _replied(part, editor, place)) is not None and one.is_list
        ]
        if len(lists) == 1:
            return lists[0]
    raise NoPlaceInPlan("the plan returns no list")


def _list_expression(rule: Rule, expression: str, editor: PlanEditor, place: int) -> str:
    match rule.body:
        case r.Filter(keep):
            each = editor.fresh_name("each")
            names = {**editor.names(keep.roots() - {EACH}, place), EACH: each}
            return f"[{each} for {each} in {expression} if {keep.written(names)}]"
        case r.SortFirst(keep):
            each = editor.fresh_name("each")
            names = {**editor.names(keep.roots() - {EACH}, place), EACH: each}
            loops = [
                f"[{each} for {each} in {expression} if {no}({keep.written(names)})]" for no in ("", "not ")
            ]
            return " + ".join(loops)
        case r.Sort(None, descending):
            return f"reversed({expression})" if descending else expression
        case r.Sort(str(by), descending):
            return f"sort({expression}, {literal(('-' if descending else '') + by)})"
        case r.Take(most, True):
            return _page(expression, most, editor)
        case r.Take(most, _, str(argument)):
            return f"({expression})[:default({r.dotted('args', (argument,))}, {most})]"
        case r.Take(most):
            return f"({expression})[:{most}]"
    raise NoPlaceInPlan("not a rule of lists")


def _page(expression: str, most: int, editor: PlanEditor) -> str:
    argument = next((name for name in _PAGES if name in editor.tool.arguments), None)
    if argument is None:
        return f"({expression})[:{most}]"
    page = f"max(default(args.{argument}, 1), 1)"
    return f"({expression})[({page} - 1) * {most}:{page} * {most}]"


# -- a call that changed nothing -----------------------------------------------------------------------------


def unchanged_reply(editor: PlanEditor, kind: str | None, place: int) -> Json:
    """What the plan would return of the record as it stands: its own return where that only reads, else
    the record.
    """
    returned = editor.steps[-1].get("return") if editor.steps else None
    bound = {one.name for one in editor.bound() if one.at < place} | {"args"}
    if returned is not None and names_of(returned) and _only_reads(returned, bound):
        return returned
    record = editor.one_of(kind, place) if kind else None
    if record is None:
        raise NoPlaceInPlan("the plan has no record to return")
    return record.name


def _only_reads(value: Json, bound: set[str]) -> bool:
    """Nothing but fields of what is bound: a text such as 'Order cancelled' would be a lie."""
    if isinstance(value, dict):
        return all(_only_reads(part, bound) for part in value.values())
    tree = parsed(value) if isinstance(value, str) else None
    if tree is None:
        return False
    while isinstance(tree, (ast.Attribute, ast.Subscript)):
        tree = tree.value
    if (
        isinstance(tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id in ("id_of", *_KEEP_SHAPE)
    ):
        tree = tree.args[0] if tree.args else tree
    return isinstance(tree, ast.Name) and tree.id in bound and tree.id != "args"
