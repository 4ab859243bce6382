"""Building expressions: `is_equal(path("order", "status"), text("pending"))`.

A draft of a plan is a plan in which expressions are nodes; `plan_text` writes it down as people would.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.write import template, written
from pipelines.core.text.json_text import Json

#: A plan, or a part of one, that may hold nodes in the places of expressions.
Draft: TypeAlias = Any

TRUE, FALSE, NULL = n.Constant(True), n.Constant(False), n.Constant(None)
TODAY, NOW, ARGS = n.Name("today"), n.Name("now"), n.Name("args")


def path(root: str, *keys: str) -> n.Expr:
    return fields(n.Name(root), *keys)


def fields(of: n.Expr, *keys: str) -> n.Expr:
    for key in keys:
        of = n.Field(of, key)
    return of


def arg(*keys: str) -> n.Expr:
    return fields(ARGS, *keys)


def constant(value: Json) -> n.Expr:
    """A JSON value as an expression."""
    if isinstance(value, list):
        return n.ListOf(tuple(map(constant, value)))
    if isinstance(value, dict):
        return n.MappingOf(tuple(n.Entry(n.Constant(key), constant(one)) for key, one in value.items()))
    return n.Constant(value)


def call(function: str, *arguments: n.Expr) -> n.Expr:
    return n.Call(function, arguments)


def compare(left: n.Expr, sign: n.ComparisonSign, right: n.Expr) -> n.Expr:
    return n.Compare(left, (n.Compared(sign, right),))


def is_equal(left: n.Expr, right: n.Expr) -> n.Expr:
    return compare(left, "==", right)


def differs(left: n.Expr, right: n.Expr) -> n.Expr:
    return compare(left, "!=", right)


def is_in(left: n.Expr, values: Iterable[Json]) -> n.Expr:
    return compare(left, "in", constant([*values]))


def is_null(value: n.Expr) -> n.Expr:
    return is_equal(value, NULL)


def is_given(value: n.Expr) -> n.Expr:
    return differs(value, NULL)


def all_of(*parts: n.Expr) -> n.Expr:
    """All parts hold; parts that are themselves `and` are taken apart."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, n.And) else (part,))]
    return flat[0] if len(flat) == 1 else n.And(tuple(flat)) if flat else TRUE


def any_of(*parts: n.Expr) -> n.Expr:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, n.Or) else (part,))]
    return flat[0] if len(flat) == 1 else n.Or(tuple(flat)) if flat else FALSE


def arithmetic(left: n.Expr, sign: n.ArithmeticSign, right: n.Expr) -> n.Expr:
    return n.Arithmetic(left, sign, right)


def entity(entity_type: str, id: n.Expr) -> n.Expr:
    return call("entity", n.Constant(entity_type), id)


def entities(entity_type: str) -> n.Expr:
    return call("entities", n.Constant(entity_type))


def listed(result: n.Expr, name: str, source: n.Expr, *tests: n.Expr) -> n.Expr:
    """`[result for name in source if …]`."""
    return n.Comprehension("list", (result,), (n.Loop((name,), source, tests),))


def each_of(result: n.Expr, name: str, source: n.Expr, *tests: n.Expr) -> n.Expr:
    """The same one by one, for `any`, `all`, `sum`, `first`: `(result for name in source if …)`."""
    return n.Comprehension("generator", (result,), (n.Loop((name,), source, tests),))


def format_of(*parts: str | n.Expr) -> n.Format:
    """A text with values in it: `format_of("order ", path("order", "id"), " is gone")`."""
    return n.Format(tuple(part if isinstance(part, str) else n.FormattedValue(part) for part in parts))


class Message(n.Format):
    """A text with values in it where a plan has a message, which is a template and not an expression."""

    __slots__ = ()


def message(*parts: str | n.Expr) -> Message:
    return Message(format_of(*parts).parts)


def expressions_in(draft: Draft) -> Iterator[n.Expr]:
    """Every expression of a draft, keys too, as they stand there."""
    if isinstance(draft, n.Expr):
        yield draft
    elif isinstance(draft, Mapping):
        for part in (*draft, *draft.values()):
            yield from expressions_in(part)
    elif isinstance(draft, (list, tuple)):
        for part in draft:
            yield from expressions_in(part)


def plan_text(draft: Draft) -> Json:
    """The draft with every expression written down."""
    if isinstance(draft, Message):
        return template(draft)
    if isinstance(draft, n.Expr):
        return _as_value(draft)
    if isinstance(draft, Mapping):
        return {_key(key): _part(key, value) for key, value in draft.items()}
    if isinstance(draft, (list, tuple)):
        return [plan_text(part) for part in draft]
    assert draft is None or isinstance(draft, (str, int, float, bool))
    return draft


def _part(key: str | n.Expr, value: Draft) -> Json:
    # A condition on candidates is always text, `true` too; elsewhere text means the same.
    return written(value) if key == "where" and isinstance(value, n.Expr) else plan_text(value)


def _key(key: str | n.Expr) -> str:
    return written(key) if isinstance(key, n.Expr) else key


def _as_value(expr: n.Expr) -> Json:
    """In a plan a number and a switch stand for themselves."""
    if isinstance(expr, n.Constant) and not isinstance(expr.value, str):
        return expr.value
    return written(expr)
