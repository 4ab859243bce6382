"""Operators: arithmetic, comparison, and, or, not, if."""

import ast
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pipelines.core.simulation import arithmetic
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.syntax.compiler import CONSTANTS, Compiler, Evaluate, refuse
from pipelines.core.simulation.values import Value, check_length, compare, contains, equal

OPERATIONS: Mapping[type[ast.operator], arithmetic.Operation] = {
    ast.Sub: arithmetic.SUBTRACT,
    ast.Mult: arithmetic.MULTIPLY,
    ast.Div: arithmetic.DIVIDE,
    ast.FloorDiv: arithmetic.FLOOR_DIVIDE,
    ast.Mod: arithmetic.MODULO,
}


def binary(compiler: Compiler, node: ast.BinOp) -> Evaluate:
    left, right = compiler.compile(node.left), compiler.compile(node.right)
    if isinstance(node.op, ast.Add):
        return lambda call: plus(left(call), right(call), call)
    if isinstance(node.op, ast.Pow):
        return lambda call: arithmetic.power(left(call), right(call))
    operation = OPERATIONS.get(type(node.op))
    if operation is None:
        refuse(node.op)
    compute = arithmetic.compute
    return lambda call: compute(operation, left(call), right(call), call)


def plus(left: Value, right: Value, call: Call) -> Value:
    """The sum of two numbers, or two texts or two lists in one."""
    both_text = isinstance(left, str) and isinstance(right, str)
    if both_text or (isinstance(left, list) and isinstance(right, list)):
        check_length(left, len(left) + len(right), call)
        return left + right
    return arithmetic.compute(arithmetic.ADD, left, right, call)


def unary(compiler: Compiler, node: ast.UnaryOp) -> Evaluate:
    inner = compiler.compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda call: not inner(call)
    if isinstance(node.op, ast.USub):
        return lambda call: arithmetic.negative(inner(call))
    if isinstance(node.op, ast.Invert):
        refuse(node.op)
    return lambda call: arithmetic.negative(arithmetic.negative(inner(call)))  # `+x`: a number, as it is


def boolean(compiler: Compiler, node: ast.BoolOp) -> Evaluate:
    """As in Python, the value that decided: `args.limit or 10`."""
    *parts, last = compiler.all(node.values)
    for part in reversed(parts):
        last = _either(part, last) if isinstance(node.op, ast.Or) else _both(part, last)
    return last


def _either(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda call: left(call) or right(call)


def _both(left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda call: left(call) and right(call)


def conditional(compiler: Compiler, node: ast.IfExp) -> Evaluate:
    test, then, otherwise = compiler.all([node.test, node.body, node.orelse])
    return lambda call: then(call) if test(call) else otherwise(call)


Test: TypeAlias = Callable[[Value, Value, Call], bool]


def _ordered(decide: Callable[[int], bool]) -> Test:
    def test(left: Value, right: Value, call: Call) -> bool:
        order = compare(left, right, call)
        return order is not None and decide(order)

    return test


TESTS: Mapping[type[ast.cmpop], Test] = {
    ast.Eq: equal,
    ast.NotEq: lambda left, right, call: not equal(left, right, call),
    ast.Is: equal,
    ast.IsNot: lambda left, right, call: not equal(left, right, call),
    ast.Lt: _ordered(lambda order: order < 0),
    ast.LtE: _ordered(lambda order: order <= 0),
    ast.Gt: _ordered(lambda order: order > 0),
    ast.GtE: _ordered(lambda order: order >= 0),
    ast.In: lambda left, right, call: contains(right, left, call),
    ast.NotIn: lambda left, right, call: not contains(right, left, call),
}


def comparison(compiler: Compiler, node: ast.Compare) -> Evaluate:
    for op, right in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, (ast.Is, ast.IsNot)) and not _is_constant(right):
            compiler.complain("`is` works only with null, true and false", "to compare write `==`")
    tests = [TESTS[type(op)] for op in node.ops]
    operands = compiler.all([node.left, *node.comparators])
    if len(tests) > 1:
        return _chain(tests, operands)
    [test], [left, second] = tests, operands
    if test is equal and isinstance(node.comparators[0], ast.Constant):
        text = node.comparators[0].value
        if isinstance(text, str):  # nothing but the same text equals a text
            return lambda call: left(call) == text
    return lambda call: test(left(call), second(call), call)


def _chain(tests: list[Test], operands: list[Evaluate]) -> Evaluate:
    first, *others = operands

    def decide(call: Call) -> Value:
        value = first(call)
        for test, operand in zip(tests, others, strict=True):
            following = operand(call)
            if not test(value, following, call):
                return False
            value = following
        return True

    return decide


def _is_constant(node: ast.expr) -> bool:
    constant = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))
    return constant or (isinstance(node, ast.Name) and node.id in CONSTANTS)
