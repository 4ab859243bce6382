"""Typed rules tried on a seeded world: what has no place there, what changes nothing there, and what does."""

from typing import Any

import pytest
from trial_shop import STATE, WORLD, require, rule, tried_in_shop

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.trial import TriedRule

NO_PLACE = {
    "order.colour == 'red'": "`order` has no field `colour`; there is `id`, `status`",
    "order.totl > 5": "`order` has no field `totl`; did you mean `total`?",
    "order.address.town == 'Graz'": "`order` has no field `address.town`; there is `city`",
    "days_between(user.name, today) > 3": "it cannot be computed for user u-1: ",
}
UNIFORM = {
    "order.total < 1000": "every order passes",
    "order.paid": "every order passes",
    "user.role != 'guest'": "every user passes",
    "args.amount <= 100 or args.amount == null": "every value of amount passes",
    "order.total > 0 or args.amount > 5": "every order with any amount passes",
    "order.status != 'refunded'": "every order passes",
    "len(entities('order')) > 3 and order.paid": "every order passes",
    "order.total > 1000": "no order passes",
    "order.status == 'archived'": "no order passes",
    "user.balance > 100": "no user passes",
    "args.amount > 500": "no value of amount passes",
    "args.amount > order.total + 1000": "no order with any amount passes",
    "order.mark == 'lost'": "no order passes",  # which a call can make so
    "order.quantity > 5": "no order passes",  # which a new one may have
}
APPLIES = [
    "order.status == 'pending'",
    "user.verified",
    "args.amount <= 50",
    "args.amount <= order.total",
    "args.amount != null",
    "order.total > 50 and user.tier == 'gold'",
    "order.address.city == 'Graz'",
    "order.shipped_at == null",
    "days_between(order.created_at, today) <= 30",
    "len(calls('refund_order')) < 1",
    "random_int(1, 2) == 1 and order.paid",
    "false",
    "order.id != 'o-1'",
]


def only(one: r.Rule, world: World = WORLD) -> TriedRule:
    [found] = tried_in_shop(one, world=world).rules
    return found


@pytest.mark.parametrize("need", NO_PLACE)
def test_a_guard_that_names_what_is_not_there_is_reported_and_not_applied(need: str) -> None:
    found = tried_in_shop(require("refund_order", need))
    [one] = found.rules
    assert str(one.problem).startswith(NO_PLACE[need])
    assert found.applied == ()


@pytest.mark.parametrize("need", UNIFORM)
def test_a_guard_that_comes_out_the_same_for_all_is_reported_and_applied(need: str) -> None:
    found = tried_in_shop(require("refund_order", need))
    assert [(one.problem, one.uniform) for one in found.rules] == [
        (None, f"in the seeded world {UNIFORM[need]}")
    ]
    assert len(found.applied) == 1


@pytest.mark.parametrize("need", APPLIES)
def test_of_a_guard_that_makes_a_difference_or_cannot_be_tried_nothing_is_told(need: str) -> None:
    assert only(require("refund_order", need)) == TriedRule(require("refund_order", need))


def test_a_rule_about_the_caller_where_nothing_says_who_calls_is_not_applied() -> None:
    need = m.is_equal(m.path("order", "user_id"), m.call("caller"))
    found = only(r.Rule(tools=("refund_order",), form=r.Require(need=need)))
    assert found.problem == (
        "neither the call nor the world says who calls refund_order: add an argument for the "
        "caller to the tool (such as user_id), or a `session` record with a user_id to the world"
    )


def test_a_sentence_applies_in_halves() -> None:
    said = "Only pending orders can be cancelled, and only red ones."
    first = require("cancel_order", "order.status == 'pending'", sentence=said)
    second = require("cancel_order", "order.colour == 'red'", sentence=said)
    found = tried_in_shop(first, second)
    assert [one.problem is None for one in found.rules] == [True, False]
    assert found.applied == (first,)


def test_a_field_that_a_rule_or_a_plan_or_an_argument_writes_has_a_place() -> None:
    guard = require("cancel_order", "order.held != true")
    assert only(guard).problem is not None
    holds = rule("set", "mark_order", target="order.held", expression=True)
    assert tried_in_shop(guard, holds).rules[0].problem is None
    for written in ("mark", "quantity", "state"):  # by a plan; by arguments of a new one, and of a change
        assert only(require("cancel_order", f"order.{written} != 'x'")).problem is None
    assert only(require("cancel_order", "order.page != 1")).problem is not None  # an argument of a read


@pytest.mark.parametrize(
    ("one", "problem", "uniform"),
    [
        (rule("keep", "list_products", expression="each.active"), "", "it keeps every product"),
        (rule("keep", "list_products", expression="each.stock > 99"), "", "it leaves every product out"),
        (rule("keep", "list_products", expression="each.stock > 0"), "", ""),
        (rule("keep", "list_products", expression="each.weight > 0"), "`product` has no field `weight`", ""),
        (rule("sort", "list_products", expression="each.active"), "", "every product comes first"),
        (rule("sort", "list_products", target="active"), "", "every product has the same active"),
        (rule("sort", "list_products", target="-size"), "", "no product has a size"),
        (rule("sort", "list_products", target=["active", "price"]), "", ""),
        (
            rule("sort", "list_products", target="added"),
            "the dates in added have a format that cannot be sorted",
            "",
        ),
        (rule("take", "list_products", count=10), "", "there are at most 3"),
        (rule("take", "list_products", count=2), "", ""),
        (rule("take", "list_products", count=10, pages=True), "", ""),
        (
            rule("put", "get_order", target="tax", expression="order.total * order.rate"),
            "`order` has no field `rate`",
            "",
        ),
        (
            rule("put", "get_order", target="off", expression="order.total - order.coupon"),
            "",
            "no order has the fields that off is computed from",
        ),
        (
            rule("put", "get_order", target="off", expression="reply.coupon"),
            "",
            "no order has the fields that off is computed from",
        ),
        (rule("put", "get_order", target="gross", expression="reply.net * 2"), "", ""),
        (
            rule("set", "cancel_order", target="order.paid", expression=True),
            "",
            "every order already has paid True",
        ),
        (rule("set", "cancel_order", target="order.paid", expression=False), "", ""),
        (rule("set", "place_order", target="order.paid", expression=True), "", ""),
        (
            rule("set", "cancel_order", target="order.fee", expression=5, when="order.total > 1000"),
            "",
            "it applies to no order",
        ),
        (rule("flag", "cancel_order", target="late", when="order.total > 50"), "", ""),
        (rule("limit_calls", "cancel_order", count=1), "", ""),
        (rule("not_found", "get_order", target="order", status=404), "", ""),
        (rule("mask", "get_user", target="name"), "", ""),
        (require("close_shop", "true"), "there is no tool close_shop", ""),
        (require("refund_order", "order.total > 1000", after_changes=True), "", ""),
    ],
)
def test_each_form_is_tried_in_its_own_way(one: r.Rule, problem: str, uniform: str) -> None:
    found = only(one)
    assert (found.problem or "").startswith(problem)
    assert bool(found.problem) is bool(problem)
    assert found.uniform == (f"in the seeded world {uniform}" if uniform else None)


def test_a_rule_is_judged_by_the_best_of_its_tools() -> None:
    """refund_order takes at most 100, place_order any quantity."""
    need = "args.quantity < 5"
    alone = rule("require", "cancel_order", expression=need)
    assert only(alone) == TriedRule(alone)  # what it may be there is not known
    both = rule("require", "refund_order", "cancel_order", expression="args.reason != null")
    assert only(both) == TriedRule(both)


def test_one_record_alone_says_nothing() -> None:
    one = World.from_initial_state({**STATE, "order": {"o-1": STATE["order"]["o-1"]}})  # type: ignore[index, call-overload]
    assert only(require("refund_order", "order.total > 1000"), one).uniform is None


def test_every_record_is_looked_at_not_only_the_first() -> None:
    orders = {f"o-{n}": {"status": "late" if n == 300 else "open", "total": n} for n in range(400)}
    world = World.from_initial_state({**STATE, "order": orders})  # type: ignore[dict-item]
    assert only(require("refund_order", "order.status == 'late'"), world).uniform is None
    many = {f"o-{n}": {"status": "open", "total": n} for n in range(5_000)}
    world = World.from_initial_state({**STATE, "order": many})  # type: ignore[dict-item]
    assert only(require("refund_order", "order.total == 4999"), world).uniform is None


@pytest.mark.parametrize(
    "one",
    [
        rule("put", "get_order", target="balance", expression="max(reply.balance, 0)"),
        rule("set", "cancel_order", target="order.fee", expression="max(order.balance, 5)"),
        rule("require", "cancel_order", expression="order.total / order.balance > 2"),
        rule("keep", "list_orders", expression="each.balance > 2"),
    ],
)
def test_what_cannot_be_worked_out_for_some_record_is_not_applied(one: r.Rule) -> None:
    """Every call that comes to that record would end without an answer."""
    orders: Any = {f"o-{at}": {"total": at, "balance": at} for at in range(1, 9)} | {
        "o-9": {"total": 9, "balance": "5"}
    }
    found = only(one, World.from_initial_state({**STATE, "order": orders}))
    assert str(found.problem).startswith("it cannot be computed for order o-9: ")
    missing: Any = orders | {"o-9": {"total": 9, "balance": None}}
    if not isinstance(one.form, (r.Require, r.Keep)):  # where nothing is there, nothing is worked out
        assert only(one, World.from_initial_state({**STATE, "order": missing})).problem is None
