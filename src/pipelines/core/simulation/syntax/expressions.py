"""Expressions: a safe subset of Python's grammar, compiled once into functions over a call.

There are no methods, no attributes of Python objects and no way to define a function: a dot reads a field of
a mapping, and only the functions of the table can be called. What repeats costs the call some of its budget.
"""

import ast
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pipelines.core.simulation.expression_text import BadExpression, Complaint, parse
from pipelines.core.simulation.syntax import calls, fields, operators
from pipelines.core.simulation.syntax.compiler import GIVEN_NAMES, Compiler, Evaluate
from pipelines.core.simulation.syntax.constants import constant_parts, why_it_fails
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.text.problems import Problem, Refused

_VISITORS: Mapping[type[ast.AST], Callable[..., Evaluate]] = {
    ast.Constant: fields.constant,
    ast.Name: fields.name,
    ast.Attribute: fields.attribute,
    ast.Subscript: fields.subscript,
    ast.List: fields.list_literal,
    ast.Dict: fields.dict_literal,
    ast.JoinedStr: fields.f_string,
    ast.FormattedValue: fields.formatted,
    ast.BinOp: operators.binary,
    ast.UnaryOp: operators.unary,
    ast.BoolOp: operators.boolean,
    ast.IfExp: operators.conditional,
    ast.Compare: operators.comparison,
    ast.ListComp: calls.list_comprehension,
    ast.GeneratorExp: calls.list_comprehension,
    ast.SetComp: calls.set_comprehension,
    ast.DictComp: calls.dict_comprehension,
    ast.Call: calls.call_of,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Expression:
    text: str
    tree: ast.expr = field(repr=False, compare=False)
    evaluate: Evaluate = field(repr=False, compare=False)


def compile_expression(
    text: str,
    *,
    names: Collection[str],
    path: str = "",
    arguments: frozenset[str] | None = None,
    entity_types: frozenset[str] | None = None,
    tools: frozenset[str] | None = None,
) -> Expression:
    """An expression in which only `names` (and args, now, today) are bound, or Refused with its problems."""
    compiler = Compiler(
        visitors=_VISITORS,
        names=frozenset(names) | GIVEN_NAMES,
        arguments=arguments,
        entity_types=entity_types,
        tools=tools,
    )
    try:
        tree = parse(text)
        evaluate = compiler.compile(tree)
        found = compiler.complaints or _certain_failures(compiler, tree)
    except BadExpression as bad:
        found = [*compiler.complaints, bad.complaint]
    if found:
        raise Refused([Problem(path=path, message=c.message, hint=c.hint) for c in found], "the expression")
    return Expression(text=text, tree=tree, evaluate=evaluate)


def remembered_tools(tree: ast.expr) -> set[str]:
    """Tools that a checked expression names in `calls('…')`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(tool))]):
                found |= {tool} if FUNCTIONS[name].takes_tool else set()
    return found


def _certain_failures(compiler: Compiler, tree: ast.expr) -> list[Complaint]:
    found = []
    for part in constant_parts(tree):
        reason = why_it_fails(compiler.compile(part))
        if reason is not None:
            found.append(Complaint(f"`{ast.unparse(part)[:60]}` can only fail: {reason}"))
    return found
