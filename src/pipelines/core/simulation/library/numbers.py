"""Functions of numbers. What is not a number stops the plan; what has no result (the root of -1) is null."""

import ast
import decimal
import math
import operator
from collections.abc import Callable

from pipelines.core.simulation import arithmetic
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expression_text import MAX_EXPRESSION, BadExpression, parse_within_limits
from pipelines.core.simulation.values import (
    DECIMALS,
    Binary,
    Stopped,
    Value,
    compare,
    elements,
    is_blank,
    is_number,
    kind_of,
)
from pipelines.core.simulation.values import decimal as as_decimal

MAX_PLACES = 20


def number_needed(value: Value) -> Value:
    if not is_number(value):
        raise Stopped("plan_type", f"a number is needed, not {kind_of(value)}")
    return value


def whole_needed(value: Value, what: str = "a whole number") -> int:
    if not is_number(value) or value != int(value):
        raise Stopped("plan_type", f"{what} is needed, not {kind_of(value)}")
    return int(value)


def numbers_in(call: Call, values: Value) -> list[Value]:
    found = elements(values)
    call.spend(4 * len(found))
    for value in found:
        number_needed(value)
    return found


def _sum(call: Call, values: Value) -> Value:
    return total(call, numbers_in(call, values))


def total(call: Call, numbers: list[Value]) -> Value:
    """Paid for ahead: decimals take long."""
    call.spend(6 * len(numbers))
    return arithmetic.total(numbers, call)


def _extreme(sign: int) -> Callable[..., Value]:
    def pick(call: Call, *given: Value) -> Value:
        found = elements(given[0]) if len(given) == 1 else list(given)
        call.spend(8 * len(found))
        best: Value = None
        for value in found:
            if is_blank(value):
                continue
            order = compare(value, best, call)
            if order is None or order * sign > 0:
                best = value
        return best

    return pick


def _abs(call: Call, value: Value) -> Value:
    return arithmetic.negative(value) if number_needed(value) < 0 else value


def _round(call: Call, value: Value, digits: Value = 0) -> Value:
    places = whole_needed(digits)
    if not -MAX_PLACES <= places <= MAX_PLACES:
        raise Stopped("plan_number", f"round to at most {MAX_PLACES} places")
    return arithmetic.round_half_up(number_needed(value), places)


def _floor(call: Call, value: Value) -> Value:
    return arithmetic.whole(number_needed(value), decimal.ROUND_FLOOR)


def _ceil(call: Call, value: Value) -> Value:
    return arithmetic.whole(number_needed(value), decimal.ROUND_CEILING)


def _number(call: Call, value: Value) -> Value:
    if isinstance(value, str):
        call.spend(len(value) >> 3)
        return arithmetic.number_in(value)
    return value if is_number(value) else None


def _int(call: Call, value: Value) -> Value:
    found = _number(call, value)
    return None if found is None else arithmetic.whole(found, decimal.ROUND_DOWN)


def _float(call: Call, value: Value) -> Value:
    found = _number(call, value)
    return None if found is None else arithmetic.check_range(Binary(found))


def _sqrt(call: Call, value: Value) -> Value:
    if number_needed(value) < 0:
        return None
    return (
        Binary(math.sqrt(value)) if value.__class__ is Binary else arithmetic.CONTEXT.sqrt(as_decimal(value))
    )


def _log(call: Call, value: Value, base: Value = None) -> Value:
    if number_needed(value) <= 0 or (base is not None and (number_needed(base) <= 0 or base == 1)):
        return None
    if value.__class__ is Binary or base.__class__ is Binary:
        return Binary(math.log(value) if base is None else math.log(value, float(base)))
    context = arithmetic.CONTEXT
    top = context.ln(as_decimal(value))
    return top if base is None else context.divide(top, context.ln(as_decimal(base)))


def _significant(call: Call, value: Value, digits: Value) -> Value:
    places = max(1, min(arithmetic.DIGITS, whole_needed(digits)))
    context = decimal.Context(prec=places, rounding=decimal.ROUND_HALF_UP)
    return context.plus(as_decimal(number_needed(value)))


def _mean(call: Call, values: Value) -> Value:
    found = numbers_in(call, values)
    return arithmetic.compute(arithmetic.DIVIDE, total(call, found), len(found), call) if found else None


def _median(call: Call, values: Value) -> Value:
    given = numbers_in(call, values)
    call.spend(len(given) * (DECIMALS + 2 * len(given).bit_length()))
    found = sorted(given, key=as_decimal)
    if not found:
        return None
    middle = len(found) // 2
    return found[middle] if len(found) % 2 else _mean(call, found[middle - 1 : middle + 1])


def _spread(fewer: int) -> Callable[..., Value]:
    def stdev(call: Call, values: Value) -> Value:
        found = numbers_in(call, values)
        if len(found) <= fewer:
            return None
        mean = _mean(call, found)
        call.spend(12 * len(found))
        compute = arithmetic.compute
        distances = [compute(arithmetic.SUBTRACT, value, mean, call) for value in found]
        squares = [compute(arithmetic.MULTIPLY, distance, distance, call) for distance in distances]
        variance = compute(arithmetic.DIVIDE, total(call, squares), len(found) - fewer, call)
        return _sqrt(call, variance)

    return stdev


_SIGNS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def _calculate(call: Call, text: Value) -> Value:
    """As a pocket calculator would, in binary; null where the text is not arithmetic or has no result."""
    if not isinstance(text, str):
        return text if is_number(text) else None
    if len(text) > MAX_EXPRESSION:
        return None
    call.spend(400 + 60 * len(text))  # reading an expression costs far more than computing it
    try:
        result = _arithmetic(parse_within_limits(text))
        return arithmetic.check_range(Binary(result))
    except (BadExpression, ArithmeticError, ValueError, TypeError, Stopped):
        return None


def _arithmetic(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(node.value)  # type: ignore[arg-type]  # just seen to be a number
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        inner = _arithmetic(node.operand)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return _SIGNS[type(node.op)](_arithmetic(node.left), _arithmetic(node.right))
    raise ValueError("not arithmetic")


ROWS: tuple[tuple[str, str, str, Callable[..., Value]], ...] = (
    ("sum(numbers)", "all of them added up; 0 for none", "sum([0.1, 0.2]) → 0.3", _sum),
    (
        "min(values, …)",
        "the least of a list, or of several values; null for none",
        "min([3, 1, 2]) → 1",
        _extreme(-1),
    ),
    ("max(values, …)", "the greatest of a list, or of several values", "max(0, -5) → 0", _extreme(1)),
    ("abs(number)", "without its sign", "abs(-2.5) → 2.5", _abs),
    ("round(number, digits=0)", "half up, away from zero", "round(2.675, 2) → 2.68", _round),
    ("floor(number)", "the whole number at or below", "floor(-1.5) → -2", _floor),
    ("ceil(number)", "the whole number at or above", "ceil(1.2) → 2", _ceil),
    ("number(value)", "the number a text spells; null if none", "number('3.50') → 3.5", _number),
    ("int(value)", "likewise, without what comes after the point", "int('3.9') → 3", _int),
    (
        "float(value)",
        "the number, to be computed with in binary",
        "float(0.1) + 0.2 → 0.30000000000000004",
        _float,
    ),
    ("sqrt(number)", "the square root; null below zero", "sqrt(2.25) → 1.5", _sqrt),
    ("log(number, base=e)", "the logarithm; null where there is none", "log(100, 10) → 2.0", _log),
    (
        "significant(number, digits)",
        "rounded to that many digits in all",
        "significant(1234.5, 3) → 1230.0",
        _significant,
    ),
    ("mean(numbers)", "the average; null for none", "mean([1, 2]) → 1.5", _mean),
    ("median(numbers)", "the middle one; null for none", "median([3, 1, 2]) → 2", _median),
    ("stdev(numbers)", "the standard deviation of a sample", "stdev([1, 2, 3]) → 1.0", _spread(1)),
    ("pstdev(numbers)", "the standard deviation of a whole population", "pstdev([1, 3]) → 1.0", _spread(0)),
    (
        "calculate(text)",
        "what a pocket calculator makes of `+ - * / // % **` and parentheses; null if it is no arithmetic",
        "calculate('(2 + 3) * 4') → 20.0",
        _calculate,
    ),
)
