"""Reading behaviour text and weaving it: what is refused, what is reported, and what a plan must bear."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import PLANS, STATE, TOOLS, Shop, tool

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import World
from pipelines.core.simulation.behavior import Behavior, RuleKind, read_behavior, weave
from pipelines.core.simulation.behavior.rules import Ref, Require, Text, opposite, text
from pipelines.core.simulation.behavior.tokens import sentences, tokens
from pipelines.core.simulation.language import parse_plan

WORLD = World.from_initial_state(STATE)
DOCS = Path(__file__).parents[3] / "docs" / "reference" / "behavior.md"


def read(written: str, world: World = WORLD) -> Behavior:
    return read_behavior(written, tools=TOOLS, world=world)


# -- what is not a rule of the backend, or only half of one ---------------------------------------------

NOT_UNDERSTOOD = (
    # Persona, tone, advice to the agent, wishes.
    "Be friendly and concise.",
    "Respond like a pirate.",
    "The backend is a bit grumpy on Mondays.",
    "Use a polite tone in error messages.",
    "You should always confirm with the user before cancelling.",
    "The agent must ask for confirmation before calling cancel_order.",
    "Please verify the customer's identity first.",
    "If the user asks to cancel a shipped order, refuse politely.",
    "If the order is pending, ask the user for a reason.",
    "Do not cancel shipped orders.",
    "Never cancel an order without asking.",
    "Make sure the responses look realistic.",
    "Never reveal internal details.",
    # Data, and the story of the task.
    "Order o-1 is shipped.",
    "The user has two orders.",
    "The customer wants a refund for order o-1.",
    "The customer is angry.",
    # Chance, time and sequence: failure rules say these.
    "cancel_order sometimes fails.",
    "cancel_order may fail.",
    "cancel_order fails about 10% of the time.",
    "cancel_order fails with a 50% probability.",
    "cancel_order fails on the second call.",
    "cancel_order takes 5 seconds to respond.",
    "Orders are usually shipped within 3 days.",
    # Vague.
    "cancel_order only succeeds when the order is eligible.",
    "cancel_order only succeeds when the order's status is good.",
    "refund_order rejects suspicious orders.",
    "refund_order fails if the order is too old.",
    "refund_order fails if the order is old.",
    "refund_order rejects orders older than a while.",
    "The total should be reasonable.",
    "quantity should ideally be between 1 and 10.",
    "search_products returns relevant items.",
    "cancel_order returns a helpful error message.",
    # Things no tool and no record has.
    "launch_rocket fails when the order is pending.",
    "cancel_order and foo_order only work on pending orders.",
    "cancel_order only succeeds when the moon is full.",
    "cancel_order only succeeds when the warehouse's status is pending.",
    "The order's warehouse must be pending.",
    "refund_order rejects orders shipped to Canada.",
    "refund_order only works between 9am and 5pm.",
    "refund_order only works on business days.",
    # One part understood, another not: the whole is not.
    "cancel_order only succeeds when the order's status is pending, unless the user is an astronaut.",
    "cancel_order only succeeds when the order's status is pending or the user insists.",
    "cancel_order only succeeds when the order's status is pending at midnight.",
    "cancel_order only succeeds when the order's status is pending (except on weekends).",
    "cancel_order only succeeds when the order is pending and the manager approves.",
    "Shipped orders cannot be cancelled unless the manager approves.",
    "Orders older than 90 days cannot be refunded without approval.",
    "get_quote computes total = subtotal * 1.08 and applies regional rules.",
    "search_products returns at most 10 items per category.",
    "search_products returns at most 10 items unless the user is a VIP from Narnia.",
    # Permissions that take nothing away are no rules.
    "Orders may be cancelled.",
    "Admins can cancel any order.",
    "The balance may be negative.",
)


@pytest.mark.parametrize("sentence", NOT_UNDERSTOOD)
def test_what_is_no_rule_is_reported_word_for_word(sentence: str) -> None:
    assert read(sentence) == Behavior(not_understood=(sentence,))


def test_a_sentence_not_understood_does_not_spoil_its_neighbours() -> None:
    found = read("Be kind. cancel_order only works on pending orders. The sky is blue.")
    assert found.not_understood == ("Be kind.", "The sky is blue.")
    assert [rule.sentence for rule in found.rules] == ["cancel_order only works on pending orders."]


def test_otherwise_without_a_rule_before_it_is_not_understood() -> None:
    assert read("Otherwise it returns a 409.").not_understood == ("Otherwise it returns a 409.",)


def test_blank_text_says_nothing() -> None:
    assert read(" \n ") == Behavior()


# -- sentences and tokens ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("One. Two. three", ["One.", "Two.", "three"]),
        ("- One\n- Two\n  goes on\n\nThree", ["One", "Two goes on", "Three"]),
        ("1. One\n2) Two", ["One", "Two"]),
        ("total = subtotal * 1.08. Done.", ["total = subtotal * 1.08.", "Done."]),
        ("Some values, e.g. pending, count. Next.", ["Some values, e.g. pending, count.", "Next."]),
        ("order.user_id is kept", ["order.user_id is kept"]),
        ("***\n!!", []),
    ],
    ids=[
        "stops",
        "bullets and wrapped lines",
        "numbers",
        "decimals",
        "abbreviations",
        "dotted names",
        "no words",
    ],
)
def test_sentences(written: str, expected: list[str]) -> None:
    assert sentences(written) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the order's status isn't pending", "the order 's status is not pending"),
        ("most-recent first", "most recent first"),
        ("total ≥ $1,000.50", "total >= \0number"),
        ("before January 5, 2026", "before \0date"),
        ("`order.status` = 'x'", "order.status = \0text"),
        ("it can't fail 🙂", "it can not fail 🙂"),
    ],
    ids=[
        "possessive and contraction",
        "hyphen",
        "money",
        "written date",
        "code and quotes",
        "nothing vanishes",
    ],
)
def test_tokens(sentence: str, expected: str) -> None:
    assert " ".join(token.low for token in tokens(sentence)) == expected


def test_a_tool_with_a_hyphen_in_its_name_stays_whole() -> None:
    hyphened = tool("cancel-order", "order_id")
    found = read_behavior("cancel-order only works on pending orders.", tools=[hyphened], world=WORLD)
    assert [rule.tools for rule in found.rules] == [("cancel-order",)]


# -- what a rule is about -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "tools"),
    [
        ("cancel_order and refund_order only work on pending orders.", {"cancel_order", "refund_order"}),
        ("Cancellations are rejected once the order has shipped.", {"cancel_order"}),
        ("Orders cannot be refunded twice.", {"refund_order"}),
        ("amount must be positive.", {"refund_order"}),
        (
            "Unknown user ids return a 404.",
            {"cancel_order", "delete_user", "get_user", "list_orders", "place_order"},
        ),
        ("The ssn field is never returned.", {"get_user"}),
    ],
    ids=[
        "by name",
        "by the noun for doing it",
        "by the verb",
        "by the argument",
        "by what they look up",
        "by reply",
    ],
)
def test_which_tools_a_sentence_is_about(sentence: str, tools: set[str]) -> None:
    found = read(sentence)
    assert found.not_understood == ()
    assert {name for rule in found.rules for name in rule.tools} == tools


def test_it_means_the_tools_of_the_sentence_before() -> None:
    found = read("refund_order only works on pending orders. It requires a reason.")
    assert [(rule.tools, rule.kind) for rule in found.rules] == [
        (("refund_order",), RuleKind.GUARD),
        (("refund_order",), RuleKind.ARGUMENT),
    ]


def test_without_a_way_to_know_the_caller_a_permission_says_so() -> None:
    found = read_behavior(
        "Users can only cancel their own orders.", tools=[tool("cancel_order", "order_id")], world=WORLD
    )
    assert [rule.note for rule in found.rules] == [
        "cancel_order has no argument that says who calls, so the rule is not applied"
    ]


def test_a_session_in_the_world_says_who_is_calling() -> None:
    state: JsonObject = {**STATE, "session": {"s": {"user_id": "u-1"}}}
    shop = Shop(text="Users can only cancel their own orders.", state=state)
    assert shop.call("cancel_order", order_id="o-2").status == 403
    assert shop.call("cancel_order", order_id="o-1").status == 200


def test_rules_speak_of_kinds_that_the_world_does_not_hold_yet() -> None:
    found = read(
        "cancel_order only succeeds when the order's status is pending.", World.from_initial_state({})
    )
    assert found.not_understood == ()


def test_a_value_takes_the_spelling_of_the_data() -> None:
    state: JsonObject = {"order": {"o-1": {"status": "In_Transit"}}}
    shop = Shop(text="cancel_order rejects orders that are in transit.", state=state)
    assert shop.call("cancel_order", order_id="o-1").status == 409


def test_the_message_shows_the_state_and_never_the_rule() -> None:
    shop = Shop(text="cancel_order only succeeds when the order's status is pending.")
    reply = shop.call("cancel_order", order_id="o-2")
    assert reply.response == {
        "error": {"code": "conflict", "message": "not possible: order status is shipped"},
    }


def test_shaped_fields_are_those_that_rules_compute_or_mask() -> None:
    found = read("get_quote computes total = subtotal * 1.08. get_user masks card_number.")
    assert found.shaped_fields("get_quote") == {"total"}
    assert found.shaped_fields("get_user") == {"card_number"}


# -- weaving ----------------------------------------------------------------------------------------------


def woven(sentence: str, name: str, body: list[Json], is_inferred: bool = False) -> list[Json]:
    [found] = [one for one in TOOLS if one.name == name]
    result = weave(body, tool=found, rules=read(sentence).rules, world=WORLD, is_inferred=is_inferred)
    assert result.unwoven == ()
    return result.body


def verbs(body: list[Json]) -> list[str]:
    known = ("find", "require", "if", "let", "set", "add", "remove", "return", "fail", "flag", "for")
    return [verb for step in body if isinstance(step, dict) for verb in known if verb in step]


FIND: JsonObject = {"find": {"as": "order", "in": "order", "id": "args.order_id"}}
GUARD = "cancel_order only succeeds when the order's status is pending."


def test_guards_stand_after_the_finds_and_before_the_first_change() -> None:
    body: list[Json] = [
        FIND,
        {"let": {"x": 1}},
        {"set": {"order.status": "'cancelled'"}},
        {"return": "order"},
    ]
    assert verbs(woven(GUARD, "cancel_order", body)) == ["find", "require", "let", "set", "return"]


def test_rules_about_arguments_come_before_anything_is_looked_up() -> None:
    body = woven("cancel_order requires a reason.", "cancel_order", PLANS["cancel_order"])
    assert verbs(body) == ["require", "find", "set", "return"]


def test_an_entity_that_the_plan_does_not_bind_is_looked_up_by_the_argument() -> None:
    body: list[Json] = [{"return": "'done'"}]
    [guard, _] = woven(GUARD, "cancel_order", body)
    assert isinstance(guard, dict)
    assert guard["require"] == "entity('order', args.order_id).status == 'pending'"


def test_every_woven_step_names_its_sentence() -> None:
    [_, guard, *_] = woven(GUARD, "cancel_order", PLANS["cancel_order"])
    assert isinstance(guard, dict)
    assert guard["note"] == GUARD


def test_weaving_leaves_the_plan_it_was_given_alone() -> None:
    before = json.dumps(PLANS["search_products"])
    woven(
        "search_products returns at most 2 active products, newest first.",
        "search_products",
        PLANS["search_products"],
    )
    assert json.dumps(PLANS["search_products"]) == before


def test_what_reading_guessed_about_a_state_gives_way_to_what_the_author_says() -> None:
    guess: JsonObject = {"require": "order.status not in ['shipped']", "else": {"error": "cannot_cancel"}}
    body: list[Json] = [FIND, guess, {"return": "order"}]
    sentence = "cancel_order only succeeds when the order's status is pending or shipped."
    assert verbs(woven(sentence, "cancel_order", body, is_inferred=True)) == ["find", "require", "return"]
    assert verbs(woven(sentence, "cancel_order", body)) == ["find", "require", "require", "return"]


@pytest.mark.parametrize(
    ("sentence", "name", "body"),
    [
        ("search_products returns at most 2 items.", "search_products", [{"return": "'sorry'"}]),
        ("get_quote computes total = subtotal * 1.08.", "get_quote", [{"return": "len(entities('order'))"}]),
        ("get_user does not include the ssn field.", "get_user", [{"return": "args.user_id"}]),
        (
            "get_order returns a 410 for unknown orders.",
            "get_order",
            [{"return": "entity('order', args.order_id)"}],
        ),
        (
            "cancel_order does nothing when the order is shipped.",
            "cancel_order",
            [{"return": "'Order cancelled'"}],
        ),
        ("Cancelling an order restores the stock.", "cancel_order", [{"return": "null"}]),
    ],
    ids=["no list", "a number", "a scalar", "nothing looked up", "no record to return", "no order"],
)
def test_a_rule_without_a_place_in_the_plan_is_handed_back(
    sentence: str, name: str, body: list[Json]
) -> None:
    [found] = [one for one in TOOLS if one.name == name]
    rules = read(sentence).rules
    assert rules
    result = weave(body, tool=found, rules=rules, world=WORLD)
    assert [rule.sentence for rule in result.unwoven] == [sentence]
    assert result.body == body


def test_rules_of_other_tools_are_left_out() -> None:
    [found] = [one for one in TOOLS if one.name == "get_order"]
    result = weave(PLANS["get_order"], tool=found, rules=read(GUARD).rules, world=WORLD)
    assert (result.body, result.unwoven) == (PLANS["get_order"], ())


def test_a_reply_inside_a_branch_is_shaped_too() -> None:
    body: list[Json] = [
        {"find": {"as": "user", "in": "user", "id": "args.user_id"}},
        {"if": "user.verified", "then": [{"return": "user"}]},
        {"return": {"user": "user"}},
    ]
    shaped = json.dumps(woven("get_user never returns ssn.", "get_user", body))
    assert shaped.count("without(user, 'ssn')") == 2


def test_a_message_with_braces_is_answered_as_written() -> None:
    shop = Shop(text='cancel_order returns 409 "Sorry {name}" when the order is shipped.')
    reply = shop.call("cancel_order", order_id="o-2")
    assert reply.response == {"error": {"code": "conflict", "message": "Sorry {name}"}}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (text("a == 1"), text("not (a == 1)")),
        (text("not (a == 1)"), text("a == 1")),
        (text("not (", Ref("order", ("x",)), " == 1)"), text(Ref("order", ("x",)), " == 1")),
        (text("not (a) and (b)"), text("not (not (a) and (b))")),
    ],
    ids=["plain", "negated", "with a reference", "two pairs"],
)
def test_opposite(one: Text, other: Text) -> None:
    assert opposite(one).written({"order": "o"}) == other.written({"order": "o"})


# -- properties ---------------------------------------------------------------------------------------------

WORDS = """
cancel_order refund_order only succeeds when if unless the order order's status is not pending shipped or and
otherwise it returns a 409 already_shipped error total exceeds 100 orders cannot be cancelled sets to
, ; ( ) 's more than 90 days ago at most 10 items first user_id matches order.user_id = * 1.08
subtotal never negative
"""
fragments = st.sampled_from(WORDS.split())


@settings(max_examples=150, deadline=None)
@given(st.lists(fragments, max_size=14).map(" ".join))
def test_every_sentence_is_either_a_rule_or_reported(written: str) -> None:
    found = read(written)
    accounted = {rule.sentence for rule in found.rules} | set(found.not_understood)
    assert accounted == set(sentences(written))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_at_all_can_be_read(written: str) -> None:
    found = read(written)
    assert {rule.sentence for rule in found.rules} | set(found.not_understood) == set(sentences(written))


@settings(max_examples=60, deadline=None)
@given(st.lists(fragments, max_size=14).map(" ".join), st.sampled_from(sorted(PLANS)))
def test_whatever_is_woven_is_a_plan(written: str, name: str) -> None:
    [found] = [one for one in TOOLS if one.name == name]
    rules = [rule for rule in read(written).rules if rule.covers(name)]
    result = weave(PLANS[name], tool=found, rules=rules, world=WORLD)
    parse_plan(result.body, origin="read", entity_types=list(WORLD.entities))
    assert set(result.unwoven) <= set(rules)


def test_a_tangled_sentence_is_given_up_quickly() -> None:
    tangled = (
        "cancel_order only succeeds when "
        + " and ".join(["the order is pending or shipped"] * 30)
        + " maybe."
    )
    assert read(tangled).not_understood == (tangled,)


def test_a_long_text_over_many_tools_is_read_in_time() -> None:
    many = [tool(f"{verb}_{noun}", f"{noun}_id") for verb in ("cancel", "refund", "get", "list", "update")
            for noun in ("order", "invoice", "ticket", "booking", "product")]  # fmt: skip
    found = read_behavior(GUARD + " " + "Shipped orders cannot be refunded. " * 20, tools=many, world=WORLD)
    assert found.not_understood == ()


# -- the reference page --------------------------------------------------------------------------------------


def examples() -> list[str]:
    """The sentences in the page's blocks marked `behavior`."""
    blocks = re.findall(r"```behavior\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_the_reference_page_has_examples() -> None:
    assert len(examples()) > 60


@pytest.mark.parametrize("line", examples())
def test_every_example_of_the_reference_page_is_read_without_remainder(line: str) -> None:
    assert read(line).not_understood == ()


def test_the_reference_page_names_what_is_not_understood() -> None:
    blocks = re.findall(r"```not-understood\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    listed = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert listed
    for line in listed:
        assert read(line) == Behavior(not_understood=(line,))


# -- other trades: nothing here is particular to a shop ------------------------------------------------------

BANK = World.from_initial_state(
    {
        "account": {"a-1": {"owner_id": "c-1", "balance": 500, "status": "active", "daily_limit": 1000}},
        "customer": {"c-1": {"kyc_verified": True, "segment": "premium"}},
        "transaction": {"t-1": {"account_id": "a-1", "date": "2026-06-01", "reversed": False}},
    }
)
TRAVEL = World.from_initial_state(
    {
        "booking": {
            "B1": {"status": "confirmed", "flight_id": "F1", "departure_at": "2026-07-02", "seats": 2}
        },
        "flight": {"F1": {"available_seats": 3, "status": "delayed"}},
    }
)
DESK = World.from_initial_state(
    {
        "ticket": {"1": {"status": "open", "priority": "high", "resolved_at": None, "assignee": "amy"}},
        "agent": {"amy": {"active": True, "open_tickets": 3}},
    }
)
DEVICES = World.from_initial_state(
    {"device": {"d1": {"online": True, "battery": 80, "last_seen": "2026-07-01", "owner_id": "u1"}}}
)
ELSEWHERE: tuple[tuple[World, Any, str, str], ...] = (
    (
        BANK,
        tool("withdraw", "account_id", "amount"),
        "withdraw fails with 422 when amount exceeds the account's balance.",
        "not (args.amount > account.balance)",
    ),
    (
        BANK,
        tool("withdraw", "account_id", "amount"),
        "Withdrawals from frozen accounts are rejected.",
        "not (account.status == 'frozen')",
    ),
    (
        BANK,
        tool("close_account", "account_id"),
        "Accounts with a non-zero balance cannot be closed.",
        "not (account.balance != 0)",
    ),
    (
        BANK,
        tool("reverse_transaction", "transaction_id"),
        "Transactions older than 60 days cannot be reversed.",
        "not ((transaction.date and days_between(transaction.date, now) > 60))",
    ),
    (
        BANK,
        tool("open_account", "customer_id", "type"),
        "open_account requires the customer to be KYC verified.",
        "customer.kyc_verified == true",
    ),
    (
        TRAVEL,
        tool("cancel_booking", "booking_id"),
        "Bookings can be cancelled up to 24 hours before departure.",
        "(booking.departure_at and days_between(now, booking.departure_at) * 24 >= 24)",
    ),
    (
        TRAVEL,
        tool("book_flight", "flight_id", "seats"),
        "book_flight fails if the flight is sold out.",
        "not (default(flight.available_seats, 0) <= 0)",
    ),
    (
        TRAVEL,
        tool("book_flight", "flight_id", "seats"),
        "Delayed flights cannot be booked.",
        "not (flight.status == 'delayed')",
    ),
    (
        DESK,
        tool("assign_ticket", "ticket_id", "agent_id"),
        "Tickets can only be assigned to active agents.",
        "agent.active == true",
    ),
    (
        DESK,
        tool("assign_ticket", "ticket_id", "agent_id"),
        "Closed tickets cannot be reassigned.",
        "not (ticket.status == 'closed')",
    ),
    (DESK, tool("close_ticket", "ticket_id", "agent_id"), "Only the assignee can close a ticket.", "false"),
    (
        DESK,
        tool("close_ticket", "ticket_id", "resolution?"),
        "A ticket cannot be closed without a resolution.",
        "args.resolution not in [null, '']",
    ),
    (
        DEVICES,
        tool("update_firmware", "device_id", "version"),
        "update_firmware fails when the device is offline.",
        "device.online == true",
    ),
    (
        DEVICES,
        tool("set_temperature", "device_id", "temperature"),
        "set_temperature only accepts values between 10 and 30.",
        "(args.temperature >= 10 and args.temperature <= 30)",
    ),
    (
        DEVICES,
        tool("lock_device", "device_id", "user_id"),
        "Only the device owner can lock it.",
        "same_id(args.user_id, device.owner_id)",
    ),
)


class Plainly(dict[str, str]):
    """Names of things as they are."""

    def __missing__(self, name: str) -> str:
        return name


@pytest.mark.parametrize(("world", "one", "sentence", "need"), ELSEWHERE, ids=[case[2] for case in ELSEWHERE])
def test_the_same_grammar_serves_other_trades(world: World, one: Any, sentence: str, need: str) -> None:
    found = read_behavior(sentence, tools=[one], world=world)
    assert [rule.body.need.written(Plainly()) for rule in found.rules if isinstance(rule.body, Require)] == [
        need
    ]


def test_a_share_is_compared_on_the_scale_of_the_field() -> None:
    deals = World.from_initial_state({"deal": {"D1": {"discount": 15}}})
    [rule] = read_behavior(
        "apply_discount rejects discounts above 20%.",
        tools=[tool("apply_discount", "deal_id", "discount")],
        world=deals,
    ).rules
    assert isinstance(rule.body, Require)
    assert rule.body.need.written(Plainly()) == "not (args.discount > 20)"
    unknown = World.from_initial_state({"deal": {"D1": {"discount": 0}}})
    found = read_behavior(
        "apply_discount rejects discounts above 20%.",
        tools=[tool("apply_discount", "deal_id", "discount")],
        world=unknown,
    )
    assert found.rules == ()
