"""Which type a tool is about, what its replies are made of: decided by the data, whatever the labels are."""

from typing import Any

import pytest
from invented_backends import tool

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool

NOW = "2026-01-15T10:30:00Z"


def answer(
    state: JsonObject,
    tools: list[Tool],
    name: str,
    arguments: JsonObject,
    schema: Json = None,
    number: int = 1,
) -> SimulatedReply:
    world = World.from_initial_state(state)
    declared = parse_ledger_schema(schema) if schema is not None else None
    simulator = build_simulator(tools, world=world, ledger_schema=declared)
    return simulator.answer(name, arguments, Ledger(world), Moment(seed="s", call_number=number, now=NOW))


def shape(**properties: str) -> JsonObject:
    """An output schema: names and types, all of them required."""
    parts: JsonObject = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": parts, "required": list(properties)}


FIRMS: JsonObject = {
    "firm": {
        "77": {"name": "Acme", "industry": "tools"},
        "78": {"name": "Bolt", "industry": "cars"},
    },
    "contact": {"c-1": {"name": "Ann", "company_id": "77"}, "c-2": {"name": "Bo", "company_id": "78"}},
}
STAYS: JsonObject = {
    "reservation": {
        "R1": {"guest": "Ann", "nights": 2, "status": "confirmed"},
        "R2": {"guest": "Bo", "nights": 1, "status": "cancelled"},
    },
    "room": {"101": {"beds": 2}},
}
PURCHASES: JsonObject = {
    "purchase": {"p-1": {"total": 5, "state": "open"}, "p-2": {"total": 7, "state": "cancelled"}},
    "client": {"k-1": {"name": "Ann"}},
}
STOCK: JsonObject = {
    "stock_entry": {
        "e1": {"warehouse": "north", "sku": "A", "quantity": 4},
        "e2": {"warehouse": "south", "sku": "A", "quantity": 0},
    },
    "carrier": {"ups": {"name": "UPS"}},
}


@pytest.mark.parametrize(
    ("state", "tools", "name", "arguments", "expected"),
    [
        (
            FIRMS,
            [tool("get_company", company_id="text")],
            "get_company",
            {"company_id": "77"},
            {"name": "Acme", "industry": "tools"},
        ),
        (
            STAYS,
            [tool("get_booking", output=shape(guest="string", nights="integer"), booking_id="text")],
            "get_booking",
            {"booking_id": "R1"},
            {"guest": "Ann", "nights": 2},
        ),
        (
            STOCK,
            [tool("search_inventory", warehouse_="text", sku_="text")],
            "search_inventory",
            {"warehouse": "north"},
            [{"id": "e1", "warehouse": "north", "sku": "A", "quantity": 4}],
        ),
    ],
    ids=["a reference elsewhere names it", "its fields are the reply's", "its fields are the arguments'"],
)
def test_a_read_finds_the_type_that_is_meant(
    state: JsonObject, tools: list[Tool], name: str, arguments: JsonObject, expected: Json
) -> None:
    assert answer(state, tools, name, arguments).response == expected


def test_a_change_finds_the_type_whose_states_the_verb_leads_to() -> None:
    reply = answer(PURCHASES, [tool("cancel_order", order_id="text")], "cancel_order", {"order_id": "p-1"})
    [update] = reply.updates
    assert update.as_json() == {
        "op": "update",
        "entity_type": "purchase",
        "id": "p-1",
        "set": {"state": "cancelled"},
        "unset": [],
    }


def test_the_noun_of_the_tools_is_in_the_error_not_the_label() -> None:
    reply = answer(FIRMS, [tool("get_company", company_id="text")], "get_company", {"company_id": "99"})
    assert (reply.status, reply.response["error"]["code"]) == (404, "company_not_found")  # type: ignore[index,call-overload]


def test_the_evidence_is_told() -> None:
    tools = [tool("get_company", company_id="text")]
    known = survey_for(tools, world=World.from_initial_state(FIRMS))
    [meaning] = [one for one in known.meanings if one.noun == ("company",)]
    assert meaning.entity_type == "firm"
    assert meaning.reasons == ("`contact.company_id` holds its ids",)


def test_a_thing_that_shares_no_data_with_any_type_stays_a_thing_of_its_own() -> None:
    tools = [tool("create_ticket", subject="text"), tool("get_ticket", ticket_id="text")]
    reply = answer(FIRMS, tools, "create_ticket", {"subject": "hi"})
    assert [update.as_json()["entity_type"] for update in reply.updates] == ["ticket"]


def test_where_nothing_tells_two_types_apart_the_id_does() -> None:
    state: JsonObject = {"aa": {"X-1": {"note": "one"}}, "bb": {"Y-1": {"note": "two"}}}
    tools = [tool("get_parcel", parcel_id="text"), tool("get_truck", truck_id="text")]
    found = answer(state, tools, "get_truck", {"truck_id": "Y-1"})
    assert (found.response, found.notes) == (
        {"note": "two"},
        ("nothing says of what `truck_id` is the id: whatever has it is answered",),
    )
    missing = answer(state, tools, "get_parcel", {"parcel_id": "X-9"})
    assert (missing.status, missing.response["error"]["code"]) == (404, "parcel_not_found")  # type: ignore[index,call-overload]


def test_money_leaves_one_account_and_reaches_the_other() -> None:
    state: JsonObject = {"acct": {"a": {"balance": 50}, "b": {"balance": 5}}, "card": {"c": {"account": "a"}}}
    tools = [tool("transfer_funds", "Moves money.", from_account="text", to_account="text", amount="number")]
    arguments: JsonObject = {"from_account": "a", "to_account": "b", "amount": 20}
    updates = [update.as_json() for update in answer(state, tools, "transfer_funds", arguments).updates]
    assert [(one["id"], one["set"]) for one in updates] == [("a", {"balance": 30}), ("b", {"balance": 25})]
    short = answer(state, tools, "transfer_funds", arguments | {"amount": 51})
    assert (short.status, short.updates) == (409, ())


def test_a_link_narrows_a_list_whatever_the_field_is_called() -> None:
    state: JsonObject = {
        "person": {"c1": {"name": "Ann", "segment": "gold"}, "c2": {"name": "Bo", "segment": "tin"}},
        "account": {"a1": {"owner": "c1"}, "a2": {"owner": "c2"}},
    }
    tools = [
        tool("list_accounts", customer_id="text"),
        tool("set_customer_segment", customer_id="text", segment="text"),
    ]
    reply = answer(state, tools, "list_accounts", {"customer_id": "c2"})
    assert reply.response == [{"id": "a2", "owner": "c2"}]


@pytest.mark.parametrize("field", ["company_id", "company", "employer", "works_for"])
def test_a_field_that_calls_a_type_otherwise_says_nothing_against_it(field: str) -> None:
    state: JsonObject = {"firm": FIRMS["firm"], "person": {"p-1": {"name": "Ann", field: "77"}}}
    found = answer(state, [tool("get_company", company_id="text")], "get_company", {"company_id": "77"})
    assert found.response == {"name": "Acme", "industry": "tools"}


@pytest.mark.parametrize("caller", ["userId", "user_id", "buyer_id", "as_user"])
def test_who_calls_is_no_new_value_of_the_record(caller: str) -> None:
    """Nothing in this world is cancelled yet, and every order has its buyer: the verb says what changes."""
    state: JsonObject = {
        "order": {"o1": {"status": "paid", "buyer_id": "u1"}, "o2": {"status": "shipped", "buyer_id": "u2"}},
        "user": {"u1": {"name": "Ann"}, "u2": {"name": "Bo"}},
    }
    declared = tool("cancel_order", "Cancels an order.", order_id="text", **{caller: "text"})
    [update] = answer(state, [declared], "cancel_order", {"order_id": "o1", caller: "u1"}).updates
    changed: Any = update.as_json()["set"]
    assert (changed["status"], "buyer_id" in changed) == ("cancelled", False)


@pytest.mark.parametrize(
    ("given", "prices"), [({"warehouse_id": "w1"}, [5, 1]), ({"warehouse_id": "w2"}, [3])]
)
def test_what_records_keep_is_listed_of_one_of_them_where_its_id_is_given(
    given: JsonObject, prices: list[int]
) -> None:
    state: JsonObject = {
        "warehouse": {
            "w1": {"city": "Graz", "items": [{"sku": "a", "price": 5}, {"sku": "b", "price": 1}]},
            "w2": {"city": "Linz", "items": [{"sku": "c", "price": 3}]},
        }
    }
    listed: Any = answer(state, [tool("list_items", warehouse_id_="text")], "list_items", given).response
    assert [one["price"] for one in listed] == prices


# -- output schemas


NUMBERED: JsonObject = {"order": {"4521": {"status": "paid", "zip": "01020", "units": "3", "size": 9}}}


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"order_id": "integer", "status": "string"}, {"order_id": 4521, "status": "paid"}),
        ({"id": "integer"}, {"id": 4521}),
        ({"order_id": "string"}, {"order_id": "4521"}),
        ({"units": "integer"}, {"units": 3}),
        ({"size": "string"}, {"size": "9"}),
    ],
    ids=["the id", "the bare id", "an id that is text", "a number in text", "a number as text"],
)
def test_values_are_converted_to_the_declared_type(properties: dict[str, str], expected: Json) -> None:
    declared = tool("get_order", output=shape(**properties), order_id="whole")
    reply = answer(NUMBERED, [declared], "get_order", {"order_id": 4521})
    assert reply.response == expected
    assert declared.response_problems(reply.response) == []


def test_nothing_is_converted_where_something_would_be_lost() -> None:
    declared = tool("get_order", output=shape(zip="integer"), order_id="whole")
    assert answer(NUMBERED, [declared], "get_order", {"order_id": 4521}).response == {"zip": "01020"}


def test_lists_and_new_records_have_ids_of_the_declared_type_too() -> None:
    items: JsonObject = {"type": "array", "items": shape(order_id="integer", status="string")}
    tools = [
        tool("list_orders", output={"type": "object", "properties": {"orders": items}}),
        tool("create_order", output=shape(order_id="integer"), size="whole"),
    ]
    assert answer(NUMBERED, tools, "list_orders", {}).response == {
        "orders": [{"order_id": 4521, "status": "paid"}]
    }
    assert answer(NUMBERED, tools, "create_order", {"size": 2}).response == {"order_id": 4522}


def test_a_required_field_that_the_world_lacks_is_drawn_from_the_seed_and_noted() -> None:
    declared = tool("get_order", output=shape(status="string", carrier="string"), order_id="text")
    first = answer(NUMBERED, [declared], "get_order", {"order_id": "4521"})
    later = answer(NUMBERED, [declared], "get_order", {"order_id": "4521"}, number=7)
    assert first.response == later.response
    assert declared.response_problems(first.response) == []
    assert first.response["carrier"]  # type: ignore[index,call-overload]
    assert first.notes == ("`carrier` is not in the world: its value is invented",)


SHOP_SCHEMA: JsonObject = {
    "entities": [
        {"type": "order", "id_field": "order_no", "fields": [{"name": "status", "type": "string"}]},
        {"type": "note", "id_field": "note_id"},
    ]
}


def test_the_id_field_of_a_ledger_schema_is_the_id() -> None:
    state: JsonObject = {"order": {"k1": {"order_no": "A-1", "status": "open"}}}
    tools = [tool("get_order", order_no="text"), tool("close_order", order_no="text")]
    found = answer(state, tools, "get_order", {"order_no": "A-1"}, SHOP_SCHEMA)
    assert found.response == {"order_no": "A-1", "status": "open"}
    [update] = answer(state, tools, "close_order", {"order_no": "A-1"}, SHOP_SCHEMA).updates
    assert update.as_json()["id"] == "k1"


def test_the_id_field_stands_in_lists_where_the_attributes_leave_it_out() -> None:
    state: JsonObject = {"order": {"A-1": {"status": "open"}}}
    reply = answer(state, [tool("list_orders")], "list_orders", {}, SHOP_SCHEMA)
    assert reply.response == [{"order_no": "A-1", "status": "open"}]


# -- what no world keeps


WEATHER = tool(
    "get_weather", output=shape(city="string", temperature="number", summary="string"), city="text"
)


def test_what_no_world_keeps_is_invented_in_the_shape_declared_and_alike_for_like_arguments() -> None:
    first = answer(FIRMS, [WEATHER], "get_weather", {"city": "Oslo"})
    again = answer(FIRMS, [WEATHER], "get_weather", {"city": "Oslo"}, number=5)
    other = answer(FIRMS, [WEATHER], "get_weather", {"city": "Rome"})
    assert first.status == 200
    assert WEATHER.response_problems(first.response) == []
    assert first.response["city"] == "Oslo"  # type: ignore[index,call-overload]
    assert first.response == again.response
    assert first.response != other.response
    assert first.updates == ()


def test_an_invented_reply_says_so() -> None:
    reply = answer(FIRMS, [WEATHER], "get_weather", {"city": "Oslo"})
    assert any("invented" in note for note in reply.notes)


def test_an_id_that_nothing_has_is_still_not_found() -> None:
    declared = tool("get_parcel", output=shape(parcel_id="string", weight="number"), parcel_id="text")
    assert answer(FIRMS, [declared], "get_parcel", {"parcel_id": "x"}).status == 404


# -- one place for a state


NESTED: JsonObject = {
    "order": {
        "1": {"total": 5, "fulfillment": {"status": "pending", "carrier": None}},
        "2": {"total": 6, "fulfillment": {"status": "cancelled", "carrier": None}},
    }
}


def test_a_state_inside_an_object_is_checked_and_changed_there() -> None:
    tools = [tool("cancel_order", order_id="text")]
    done = answer(NESTED, tools, "cancel_order", {"order_id": "1"})
    [update] = done.updates
    changed: Any = update.as_json()["set"]
    assert changed == {"fulfillment": {"status": "cancelled", "carrier": None}}
    refused = answer(NESTED, tools, "cancel_order", {"order_id": "2"})
    assert (refused.status, refused.updates) == (409, ())


def test_the_object_that_a_tool_speaks_of_keeps_the_state_that_is_meant() -> None:
    state: JsonObject = {
        "member": {"m1": {"status": "active", "pass": {"state": "active"}, "card": {"state": "frozen"}}}
    }
    tools = [tool("freeze_pass", member_id="text")]
    [update] = answer(state, tools, "freeze_pass", {"member_id": "m1"}).updates
    assert update.as_json()["set"] == {"pass": {"state": "frozen"}}
