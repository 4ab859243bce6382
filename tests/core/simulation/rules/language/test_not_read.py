"""Sentences that must not be read: near misses, halves, other languages; and what is said of them."""

import pytest
from tests.core.simulation.rules.language.worlds import (
    STATE,
    canonical,
    reader_of,
    said_twice,
    shop,
    stop_of,
    tool,
)

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules.language.read import Reader
from pipelines.core.simulation.rules.language.report import explain_stop
from pipelines.core.simulation.rules.language.to_sentence import to_sentence
from pipelines.core.simulation.rules.trial import try_rules
from pipelines.core.simulation.rules.vocabulary import build_vocabulary
from pipelines.core.text.json_text import JsonObject

NEAR_MISSES = {
    "an exception": "cancel_order only succeeds when the order is pending, except on weekends.",
    "an exception in brackets": "cancel_order only succeeds when the order is pending (except for admins).",
    "an exception for some": "Shipped orders cannot be cancelled unless an agent insists.",
    "an unknown part of and": "cancel_order fails when the order is shipped and the weather is bad.",
    "an unknown part of or": "cancel_order fails when the order is shipped or the warehouse is closed.",
    "an unknown state": "cancel_order fails when the order is archived.",
    "a misspelled value": "cancel_order fails when the order's status is shiped.",
    "a value of another field": "cancel_order fails when the order's status is gold.",
    "an unknown field": "cancel_order fails when the order's colour is red.",
    "a field of another type": "cancel_order fails when the order's tier is gold.",
    "an argument of another tool": "get_order fails when the given amount is more than 5.",
    "an unknown tool": "ship_order fails when the order is pending.",
    "a type that the call does not know": "get_user fails when the order is pending and the sky is blue.",
    "usually": "cancel_order usually fails when the order is shipped.",
    "should be careful": "cancel_order should be handled with care when the order is shipped.",
    "almost": "cancel_order fails when the total is almost 50.",
    "approximately": "cancel_order fails when the total is approximately 50.",
    "a text as a number": "cancel_order fails when the order's status is more than 5.",
    "a number as a date": "cancel_order fails when the order's total is more than 5 days ago.",
    "a number as a text": "cancel_order fails when the order's total is shorter than 5 characters.",
    "a field and itself": "cancel_order fails when the order's status is the order's status.",
    "business days": "refund_order fails when delivered_at is more than 3 business days ago.",
    "no measure": "refund_order fails when the order is too old.",
    "chance": "cancel_order fails about 10% of the time.",
    "sequence": "The second call of cancel_order fails.",
    "advice": "The agent must ask for confirmation before calling cancel_order.",
    "advice about tools": "Use get_order before you call cancel_order.",
    "tone": "Be friendly and concise.",
    "data": "Order o-1 is shipped.",
    "data in the plural": "There are three pending orders.",
    "a question": "Can cancel_order fail?",
    "fails alone": "cancel_order fails.",
    "fails with an error alone": "cancel_order fails with 409 too_late.",
    "which records": "cancel_order only works for orders.",
    "two answers": "cancel_order fails with 409 too_late when the order is shipped with 410 gone.",
    "two answers of only": "cancel_order only works when the order is pending with 409, otherwise 410 gone.",
    "what else happens": "cancel_order fails when the order is shipped; otherwise it returns 410 gone.",
    "only under a condition": "If the order is shipped, cancel_order only works when the total is above 5.",
    "a count of some": "Pending orders can be refunded at most once.",
    "a total of records": "The sum of the order's total over all calls of refund_order must not exceed 500.",
    "the reply before the call": "cancel_order fails when reply.total is more than 5.",
    "a list under a condition": "list_orders returns at most 5 results when the given user_id is set.",
    "a filter under a condition": "list_orders returns only pending orders when the given user_id is set.",
    "fields under a condition": "get_user does not include ssn when the user is verified.",
    "a list of a tool that lists none": "get_order returns at most 5 results.",
    "a filter over another type": "list_orders returns only active products.",
    "an order of some": "list_orders returns pending orders, newest first.",
    "an argument that is changed": "cancel_order sets args.reason to 'x'.",
    "a new value for a number": "cancel_order sets the total to plenty.",
    "an unknown field of the reply": "get_user does not include shoe_size.",
    "compared with now": "cancel_order fails when now is before the order's delivered_at.",
}


@pytest.mark.parametrize("sentence", NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_near_miss_is_not_read(sentence: str) -> None:
    stop = stop_of(sentence)
    assert stop.words
    assert stop.message
    assert sentence[stop.start : stop.end] == stop.words


@pytest.mark.parametrize(
    ("sentence", "words", "message"),
    [
        (
            "cancel_order fails when the order's status is shiped.",
            "shiped",
            "which is one of: pending, shipped",
        ),
        (
            "cancel_order fails when the order's status is gold.",
            "gold",
            "which is one of: pending, shipped",
        ),
        ("cancel_order fails when the given reason is gold.", "gold", "put a new text in quotes"),
        ("cancel_order fails when the order's tier is gold.", "tier", "no order has a field `tier`"),
        (
            "get_order fails when the given amount is above 5.",
            "amount",
            "get_order takes no argument `amount`",
        ),
        ("cancel_order fails when the order is verified.", "verified", "no order of this world can be"),
        ("colour must be red.", "colour", "reading stopped at “colour”"),
        ("cancel_order only works for orders.", "orders", "the sentence does not say which `orders`"),
        (
            "refund_order can be called at most once per user.",
            "user",
            "no argument of refund_order says which",
        ),
        (
            "list_orders returns at most 5 results when the given user_id is set.",
            "list_orders returns at most 5 results when the given user_id is set.",
            "move the condition into the filter: `list_orders returns only orders where …`",
        ),
        ("Placing a user fails when the user is verified.", "Placing", "no tool can place `user`"),
        ("cancel_order fails when `order.totl > 5`.", "totl", "did you mean `total`?"),
    ],
)
def test_the_word_and_the_reason_are_named(sentence: str, words: str, message: str) -> None:
    stop = stop_of(sentence)
    assert stop.words == words
    assert message in stop.message


def test_what_could_have_stood_there_is_said() -> None:
    reading = shop().read("cancel_order fails when the order is teleported.")
    said = explain_stop(reading, shop())
    assert said.startswith("reading stopped at “teleported”; possible here: ")
    assert "a value or state" in said


def test_a_sentence_that_breaks_off_says_that_it_goes_on() -> None:
    stop = stop_of("cancel_order fails when the order's status is")
    assert (stop.words, stop.message) == ("is", "the sentence is not complete here")


@pytest.mark.parametrize(
    "sentence",
    [
        "Stornieren ist nur möglich, solange die Bestellung noch nicht versendet wurde.",
        "cancel_order schlägt fehl, wenn die Bestellung versandt ist.",
        "取消已发货的订单。",
        "Eine Bestellung darf nicht storniert werden, wenn sie schon bezahlt ist.",
        "Les commandes déjà expédiées ne peuvent pas être annulées par le client.",
        "L'annulation échoue lorsque la commande est déjà livrée au destinataire.",
    ],
)
def test_other_languages_are_told_so(sentence: str) -> None:
    assert "in English" in stop_of(sentence).message


# -- two readings -------------------------------------------------------------------------------------------

TICKETS: JsonObject = {
    "ticket": {
        "t-1": {"status": "open", "amount": 5, "user_id": "u-1", "reviewer_id": "u-2"},
        "t-2": {"status": "closed", "amount": 9, "user_id": "u-2", "reviewer_id": "u-1"},
    },
    "user": {"u-1": {"name": "Ada"}, "u-2": {"name": "Bo"}},
}


def test_a_field_that_is_also_an_argument_makes_two_readings() -> None:
    reader = reader_of(TICKETS, tool("close_ticket", "ticket_id", "amount?"))
    reading = reader.read("close_ticket fails when the amount is more than 5.")
    assert not reading.is_read
    assert reading.rules == ()
    assert said_twice(reading, reader) == [
        ["close_ticket fails when the given amount is more than 5"],
        ["close_ticket fails when the ticket's amount is more than 5"],
    ]
    assert "it can be read in 2 ways" in explain_stop(reading, reader)


def test_two_people_who_own_a_record_make_two_readings() -> None:
    reader = reader_of(TICKETS, tool("close_ticket", "ticket_id", "requester_id"))
    reading = reader.read("Only the owner of a ticket can close it.")
    assert len(reading.readings) == 2


def test_and_binds_closer_than_or() -> None:
    assert canonical("cancel_order fails when total > 5 or total < 1 and status is shipped.") == [
        "cancel_order fails when the order's total is more than 5 or the order's total is less than 1 and "
        "the order's status is 'shipped'"
    ]


# -- halves -------------------------------------------------------------------------------------------------


def test_a_clause_that_is_not_read_leaves_the_other_in_force() -> None:
    state = {"quote": {"q-1": {"subtotal": 5, "total": 6}}}
    reader = reader_of(state, tool("get_quote", "quote_id"))
    sentence = "get_quote computes total = subtotal * 1.08 and never returns a negative balance."
    reading = reader.read(sentence)
    assert not reading.is_read
    assert [rule.clause for rule in reading.rules] == ["computes total = subtotal * 1.08"]
    assert reading.stop is not None
    assert "balance" in reading.stop.words


def test_two_clauses_that_are_read_are_two_rules() -> None:
    reading = shop().read("get_quote computes total = subtotal * 1.08 and never returns a negative balance.")
    assert reading.is_read
    assert [rule.clause for rule in reading.rules] == [
        "computes total = subtotal * 1.08",
        "never returns a negative balance",
    ]


def test_a_condition_is_never_cut_off_its_clause() -> None:
    reading = shop().read("cancel_order sets status to void and fails when the moon is full.")
    assert [rule.clause for rule in reading.rules] == ["sets status to void"]
    assert shop().read("cancel_order fails when the order is shipped and the moon is full.").rules == ()


# -- texts --------------------------------------------------------------------------------------------------


def test_otherwise_belongs_to_the_sentence_before() -> None:
    text = "cancel_order only works when the order is pending. Otherwise it returns a 409 not_pending error."
    [reading] = shop().read_text(text)
    assert reading.is_read
    assert len(reading.rules) == 1


def test_each_sentence_of_a_text_is_read_by_itself() -> None:
    text = "Be nice. Shipped orders cannot be cancelled. All tools succeed."
    assert [reading.is_read for reading in shop().read_text(text)] == [False, True, True]


def test_a_text_that_is_too_long_is_not_read_at_all() -> None:
    [reading] = shop().read_text("Shipped orders cannot be cancelled. " * 1_000)
    assert reading.stop is not None
    assert "32,768" in reading.stop.message


def test_sentences_past_the_last_are_told() -> None:
    found = shop().read_text("All tools succeed.\n" * 401)
    assert len(found) == 401
    assert found[-1].stop is not None
    assert "past the 400th" in found[-1].stop.message


def test_reading_stops_when_there_is_no_time() -> None:
    found = shop().read_text("All tools succeed. All tools succeed.", lambda: False)
    assert all(one.stop is not None and "too long" in one.stop.message for one in found)


# -- who calls ----------------------------------------------------------------------------------------------


def test_ownership_without_a_caller_says_that_nothing_says_who_calls() -> None:
    assert canonical("Only the owner of an order can refund it.") == [
        "refund_order fails with 403 forbidden unless the order's user_id matches `caller()`"
    ]


def test_a_session_of_the_world_says_who_calls() -> None:
    state: JsonObject = {**STATE, "session": {"s-1": {"user_id": "u-1"}}}
    reader = reader_of(state, tool("refund_order", "order_id"))
    assert canonical("Only the owner of an order can refund it.", reader) == [
        "refund_order fails with 403 forbidden unless the order's user_id matches the session's user_id"
    ]


@pytest.mark.parametrize(
    ("sentence", "read", "words"),
    [
        (
            "get_quote computes total = subtotal * 1.08 and never returns a negative blance.",
            "get_quote returns total = the order's subtotal * 1.08",
            "blance",
        ),
        (
            "get_quote never returns a negative blance and computes total = subtotal * 1.08.",
            "get_quote returns total = the order's subtotal * 1.08",
            "blance",
        ),
        (
            "refund_order fails when the moon is full and sets the order's status to 'void'.",
            "refund_order sets the order's status to 'void'",
            "moon",
        ),
    ],
)
def test_a_clause_that_is_read_is_kept_wherever_the_other_stands(
    sentence: str, read: str, words: str
) -> None:
    reading = shop().read(sentence)
    assert [to_sentence(rule, shop().vocabulary) for rule in reading.rules] == [read]
    assert reading.stop is not None
    assert reading.stop.words == words
    assert sentence[reading.stop.start : reading.stop.end] == words


BUYER = "Only the original buyer (user_id matches order.user_id) can cancel an order."


@pytest.mark.parametrize(
    ("arguments", "session", "said"),
    [
        (("order_id", "user_id"), {}, "the given user_id matches the order's user_id"),
        (("order_id", "requester_id"), {}, "the given requester_id matches the order's user_id"),
        (
            ("order_id",),
            {"session": {"self": {"user_id": "u-1"}}},
            "the session's user_id matches the order's",
        ),
        (
            ("order_id",),
            {"session": {"s-1": {"user_id": "u-1"}}},
            "the session's user_id matches the order's",
        ),
    ],
)
def test_the_owner_is_held_against_whoever_says_who_calls(
    arguments: tuple[str, ...], session: JsonObject, said: str
) -> None:
    reader = reader_of({**STATE, **session}, tool("cancel_order", *arguments))
    [shown] = canonical(BUYER, reader)
    assert said in shown


def test_an_owner_is_reported_where_nothing_says_who_calls() -> None:
    state = World.from_initial_state(STATE)
    tools = (tool("cancel_order", "order_id"), tool("get_order", "order_id"))
    vocabulary = build_vocabulary(tools, survey_for(tools, world=state))
    [one] = try_rules(Reader(vocabulary).read(BUYER).rules, vocabulary, state).rules
    assert str(one.problem).startswith(
        "neither the call nor the world says who calls cancel_order: add an argument"
    )
