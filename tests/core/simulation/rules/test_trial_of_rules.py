"""Typed rules tried on a seeded world: what has no place there, what changes nothing there, and what does."""

import pytest
from trial_shop import STATE, WORLD, require, rule, tried_in_shop

from pipelines.core.ledger import World
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.trial import Outcome, TriedRule

MEANT = ": most likely it does not say what was meant"
UNTIL = " as it is seeded, until a call changes that"
NO_PLACE = {
    "order.colour == 'red'": "no order of the world has colour",
    "order.total > 1000": f"no order of the world passes{MEANT}",
    "order.status == 'archived'": f"no order of the world passes{MEANT}",
    "user.balance > 100": f"no user of the world passes{MEANT}",
    "args.amount > 500": f"no value of amount passes{MEANT}",
    "args.amount > order.total + 1000": f"no order of the world with any amount passes{MEANT}",
    "days_between(user.name, today) > 3": "it cannot be worked out for every order of the world",
}
WITHOUT_EFFECT = {
    "order.total < 1000": "every order of the world passes",
    "order.paid": "every order of the world passes",
    "user.role != 'guest'": "every user of the world passes",
    "args.amount <= 100 or args.amount == null": "every value of amount passes",
    "order.total > 0 or args.amount > 5": "every order of the world with any amount passes",
    "order.status != 'refunded'": f"every order of the world passes{UNTIL}",
    "order.status == 'cancelled'": f"no order of the world passes{UNTIL}",
    "order.mark == 'lost'": f"no order of the world passes{UNTIL}",
    "order.status == 'open'": f"no order of the world passes{UNTIL}",  # which a new one is
    "order.quantity > 5": f"no order of the world passes{UNTIL}",  # which a new one may have
    "len(entities('order')) > 3 and order.paid": f"every order of the world passes{UNTIL}",
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
def test_a_guard_without_a_place_is_reported_and_not_applied(need: str) -> None:
    found = tried_in_shop(require("refund_order", need))
    [one] = found.rules
    assert one.outcome is Outcome.NO_PLACE
    assert str(one.reason).startswith(NO_PLACE[need])
    assert found.applied == ()


@pytest.mark.parametrize("need", WITHOUT_EFFECT)
def test_a_guard_that_changes_nothing_is_told_and_applied(need: str) -> None:
    found = tried_in_shop(require("refund_order", need))
    assert [(one.outcome, one.reason) for one in found.rules] == [
        (Outcome.WITHOUT_EFFECT, WITHOUT_EFFECT[need])
    ]
    assert len(found.applied) == 1


@pytest.mark.parametrize("need", APPLIES)
def test_of_a_guard_that_makes_a_difference_or_cannot_be_tried_nothing_is_told(need: str) -> None:
    assert only(require("refund_order", need)) == TriedRule(require("refund_order", need))


def test_a_rule_about_the_caller_where_nothing_says_who_calls_is_not_applied() -> None:
    need = m.is_equal(m.path("order", "user_id"), m.call("caller"))
    found = only(r.Rule(tools=("refund_order",), form=r.Require(need=need)))
    assert found.outcome is Outcome.NO_PLACE
    assert found.reason == (
        "nothing in the call or the world says who calls refund_order: give the tool an argument for the "
        "caller (such as user_id), or the world a `session` record with a user_id"
    )


def test_a_sentence_applies_in_halves() -> None:
    said = "Only pending orders can be cancelled, and only red ones."
    first = require("cancel_order", "order.status == 'pending'", sentence=said)
    second = require("cancel_order", "order.colour == 'red'", sentence=said)
    found = tried_in_shop(first, second)
    assert [one.outcome for one in found.rules] == [Outcome.APPLIES, Outcome.NO_PLACE]
    assert found.applied == (first,)


def test_what_a_sentence_sets_itself_is_what_it_guards_against() -> None:
    said = "An order can be refunded once."
    guard = require("refund_order", "order.coupon != 'used'", sentence=said)
    sets = rule("set", "refund_order", target="order.coupon", expression={"text": "used"}, sentence=said)
    assert [one.outcome for one in tried_in_shop(guard, sets).rules] == [Outcome.APPLIES] * 2
    elsewhere = rule("set", "refund_order", target="order.coupon", expression={"text": "used"}, sentence="x")
    assert tried_in_shop(guard, elsewhere).rules[0].reason == f"every order of the world passes{UNTIL}"


def test_a_field_that_a_rule_writes_has_a_place() -> None:
    guard = require("cancel_order", "order.held != true")
    assert only(guard).outcome is Outcome.NO_PLACE
    holds = rule("set", "mark_order", target="order.held", expression=True)
    assert tried_in_shop(guard, holds).rules[0].outcome is Outcome.WITHOUT_EFFECT


@pytest.mark.parametrize(
    ("one", "outcome", "reason"),
    [
        (
            rule("keep", "list_products", expression="each.active"),
            Outcome.WITHOUT_EFFECT,
            "it leaves no product",
        ),
        (
            rule("keep", "list_products", expression="each.stock > 99"),
            Outcome.WITHOUT_EFFECT,
            "it leaves every",
        ),
        (rule("keep", "list_products", expression="each.stock > 0"), Outcome.APPLIES, ""),
        (
            rule("keep", "list_products", expression="each.weight > 0"),
            Outcome.NO_PLACE,
            "no product of the world",
        ),
        (
            rule("sort", "list_products", expression="each.active"),
            Outcome.WITHOUT_EFFECT,
            "every product of the",
        ),
        (
            rule("sort", "list_products", target="active"),
            Outcome.WITHOUT_EFFECT,
            "every product of the world has",
        ),
        (
            rule("sort", "list_products", target="-size"),
            Outcome.WITHOUT_EFFECT,
            "no product of the world has a size",
        ),
        (rule("sort", "list_products", target=["active", "price"]), Outcome.APPLIES, ""),
        (rule("sort", "list_products", target="added"), Outcome.NO_PLACE, "dates as added writes them"),
        (rule("take", "list_products", count=10), Outcome.WITHOUT_EFFECT, "the world has no more than 3"),
        (rule("take", "list_products", count=2), Outcome.APPLIES, ""),
        (rule("take", "list_products", count=10, pages=True), Outcome.APPLIES, ""),
        (
            rule("put", "get_order", target="tax", expression="order.total * order.rate"),
            Outcome.NO_PLACE,
            "no order",
        ),
        (
            rule("put", "get_order", target="off", expression="order.total - order.coupon"),
            Outcome.NO_PLACE,
            "no order of the world has what off is worked out from",
        ),
        (
            rule("put", "get_order", target="off", expression="reply.coupon"),
            Outcome.NO_PLACE,
            "no order of the world has what off is worked out from",
        ),
        (rule("put", "get_order", target="gross", expression="reply.net * 2"), Outcome.APPLIES, ""),
        (
            rule("set", "cancel_order", target="order.paid", expression=True),
            Outcome.WITHOUT_EFFECT,
            "every order of the world has paid True already",
        ),
        (rule("set", "cancel_order", target="order.paid", expression=False), Outcome.APPLIES, ""),
        (rule("set", "place_order", target="order.paid", expression=True), Outcome.APPLIES, ""),
        (
            rule("set", "cancel_order", target="order.fee", expression=5, when="order.total > 1000"),
            Outcome.WITHOUT_EFFECT,
            "no order of the world is meant",
        ),
        (rule("flag", "cancel_order", target="late", when="order.total > 50"), Outcome.APPLIES, ""),
        (rule("limit_calls", "cancel_order", count=1), Outcome.APPLIES, ""),
        (rule("not_found", "get_order", target="order", status=404), Outcome.APPLIES, ""),
        (rule("mask", "get_user", target="name"), Outcome.APPLIES, ""),
        (require("close_shop", "true"), Outcome.NO_PLACE, "there is no tool close_shop"),
        (require("refund_order", "order.total > 1000", after_changes=True), Outcome.APPLIES, ""),
    ],
)
def test_each_form_is_tried_in_its_own_way(one: r.Rule, outcome: Outcome, reason: str) -> None:
    found = only(one)
    assert (found.outcome, str(found.reason or "").startswith(reason)) == (outcome, True), found.reason


def test_a_rule_is_judged_by_the_best_of_its_tools() -> None:
    """refund_order takes at most 100, place_order any quantity."""
    need = "args.quantity < 5"
    alone = rule("require", "cancel_order", expression=need)
    assert only(alone).outcome is Outcome.APPLIES  # what it may be there is not known
    both = rule("require", "refund_order", "cancel_order", expression="args.reason != null")
    assert only(both).outcome is Outcome.APPLIES


def test_one_record_alone_says_nothing() -> None:
    one = World.from_initial_state({**STATE, "order": {"o-1": STATE["order"]["o-1"]}})  # type: ignore[index, call-overload]
    assert only(require("refund_order", "order.total > 1000"), one).outcome is Outcome.APPLIES


def test_every_record_is_looked_at_not_only_the_first() -> None:
    orders = {f"o-{n}": {"status": "late" if n == 300 else "open", "total": n} for n in range(400)}
    world = World.from_initial_state({**STATE, "order": orders})  # type: ignore[dict-item]
    assert only(require("refund_order", "order.status == 'late'"), world).outcome is Outcome.APPLIES
    many = {f"o-{n}": {"status": "open", "total": n} for n in range(5_000)}
    world = World.from_initial_state({**STATE, "order": many})  # type: ignore[dict-item]
    assert only(require("refund_order", "order.total == 4999"), world).outcome is Outcome.APPLIES
