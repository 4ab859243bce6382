"""From the text of an expression to its nodes, by way of Python's own parser."""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from pipelines.core.simulation import expression_text
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expression_text import BadExpression, Complaint
from pipelines.core.simulation.syntax.compiler import CONSTANTS, refuse

_COMPARISONS: Mapping[type[ast.cmpop], n.ComparisonSign] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_ARITHMETIC: Mapping[type[ast.operator], n.ArithmeticSign] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


def parse(written: str) -> n.Expr:
    """The expression, or BadExpression with what to write instead."""
    return from_tree(expression_text.parse(written))


def from_tree(tree: ast.AST) -> n.Expr:
    make = _NODES.get(type(tree))
    if make is None:
        refuse(tree)
    return make(tree)


def _all(trees: list[ast.expr]) -> tuple[n.Expr, ...]:
    return tuple(map(from_tree, trees))


def _constant(tree: ast.Constant) -> n.Expr:
    if not (tree.value is None or isinstance(tree.value, (str, int, float, bool))):
        raise BadExpression(Complaint(f"{type(tree.value).__name__} values are not part of the language"))
    return n.Constant(tree.value)


def _name(tree: ast.Name) -> n.Expr:
    return n.Constant(CONSTANTS[tree.id]) if tree.id in CONSTANTS else n.Name(tree.id)


def _subscript(tree: ast.Subscript) -> n.Expr:
    of, at = from_tree(tree.value), tree.slice
    if isinstance(at, ast.Slice):
        if at.step is not None:
            raise BadExpression(Complaint("slices have no step", "reversed(list) turns a list round"))
        start, end = (None if edge is None else from_tree(edge) for edge in (at.lower, at.upper))
        return n.Slice(of, start, end)
    if isinstance(at, ast.Constant) and isinstance(at.value, str):
        return n.Field(of, at.value)
    return n.Item(of, from_tree(at))


def _comparison(tree: ast.Compare) -> n.Expr:
    signs = (_COMPARISONS[type(op)] for op in tree.ops)
    rest = (n.Compared(sign, value) for sign, value in zip(signs, _all(tree.comparators), strict=True))
    return n.Compare(from_tree(tree.left), tuple(rest))


def _arithmetic(tree: ast.BinOp) -> n.Expr:
    if type(tree.op) not in _ARITHMETIC:
        refuse(tree.op)
    return n.Arithmetic(from_tree(tree.left), _ARITHMETIC[type(tree.op)], from_tree(tree.right))


def _unary(tree: ast.UnaryOp) -> n.Expr:
    inner = from_tree(tree.operand)
    if isinstance(tree.op, ast.Not):
        return n.Not(inner)
    if isinstance(tree.op, ast.Invert):
        refuse(tree.op)
    if isinstance(tree.op, ast.UAdd):
        return n.Negative(n.Negative(inner))
    if isinstance(inner, n.Constant) and isinstance(inner.value, (int, float)):
        return n.Negative(inner) if isinstance(inner.value, bool) else n.Constant(-inner.value)
    return n.Negative(inner)


def _call(tree: ast.Call) -> n.Expr:
    if not isinstance(tree.func, ast.Name) or tree.keywords:
        raise BadExpression(Complaint("only functions of the language can be called", "f(a, b)"))
    return n.Call(tree.func.id, _all(tree.args))


def _loops(trees: list[ast.comprehension]) -> tuple[n.Loop, ...]:
    return tuple(n.Loop(_targets(one.target), from_tree(one.iter), _all(one.ifs)) for one in trees)


def _targets(tree: ast.expr) -> tuple[str, ...]:
    parts = tree.elts if isinstance(tree, (ast.Tuple, ast.List)) else [tree]
    if not all(isinstance(part, ast.Name) for part in parts):
        raise BadExpression(Complaint("a comprehension binds plain names", "for x in …"))
    return tuple(part.id for part in parts if isinstance(part, ast.Name))


def _format(tree: ast.JoinedStr) -> n.Expr:
    parts: list[str | n.FormattedValue] = []
    for part in tree.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            if part.conversion != -1:
                raise BadExpression(Complaint("`!r` and the like are not part of the language", "write {x}"))
            parts.append(n.FormattedValue(from_tree(part.value), _spec(part.format_spec)))
    return n.Format(tuple(parts))


def _spec(tree: ast.expr | None) -> str:
    nodes = ast.walk(tree) if tree is not None else ()
    return "".join(str(part.value) for part in nodes if isinstance(part, ast.Constant))


def _mapping(tree: ast.Dict) -> n.Expr:
    keys = (None if key is None else from_tree(key) for key in tree.keys)
    return n.MappingOf(tuple(map(n.Entry, keys, _all(tree.values))))


_NODES: Mapping[type[ast.AST], Callable[[Any], n.Expr]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: lambda tree: n.Field(from_tree(tree.value), tree.attr),
    ast.Subscript: _subscript,
    ast.List: lambda tree: n.ListOf(_all(tree.elts)),
    ast.Starred: lambda tree: n.Spread(from_tree(tree.value)),
    ast.Dict: _mapping,
    ast.JoinedStr: _format,
    ast.BinOp: _arithmetic,
    ast.UnaryOp: _unary,
    ast.BoolOp: lambda tree: (n.Or if isinstance(tree.op, ast.Or) else n.And)(_all(tree.values)),
    ast.IfExp: lambda tree: n.Conditional(*_all([tree.test, tree.body, tree.orelse])),
    ast.Compare: _comparison,
    ast.ListComp: lambda tree: n.Comprehension("list", (from_tree(tree.elt),), _loops(tree.generators)),
    ast.GeneratorExp: lambda tree: n.Comprehension(
        "generator", (from_tree(tree.elt),), _loops(tree.generators)
    ),
    ast.SetComp: lambda tree: n.Comprehension("set", (from_tree(tree.elt),), _loops(tree.generators)),
    ast.DictComp: lambda tree: n.Comprehension(
        "mapping", _all([tree.key, tree.value]), _loops(tree.generators)
    ),
    ast.Call: _call,
}
