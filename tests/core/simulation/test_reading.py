"""Plans read from names, schemas and the seeded world alone, over invented backends of several trades."""

import pytest
from invented_backends import (
    ALL,
    DEVOPS,
    LIBRARY,
    NOTHING,
    Backend,
    tool,
)
from reading_cases import CASES, NOW, Case

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.reading.assemble import read_plan
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema


def call(backend: Backend, *calls: tuple[str, JsonObject]) -> SimulatedReply:
    """The reply to the last of these calls, made one after the other."""
    world = World.from_initial_state(backend.state)
    simulator = build_simulator(backend.tools, ledger_schema=backend.ledger_schema, world=world)
    ledger = Ledger(world)
    reply = None
    for number, (name, arguments) in enumerate(calls, start=1):
        reply = simulator.answer(name, arguments, ledger, Moment(seed="s", call_number=number, now=NOW))
        ledger.apply(reply.updates)
    assert reply is not None
    return reply


@pytest.mark.parametrize("given", CASES, ids=lambda given: f"{given.tool}: {given.name}")
def test_reads_what_the_tool_does(given: Case) -> None:
    reply = call(given.backend, (given.tool, given.arguments))
    response = reply.response
    if given.fails is not None:
        assert (reply.status, response["error"]["code"]) == given.fails  # type: ignore[index,call-overload]
        assert reply.updates == ()
        return
    assert reply.status == 200
    changes = [update.as_json() for update in reply.updates]
    if given.answers is not ...:
        assert response == given.answers
    if given.has is not None:
        assert given.has.items() <= response.items()  # type: ignore[union-attr]
    if given.sets is not None:
        assert changes[0]["set"] == given.sets
    if given.adds is not None:
        assert given.adds in [(one["entity_type"], one["id"]) for one in changes if one["op"] == "add"]
    if given.removes is not None:
        assert given.removes in [(one["entity_type"], one["id"]) for one in changes if one["op"] == "remove"]
    if given.sets is None and given.adds is None and given.removes is None and given.has is None:
        assert changes == [] or given.answers is not ...


def test_sorts_by_what_the_caller_names() -> None:
    reply = call(LIBRARY, ("search_books", {"query": "dune", "sort_by": "-year"}))
    assert [book["id"] for book in reply.response] == ["b-3", "b-1"]  # type: ignore[union-attr,index,call-overload]


def test_what_was_created_is_found_listed_changed_and_deleted() -> None:
    made: tuple[str, JsonObject] = ("create_task", {"title": "t"})
    assert call(NOTHING, made, ("get_task", {"task_id": "1"})).response == {"title": "t", "status": "open"}
    done = call(NOTHING, made, ("complete_task", {"task_id": "1"}), ("list_tasks", {"status": "completed"}))
    assert done.response == [{"id": "1", "title": "t", "status": "completed"}]
    gone = call(NOTHING, made, ("delete_task", {"task_id": "1"}), ("get_task", {"task_id": "1"}))
    assert gone.status == 404


def test_the_first_of_an_empty_list_becomes_an_entity_that_later_calls_find() -> None:
    made: tuple[str, JsonObject] = ("create_incident", {"title": "t"})
    reply = call(DEVOPS, made, ("resolve_incident", {"incident_id": 1}))
    assert [update.as_json()["set"] for update in reply.updates] == [{"status": "Resolved"}]
    again = call(DEVOPS, made, ("create_incident", {"title": "u"}))
    assert [update.as_json()["op"] for update in again.updates] == ["add"]


STOCKED = Backend(
    state={
        "order": {
            "#1": {
                "user_id": "u1",
                "status": "delivered",
                "lines": [{"item_id": "i1", "product_id": "p1", "price": 10.1}],
                "payments": [{"kind": "payment", "amount": 10.1, "payment_method_id": "gift_card_1"}],
                "swap_lines": None,
                "swap_new_lines": None,
                "swap_price_difference": None,
            },
            "#2": {
                "user_id": "u1",
                "status": "pending",
                "lines": [],
                "payments": [{"kind": "payment", "amount": 10.1, "payment_method_id": "gift_card_1"}],
                "void_reason": None,
            },
        },
        "user": {"u1": {"payment_methods": {"gift_card_1": {"source": "gift_card", "balance": 0.2}}}},
        "product": {
            "p1": {
                "product_id": "p1",
                "variants": {
                    "i1": {"item_id": "i1", "price": 10.1, "available": True},
                    "i2": {"item_id": "i2", "price": 12.3, "available": True},
                    "i3": {"item_id": "i3", "price": 1, "available": False},
                },
            }
        },
    },
    tools=(
        tool(
            "void_pending_order",
            "Void a pending order. The order status will be changed to 'voided' and the payment will be "
            "refunded. "
            "The refund will be added to the user's gift card balance if it was paid so.",
            order_id="text",
            reason={"type": "string", "description": "Must be 'mistake' or 'late'."},
        ),
        tool("get_item_details", item_id="text"),
        tool(
            "return_delivered_order_lines",
            "The order status will be changed to 'return requested'.",
            order_id="text",
            line_ids="texts",
        ),
        tool("list_all_products", "List the price and product id of all products."),
    ),
)


def test_a_condition_in_the_name_a_state_and_a_refund_in_the_description() -> None:
    reply = call(STOCKED, ("void_pending_order", {"order_id": "2", "reason": "late"}))
    [order] = [update.as_json()["set"] for update in reply.updates]
    assert order["status"] == "voided"  # type: ignore[index,call-overload]
    assert order["void_reason"] == "late"  # type: ignore[index,call-overload]
    assert [line["kind"] for line in order["payments"]] == ["payment", "refund"]  # type: ignore[index,call-overload,union-attr]


def test_what_is_not_there_is_refused() -> None:
    assert call(STOCKED, ("void_pending_order", {"order_id": "#9", "reason": "late"})).status == 404


def test_a_thing_is_at_home_where_its_id_is_the_key() -> None:
    assert call(STOCKED, ("get_item_details", {"item_id": "i2"})).response == {
        "item_id": "i2",
        "price": 12.3,
        "available": True,
    }


@pytest.mark.parametrize("backend", ALL.values(), ids=list(ALL))
def test_every_read_plan_is_a_valid_plan(backend: Backend) -> None:
    world = World.from_initial_state(backend.state)
    for one in backend.tools:
        found = read_plan(one, tools=backend.tools, world=world, ledger_schema=backend.ledger_schema)
        names = one.input_schema["properties"]
        assert isinstance(names, dict)
        parse_plan(list(found.body), origin="read", argument_names=names)
        assert 0 < found.confidence <= 1


@pytest.mark.parametrize("backend", ALL.values(), ids=list(ALL))
def test_replies_fit_their_output_schema(backend: Backend) -> None:
    for one in CASES:
        declared = next((each for each in backend.tools if each.name == one.tool), None)
        if one.backend is backend and declared is not None and one.fails is None:
            reply = call(backend, (one.tool, one.arguments))
            assert declared.response_problems(reply.response) == []


BY_AN_AMOUNT = {
    "renew_loan": "Renew a loan by 14 days.",
    "boost_bid": "Boosts a bid by ten percent.",
    "delay_shipment": "Delay a shipment by up to 2 weeks",
}


@pytest.mark.parametrize(("name", "description"), BY_AN_AMOUNT.items())
def test_a_change_by_an_amount_is_no_new_state(name: str, description: str) -> None:
    noun = name.partition("_")[2]
    declared = parse_tools_schema(
        [
            {
                "name": name,
                "description": description,
                "input_schema": {
                    "type": "object",
                    "properties": {f"{noun}_id": {"type": "string"}},
                    "required": [f"{noun}_id"],
                },
            }
        ]
    )
    world = World.from_initial_state({noun: {"1": {"status": "active", "due_date": "2026-02-01"}}})
    simulator = build_simulator(declared, world=world)
    moment = Moment(seed="s", call_number=1, now=NOW)
    assert simulator.answer(name, {f"{noun}_id": "1"}, Ledger(world), moment).updates == ()
    assert simulator.plan_of(name).is_guess


def test_a_record_that_a_reply_holds_under_its_noun_is_the_record_and_not_its_id():
    world = World.from_initial_state({"offer": {"OFF-1": {"offer_id": "OFF-1", "rate": 9, "status": "open"}}})
    held = {"type": "object", "properties": {"offer_id": {"type": "string"}, "status": {"type": "string"}}}
    picks = {"type": "object", "properties": {"offer_id": {"type": "string"}}, "required": ["offer_id"]}
    (declared,) = parse_tools_schema(
        [
            {
                "name": "accept_offer",
                "description": "Accept an offer.",
                "input_schema": picks,
                "output_schema": {"type": "object", "properties": {"offer": held}, "required": ["offer"]},
            }
        ]
    )
    reply = build_simulator((declared,), world=world).answer(
        "accept_offer", {"offer_id": "OFF-1"}, Ledger(world), Moment(seed="s", call_number=1, now=NOW)
    )
    assert reply.response == {"offer": {"offer_id": "OFF-1", "status": "accepted"}}


@pytest.mark.parametrize(
    ("tool", "kind"),
    [("search_inventory", "item"), ("search_catalog", "product"), ("search_directory", "employee")],
)
def test_a_word_for_the_whole_stands_for_the_things_in_it(tool, kind):
    world = World.from_initial_state(
        {
            kind: {"a-1": {"name": "Blue mug"}, "a-2": {"name": "Red cup"}},
            "order": {"o-1": {"status": "paid"}},
        }
    )
    (declared,) = parse_tools_schema(
        [{"name": tool, "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}}}]
    )
    reply = build_simulator((declared,), world=world).answer(
        tool, {"query": "mug"}, Ledger(world), Moment(seed="s", call_number=1, now="2026-05-01T12:00:00Z")
    )
    assert (reply.status, [hit["name"] for hit in reply.response]) == (200, ["Blue mug"])
