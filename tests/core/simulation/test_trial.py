"""Rules tried on the seeded world: what they touch there is found, what they cannot touch is told."""

from typing import Any

import gym
import pytest

from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.guessed_refusals import CONDITION, SEARCH
from pipelines.core.simulation.simulator import Moment, SimulatedReply


def under(text: str, state: JsonObject, *tools: JsonObject) -> PlannedSimulator:
    world = World.from_initial_state(state)
    return build_simulator(gym.parse_tools_schema(list(tools)), world=world, behavior=text)


def call(simulator: PlannedSimulator, state: JsonObject, tool: str, **arguments: Any) -> SimulatedReply:
    ledger = Ledger(World.from_initial_state(state))
    return simulator.answer(tool, arguments, ledger, Moment("s", 1, gym.NOW))


# -- a date on the record that is linked with the one that is meant

SHIPPED = "Orders that have been shipped cannot be cancelled."
BY_ORDER: JsonObject = {
    "order": {"o1": {"status": "open", "shipment_id": "s1"}, "o2": {"status": "open", "shipment_id": "s2"}},
    "shipment": {"s1": {"shipped_at": None}, "s2": {"shipped_at": "2026-11-01"}},
}
BY_SHIPMENT: JsonObject = {
    "order": {"o1": {"status": "open"}, "o2": {"status": "open"}},
    "shipment": {
        "s1": {"order_id": "o1", "shipped_at": None},
        "s2": {"order_id": "o2", "shipped_at": "2026-11-01"},
    },
}


@pytest.mark.parametrize("state", [BY_ORDER, BY_SHIPMENT], ids=["order to shipment", "shipment to order"])
@pytest.mark.parametrize(
    "sentence",
    [
        SHIPPED,
        "cancel_order fails once the order has shipped.",
    ],
)
def test_a_date_on_the_linked_record_says_what_was_done(sentence: str, state: JsonObject) -> None:
    simulator = under(sentence, state, gym.tool("cancel_order", "order_id"))
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    assert call(simulator, state, "cancel_order", order_id="o1").status == 200
    assert call(simulator, state, "cancel_order", order_id="o2").status == 409


def test_a_field_of_the_linked_record_is_found_by_its_name() -> None:
    sentence = "Orders cannot be cancelled once shipped_at is set."
    simulator = under(sentence, BY_ORDER, gym.tool("cancel_order", "order_id"))
    assert call(simulator, BY_ORDER, "cancel_order", order_id="o1").status == 200
    assert call(simulator, BY_ORDER, "cancel_order", order_id="o2").status == 409


def test_a_date_of_somebody_else_says_nothing_of_the_record() -> None:
    state: JsonObject = {
        "order": {
            "o1": {"status": "open", "customer_id": "c1"},
            "o2": {"status": "paid", "customer_id": "c2"},
        },
        "customer": {"c1": {"closed_at": None}, "c2": {"closed_at": "2026-01-01"}},
    }
    simulator = under("Closed orders cannot be cancelled.", state, gym.tool("cancel_order", "order_id"))
    assert call(simulator, state, "cancel_order", order_id="o2").status == 200


# -- dates as backends write them

OLD = "Orders older than 30 days cannot be refunded."


def orders(new: object, old: object) -> JsonObject:
    return {
        "order": {"o1": {"ordered_at": new, "status": "paid"}, "o2": {"ordered_at": old, "status": "paid"}}
    }  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (1794700800, 1785000000),
        (1794700800000, 1785000000000),
        ("2026/11/10", "2026/07/01"),
        ("Nov 10, 2026", "Jul 1, 2026"),
        ("10 November 2026", "1 July 2026"),
        ("15/11/2026", "31/07/2026"),
        ("10.11.2026", "01.07.2026"),
    ],
)
def test_dates_are_read_however_the_world_writes_them(new: object, old: object) -> None:
    state = orders(new, old)
    simulator = under(OLD, state, gym.tool("refund_order", "order_id"))
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    assert call(simulator, state, "refund_order", order_id="o1").status == 200
    assert call(simulator, state, "refund_order", order_id="o2").status == 409


@pytest.mark.parametrize("written", ["04/05/2026", "soon", 7])
def test_a_rule_about_a_date_that_cannot_be_read_is_reported_and_not_applied(written: object) -> None:
    state = orders(written, "2026-07-01")
    simulator = under(OLD, state, gym.tool("refund_order", "order_id"))
    assert simulator.not_understood[0].startswith(OLD)
    assert call(simulator, state, "refund_order", order_id="o1").status == 200


# -- lists of things that are kept inside others

ITEMS: dict[str, JsonObject] = {
    "a list": {
        "warehouse": {
            "w1": {"city": "Graz", "items": [{"sku": "a", "price": 5}, {"sku": "b", "price": 1}]},
            "w2": {"city": "Linz", "items": [{"sku": "c", "price": 3}]},
        }
    },
    "by key": {
        "warehouse": {
            "w1": {
                "city": "Graz",
                "items": {"a": {"name": "mug", "price": 5}, "b": {"name": "cup", "price": 1}},
            },
            "w2": {"city": "Linz", "items": {"c": {"name": "jug", "price": 3}}},
        }
    },
}


def prices(reply: SimulatedReply) -> list[Any]:
    found: Any = reply.response
    return [one["price"] for one in found]


@pytest.mark.parametrize("kept", ITEMS)
@pytest.mark.parametrize(
    ("sentence", "everywhere", "in_one"),
    [
        ("search_items and list_items return at most 1 item.", [5], [5]),
        ("search_items and list_items sort by price, cheapest first.", [1, 3, 5], [1, 5]),
        ("Items are sorted by price, highest first.", [5, 3, 1], [5, 1]),
    ],
)
def test_items_inside_warehouses_are_cut_and_sorted(
    kept: str, sentence: str, everywhere: list[int], in_one: list[int]
) -> None:
    state = ITEMS[kept]
    tools = [gym.tool("search_items", "query?"), gym.tool("list_items", "warehouse_id")]
    simulator = under(sentence, state, *tools)
    assert (simulator.not_understood, simulator.without_effect) == ((), ())
    assert prices(call(simulator, state, "search_items")) == everywhere
    assert prices(call(simulator, state, "list_items", warehouse_id="w1")) == in_one


# -- rules that touch nothing

THINGS: JsonObject = {"item": {"a": {"price": 5, "shelf": None}, "b": {"price": 5, "shelf": None}}}
LISTS = (gym.tool("list_items", "query?"), gym.tool("get_item", "item_id"))


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("list_items returns at most 50 items.", "the world has no more than 2"),
        ("list_items sorts by price, cheapest first.", "every item of the world has the same price"),
        ("list_items sorts by shelf.", "no item of the world has a shelf"),
    ],
)
def test_a_cap_or_an_order_that_touches_no_listing_is_told(sentence: str, why: str) -> None:
    simulator = under(sentence, THINGS, *LISTS)
    assert simulator.without_effect == (f"{sentence} ({why})",)


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("get_item returns total = price * tax_rate.", "no item of the world has tax_rate"),
        ("get_item returns total = price * shelf.", "no item of the world has what total is worked out from"),
    ],
)
def test_a_formula_without_its_inputs_is_reported_and_not_applied(sentence: str, why: str) -> None:
    simulator = under(sentence, THINGS, *LISTS)
    assert simulator.not_understood == (f"{sentence} ({why})",)
    assert simulator.unenforced == (sentence,)  # without the reason: it is no word of the author's
    assert call(simulator, THINGS, "get_item", item_id="a").response == {"price": 5, "shelf": None}


def test_a_guard_that_no_record_passes_is_reported_and_refuses_nothing() -> None:
    """Most likely it was not read as it was meant."""
    state: JsonObject = {"invoice": {"i1": {"status": "open"}, "i2": {"status": "open"}}}
    sentence = "refund_invoice only works for paid invoices."
    simulator = under(
        sentence, state, gym.tool("refund_invoice", "invoice_id"), gym.tool("get_invoice", "invoice_id")
    )
    assert simulator.not_understood == (f"{sentence} (no invoice of the world passes)",)
    assert simulator.without_effect == ()
    assert call(simulator, state, "refund_invoice", invoice_id="i1").status == 200


def test_a_search_that_was_read_says_that_what_it_did_not_find_is_a_guess() -> None:
    state: JsonObject = {"user": {"u1": {"email": "ada@example.com"}, "u2": {"email": "bo@example.com"}}}
    tools = [gym.tool("find_user_by_email", "email"), gym.tool("get_user", "user_id")]
    simulator = under("", state, *tools)
    assert call(simulator, state, "find_user_by_email", email="ada@example.com").notes == ()
    missing = call(simulator, state, "find_user_by_email", email="cy@example.com")
    assert (missing.status, missing.notes) == (404, (SEARCH,))
    by_id = call(simulator, state, "get_user", user_id="u9")
    assert (by_id.status, by_id.notes) == (404, ())


def test_a_condition_that_was_read_says_so_and_one_that_was_written_does_not() -> None:
    state: JsonObject = {"account": {"a": {"balance": 5}, "b": {"balance": 50}}}
    tools = [gym.tool("withdraw", "account_id", "amount")]
    read = call(under("", state, *tools), state, "withdraw", account_id="a", amount=10)
    assert read.status >= 400
    assert read.notes == (CONDITION,)
    written = under("withdraw fails with 409 too_much when the amount is over 8.", state, *tools)
    assert call(written, state, "withdraw", account_id="b", amount=10).notes == ()


# -- a word that is no state of anything

UNSEEN: JsonObject = {
    "order": {"o1": {"status": "open"}, "o2": {"status": "packed"}},
}


@pytest.mark.parametrize(
    ("sentence", "is_enforced"),
    [
        ("Packed orders cannot be cancelled without a reason.", True),
        ("Cancelled orders cannot be cancelled without a reason.", True),  # the tool brings it about
        ("Archived orders cannot be cancelled without a reason.", False),
        ("cancel_order requires a reason if the order is archived.", False),
    ],
)
def test_a_state_that_nothing_has_is_told_where_a_rule_is_not_tried(sentence: str, is_enforced: bool) -> None:
    simulator = under(sentence, UNSEEN, gym.tool("cancel_order", "order_id", "reason?"))
    assert (simulator.not_understood == ()) is is_enforced
