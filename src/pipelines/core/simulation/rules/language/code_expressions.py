"""Checks expressions in backticks against the tool, the types and the fields of the world."""

import re
from collections.abc import Mapping
from keyword import iskeyword
from typing import TypeAlias

from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.expr import Expr, written
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.forms import from_text
from pipelines.core.simulation.rules.language.nouns import Literal, NounPhrase
from pipelines.core.simulation.rules.language.scope import CannotResolve, Scope
from pipelines.core.simulation.syntax.expressions import compile_expression
from pipelines.core.text.authored import did_you_mean
from pipelines.core.text.problems import Refused

#: The fields of a record, or of a part of one; None where any may be there.
Shape: TypeAlias = Mapping[str, Field] | None


class _NoField(Exception):
    """An expression reads a field that is not there: which, and those that are."""


def check_expression(code: Literal, scope: Scope) -> Expr:
    """The expression, or NotResolved with the name in it that is not there and what may be meant."""
    source = str(code.value)
    try:
        expr = from_text(source.strip())
        _compile(expr, scope)
        records = {kind: _fields(scope, kind) for kind in scope.vocabulary.kinds}
        _shape(expr, {**records, r.EACH: records.get(scope.it or "")}, scope)
    except BadExpression as bad:
        raise CannotResolve(
            f"`{source}` is not a valid expression: {bad.complaint.message}", _at(source, code)
        ) from None
    except Refused as refused:
        first = refused.problems[0]
        says = first.message.replace("the tool", scope.tool.name) + (f"; {first.hint}" if first.hint else "")
        raise CannotResolve(f"in `{source}` {says}", _at(first.message, code)) from None
    except _NoField as wrong:
        key, there = wrong.args
        hint = did_you_mean(key, there) or "there is " + ", ".join([*there][:6])
        raise CannotResolve(
            f"in `{source}` there is no field `{key}`; {hint}", _at(f"`{key}`", code)
        ) from None
    own = {scope.it: scope.record} if scope.it is not None and scope.record is not None else {}
    return expr.replaced(own)  # the record that is spoken of may be written by its type


def _compile(expr: Expr, scope: Scope) -> None:
    """As plans are checked, with plain names where types are called as no name can be."""
    kinds = scope.vocabulary.kinds
    odd = [kind for kind in kinds if not kind.isidentifier() or iskeyword(kind)]
    stand_in: dict[str, Expr] = {kind: n.Name(f"type_{at}") for at, kind in enumerate(odd)}
    names = {str(stand_in.get(kind, kind)) for kind in kinds}
    names |= {r.EACH} if scope.record == n.Name(r.EACH) else set()
    names |= {r.REPLY} if scope.in_reply else set()
    compile_expression(
        written(_without_caller(expr.replaced(stand_in))),
        names=names,
        arguments=frozenset(scope.tool.arguments),
        entity_types=frozenset(kinds),
        tools=frozenset(scope.vocabulary.tools),
    )


def _without_caller(expr: Expr) -> Expr:
    """`caller()` stands where nothing says who calls: rules know it, plans do not."""
    return n.Name("now") if expr == n.Call("caller", ()) else n.rebuilt(expr, _without_caller)


def _at(message: str, code: Literal) -> NounPhrase:
    """The first quoted name of a message that the expression has; else all of it."""
    source = str(code.value)
    quoted = (one for one in re.findall(r"[`']([^`']+)[`']", message) if one in source)
    name = next(quoted, source)
    start = code.start + 1 + source.index(name)
    return NounPhrase((name,), start, start + len(name), name)


# -- fields -------------------------------------------------------------------------------------------------


def _fields(scope: Scope, kind: str) -> Shape:
    known = scope.vocabulary.kinds.get(kind)
    return {keys[0]: one for keys, one in known.fields.items() if len(keys) == 1} if known else None


def _field(shape: Shape, key: str) -> Field | None:
    if shape and key not in shape and key != "id":
        raise _NoField(key, shape)
    return (shape or {}).get(key)


def _shape(expr: Expr, bound: Mapping[str, Shape], scope: Scope, *, of_each: bool = False) -> Shape:
    """The fields of what an expression gives, or of each element of it, where these are known."""
    match expr:
        case n.Name(name=name):
            return None if of_each else bound.get(name)
        case n.Field(of=of, key=key):
            found = _field(_shape(of, bound, scope), key)
            return found.parts or None if found and found.keeps == ("list" if of_each else None) else None
        case n.Call(function=name, arguments=(n.Constant(value=str(kind)), *rest)):
            for one in rest:
                _shape(one, bound, scope)
            return _fields(scope, kind) if name == ("entities" if of_each else "entity") else None
        case n.Comprehension(loops=loops, results=results):
            for loop in loops:
                each = _shape(loop.source, bound, scope, of_each=True)
                bound = {**bound, **dict.fromkeys(loop.names, each if len(loop.names) == 1 else None)}
                for test in loop.tests:
                    _shape(test, bound, scope)
            for result in results:
                _shape(result, bound, scope)
        case _:
            for child in expr.children():
                _shape(child, bound, scope)
    return None
