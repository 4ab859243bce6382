"""What rules are tried with: values that schemas let through, and moments around dates."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trial_shop import VOCABULARY

from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import parse
from pipelines.core.simulation.rules.samples import (
    MOST_COMBINED,
    Hints,
    arguments_read,
    calls_with,
    compile_condition,
    hints_of,
    moments_around,
    values_for,
)
from pipelines.core.text.json_text import Json, JsonObject

NONE = Hints((), (), ())
numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda one: round(one, 3)) | st.integers(
    -(10**30), 10**30
)
texts = st.text(max_size=8)
scalars = st.none() | st.booleans() | numbers | texts | st.dates().map(str)
schemas = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.integers(-50, 50),
            "maximum": st.integers(-50, 50),
            "exclusiveMinimum": st.integers(-50, 50),
            "multipleOf": st.sampled_from([1, 2, 0.5, 5]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 5),
            "maxLength": st.integers(0, 9),
            "format": st.sampled_from(["date", "date-time", "email"]),
        },
    ),
    st.fixed_dictionaries({"type": st.sampled_from(["boolean", "null", "array", "object"])}),
    st.fixed_dictionaries({"enum": st.lists(scalars, min_size=1, max_size=4)}),
    st.fixed_dictionaries({"type": st.just(["string", "null"]), "maxLength": st.integers(0, 9)}),
    st.fixed_dictionaries({"const": scalars}),
    st.fixed_dictionaries({"$ref": st.just("#/$defs/other")}),
)


@given(schemas, st.lists(scalars, max_size=5), st.booleans())
def test_samples_obey_their_schema(schema: JsonObject, values: list[Json], is_dated: bool) -> None:
    hints = hints_of(m.constant(values), values, ["o-1"])
    for value in values_for(schema, hints, is_dated=is_dated) or ():
        assert CompiledSchema(schema).accepts(value)


@given(st.lists(scalars | st.lists(scalars, max_size=2), max_size=6))
def test_moments_are_iso_text_and_the_same_each_time(values: list[Json]) -> None:
    hints = hints_of(m.constant(values), values)
    found = moments_around(hints)
    assert found == moments_around(hints)
    assert all(datetime.fromisoformat(one).tzinfo is not None for one in found)


def test_hints_are_the_constants_of_the_rule_first() -> None:
    expr = parse("order.total > 5 and order.status in ['open', 'held'] and order.at < '2026-01-02'")
    hints = hints_of(expr, [7, True, None, "paid", ["x", 8.5], {"a": 1}, 10**400], ["o-1"])
    assert hints.numbers == (5.0, 7.0, 8.5)
    assert hints.texts == ("open", "held", "2026-01-02", "paid", "x", "o-1")
    assert [one.isoformat() for one in hints.dates] == ["2026-01-02T00:00:00+00:00"]


@pytest.mark.parametrize(
    ("schema", "some", "never"),
    [
        ({"type": "integer", "minimum": 0}, [4, 5, 6, 0, 1], [-1]),
        ({"type": "number"}, [4, 5, 6, 2.5], []),
        ({"type": "string"}, ["open", "openx", "", "xxxxx"], [None]),
        ({"type": "string", "maxLength": 4}, ["open", "xxxx"], ["openx"]),
        ({"type": "string", "format": "date"}, ["2026-01-01"], ["open"]),
        ({"enum": ["a", 3]}, ["a", 3], [5]),
        ({"type": ["boolean", "null"]}, [True, False, None], [5]),
    ],
)
def test_values_are_around_what_the_rule_names(
    schema: JsonObject, some: list[Json], never: list[Json]
) -> None:
    found = values_for(schema, hints_of(parse("x > 5 or x == 2.5 or x == 'open'"), []))
    assert found is not None
    assert all(one in found for one in some)
    assert not any(one in found for one in never)


@pytest.mark.parametrize(
    "schema", [{}, {"type": "object"}, {"type": "string", "pattern": "^a"}, {"type": "string", "$ref": "#/x"}]
)
def test_what_fits_is_sometimes_not_known(schema: JsonObject) -> None:
    assert values_for(schema, NONE) is None


def test_calls_give_what_the_rule_reads_and_leave_out_what_may_be() -> None:
    expr = parse("args.amount > 5 and order.total > args.amount")
    calls = calls_with(expr, VOCABULARY.tools["refund_order"], hints_of(expr, []))
    assert calls is not None
    assert {} in calls
    assert {"amount": 6} in calls
    assert calls_with(parse("order.total > 5"), VOCABULARY.tools["refund_order"], NONE) == [{}]


@pytest.mark.parametrize("text", ["args.amount.cents > 5", "len(args) > 2", "args.nothing == 5"])
def test_of_arguments_that_are_not_known_there_are_no_calls(text: str) -> None:
    assert calls_with(parse(text), VOCABULARY.tools["refund_order"], NONE) is None


def test_more_calls_than_can_be_gone_through_are_none() -> None:
    many = hints_of(m.TRUE, [f"text {n}" for n in range(MOST_COMBINED + 1)])
    assert calls_with(parse("args.reason == 'x'"), VOCABULARY.tools["cancel_order"], many) is None


def test_arguments_are_read_off_the_nodes() -> None:
    assert arguments_read(parse("args.a > 1 and 'args.b' != args.c")) == ("a", "c")
    assert arguments_read(parse("[args for args in order.items]")) == ()
    assert arguments_read(parse("args.a.b")) is None


def test_what_is_no_expression_of_the_language_is_not_compiled() -> None:
    assert compile_condition(parse("whatever(1)"), []) is None
    assert compile_condition(parse("order.total > 1"), []) is None
    assert compile_condition(parse("order.total > 1"), ["order"]) is not None
