"""Arithmetic of plans: whole numbers exactly, the rest in decimals to 28 digits.

`80 * 1.08` is 86.4 and `0.1 + 0.2` is 0.3. A number wrapped in `float()` is computed with in binary instead,
for backends whose own rounding noise is to be reproduced.
"""

import decimal as d
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, NoReturn

from pipelines.core.simulation.values import (
    DECIMALS,
    MAX_INTEGER,
    Binary,
    Budget,
    Stopped,
    Value,
    decimal,
    is_number,
    kind_of,
)

DIGITS = 28
MAX_EXPONENT = 300  # what a JSON reader still takes for a number is below 1.8e308

CONTEXT = d.Context(
    prec=DIGITS,
    rounding=d.ROUND_HALF_EVEN,
    Emax=MAX_EXPONENT,
    Emin=-MAX_EXPONENT,
    traps=[d.InvalidOperation, d.DivisionByZero, d.Overflow],
)
# Rounding keeps every digit before the point, so it needs more room than computing does.
_WIDE = d.Context(prec=400, traps=[d.InvalidOperation])


_WHOLE = (int, int)
# Pairs of classes that are computed with as decimals; true and false, and binary numbers, are not among them.
_DECIMALS = frozenset((one, other) for one in (int, float, Decimal) for other in (int, float, Decimal))


class Operation(NamedTuple):
    sign: str
    exact: Callable[[int, int], Value] | None  # for two whole numbers; None where the result may not be whole
    decimals: Callable[[Decimal, Decimal], Decimal]
    binary: Callable[[float, float], float]
    divides: bool = False


def _floor_division(left: Decimal, right: Decimal) -> Decimal:
    return CONTEXT.divide(left, right).to_integral_value(d.ROUND_FLOOR)


def _modulo(left: Decimal, right: Decimal) -> Decimal:
    """With the sign of the divisor, as for whole numbers."""
    rest = CONTEXT.remainder(left, right)
    return rest if not rest or (rest < 0) == (right < 0) else CONTEXT.add(rest, right)


ADD = Operation("+", operator.add, CONTEXT.add, operator.add)
SUBTRACT = Operation("-", operator.sub, CONTEXT.subtract, operator.sub)
MULTIPLY = Operation("*", operator.mul, CONTEXT.multiply, operator.mul)
DIVIDE = Operation("/", None, CONTEXT.divide, operator.truediv, divides=True)
FLOOR_DIVIDE = Operation("//", operator.floordiv, _floor_division, operator.floordiv, divides=True)
MODULO = Operation("%", operator.mod, _modulo, operator.mod, divides=True)


def compute(operation: Operation, left: Value, right: Value, budget: Budget) -> Value:
    """The result of one operation on two numbers; anything else is an error that names what was there."""
    try:
        kinds = left.__class__, right.__class__
        if kinds == _WHOLE and operation.exact is not None:
            return check_range(operation.exact(left, right))
        budget.spend(DECIMALS)
        if kinds in _DECIMALS:
            return operation.decimals(decimal(left), decimal(right))
        if not (is_number(left) and is_number(right)):
            _not_numbers(operation.sign, left, right)
        if left.__class__ is Binary or right.__class__ is Binary:
            return check_range(Binary(operation.binary(float(left), float(right))))
        return operation.decimals(decimal(left), decimal(right))
    except (ArithmeticError, ValueError):
        if operation.divides and right == 0:
            raise Stopped("plan_number", "division by zero; guard it with `require: divisor != 0`") from None
        _too_big()


def power(base: Value, exponent: Value) -> Value:
    if not (is_number(base) and is_number(exponent)):
        _not_numbers("**", base, exponent)
    whole = base.__class__ is int and exponent.__class__ is int and exponent >= 0
    if whole:
        # Bits of the result are at most bits of the base times the exponent: refused before it is computed.
        if abs(base) > 1 and abs(base).bit_length() * exponent > MAX_INTEGER.bit_length() + 64:
            _too_big()
        return check_range(base**exponent)
    try:
        if base.__class__ is Binary or exponent.__class__ is Binary:
            return check_range(Binary(float(base) ** float(exponent)))
        return CONTEXT.power(decimal(base), decimal(exponent))
    except (ArithmeticError, ValueError, TypeError):  # a complex result is no number here either
        raise Stopped("plan_number", f"{_show(base)} ** {_show(exponent)} is not a number in range") from None


def negative(value: Value) -> Value:
    if not is_number(value):
        raise Stopped("plan_type", f"a number is needed after `-`, not {kind_of(value)}")
    if isinstance(value, int):
        return -value
    return Binary(-value) if value.__class__ is Binary else decimal(value).copy_negate()


def check_range(value: Value) -> Value:
    """The number, if it stays in range."""
    if isinstance(value, int):
        if not -MAX_INTEGER < value < MAX_INTEGER:
            _too_big()
    elif not math.isfinite(value):
        _too_big()
    return value


def round_half_up(value: Value, digits: int) -> Value:
    """Half up, away from zero: 2.675 to two places is 2.68, and -2.5 to none is -3.

    A binary number is rounded as binary programs do: 2.675 is a little less than it looks, and gives 2.67.
    """
    if value.__class__ is Binary:
        return Binary(round(float(value), digits)) if digits > 0 else int(round(float(value), digits))
    exact = decimal(value).quantize(_unit(digits), d.ROUND_HALF_UP, context=_WIDE)
    return int(exact) if digits <= 0 else exact


@lru_cache(maxsize=64)
def _unit(digits: int) -> Decimal:
    """Of the last digit that is kept."""
    return Decimal(1).scaleb(-digits)


def whole(value: Value, rounding: str) -> int:
    return int(decimal(value).to_integral_value(rounding))


def number_in(text: str) -> Value | None:
    """The number a text spells, or None: "12", "-3.50", "1e3"; no spaces inside, no thousands marks."""
    spelled = text.strip()
    if not 0 < len(spelled) <= 60 or not set(spelled) <= set("0123456789+-.eE"):
        return None
    try:
        if spelled.lstrip("+-").isdigit():
            return check_range(int(spelled))
        found = CONTEXT.create_decimal(spelled)
    except (ArithmeticError, ValueError, Stopped):
        return None
    return found if found.is_finite() else None


def total(numbers: list[Value], budget: Budget) -> Value:
    found: Value = 0
    for number in numbers:
        found = compute(ADD, found, number, budget)
    return found


def _show(value: Value) -> str:
    return str(value)[:40]


def _not_numbers(sign: str, left: Value, right: Value) -> NoReturn:
    hint = "; turn a number into text with str(x)" if sign == "+" and str in (type(left), type(right)) else ""
    message = f"`{sign}` needs two numbers, not {kind_of(left)} and {kind_of(right)}{hint}"
    raise Stopped("plan_type", message)


def _too_big() -> NoReturn:
    raise Stopped("plan_number", "a number is out of range")
