"""The verbs of the plan language: one function per verb parses it into a step."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from pipelines.core.simulation.expression_text import did_you_mean
from pipelines.core.simulation.plan_checker import Checker, Kind, Scope, under
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import Formula
from pipelines.core.simulation.syntax.costs import with_cost
from pipelines.core.simulation.syntax.expressions import Expression
from pipelines.core.simulation.syntax.lookups import Lookup, comparison_in, reads_only_fields
from pipelines.core.text.json_text import Json, JsonObject

MAX_STEPS_IN_PLAN = 500

ReadStep: TypeAlias = Callable[[Checker, JsonObject, Scope, str], steps.Step]


class Verb(NamedTuple):
    read: ReadStep
    companions: tuple[str, ...] = ()  # keys that may stand beside the verb; `note` always may


def read_block(checker: Checker, body: Json, scope: Scope, path: str) -> tuple[steps.Step, ...]:
    """The steps of one block; the names they bind are added to `scope`."""
    if not isinstance(body, list):
        checker.problem(path, "this must be a list of steps", _as_list(body))
        return ()
    block: list[steps.Step] = []
    for index, step in enumerate(body):
        found = _read_step(checker, step, scope, under(path, index))
        if found is not None:
            block.append(found)
        if _ends(found) and index + 1 < len(body):
            hint = "the previous step ends the call"
            checker.problem(under(path, index + 1), "this step is never reached", hint)
            break
    return tuple(block)


def _as_list(body: Json) -> str:
    if isinstance(body, str):  # YAML pasted into a JSON file
        return 'this is text; in JSON: [{"return": "order"}], as `pipelines odyssey plan --json` prints plans'
    return "begin each step with `- `"


def _read_step(checker: Checker, body: Json, scope: Scope, path: str) -> steps.Step | None:
    checker.steps_seen += 1
    if checker.steps_seen == MAX_STEPS_IN_PLAN + 1:
        checker.problem(path, f"a plan may have at most {MAX_STEPS_IN_PLAN} steps")
    if not isinstance(body, dict):
        checker.problem(path, "a step must be a mapping with one verb", "such as `return: order`")
        return None
    verbs = [key for key in body if key in VERBS]
    if len(verbs) != 1:
        _complain_of_verbs(checker, body, verbs, path)
        return None
    [verb] = verbs
    known = (verb, *VERBS[verb].companions)
    for key in body:
        if key not in (*known, "note"):
            checker.problem(
                under(path, key), f"`{key}` cannot be combined with `{verb}`", did_you_mean(key, known)
            )
    for key in ("note", "rule"):
        if not isinstance(body.get(key, ""), str):
            checker.problem(under(path, key), f"`{key}` must be text")
    return with_cost(VERBS[verb].read(checker, body, scope, path))


def _rule(body: JsonObject) -> str | None:
    """Which rule the step enforces, for whoever reads the trace; nothing of it is in the reply."""
    rule = body.get("rule")
    return rule if isinstance(rule, str) and rule else None


def _complain_of_verbs(checker: Checker, body: JsonObject, verbs: list[str], path: str) -> None:
    if verbs:
        named = " and ".join(f"`{verb}`" for verb in verbs)
        checker.problem(path, f"one step has {named}", "use a separate step for each verb")
        return
    for key in body:
        checker.problem(under(path, key), f"`{key}` is not a step", did_you_mean(key, VERBS))
    if not body:
        checker.problem(path, "the step is empty", "such as `return: order`")


def _ends(step: steps.Step | None) -> bool:
    if isinstance(step, steps.If):
        return _block_ends(step.then) and _block_ends(step.otherwise)
    return isinstance(step, (steps.Fail, steps.Return))


def _block_ends(block: tuple[steps.Step, ...]) -> bool:
    return bool(block) and _ends(block[-1])


# -- find

_FIND_KEYS = ("as", "in", "id", "exact", "where", "all", "optional", "sort", "limit", "else")


def _find(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "find")
    spec = checker.mapping_needed(body["find"], path, "{as: order, in: order, id: args.order_id}")
    checker.unknown_keys(spec, _FIND_KEYS, path)
    before = dict(scope)

    def optional(key: str) -> Formula | None:
        return checker.value(spec[key], before, under(path, key)) if key in spec else None

    source = spec.get("in")
    inside = _collection(checker, source, before, under(path, "in"))
    is_exact, is_all, is_optional = (
        _switch(checker, spec, key, path) for key in ("exact", "all", "optional")
    )
    _check_find(checker, spec, is_all, path)
    one: Kind = "place" if inside else "entity"
    name = checker.bind(spec.get("as"), "value" if is_all else one, scope, under(path, "as"))
    candidate: Scope = {**before, name: one}
    where = checker.expression(spec["where"], candidate, under(path, "where")) if "where" in spec else None
    return steps.Find(
        path=path,
        name=name,
        entity_type="" if inside else checker.entity_type(source, under(path, "in")),
        inside=inside,
        id=optional("id"),
        where=Formula(where.tree, where.evaluate) if where else None,
        lookup=_lookup(checker, where, name, before, path) if where and not inside else None,
        is_bare=where is not None and reads_only_fields(where.tree, name),
        is_place=inside is not None and name in checker.written,
        exact=is_exact,
        all=is_all,
        optional=is_optional,
        sort=_sort_fields(checker, spec.get("sort", []), under(path, "sort")),
        limit=optional("limit"),
        otherwise=checker.failure(spec["else"], before, under(path, "else")) if "else" in spec else None,
        rule=_rule(body),
    )


def _collection(checker: Checker, source: Json, scope: Scope, path: str) -> steps.Path | None:
    """`in: order.items` looks inside a bound entity; `in: order` among the entities of that type."""
    root = re.match(r"\s*([A-Za-z_]\w*)\s*[.\[]", source) if isinstance(source, str) else None
    if root is None or root[1] not in scope:
        return None
    found = checker.place(source, scope, path)
    if found is None:
        checker.problem(
            path, f"`{source}` is not a path into an entity", "use a comprehension for other lists"
        )
    return found


def _switch(checker: Checker, spec: JsonObject, key: str, path: str) -> bool:
    value = spec.get(key, False)
    if not isinstance(value, bool):
        checker.problem(under(path, key), f"`{key}` must be true or false")
    return value is True


def _check_find(checker: Checker, spec: JsonObject, is_all: bool, path: str) -> None:
    if "id" in spec and "where" in spec:
        checker.problem(
            path, "`find` takes either `id` or `where`, not both", "put the other condition into `require`"
        )
    if spec and not is_all and "id" not in spec and "where" not in spec:
        checker.problem(path, "`find` needs `id` or `where`", "or `all: true` for a list of all")
    if "exact" in spec and "id" not in spec:
        checker.problem(under(path, "exact"), "`exact` needs `id`")
    if "optional" in spec and "else" in spec:
        checker.problem(under(path, "else"), "`else` cannot be combined with `optional`")
    if "limit" in spec and not is_all:
        checker.problem(under(path, "limit"), "`limit` needs `all: true`")
    for key in ("else", "optional"):
        if is_all and key in spec:
            hint = "a list may be empty; `require: hits` fails if it is"
            checker.problem(under(path, key), f"`{key}` cannot be combined with `all`", hint)


def _sort_fields(checker: Checker, body: Json, path: str) -> tuple[str, ...]:
    fields = body if isinstance(body, list) else [body]
    good = [field for field in fields if isinstance(field, str) and field.strip("-")]
    if len(good) != len(fields):
        checker.problem(
            path, "`sort` must name a field; `-` in front reverses the order", 'such as "-created_at"'
        )
    return tuple(good)


def _lookup(checker: Checker, where: Expression, name: str, scope: Scope, path: str) -> Lookup | None:
    found = comparison_in(where.tree, name)
    if found is None:
        return None
    wanted_expr = checker.expression(ast.unparse(found.wanted), scope, under(path, "where"))
    return Lookup(found.reach, Formula(wanted_expr.tree, wanted_expr.evaluate)) if wanted_expr else None


# -- conditions and names


def _require(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    if "else" not in body:
        checker.problem(path, "`require` needs an `else`", "else: {status: 409, error: not_pending}")
    condition = checker.condition(body["require"], scope, under(path, "require"))
    otherwise = checker.failure(body.get("else", {"error": "failed"}), scope, under(path, "else"))
    return steps.Require(
        path=under(path, "require"), condition=condition, otherwise=otherwise, rule=_rule(body)
    )


def _let(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "let")
    bindings = []
    for name, value in checker.mapping_needed(body["let"], path, "{total: order.price * 2}").items():
        at = under(path, name)
        compiled = checker.value(value, scope, at)
        place = checker.place(value, scope, at) if name in checker.written else None
        kind: Kind = "place" if place else "entity" if name in checker.written else "value"
        bound = checker.bind(name, kind, scope, at)
        bindings.append(steps.Binding(name=bound, value=compiled, place=place))
    return steps.Let(path=path, bindings=tuple(bindings))


# -- changes


def _changes(checker: Checker, body: Json, scope: Scope, path: str) -> tuple[steps.Change, ...]:
    changes = []
    for target, value in checker.mapping_needed(body, path, "{order.status: \"'cancelled'\"}").items():
        at = under(path, target)
        found = _field_path(checker, target, scope, at)
        changes.append(steps.Change(target=found, value=checker.value(value, scope, at)))
    return tuple(changes)


def _field_path(checker: Checker, target: Json, scope: Scope, path: str) -> steps.Path:
    found = checker.path_of(target, scope, path)
    if found.root and not found.keys:
        hint = (
            "write a field such as order.status; use `let` to define a name and `remove` to remove an entity"
        )
        checker.problem(path, f"`{found.text}` is a name, not a field", hint)
    return found


def _set(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "set")
    return steps.Set(path=path, changes=_changes(checker, body["set"], scope, path))


def _append(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "append")
    return steps.Append(path=path, changes=_changes(checker, body["append"], scope, path))


def _unset(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path, given = under(path, "unset"), body["unset"]
    targets = given if isinstance(given, list) else [given]
    return steps.Unset(path=path, targets=tuple(_field_path(checker, t, scope, path) for t in targets))


def _remove(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path, given = under(path, "remove"), body["remove"]
    targets = given if isinstance(given, list) else [given]
    return steps.Take(path=path, targets=tuple(checker.path_of(t, scope, path) for t in targets))


def _add(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "add")
    spec = checker.mapping_needed(body["add"], path, "{in: ticket, attrs: {title: args.title}, as: ticket}")
    checker.unknown_keys(spec, ("in", "id", "attrs", "as"), path)
    attrs = spec.get("attrs", {})
    if not isinstance(attrs, (dict, str)):
        checker.problem(under(path, "attrs"), "`attrs` must be a mapping, or an expression that returns one")
    kind = checker.entity_type(spec.get("in"), under(path, "in"))
    id = checker.value(spec["id"], scope, under(path, "id")) if "id" in spec else None
    value = checker.value(attrs, scope, under(path, "attrs"))
    name = checker.bind(spec["as"], "entity", scope, under(path, "as")) if "as" in spec else None
    return steps.AddEntity(path=path, entity_type=kind, id=id, attrs=value, name=name)


def _flag(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    verb = "flag" if "flag" in body else "unflag"
    flag = checker.value(body[verb], scope, under(path, verb))
    return steps.Flag(path=under(path, verb), flag=flag, value=verb == "flag")


# -- branches and ends


def _for(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    for key in ("in", "do"):
        if key not in body:
            checker.problem(path, f"`for` needs `{key}`", "for: item, in: order.items, do: [steps]")
    given, source = body["for"], body.get("in", "[]")
    names = [part.strip() for part in given.split(",")] if isinstance(given, str) else [""]
    writes = len(names) == 1 and names[0] in checker.written
    rounds = checker.value(source, scope, under(path, "in"))
    place = checker.place(source, scope, under(path, "in")) if writes else None
    inside: Scope = dict(scope)
    kind: Kind = "place" if place else "entity" if writes else "value"
    for name in names:
        if name in scope:
            hint = "choose another name for the elements"
            checker.problem(under(path, "for"), f"`{name}` is already defined", hint)
        checker.bind(name, kind, inside, under(path, "for"))
    block = read_block(checker, body.get("do", []), inside, under(path, "do"))
    return steps.ForEach(path=under(path, "for"), names=tuple(names), source=rounds, place=place, steps=block)


def _if(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    if "then" not in body:
        checker.problem(path, "`if` needs `then`", "then: [steps]")
    condition = checker.condition(body["if"], scope, under(path, "if"))
    after_then, after_else = dict(scope), dict(scope)
    then = read_block(checker, body.get("then", []), after_then, under(path, "then"))
    otherwise = read_block(checker, body.get("else", []), after_else, under(path, "else"))
    # A branch that ends the call leaves the other one's names; else only what both of them bind remains.
    if _block_ends(then):
        scope.update(after_else)
    elif _block_ends(otherwise):
        scope.update(after_then)
    else:
        scope.update({name: kind for name, kind in after_then.items() if name in after_else})
    return steps.If(path=under(path, "if"), condition=condition, then=then, otherwise=otherwise)


def _fail(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    path = under(path, "fail")
    return steps.Fail(path=path, failure=checker.failure(body["fail"], scope, path), rule=_rule(body))


def _return(checker: Checker, body: JsonObject, scope: Scope, path: str) -> steps.Step:
    status = body.get("status", 200)
    if not isinstance(status, int) or isinstance(status, bool) or not 200 <= status <= 299:
        hint = "use `fail` for errors"
        checker.problem(under(path, "status"), "the status of a reply must be a number from 200 to 299", hint)
        status = 200
    value = checker.value(body["return"], scope, under(path, "return"))
    return steps.Return(path=under(path, "return"), value=value, status=status, rule=_rule(body))


VERBS: Mapping[str, Verb] = {
    "find": Verb(_find, ("rule",)),
    "require": Verb(_require, ("else", "rule")),
    "let": Verb(_let),
    "set": Verb(_set),
    "unset": Verb(_unset),
    "append": Verb(_append),
    "add": Verb(_add),
    "remove": Verb(_remove),
    "flag": Verb(_flag),
    "unflag": Verb(_flag),
    "for": Verb(_for, ("in", "do")),
    "if": Verb(_if, ("then", "else")),
    "fail": Verb(_fail, ("rule",)),
    "return": Verb(_return, ("status", "rule")),
}
