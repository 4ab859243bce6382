"""Whether a condition can be true at all: what it asks of each single value, at a few points that stand for
all values.

The constants that a value is compared with divide all values into regions: no comparison tells two values of
one region apart. So one point of each region is enough, and the evaluator of plans says what is true there.
Nothing is said that is not sure: what is compared otherwise than with constants is a value of its own.
"""

import decimal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.make import all_of
from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.expr.write import written
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.compiler import Evaluate
from pipelines.core.simulation.syntax.expressions import compile_expression
from pipelines.core.simulation.values import Stopped
from pipelines.core.simulation.values import decimal as exact
from pipelines.core.text.problems import Refused

_EXACT = decimal.Context(prec=800)  # digits: more than two numbers of the language can differ in
_CHANCE = frozenset(("new_id", "uuid", "random_int", "token"))  # they differ from one use to the next
_X, _NOTHING = n.Name("x"), n.Name("")  # the value; what a condition on no value at all is about
_WORLD = World({})


class Condition(NamedTuple):
    """What is asked of one value. In `test`, `x` stands for it."""

    of: Expr
    test: Expr

    @property
    def is_plain(self) -> bool:
        """Whether reading the value cannot fail."""
        path = n.path_of(self.of)
        return self.of == _NOTHING or (path is not None and len(path.keys) <= 1)


def is_never_true(expr: Expr) -> bool:
    """Whether no values make it true."""
    if isinstance(expr, n.Or) and all(map(is_never_true, expr.parts)):
        return True
    return any(truths([one]) == [0] for one in conditions(expr))


def is_always_true(expr: Expr) -> bool:
    """Whether it is true of all values, and can be worked out for all."""
    known_conditions = conditions(expr)
    return bool(known_conditions) and all(one.is_plain and is_everywhere(one) for one in known_conditions)


def conditions(expr: Expr) -> list[Condition]:
    """What it asks of each value alone: it holds where all of these do. None of an expression that hangs on
    chance, or that is none of the language."""
    if any(call.function in _CHANCE for call in expr.calls()):
        return []
    of: dict[Expr, list[Expr]] = {}
    for part in _conjuncts(expr):
        values = _values(part)
        value = part if len(values) > 1 else next(iter(values), _NOTHING)
        of.setdefault(value, []).append(_with_x(part, value))
    found = [Condition(value, all_of(*tests)) for value, tests in of.items()]
    return found if all(_evaluate(one.test) is not None for one in found) else []


def truths(asked: Sequence[Condition]) -> list[int]:
    """Of conditions on the same value, a bit for each point at which one is true."""
    points = _points(asked)
    return [_truth(one.test, points) for one in asked]


def is_everywhere(one: Condition) -> bool:
    return truths([one]) == [(1 << len(_points([one]))) - 1]


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, n.And):
        for part in expr.parts:
            yield from _conjuncts(part)
    else:
        yield expr


def _values(expr: Expr) -> set[Expr]:
    """What it compares with constants, or takes for true or false."""
    match expr:
        case n.And(parts=parts) | n.Or(parts=parts):
            return {value for part in parts for value in _values(part)}
        case n.Not(part=part):
            return _values(part)
        case n.Constant():
            return set()
        case n.Compare(first=first, rest=(("in" | "not in", n.ListOf(parts=parts)),)):
            return {first} if all(isinstance(part, n.Constant) for part in parts) else {expr}
        case n.Compare(first=first, rest=rest) if not any(sign in ("in", "not in") for sign, _ in rest):
            operands = [first, *(value for _, value in rest)]
            found = {one for one in operands if not isinstance(one, n.Constant)}
            return found if len(found) < 2 else {expr}
    return {expr}


def _with_x(expr: Expr, value: Expr) -> Expr:
    return _X if expr == value else n.rebuilt(expr, lambda part: _with_x(part, value))


def _points(asked: Sequence[Condition]) -> list[Any]:
    nodes = [node for one in asked for node in one.test.walk()]
    constants = [node.value for node in nodes if isinstance(node, n.Constant)]
    given = (one for one in constants if isinstance(one, (int, float)) and not isinstance(one, bool))
    numbers = sorted({exact(0), *map(exact, given)})
    texts = sorted({"", *(one for one in constants if isinstance(one, str))})
    between = [_EXACT.divide(_EXACT.add(low, high), exact(2)) for low, high in pairwise(numbers)]
    outside = [_EXACT.subtract(numbers[0], exact(1)), _EXACT.add(numbers[-1], exact(1))]
    after = [f"{text}\0" for text in texts]  # the very next text: none lies between
    return [None, True, False, [], [0], {}, {"x": 0}, *numbers, *between, *outside, *texts, *after]


def _truth(test: Expr, points: Sequence[Any]) -> int:
    evaluate = _evaluate(test)
    call = Call({}, Ledger(_WORLD), Moment("", 1, "2000-01-01"))
    found = 0
    for at, point in enumerate(points):
        call.names["x"] = point
        with suppress(Stopped):  # what cannot be worked out is not true
            found |= (evaluate is not None and bool(evaluate(call))) << at
    return found


@lru_cache(maxsize=16_384)  # all that the rules of one agent ask, of each of which several things are asked
def _evaluate(test: Expr) -> Evaluate | None:
    try:
        return compile_expression(written(test), names=["x"]).evaluate
    except (Refused, RecursionError):
        return None
