"""Rules woven into a tool's plan: guards before its first change, effects after its last, and its reply
reshaped.

A rule that finds no place in a plan is handed back, never dropped.
"""

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import World
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon, build_lexicon
from pipelines.core.simulation.behavior.plan_editor import NoPlaceInPlan, PlanEditor, Step, parsed
from pipelines.core.simulation.behavior.reshape import reshape, unchanged_reply
from pipelines.core.simulation.behavior.rules import ARGUMENTS, Rule, RuleKind, WeaveResult, dotted, literal
from pipelines.core.simulation.behavior.things import ToolLike

# At one place arguments are looked at first, then who calls, then the state of things.
_RANK = {RuleKind.ARGUMENT: 0, RuleKind.PERMISSION: 1, RuleKind.GUARD: 2}


def weave(
    body: Sequence[Json],
    *,
    tool: ToolLike,
    rules: Sequence[Rule],
    world: World,
    lexicon: Lexicon | None = None,
    is_inferred: bool = False,
) -> WeaveResult:
    """The plan with the rules that cover the tool woven in, and those that found no place in it.

    A plan `is_inferred` when it was read from names and schemas: where a rule says in which states a call
    succeeds, what reading guessed about those states gives way to it.
    """
    known = lexicon or build_lexicon([tool], world)
    words = known.tools.get(tool.name.lower()) or build_lexicon([tool], world).tools[tool.name.lower()]
    covering = sorted((one for one in rules if one.covers(tool.name)), key=_turn)
    editor = PlanEditor.of(_without_guesses(body, covering) if is_inferred else body, words, known)
    unwoven: list[Rule] = []
    for rule in covering:
        if _is_of_another_deed(rule, editor) or _is_of_another_record(rule, editor):
            unwoven.append(rule)
            continue
        # What a rule puts in before it finds it has no place is taken back.
        kept = {place: list(steps) for place, steps in editor.before.items()}
        try:
            _WEAVERS[type(rule.body)](rule, editor)
        except NoPlaceInPlan:
            editor.before = kept
            unwoven.append(rule)
    return WeaveResult(body=editor.finish(), unwoven=tuple(unwoven))


def _is_of_another_deed(rule: Rule, editor: PlanEditor) -> bool:
    """Whether a plan was read that does not do what the rule guards: the call is to add something, and it
    looks one up instead; or what it adds is counted, and it adds none.
    """
    made = editor.tool.makes
    if made is None or not isinstance(rule.body, r.Require) or not editor.lexicon.kinds[made].fields:
        return False
    if any(one.is_new for one in editor.bound()) or editor.lexicon.id_argument(editor.tool, made) is not None:
        return False
    said = "".join(part for part in rule.body.need.parts if isinstance(part, str))
    is_found = any(one.kind == made and not one.is_list for one in editor.bound())
    return is_found or f"entities({literal(made)})" in said


def _is_of_another_record(rule: Rule, editor: PlanEditor) -> bool:
    """Whether the plan looks what the rule speaks of up by an argument that is not its id."""
    if not isinstance(rule.body, (r.Require, r.Write)):
        return False
    parts = (rule.body.need,) if isinstance(rule.body, r.Require) else (rule.body.value, rule.body.when)
    roots = {root for part in parts if part is not None for root in part.roots()}
    roots |= {rule.body.target.root} if isinstance(rule.body, r.Write) else set()
    for one in editor.bound():
        find = editor.steps[one.at].get("find")
        by = find.get("id") if isinstance(find, dict) else None
        own = editor.lexicon.id_argument(editor.tool, one.kind) if one.kind in roots else None
        given = by.removeprefix(f"{ARGUMENTS}.") if isinstance(by, str) else None
        if own is not None and given is not None and given != own and given in editor.tool.arguments:
            return True
    return False


def _without_guesses(body: Sequence[Json], rules: Sequence[Rule]) -> list[Json]:
    """Without the plan's own conditions on a field for which a rule lists the values that are allowed."""
    settled = {
        ref.path
        for rule in rules
        if isinstance(rule.body, r.Require)
        and rule.kind is RuleKind.GUARD
        and _lists_what_is_allowed(rule.body)
        for ref in rule.body.need.refs()
    }
    # How often a thing may be done is the author's to say where he says it.
    counted = {rule.sentence for rule in rules if isinstance(rule.body, r.Write) and rule.body.is_implied}
    settled |= {("status",)} if counted else set()
    return [step for step in body if not (isinstance(step, dict) and _only_asks_about(step, settled))]


def _lists_what_is_allowed(body: r.Require) -> bool:
    text = "".join(part for part in body.need.parts if isinstance(part, str))
    return len(body.need.refs()) == 1 and text.startswith((" == ", " in ["))


def _only_asks_about(step: Mapping[str, Json], paths: set[tuple[str, ...]]) -> bool:
    asked = step.get("require")
    tree = parsed(asked) if isinstance(asked, str) else None
    if tree is None or not paths:
        return False
    fields = {tuple(path) for path in _paths_in(tree)}
    return bool(fields) and fields <= paths


def _paths_in(tree: ast.expr) -> Iterator[list[str]]:
    """Fields that an expression reads, each as a path below the name it starts from."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            path: list[str] = []
            place: ast.expr = node
            while isinstance(place, ast.Attribute):
                path.insert(0, place.attr)
                place = place.value
            yield path


def _turn(rule: Rule) -> float:
    """Lists are cut after they are sorted, and sorted after they are filtered; the reply is reshaped last."""
    order = (
        r.NotFound,
        r.Require,
        r.Filter,
        r.Sort,
        r.SortFirst,
        r.Take,
        r.Write,
        r.Refill,
        r.SetFlag,
        r.Delete,
        r.Put,
    )
    at_end = isinstance(rule.body, r.Require) and rule.body.at_end
    if isinstance(rule.body, r.Write) and rule.body.is_implied:
        return order.index(r.Write) + 0.5
    return (
        8
        if at_end
        else next((at for at, kind in enumerate(order) if isinstance(rule.body, kind)), len(order))
    )


# -- guards -------------------------------------------------------------------------------------------


def _require(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.Require)
    if body.at_end:
        _invariant(rule, editor)
        return
    roots = body.need.roots()
    latest = editor.first_change
    place = editor.place_after(roots, latest)
    names = editor.names(roots, latest)
    if isinstance(body.answer, r.Failure):
        step: Step = {"require": body.need.written(names), "else": _failure(body.answer, names)}
    else:
        if body.about is not None and editor.one_of(body.about, latest) is not None:
            place = max(place, editor.place_after({body.about}, latest))
        stopped = r.opposite(body.need).written(names)
        step = {"if": stopped, "then": [{"return": _instead(body, editor, place)}]}
    editor.insert(place, _noted(step, rule), _RANK.get(rule.kind, 2))


def _instead(body: r.Require, editor: PlanEditor, place: int) -> Json:
    if isinstance(body.answer, r.Instead):
        return _as_value(body.answer.value)
    return unchanged_reply(editor, body.about, place)


def _invariant(rule: Rule, editor: PlanEditor) -> None:
    """What must hold after the call, unless the call left the value alone."""
    body = _body(rule, r.Require)
    roots = body.need.roots()
    if editor.first_change >= editor.end and not any(editor.before.values()):
        raise NoPlaceInPlan("the plan changes nothing")
    names = editor.names(roots, editor.end)
    refs = [ref for ref in body.need.refs() if ref.root != ARGUMENTS]
    same = []
    for ref in dict.fromkeys(refs):
        bound = editor.one_of(ref.root, editor.first_change)
        if bound is not None:
            before = editor.fresh_name(f"{ref.path[-1]}_before")
            editor.insert(
                editor.place_after({ref.root}, editor.first_change),
                {"let": {before: dotted(bound.name, ref.path)}},
                9,
            )
            same.append(f"{dotted(names[ref.root], ref.path)} == {before}")
    need = " or ".join([body.need.written(names), *(["(" + " and ".join(same) + ")"] if same else [])])
    if not isinstance(body.answer, r.Failure):
        raise NoPlaceInPlan("changes can only be refused")
    editor.insert(editor.end, _noted({"require": need, "else": _failure(body.answer, names)}, rule), 50)


def _not_found(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.NotFound)
    if not isinstance(body.answer, r.Failure):
        raise NoPlaceInPlan("an unknown id is answered with an error")
    found = False
    for bound in editor.bound():
        find = editor.steps[bound.at].get("find")
        if (
            isinstance(find, dict)
            and "id" in find
            and not bound.is_list
            and editor.one_of(body.entity_type or "", bound.at + 1) == bound
        ):
            find.pop("optional", None)
            find["else"] = _failure(body.answer, {})
            found = True
    # A tool about something else that looks up nothing of the kind has no unknown ids to answer for.
    if not found and editor.tool.kind in (None, body.entity_type):
        raise NoPlaceInPlan("the plan looks nothing up by id")


def _failure(answer: r.Failure, names: Mapping[str, str]) -> JsonObject:
    made: JsonObject = {"status": answer.status}
    is_word = (
        answer.error.isascii()
        and answer.error.replace("_", "a").isalnum()
        and answer.error == answer.error.lower()
    )
    message = answer.spoken.replace("{", "{{").replace("}", "}}") if answer.spoken else None
    if message is None and answer.message is not None:
        message = answer.message.written(names)
    if is_word and answer.error[0].isalpha():
        made["error"] = answer.error
        return made | ({"message": message} if message is not None else {})
    spoken = answer.spoken or answer.error.replace("_", " ").capitalize()
    return made | {"body": {"error": {"code": literal(answer.error), "message": literal(spoken)}}}


def _as_value(value: Json) -> Json:
    """JSON as a VALUE of the plan language, in which text is an expression."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list):
        return [_as_value(part) for part in value]
    return {key: _as_value(part) for key, part in value.items()} if isinstance(value, dict) else value


# -- effects --------------------------------------------------------------------------------------------


def _write(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.Write)
    if body.is_implied and _is_written(body.target, editor):
        return
    if _steps(body):
        own = [one for step in editor.steps for one in _set_alike(step, body.target.path)]
        if any(_says_as_much(str(one), body) for one in own):
            return  # the plan does so already, and twice would be once too often
        if own:
            raise NoPlaceInPlan(f"the plan counts {body.target.path[-1]} in another way")
    if body.of_new and editor.one_of(body.target.root, editor.end, is_new=True) is None:
        raise NoPlaceInPlan(f"the plan adds no {body.target.root}")
    name = _entity(body.target.root, editor, is_perhaps=True, is_new=body.of_new)
    target = dotted(name, body.target.path)
    roots = (body.value.roots() if body.value else set()) | (body.when.roots() if body.when else set())
    names = {**editor.names(roots - {body.target.root}, editor.end), body.target.root: name}
    step: Step = {"unset": [target]} if body.value is None else {"set": {target: body.value.written(names)}}
    if name in editor.perhaps:  # a shipment that is in no container leaves all containers alone
        step = {"if": f"{name} != null", "then": [step]}
    if body.when is None:
        editor.insert(editor.end, _noted(step, rule), 10)
        return
    # The condition speaks of things as the call found them, not as it leaves them.
    held = editor.fresh_name("applies")
    place = _before_changes(body.when.roots(), editor)
    editor.insert(
        place, {"let": {held: body.when.written({**names, **editor.names(body.when.roots(), place)})}}, 9
    )
    editor.insert(editor.end, _noted({"if": held, "then": [step]}, rule), 10)


def _steps(body: r.Write) -> bool:
    """Whether it adds to what is there, or takes from it."""
    return body.value is not None and body.target in body.value.refs()


def _set_alike(step: Mapping[str, Json], path: tuple[str, ...]) -> list[Json]:
    """What a step sets a field of that name to."""
    sets = step.get("set")
    given = sets.items() if isinstance(sets, dict) else ()
    return [one for key, one in given if key.endswith(dotted("", path))]


def _says_as_much(expression: str, body: r.Write) -> bool:
    assert body.value is not None
    given = [dotted(ARGUMENTS, ref.path) for ref in body.value.refs() if ref.root == ARGUMENTS]
    sign = "+" if any(isinstance(part, str) and ") + " in part for part in body.value.parts) else "-"
    return (
        body.target.path[-1] in expression
        and f" {sign} " in expression
        and all(one in expression for one in given)
    )


def _is_written(target: r.Ref, editor: PlanEditor) -> bool:
    """Whether the plan, or a rule woven before, writes the field."""
    woven = [step for steps in editor.before.values() for _, step in steps]
    written = [key for step in [*editor.steps, *woven] for key in _written(step)]
    ends = dotted("", target.path)
    return any(key.endswith(ends) for key in written)


def _written(step: Mapping[str, Json]) -> Iterator[str]:
    sets = step.get("set")
    yield from sets if isinstance(sets, dict) else ()
    for block in (step.get("then"), step.get("else"), step.get("do")):
        for inner in block if isinstance(block, list) else ():
            yield from _written(inner) if isinstance(inner, dict) else ()


def _before_changes(roots: set[str], editor: PlanEditor) -> int:
    try:
        return editor.place_after(roots, editor.first_change)
    except NoPlaceInPlan:
        return editor.end


def _entity(kind: str, editor: PlanEditor, *, is_perhaps: bool = False, is_new: bool = False) -> str:
    """The name of an entity to be changed; found for the purpose where the plan does not bind it, perhaps
    only where a record refers to one."""
    made = editor.one_of(kind, editor.end, is_new=True)
    known = editor.one_of(kind, editor.end)
    is_another = known is not None and not known.is_new and not is_new  # beside what the call names
    if made is not None and known is not None and (known.kind == kind != made.kind or is_another):
        made = None  # or a new type that is only called nearly the same
    is_kept = bool(editor.lexicon.kinds[kind].fields) if kind in editor.lexicon.kinds else False
    if (
        made is None
        and is_kept
        and editor.tool.makes == kind
        and not editor.lexicon.id_argument(editor.tool, kind)
    ):
        # What the call is to add is spoken of, and the plan adds none: any other one would be the wrong one.
        raise NoPlaceInPlan(f"the plan adds no {kind}")
    bound = made or known
    if bound is not None:
        return bound.name
    adds = [step["add"] for step in editor.steps if "add" in step]
    added = next((add for add in adds if isinstance(add, dict) and add.get("in") == kind), None)
    if added is not None:
        added["as"] = editor.fresh_name(kind)
        return str(added["as"])
    about = editor.lexicon.kinds.get(kind)
    wanted = literal(about.only_id) if about is not None and about.only_id else editor.id_of(kind, editor.end)
    name = editor.fresh_name(kind)
    place = editor.place_after({kind}, editor.end)
    find: JsonObject = {"as": name, "in": kind, "id": wanted}
    if is_perhaps and not wanted.startswith(f"{ARGUMENTS}.") and (about is None or not about.only_id):
        find["optional"] = True
        editor.perhaps.add(name)
    editor.insert(place, {"find": find}, -1)
    return name


def _flag(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.SetFlag)
    step: Step = {"flag" if body.value else "unflag": literal(body.flag)}
    if body.when is not None:
        names = editor.names(body.when.roots(), editor.end)
        step = {"if": body.when.written(names), "then": [step]}
    editor.insert(editor.end, _noted(step, rule), 10)


def _delete(rule: Rule, editor: PlanEditor) -> None:
    name = _entity(_body(rule, r.Delete).entity_type, editor)
    if any("remove" in step for step in editor.steps):
        raise NoPlaceInPlan("the plan removes something itself")
    editor.insert(editor.end, _noted({"remove": name}, rule), 20)


def _refill(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.Refill)
    order = editor.one_of(body.order_type, editor.end)
    if order is None:
        raise NoPlaceInPlan(f"the plan has no {body.order_type}")
    product = editor.fresh_name(body.product_type)
    holder = editor.fresh_name("item") if body.items else order.name
    amount = f"default({dotted(holder, (body.quantity,))}, 1)" if body.quantity else "1"
    stock = dotted(product, body.stock)
    steps: list[Json] = [
        {
            "find": {
                "as": product,
                "in": body.product_type,
                "id": dotted(holder, (body.product_id,)),
                "optional": True,
            }
        },
        {"if": f"{product} != null", "then": [{"set": {stock: f"default({stock}, 0) {body.sign} {amount}"}}]},
    ]
    if body.items:
        steps = [{"for": holder, "in": dotted(order.name, (body.items,)), "do": steps}]
    for at, step in enumerate(steps):
        assert isinstance(step, dict)
        editor.insert(editor.end, _noted(step, rule) if at == 0 else step, 10)


# -- the reply ------------------------------------------------------------------------------------------


def _put(rule: Rule, editor: PlanEditor) -> None:
    body = _body(rule, r.Put)
    if body.entity_type is None:
        reshape(rule, editor)
        return
    name = _entity(body.entity_type, editor, is_new=True)
    names = editor.names(body.value.roots() - {r.REPLY, body.entity_type}, editor.end)
    named = editor.one_of(body.entity_type, editor.end)  # the part that is used, not the use that is kept
    own = named.name if named is not None else name
    value = body.value.written({**names, r.REPLY: name, body.entity_type: own})
    editor.insert(editor.end, _noted({"set": {dotted(name, (body.name,)): value}}, rule), 15)


def _nothing(rule: Rule, editor: PlanEditor) -> None:
    return


def _noted(step: Step, rule: Rule) -> Step:
    return {**step, "note": rule.sentence}


def _body(rule: Rule, kind: type[Any]) -> Any:
    assert isinstance(rule.body, kind)
    return rule.body


_WEAVERS: dict[type, Callable[[Rule, PlanEditor], None]] = {
    r.Require: _require,
    r.NotFound: _not_found,
    r.Write: _write,
    r.SetFlag: _flag,
    r.Delete: _delete,
    r.Refill: _refill,
    r.Put: _put,
    r.Take: reshape,
    r.Sort: reshape,
    r.SortFirst: reshape,
    r.Filter: reshape,
    r.Without: reshape,
    r.Only: reshape,
    r.Masked: reshape,
    r.Nothing: _nothing,
}
