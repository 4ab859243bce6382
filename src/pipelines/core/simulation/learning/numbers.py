"""Numbers from numbers: two terms and a sign, a term and a constant, three terms; rounded or not.

Python's floats are compared with what the language computes, which is decimal: where both differ and the
recorded one is binary, the expression computes in binary, too.
"""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.found import Found, constant_cost
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.search import Search, Target
from pipelines.core.simulation.values import MISSING

MOST_PAIRED = 70  # terms in a pair
MOST_TRIPLED = 16  # in an expression of three
MOST_TABLED, MOST_SELECTORS = 8, 8
FEWEST_PER_WORD = 2.0  # examples, on average: else the amounts would be remembered and not learnt
TABLE = 3.0
SIGN, ROUND, DEFAULT = 1.0, 1.0, 0.7
EXACT, BINARY = -1, -2  # beside the digits to which a result is rounded
FEWEST_FOR_CONSTANT = 2  # different values: one line goes through any two points, but a factor is one number

_OPERATORS: Mapping[n.ArithmeticSign, Callable[[Decimal, Decimal], Decimal]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}

_ROUGHLY: Mapping[n.ArithmeticSign, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


class _Column:
    """A term's numbers in the rows that matter."""

    __slots__ = ("cost", "expr", "first", "values")

    def __init__(self, expr: n.Expr, values: Sequence[Decimal], cost: float) -> None:
        self.expr = expr
        self.values = values
        self.first = float(values[0])  # looked at before anything is computed exactly
        self.cost = cost


def arithmetic(search: Search, target: Target) -> Found | None:
    wanted = [_decimal(target.values[row]) for row in target.rows]
    columns = _columns(search, target)
    best: Found | None = None
    for expr, values, cost in _candidates(columns, wanted):
        if best is not None and cost >= best.cost:
            continue
        rounding = _rounding(values, wanted)
        if rounding is not None:
            made = _rounded(expr, rounding)
            best = Found(expr=made, cost=cost + (ROUND if rounding >= 0 else 0))
    return best or _with_table(search, target, columns, wanted)


def _with_table(
    search: Search, target: Target, columns: Sequence[_Column], wanted: Sequence[Decimal]
) -> Found | None:
    """A number changed by what depends on a word: a fee for each kind, a rate for each class."""
    best: Found | None = None
    for selector in _selectors(search, target):
        for column in columns[:MOST_TABLED]:
            for sign in ("+", "*"):
                amounts = _amounts(selector, column, wanted, sign)
                cost = column.cost + selector.cost + TABLE + (0 if amounts is None else len(amounts))
                if amounts is None or (best is not None and cost >= best.cost):
                    continue
                values = [
                    _OPERATORS[sign](one, amounts[key])
                    for key, one in zip(selector.keys, column.values, strict=True)
                ]
                digits = _rounding(values, wanted)
                if digits is None or digits == BINARY:
                    continue
                table = n.MappingOf(
                    tuple(n.Entry(n.Constant(key), n.Constant(_plain(one))) for key, one in amounts.items())
                )
                expr = m.arithmetic(column.expr, sign, n.Item(table, selector.expr))
                best = Found(
                    expr=_rounded(expr, digits), cost=cost, seen=(m.is_in(selector.expr, list(amounts)),)
                )
    return best


class _Selector(NamedTuple):
    expr: n.Expr
    keys: Sequence[str]
    cost: float


def _selectors(search: Search, target: Target) -> list[_Selector]:
    """Words of which there are a few, each often enough."""
    found = []
    for term in search.scene.terms:
        keys = [term.values[row] for row in target.rows]
        if all(isinstance(key, str) for key in keys) and 2 <= len(set(keys)) <= len(keys) / FEWEST_PER_WORD:
            found.append(_Selector(term.expr, keys, term.cost))
    return sorted(found, key=lambda one: one.cost)[:MOST_SELECTORS]


def _amounts(
    selector: _Selector, column: _Column, wanted: Sequence[Decimal], sign: str
) -> dict[str, Decimal] | None:
    """What each word adds, or multiplies by; None where it is not the same each time."""
    amounts: dict[str, Decimal] = {}
    for key, value, result in zip(selector.keys, column.values, wanted, strict=True):
        if sign == "*" and not value:
            if result:
                return None
            continue
        amount = result - value if sign == "+" else round(result / value, 4).normalize()
        if sign == "+":
            amount = round(amount, 4)
        if abs(amounts.setdefault(key, amount) - amount) > Decimal("0.001"):
            return None
    is_table = len(set(amounts.values())) > 1 and set(amounts) == set(selector.keys)
    return amounts if is_table else None


def _columns(search: Search, target: Target) -> list[_Column]:
    found = []
    for term in sorted(search.scene.terms, key=lambda one: one.cost_for(target.name)):
        given = [term.values[row] for row in target.rows]
        cost = max(term.cost_for(target.name), 0.3)
        if all(map(_is_number, given)):
            found.append(_Column(term.expr, list(map(_decimal, given)), cost))
        elif any(map(_is_number, given)) and all(_is_number(one) or _is_blank(one) for one in given):
            values = [Decimal(0) if _is_blank(one) else _decimal(one) for one in given]
            found.append(_Column(m.call("default", term.expr, n.Constant(0)), values, cost + DEFAULT))
    return found[:MOST_PAIRED]


def _candidates(
    columns: Sequence[_Column], wanted: Sequence[Decimal]
) -> Iterator[tuple[n.Expr, Sequence[Decimal], float]]:
    """Those that are right in the first row; whoever asks looks at the others."""
    yield from _with_constants(columns, wanted)
    products = []
    rough, margin = float(wanted[0]), _margin(wanted[0])
    for at, one in enumerate(columns):
        for position, other in enumerate(columns):
            for sign, operate in _OPERATORS.items():
                if (sign in "+*" and position < at) or (sign in "-/" and position == at):
                    continue
                if sign == "/" and not other.first:
                    continue
                first = _ROUGHLY[sign](one.first, other.first)
                cost = one.cost + other.cost + SIGN
                if sign == "*" and max(at, position) < MOST_TRIPLED:
                    products.append((at, position))
                if abs(first - rough) <= margin:
                    values = _all(operate, one.values, other.values)
                    if values is not None:
                        yield m.arithmetic(one.expr, sign, other.expr), values, cost
    yield from _of_three(columns, products, wanted)


def _with_constants(
    columns: Sequence[_Column], wanted: Sequence[Decimal]
) -> Iterator[tuple[n.Expr, Sequence[Decimal], float]]:
    if len(set(wanted)) < FEWEST_FOR_CONSTANT:
        # One result: only the step of a counter is believed.
        for column in columns[:MOST_TABLED]:
            if wanted[0] - column.values[0] in (1, -1):
                yield from _plus(column, wanted[0] - column.values[0])
        return
    for column in columns:
        difference = wanted[0] - column.values[0]
        if difference and abs(difference) < 10**6:
            yield from _plus(column, difference)
        for factor in _factors(column.values, wanted):
            yield from _times(column, factor)


def _plus(column: _Column, difference: Decimal) -> Iterator[tuple[n.Expr, Sequence[Decimal], float]]:
    sign: n.ArithmeticSign = "+" if difference > 0 else "-"
    amount = _plain(abs(difference))
    cost = column.cost + SIGN + constant_cost(amount)
    yield (
        m.arithmetic(column.expr, sign, n.Constant(amount)),
        [value + difference for value in column.values],
        cost,
    )


def _times(column: _Column, factor: Decimal) -> Iterator[tuple[n.Expr, Sequence[Decimal], float]]:
    cost = column.cost + SIGN + constant_cost(_plain(factor))
    expr = m.arithmetic(column.expr, "*", n.Constant(_plain(factor)))
    yield expr, [value * factor for value in column.values], cost


def _of_three(
    columns: Sequence[_Column], products: Sequence[tuple[int, int]], wanted: Sequence[Decimal]
) -> Iterator[tuple[n.Expr, Sequence[Decimal], float]]:
    """`a ± b * c`, `a * b * constant`, `a ± a * b / 100`."""
    is_varied = len(set(wanted)) >= FEWEST_FOR_CONSTANT
    rough, margin = float(wanted[0]), _margin(wanted[0])
    for left, right in products:
        one, other = columns[left], columns[right]
        product = [a * b for a, b in zip(one.values, other.values, strict=True)]
        expr = m.arithmetic(one.expr, "*", other.expr)
        cost = one.cost + other.cost + SIGN
        if is_varied:
            for factor in _factors(product, wanted):
                yield from _times(_Column(expr, product, cost), factor)
        for scale in (1, 100):
            part = _Column(expr, product, cost) if scale == 1 else _percent(expr, product, cost)
            for third in columns[:MOST_TRIPLED]:
                for sign in ("+", "-"):
                    value = _ROUGHLY[sign](third.first, part.first)
                    if abs(value - rough) <= margin:
                        values = _all(_OPERATORS[sign], third.values, part.values)
                        if values is not None:
                            made = m.arithmetic(third.expr, sign, part.expr)
                            yield made, values, third.cost + part.cost + SIGN


def _percent(expr: n.Expr, product: Sequence[Decimal], cost: float) -> _Column:
    return _Column(m.arithmetic(expr, "/", n.Constant(100)), [value / 100 for value in product], cost + SIGN)


def _factors(column: Sequence[Decimal], wanted: Sequence[Decimal]) -> list[Decimal]:
    """The short factors that the largest result may have been made with, shortest first."""
    result, value = max(zip(wanted, column, strict=True), key=lambda pair: abs(pair[1]))
    if not value:
        return []
    rounded = dict.fromkeys(round(result / value, digits).normalize() for digits in (1, 2, 3, 4))
    return [factor for factor in rounded if factor not in (0, 1) and _is_short(factor)]


def _all(
    operate: Callable[[Decimal, Decimal], Decimal], left: Sequence[Decimal], right: Sequence[Decimal]
) -> list[Decimal] | None:
    try:
        return [operate(a, b) for a, b in zip(left, right, strict=True)]
    except ArithmeticError:
        return None


def _rounding(values: Sequence[Decimal], wanted: Sequence[Decimal]) -> int | None:
    """The digits to which they are equal when rounded; EXACT or BINARY where they are not; else None."""
    pairs = list(zip(values, wanted, strict=True))
    if all(value == other for value, other in pairs):
        return EXACT
    if all(value == other or _is_binary(value, other) for value, other in pairs):
        return BINARY
    if any(abs(value - other) > 1 or abs(value) > 10**12 for value, other in pairs):
        return None
    for digits in (2, 0, 1, 3, 4):
        unit = Decimal(1).scaleb(-digits)
        if all(value.quantize(unit, ROUND_HALF_UP) == other for value, other in pairs):
            return digits
    return None


def _is_binary(value: Decimal, other: Decimal) -> bool:
    """`other` has the error of binary arithmetic."""
    return value != other and abs(value - other) < Decimal("1e-9") and len(other.as_tuple().digits) > 14


def _rounded(expr: n.Expr, digits: int) -> n.Expr:
    if digits == EXACT:
        return expr
    if digits == BINARY:
        assert isinstance(expr, n.Arithmetic)
        return n.Arithmetic(m.call("float", expr.left), expr.sign, expr.right)
    if digits == 0:
        return m.call("round", expr)
    return m.call("round", expr, n.Constant(digits))


def _margin(wanted: Decimal) -> float:
    """What rounding may take away or add."""
    return 0.51 if wanted == wanted.to_integral_value() else 0.051


def _is_short(factor: Decimal) -> bool:
    return len(factor.as_tuple().digits) <= 4 and abs(factor) < 10_000


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_blank(value: Value) -> bool:
    return value is None or value is MISSING


def _decimal(value: Value) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
