"""Expressions as values: what is parsed is written back, and what is written is read as the same."""

import json
from random import Random

import pytest
from tests.core.simulation.random_plans import random_case

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr import parse, template, written
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.text.json_text import Json

AS_WRITTEN = [
    "order.status == 'pending'",
    "order.status in ['pending', 'processing'] and not order.refunded",
    "not (a and b) or c",
    "(a or b) and c",
    "1 <= args.quantity <= 10",
    "-(a + b) * 2 ** -3 / 4",
    "a - (b - c) - d",
    "2 ** 3 ** 2",
    "(2 ** 3) ** 2",
    "args['from'] == order['shipping date']",
    "entity('user', order.user_id).tier",
    "[one for one in entities('order') if one.status == 'open']",
    "sum(item.price * item.quantity for item in order.items)",
    "any([a, b])",
    "{key: value for key, value in items(reply) if key != 'ssn'}",
    "{'id': id_of(order), **order}",
    "[*a, b][0]",
    "many[default(args.offset, 0):]",
    "x[:2]",
    "a if b else c if d else e",
    "(a if b else c) if d else e",
    "f'order {order.id} costs {order.total:.2f}'",
    "f\"{default(order.note, 'none')} it\\'s {{so}}\"",
    "reply.items[-1].name",
    "null",
    "'it\\'s\\n'",
    "not a == b",
    "a is not null",
]


@pytest.mark.parametrize("text", AS_WRITTEN)
def test_an_expression_is_written_as_it_was_read(text: str) -> None:
    assert written(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def _texts(value: Json) -> list[str]:
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("seed", range(150))
def test_every_expression_of_random_plans_survives_being_written(seed: int) -> None:
    for text in _texts(json.loads(json.dumps(random_case(Random(seed)).body))):
        try:
            found = parse(text)
        except BadExpression:
            continue
        assert parse(written(found)) == found, text


def test_names_that_a_comprehension_binds_are_not_read_from_outside() -> None:
    found = parse("[x.price * rate for x in order.items if x.kind == args.kind]").refs()
    assert found == (n.Path("order", ("items",)), n.Path("args", ("kind",)), n.Path("rate"))
    assert parse("[x for x in x.items]").refs() == (n.Path("x", ("items",)),)


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("a == b", "a != b"),
        ("a not in b", "a in b"),
        ("a < b", "not a < b"),
        ("not (a and b)", "a and b"),
        ("a and b", "not (a and b)"),
        ("true", "false"),
    ],
)
def test_a_negation_turns_equality_round_and_no_order(text: str, opposite: str) -> None:
    assert written(parse(text).negated()) == opposite
    assert parse(text).negated().negated() == parse(text)


def test_replacing_a_name_leaves_what_a_comprehension_binds() -> None:
    found = parse("[order.id for order in order.parts if user.id == order.by] + [order.id]")
    shown = written(found.replaced({"order": m.path("order_", "inner")}))
    assert shown == "[order.id for order in order_.inner.parts if user.id == order.by] + [order_.inner.id]"


def test_a_number_a_switch_and_a_text_are_never_the_same_constant() -> None:
    assert len({n.Constant(1), n.Constant(True), n.Constant(1.0), n.Constant("1")}) == 4


def test_a_draft_is_written_as_a_plan() -> None:
    failure = {"status": 409, "error": "gone", "message": m.message("{x} is ", m.path("order", "status"))}
    draft = [
        {"require": m.is_equal(m.path("order", "status"), n.Constant("open")), "else": failure},
        {"set": {m.path("order", "status"): n.Constant("done"), m.path("order", "paid"): m.TRUE}},
    ]
    assert m.plan_text(draft) == [
        {
            "require": "order.status == 'open'",
            "else": {"status": 409, "error": "gone", "message": "{{x}} is {order.status}"},
        },
        {"set": {"order.status": "'done'", "order.paid": True}},
    ]


def test_a_template_is_no_expression() -> None:
    assert template(m.format_of("a ", m.path("x"))) == "a {x}"
    assert template(n.Constant("{a}")) == "{{a}}"


@pytest.mark.parametrize("text", ["lambda: 1", "x.f()", "(1, 2)", "a | b", "f(a=1)", "x[::2]", "a :="])
def test_what_is_not_of_the_language_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text)


def test_every_expression_of_a_draft_is_found_in_keys_messages_and_values() -> None:
    draft = [
        {"require": m.is_given(m.arg("a")), "else": {"message": m.message("no ", m.arg("b"))}},
        {"set": {m.path("order", "status"): m.constant("done"), m.path("order", "at"): None}},
    ]
    read = {str(one) for found in m.expressions_in(draft) for one in found.walk() if isinstance(one, n.Field)}
    assert read == {"args.a", "args.b", "order.status", "order.at"}
