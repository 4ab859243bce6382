"""Conditions that never or always hold: what is said is checked by the evaluator of plans, on values of all
kinds."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expr import Expr, parse, written
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.regions import conditions, is_always_true, is_never_true, truths
from pipelines.core.simulation.simulator import Moment
from pipelines.core.simulation.syntax.expressions import compile_expression
from pipelines.core.simulation.values import Stopped
from pipelines.core.text.problems import Refused

NEVER = [
    "args.x > 5 and args.x < 3",
    "args.x > 5 and args.x < 5",
    "args.x == 'a' and args.x == 'b'",
    "args.x == 'a' and args.x not in ['a', 'b']",
    "args.x == null and args.x > 1",
    "args.x and not args.x",
    "args.x in []",
    "5 < args.x < 4",
    "args.x == 1 and args.x == true",
    "args.x > 'b' and args.x < 'a'",
    "args.x > 1 and args.x > 'a'",
    "(args.x > 5 and args.x < 3) or (args.y == 1 and args.y == 2)",
    "args.y == 1 and (args.x > 5 and (args.x < 3 and args.y > 0))",
    "len(args.x) > 5 and len(args.x) < 3",
    "days_between(args.x, today) > 30 and days_between(args.x, today) < 10",
    "2 < 1",
    "args.x < args.x",
    "whatever(1) and args.x == 1 and args.x == 2",
    "args.x < 1e-300 and args.x > 0.0 and args.x > 2e-300",
]
NOT_NEVER = [
    "args.x > 5 and args.x < 6",  # it may be no whole number
    "args.x > 5 and args.y < 3",
    "args.x > 'a' and args.x < 'b'",
    "random_int(1, 6) > 3 and random_int(1, 6) < 2",
    "args.x > args.y and args.x < args.y - 5",  # sure, but not compared with constants
    "args.x > 1e-300 and args.x < 2e-300",
    "'a' in args.x and 'b' in args.x",
]
ALWAYS = [
    "args.x == args.x",
    "args.x == null or args.x != null",
    "args.x or not args.x",
    "args.x not in []",
    "args.x != 1 or args.x != 2",
    "not (args.x == 'a' and args.x == 'b')",
    "(args.x == null or args.x != null) and 2 > 1",
]
NOT_ALWAYS = [
    "args.x > 5 or args.x <= 5",  # neither holds of what is missing
    "args.x.y == null or args.x.y != null",  # of a number there is no field to read
    "len(args.x) == null or len(args.x) != null",
    "args.x == 1 or args.x != 1 and args.y",
    "random_int(1, 2) == 1 or random_int(1, 2) != 1",
    "args.x < 'a' or args.x == null or args.x != null",
]


@pytest.mark.parametrize("text", NEVER)
def test_what_no_value_makes_true_is_found(text: str) -> None:
    assert is_never_true(parse(text))


@pytest.mark.parametrize("text", [*NOT_NEVER, *ALWAYS, *NOT_ALWAYS])
def test_nothing_is_said_of_what_may_be_true(text: str) -> None:
    assert not is_never_true(parse(text))


@pytest.mark.parametrize("text", ALWAYS)
def test_what_every_value_makes_true_is_found(text: str) -> None:
    assert is_always_true(parse(text))


@pytest.mark.parametrize("text", [*NEVER, *NOT_NEVER, *NOT_ALWAYS])
def test_nothing_is_said_of_what_may_be_false(text: str) -> None:
    assert not is_always_true(parse(text))


def test_a_condition_is_about_one_value() -> None:
    found = conditions(
        parse("args.x > 5 and (order.status == 'a' or not order.status) and args.x < order.total")
    )
    assert [(written(one.of), written(one.test)) for one in found] == [
        ("args.x", "x > 5"),
        ("order.status", "x == 'a' or not x"),
        ("args.x < order.total", "x"),
    ]


def test_an_expression_that_is_none_of_the_language_has_no_conditions() -> None:
    assert conditions(parse("args.x > 1 and whatever(args.y)")) != []  # whatever() is a value here
    assert conditions(m.compare(m.arg("x"), ">", n.Constant(10**80))) == []
    assert conditions(m.compare(m.arg("x"), ">", n.Constant(float("inf")))) == []


# -- properties

constants = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([0.5, -1.5, 2.25]),
    st.sampled_from(["", "a", "ab", "b", "B"]),
)
values = st.sampled_from([m.arg("x"), m.arg("y")])
signs = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
compares = st.builds(lambda v, s, c: m.compare(v, s, m.constant(c)), values, signs, constants)
chains = st.builds(
    lambda a, s, v, t, b: n.Compare(m.constant(a), (n.Compared(s, v), n.Compared(t, m.constant(b)))),
    constants,
    signs,
    values,
    signs,
    constants,
)
listed = st.builds(
    lambda v, s, c: m.compare(v, s, m.constant(c)),
    values,
    st.sampled_from(["in", "not in"]),
    st.lists(constants, max_size=3),
)
others = st.sampled_from(
    [parse(text) for text in ("args.x < args.y", "'a' in args.x", "len(args.x) > 1", "true")]
)
atoms = st.one_of(compares, chains, listed, values, others)


def _both(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(n.And), parts.map(n.Or), inner.map(n.Not))


expressions = st.recursive(atoms, _both, max_leaves=6)
VALUES: list[Any] = [
    *(None, True, False, [], ["a"], {}, {"a": 1}),
    *(-4, -3, -2, -1.75, -1.5, -1, 0, 0.25, 0.5, 0.75, 1, 2, 2.1, 2.25, 2.5, 3, 4, 99),
    *("", "a", "a\0", "aa", "ab", "ac", "b", "c", "A", "B", "~"),
]


def outcomes(expr: Expr) -> Iterator[bool | None]:
    """What it gives for values of all kinds; None where it cannot be worked out."""
    test = compile_expression(written(expr), names=()).evaluate
    for x, y in product([*VALUES, ...], repeat=2):
        arguments = {name: value for name, value in (("x", x), ("y", y)) if value is not ...}
        try:
            yield bool(test(Call(arguments, Ledger(World({})), Moment("", 1, "2026-01-01"))))
        except Stopped:
            yield None


@given(expressions)
def test_what_is_said_to_be_never_or_always_true_is(expr: Expr) -> None:
    try:
        found = {*outcomes(expr)}
    except Refused:
        return
    assert not (is_never_true(expr) and True in found)
    assert not (is_always_true(expr) and found != {True})


@given(st.lists(st.one_of(compares, listed), min_size=1, max_size=3))
def test_of_one_value_and_constants_nothing_is_missed(parts: list[Expr]) -> None:
    expr = m.all_of(*(part.replaced({"args": m.path("args")}) for part in parts))
    if {path.keys for path in expr.refs()} == {("x",)}:
        assert is_never_true(expr) == (True not in {*outcomes(expr)})


@given(st.lists(expressions, min_size=2, max_size=3))
def test_points_are_the_same_each_time(exprs: list[Expr]) -> None:
    for expr in exprs:
        asked = conditions(expr)
        assert [truths([one]) for one in asked] == [truths([one]) for one in conditions(expr)]
