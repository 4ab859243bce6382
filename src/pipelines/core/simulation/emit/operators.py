"""Operators as code. Plain numbers and texts are compared on the spot, the rest as interpreted."""

import ast

from pipelines.core.simulation import arithmetic
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.fields import constant_value
from pipelines.core.simulation.emit.writer import Writer
from pipelines.core.simulation.syntax.operators import OPERATIONS, TESTS, plus
from pipelines.core.simulation.values import LONG_TEXT

# Two of one of these classes, or of both, are in the order that Python has them in; so are two texts.
_PLAIN_NUMBERS = frozenset({int, float})
_ORDER_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def binary(w: Writer, node: ast.BinOp) -> ast.expr:
    left, right = w.value(node.left), w.value(node.right)
    if isinstance(node.op, ast.Add):
        return w.result(plus, left, right, w.call)
    if isinstance(node.op, ast.Pow):
        return w.result(arithmetic.power, left, right)
    return w.result(arithmetic.compute, w.function(OPERATIONS[type(node.op)]), left, right, w.call)


def unary(w: Writer, node: ast.UnaryOp) -> ast.expr:
    inner = w.value(node.operand)
    if isinstance(node.op, ast.Not):
        return nodes.negated(inner)
    turned = w.result(arithmetic.negative, inner)
    return turned if isinstance(node.op, ast.USub) else w.result(arithmetic.negative, turned)


def boolean(w: Writer, node: ast.BoolOp) -> ast.expr:
    """The value that decided, in one variable: the next part is looked at only if the last did not decide."""
    result = w.new_name()
    _decide(w, node.values, isinstance(node.op, ast.Or), result)
    return nodes.load(result)


def _decide(w: Writer, parts: list[ast.expr], is_or: bool, result: str) -> None:
    first, *others = parts
    w.add(nodes.assign(result, w.value(first)))
    if not others:
        return
    with w.block() as undecided:
        _decide(w, others, is_or, result)
    found = nodes.load(result)
    w.add(nodes.when(nodes.negated(found) if is_or else found, undecided))


def conditional(w: Writer, node: ast.IfExp) -> ast.expr:
    test, result = w.value(node.test), w.new_name()
    branches = []
    for part in (node.body, node.orelse):
        with w.block() as branch:
            w.add(nodes.assign(result, w.value(part)))
        branches.append(branch)
    w.add(nodes.when(test, *branches))
    return nodes.load(result)


def comparison(w: Writer, node: ast.Compare) -> ast.expr:
    [op, *others] = node.ops
    text = constant_value(node.comparators[0])
    if isinstance(op, ast.Eq) and not others and isinstance(text, str):
        return nodes.compare(w.value(node.left), "==", w.constant(text))
    result = w.new_name()
    _chain(w, w.value(node.left), list(zip(node.ops, node.comparators, strict=True)), result)
    return nodes.load(result)


def _chain(w: Writer, left: ast.expr, tests: list[tuple[ast.cmpop, ast.expr]], result: str) -> None:
    [(op, node), *others] = tests
    right = w.held_value(node) if others else w.value(node)
    w.add(nodes.assign(result, _test(w, op, left, right, node)))
    if others:
        with w.block() as further:
            _chain(w, right, others, result)
        w.add(nodes.when(nodes.load(result), further))


def _test(w: Writer, op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.expr) -> ast.expr:
    sign = _ORDER_SIGNS.get(type(op))
    if sign is None:
        return nodes.call(w.function(TESTS[type(op)]), left, right, w.call)
    left, right = w.held(left), w.held(right)
    kind, known = nodes.attribute(left, "__class__"), constant_value(node)
    if known.__class__ in _PLAIN_NUMBERS:
        is_plain = nodes.compare(kind, "in", w.function(_PLAIN_NUMBERS))
    elif isinstance(known, str) and len(known) < LONG_TEXT:
        is_plain = nodes.compare(kind, "is", w.function(str))
    else:
        # Long texts cost by their length, which `compare` looks at.
        short = nodes.compare(nodes.call(w.function(len), left), "<", nodes.own(LONG_TEXT))
        is_text = nodes.both(nodes.compare(kind, "is", w.function(str)), short)
        other, numbers = nodes.attribute(right, "__class__"), w.function(_PLAIN_NUMBERS)
        are_numbers = nodes.both(nodes.compare(kind, "in", numbers), nodes.compare(other, "in", numbers))
        are_texts = nodes.both(is_text, nodes.compare(other, "is", w.function(str)))
        is_plain = nodes.one_of(are_numbers, are_texts)
    slow = nodes.call(w.function(TESTS[type(op)]), left, right, w.call)
    return nodes.either(is_plain, nodes.compare(left, sign, right), slow)
