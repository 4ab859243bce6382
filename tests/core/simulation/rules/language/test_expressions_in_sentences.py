"""Expressions in backticks are held against the tools and the world, as names outside of them are."""

import pytest
from tests.core.simulation.rules.language.worlds import expressions, reader_of, stop_of, tool

WRONG = {
    "an unknown argument": (
        "refund_order fails when `args.amountt > 5`.",
        "amountt",
        ["refund_order", "amount"],
    ),
    "an argument of another tool": ("get_order fails when `args.amount > 5`.", "amount", ["get_order"]),
    "an unknown type of entities": (
        "place_order fails when `len(entities('ordr')) > 3`.",
        "ordr",
        ["did you mean", "order"],
    ),
    "an unknown type of entity": (
        "place_order fails unless `entity('usr', args.user_id).verified`.",
        "usr",
        ["did you mean", "user"],
    ),
    "an unknown function": (
        "refund_order fails when `lenn(order.items) > 3`.",
        "lenn",
        ["did you mean", "len"],
    ),
    "an unknown name": ("refund_order fails when `ordr.total > 3`.", "ordr", ["did you mean", "order"]),
    "an unknown field of a type": (
        "refund_order fails when `order.totall > 3`.",
        "totall",
        ["order", "did you mean", "total"],
    ),
    "an unknown field of a looked up record": (
        "place_order fails unless `entity('user', args.user_id).verifed`.",
        "verifed",
        ["user", "did you mean", "verified"],
    ),
    "an unknown field of a record in a list": (
        "register_user fails when `any(one.emial == args.email for one in entities('user'))`.",
        "emial",
        ["user", "did you mean", "email"],
    ),
    "an unknown field of a part": (
        "refund_order fails when `sum(i.prize for i in order.items) > 3`.",
        "prize",
        ["did you mean", "price"],
    ),
    "too few arguments": ("refund_order fails when `days_between(today) > 3`.", "days_between", []),
    "too many arguments": ("refund_order fails when `len(order.items, 2) > 3`.", "len", []),
    "no expression": ("refund_order fails when `order.total >`.", "order.total >", ["expression"]),
    "each outside a list": ("refund_order fails when `each.total > 3`.", "each", []),
    "reply in a condition": ("refund_order fails when `reply.total > 3`.", "reply", []),
}


@pytest.mark.parametrize(("sentence", "words", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_an_expression_is_named(sentence: str, words: str, said: list[str]) -> None:
    stop = stop_of(sentence)
    assert words in stop.words
    assert words in stop.message
    assert all(one in stop.message for one in said), stop.message


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        (
            "refund_order fails when `order.total > sum(i.price for i in order.items)`.",
            "not order.total > sum(i.price for i in order.items)",
        ),
        ("refund_order fails unless `same_id(order.user_id, 'u-1')`.", "same_id(order.user_id, 'u-1')"),
        ("refund_order fails unless `order.id == 'o-1'`.", "order.id == 'o-1'"),
        ("get_quote returns total = `reply.subtotal * 2`.", "reply.subtotal * 2"),
        ("search_products returns only products where `each.stock % 2 == 0`.", "each.stock % 2 == 0"),
        ("search_products returns only products where `product.stock % 2 == 0`.", "each.stock % 2 == 0"),
        (
            "refund_order fails when the order's total is more than `len(entities('user')) * 10`.",
            "not order.total > len(entities('user')) * 10",
        ),
        ("refund_order fails when `len(calls('get_order')) == 0`.", "len(calls('get_order')) != 0"),
    ],
)
def test_what_is_right_in_an_expression_is_taken_as_it_is(sentence: str, expression: str) -> None:
    assert expressions(sentence) == [expression]


def test_a_type_that_is_no_name_in_an_expression_is_written_as_a_record() -> None:
    reader = reader_of(
        {"class": {"c-1": {"title": "Yoga", "seats": 3}}}, tool("book_class", "class_id", "seats?")
    )
    assert expressions("book_class fails when `record('class').seats < 1`.", reader) == [
        "not record('class').seats < 1"
    ]
    stop = stop_of("book_class fails when `record('class').seets < 1`.", reader)
    assert stop.words == "seets"
    assert "did you mean `seats`" in stop.message
