"""From the steps of a plan to a draft of it, in which every expression is a node: what `make.plan_text`
writes back. What cannot be parsed stays as it is.
"""

from collections.abc import Callable, Iterator, Mapping

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import Draft
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.expr.write import template
from pipelines.core.simulation.expression_text import BadExpression, template_parts
from pipelines.core.text.json_text import Json

BLOCKS = ("then", "else", "do")


def draft_of(body: Json) -> Draft:
    return _block(body, set())


def expressions_in(draft: Draft) -> Iterator[n.Expr]:
    """Every expression of a draft, keys and paths too; of a message the values in it."""
    if isinstance(draft, m.Message):
        yield from draft.children()
    elif isinstance(draft, n.Expr):
        yield draft
    elif isinstance(draft, Mapping):
        for key, part in draft.items():
            yield from expressions_in(key)
            yield from expressions_in(part)
    elif isinstance(draft, list):
        for part in draft:
            yield from expressions_in(part)


def names_in(draft: Draft) -> Iterator[str]:
    """Every name that the expressions of a draft read or bind."""
    for node in (node for expr in expressions_in(draft) for node in expr.walk()):
        if isinstance(node, n.Name):
            yield node.name
        elif isinstance(node, n.Comprehension):
            yield from (name for loop in node.loops for name in loop.names)


def bound_by(step: Mapping[str, Draft]) -> Iterator[str]:
    """The names that a step binds, for the steps after it or inside it."""
    for spec in (step.get("find"), step.get("add")):
        if isinstance(spec, Mapping) and isinstance(spec.get("as"), str):
            yield spec["as"]
    named = step.get("let")
    yield from named if isinstance(named, Mapping) else ()
    rounds = step.get("for")
    yield from (name.strip() for name in rounds.split(",")) if isinstance(rounds, str) else ()


def _block(steps: Json, bound: set[str]) -> Draft:
    if not isinstance(steps, list):
        return steps
    drafts = []
    for step in steps:
        drafts.append(_step(step, bound) if isinstance(step, dict) else step)
        bound |= {*bound_by(step)} if isinstance(step, dict) else set()
    return drafts


def _step(step: Mapping[str, Json], bound: set[str]) -> Draft:
    keyed: dict[str, Draft] = {}
    for key, part in step.items():
        if key in BLOCKS and isinstance(part, list):
            keyed[key] = _block(part, bound | {*bound_by(step)})
        elif key == "find":
            keyed[key] = _each(part, lambda name, one: _in_find(name, one, bound))
        else:
            keyed[key] = _PARTS[key](part) if key in _PARTS else part
    return keyed


def _in_find(key: str, part: Json, bound: set[str]) -> Draft:
    if key == "in":  # a type, or a path into something that is bound before
        path = _value(part)
        is_path = isinstance(path, (n.Field, n.Item)) and path.roots() & bound
        return path if is_path else part
    return _failure(part) if key == "else" else _value(part) if key in ("id", "where", "limit") else part


def _in_add(spec: Json) -> Draft:
    return _each(spec, lambda key, part: _value(part) if key in ("id", "attrs") else part)


def _each(part: Json, read: Callable[[str, Json], Draft]) -> Draft:
    return {key: read(key, one) for key, one in part.items()} if isinstance(part, dict) else part


def _value(part: Json) -> Draft:
    if isinstance(part, str):
        try:
            return parse(part)
        except BadExpression:
            return part
    if isinstance(part, dict):
        return _keyed(part, _key)
    return [*map(_value, part)] if isinstance(part, list) else n.Constant(part)


def _keyed(part: Mapping[str, Json], read: Callable[[str], Draft]) -> Draft:
    drafts: dict[Draft, Draft] = {}
    for key, one in part.items():
        found = read(key)
        drafts[key if found in drafts else found] = _value(one)  # two spellings of a path stay two keys
    return drafts


def _key(key: str) -> Draft:
    """`[order.currency]` is a key that is computed: the list of that one expression."""
    found = _value(key) if key[:1] == "[" else key
    return found if isinstance(found, n.ListOf) and len(found.parts) == 1 else key


def _changes(part: Json) -> Draft:
    return _keyed(part, _value) if isinstance(part, dict) else part


def _failure(part: Json) -> Draft:
    read = {"message": _message, "body": _value}
    return _each(part, lambda key, one: read[key](one) if key in read else one)


def _message(text: Json) -> Draft:
    if not isinstance(text, str):
        return text
    parts: list[str | n.FormattedValue] = []
    try:
        for literal, code in template_parts(text):
            parts += [literal.replace("{{", "{").replace("}}", "}")] if literal else []
            parsed = parse(code) if code is not None else n.Format(())
            parts += parsed.parts if isinstance(parsed, n.Format) else [n.FormattedValue(parsed)]
    except BadExpression:
        return text
    found = m.Message(tuple(parts))
    return found if template_parts(template(found)) == template_parts(text) else text


_PARTS: Mapping[str, Callable[[Json], Draft]] = {
    **dict.fromkeys(("require", "if", "in", "flag", "unflag", "return", "unset", "remove"), _value),
    **dict.fromkeys(("set", "append"), _changes),
    **dict.fromkeys(("else", "fail"), _failure),
    "let": lambda part: _each(part, lambda _, one: _value(one)),
    "add": _in_add,
}
