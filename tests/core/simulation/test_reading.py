"""Plans read from names, schemas and the seeded world alone, over invented backends of several trades."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from invented_backends import (
    AIRLINE,
    ALL,
    BANK,
    DEVOPS,
    HOTEL,
    HR,
    LIBRARY,
    NOTHING,
    TELECOM,
    Backend,
    tool,
)

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import plural, singular, tokens
from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.domain.shapes import survey
from pipelines.core.simulation.domain.tool_names import kind_of_tool, read_tool_name
from pipelines.core.simulation.domain.verbs import OP_OF_VERB
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.reading.assemble import read_plan, survey_for
from pipelines.core.simulation.reading.tool_reading import read_description
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

NOW = "2026-01-15T10:30:00Z"


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


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    backend: Backend
    tool: str
    arguments: JsonObject
    answers: Any = ...  # the whole response
    has: JsonObject | None = None  # part of the response
    sets: JsonObject | None = None  # the attributes that the first update sets
    adds: tuple[str, str] | None = None  # type and id of what is added
    removes: tuple[str, str] | None = None
    fails: tuple[int, str] | None = None


def case(name: str, backend: Backend, tool_name: str, arguments: JsonObject, **expected: Any) -> Case:
    return Case(name=name, backend=backend, tool=tool_name, arguments=arguments, **expected)


LINE = {"customer_id": "C1", "line_id": "L1"}
DUNE = {"title": "Dune", "author": "Herbert", "year": 1965, "tags": ["sf"]}

CASES = [
    # one record by id
    case("by id", AIRLINE, "get_reservation_details", {"reservation_id": "ZX1"}, has={"cabin": "economy"}),
    case(
        "unknown id",
        AIRLINE,
        "get_reservation_details",
        {"reservation_id": "nope"},
        fails=(404, "reservation_not_found"),
    ),
    case("a plural and an id is one", LIBRARY, "books_get", {"id": "b-1"}, answers=DUNE),
    case("an id without its prefix", LIBRARY, "books_get", {"id": "1"}, answers=DUNE),
    case("an id as a tag", LIBRARY, "books_get", {"id": "#B1"}, answers=DUNE),
    case("a map inside a service", DEVOPS, "get_service", {"service_id": "web"}, has={"replicas": 2}),
    case("not in the map", DEVOPS, "get_service", {"service_id": "x"}, fails=(404, "service_not_found")),
    case("any type by id", TELECOM, "get_details_by_id", {"id": "L1"}, has={"line_id": "L1"}),
    case("no type by id", TELECOM, "get_details_by_id", {"id": "zz"}, fails=(404, "not_found")),
    # one record by its fields
    case(
        "by a field",
        TELECOM,
        "get_customer_by_phone",
        {"phone_number": "555-3003"},
        has={"customer_id": "C2"},
    ),
    case(
        "by name in any case, and initials",
        TELECOM,
        "get_customer_by_name",
        {"full_name": "john SMITH", "dob": "1985-06-15"},
        has={"customer_id": "C1"},
    ),
    case(
        "no such fields",
        TELECOM,
        "get_customer_by_name",
        {"full_name": "John Smith", "dob": "1999-01-01"},
        fails=(404, "customer_not_found"),
    ),
    # parts of a record
    case("a part", HOTEL, "get_booking_status", {"booking_id": "bk-002"}, answers="CANCELLED"),
    case("a balance", BANK, "get_balance", {"account_id": "acc-1"}, answers=100.0),
    # values of a service
    case("an object of a service", DEVOPS, "getQuota", {}, answers={"cpu": 8, "memory_gb": 32}),
    case(
        "a list of a service", DEVOPS, "get_allowed_hosts", {}, answers={"allowed_hosts": ["a.example.com"]}
    ),
    # lists and searches
    case(
        "equality",
        LIBRARY,
        "findBooks",
        {"author": "austen"},
        answers=[{"id": "b-2", **LIBRARY.state["book"]["b-2"]}],
    ),
    case("no argument, all", LIBRARY, "count_books", {}, answers={"count": 3}),
    case(
        "at least",
        HR,
        "listEmployees",
        {"salary_gte": 6000},
        answers=[{"id": "E-01", **HR.state["employee"]["E-01"]}],
    ),
    case(
        "at most and limit",
        LIBRARY,
        "findBooks",
        {"maxYear": 1965, "limit": 1},
        answers=[{"id": "b-1", **DUNE}],
    ),
    case("words, sorted", LIBRARY, "search_books", {"query": "dune", "sort_by": "-year"}, has=None),
    case("no hit", LIBRARY, "search_books", {"query": "sense sensibility"}, answers=[]),
    case(
        "through a reference",
        LIBRARY,
        "list_loans_for_member",
        {"member_id": "m-7"},
        answers=[{"id": "l-10", **LIBRARY.state["loan"]["l-10"]}],
    ),
    case("of nobody", LIBRARY, "list_loans_for_member", {"member_id": "x"}, fails=(404, "member_not_found")),
    case(
        "of an owner",
        TELECOM,
        "get_bills_for_customer",
        {"customer_id": "C1"},
        answers=[TELECOM.state["bill"]["B1"]],
    ),
    case(
        "not of that date",
        AIRLINE,
        "search_direct_flight",
        {"origin": "PHL", "destination": "LGA", "date": "x"},
        answers=[],
    ),
    case("nothing of the kind", AIRLINE, "list_all_airports", {}, answers=[]),
    # the shape of a reply
    case(
        "properties in another spelling",
        HOTEL,
        "get_room",
        {"room_number": "101"},
        answers={"roomNumber": "101", "rate": 80.0, "is_free": True},
    ),
    case(
        "a list of shapes",
        HOTEL,
        "list_rooms",
        {"max_rate": 100},
        answers=[{"roomNumber": "101", "rate": 80.0, "is_free": True}],
    ),
    case(
        "a list in an object, counted",
        HOTEL,
        "search_rooms",
        {"kind": "Double"},
        answers={"rooms": [{"roomNumber": "102", "rate": 120.5, "is_free": False}], "total": 1},
    ),
    case(
        "an object in an object",
        HOTEL,
        "cancel_booking",
        {"booking_id": "bk-001"},
        answers={"booking_id": "bk-001", "status": "CANCELLED", "guest": {"name": "Ida"}, "success": True},
    ),
    case(
        "a removal",
        HOTEL,
        "delete_booking",
        {"booking_id": "bk-001"},
        answers={"deleted": True},
        removes=("booking", "bk-001"),
    ),
    # creating
    case(
        "fields and defaults",
        AIRLINE,
        "book_reservation",
        {"user_id": "ann_1", "origin": "A", "destination": "B", "cabin": "first"},
        adds=("reservation", "ZX2"),
        has={"created_at": "2026-01-15T10:30:00", "passengers": [], "status": None},
    ),
    case(
        "for nobody",
        AIRLINE,
        "book_reservation",
        {"user_id": "x", "origin": "A", "destination": "B", "cabin": "c"},
        fails=(404, "user_not_found"),
    ),
    case(
        "the next id and the first state",
        LIBRARY,
        "create_loan",
        {"book_id": "b-2", "member_id": "m-7"},
        adds=("loan", "l-11"),
        has={"status": "active", "book_id": "b-2"},
    ),
    case(
        "a reservation of a book is no book",
        LIBRARY,
        "reserve_book",
        {"book_id": "b-1", "member_id": "m-7"},
        adds=("reservation", "1"),
    ),
    case(
        "a counter gives the id",
        DEVOPS,
        "create_deployment",
        {"service": "web"},
        adds=("cluster_deployments", "3"),
        has={"id": 3, "status": "Pending", "created_by": "root"},
    ),
    case(
        "the first of an empty list",
        DEVOPS,
        "create_incident",
        {"title": "t"},
        has={"title": "t", "severity": 2, "status": "Open", "created_by": "root"},
    ),
    case(
        "a declared type",
        HR,
        "submit_leave_request",
        {"employee_id": "E-07", "days": 2},
        adds=("leave_request", "LR-2"),
        has={"status": "pending"},
    ),
    case(
        "a type that is not declared",
        HR,
        "create_review",
        {"employee_id": "E-07", "score": 3},
        fails=(501, "not_simulated"),
    ),
    # changing fields
    case(
        "a list as a whole",
        AIRLINE,
        "update_reservation_passengers",
        {"reservation_id": "ZX1", "passengers": []},
        sets={"passengers": []},
    ),
    case(
        "several fields",
        AIRLINE,
        "update_reservation_baggages",
        {"reservation_id": "ZX1", "total_baggages": 2, "nonfree_baggages": 1},
        sets={"total_baggages": 2, "nonfree_baggages": 1},
    ),
    case("only what is given", LIBRARY, "update_book", {"book_id": "b-1", "year": 1966}, sets={"year": 1966}),
    case(
        "new_ before the field",
        LIBRARY,
        "rename_book",
        {"book_id": "b-1", "new_title": "X"},
        sets={"title": "X"},
    ),
    case(
        "inside an object",
        HOTEL,
        "update_guest_email",
        {"booking_id": "bk-001", "email": "n@e"},
        sets={"guest": {"name": "Ida", "email": "n@e"}},
    ),
    case(
        "a bag of changes",
        HR,
        "modify_employee",
        {"employee_id": "E-07", "updates": {"salary": 1}},
        sets={"salary": 1},
    ),
    case(
        "more of something", TELECOM, "refuel_data", {**LINE, "gb_amount": 2}, sets={"data_refueling_gb": 2}
    ),
    case(
        "more, but less than nothing",
        TELECOM,
        "refuel_data",
        {**LINE, "gb_amount": -2},
        fails=(400, "invalid_amount"),
    ),
    # changing state
    case("to a known state", TELECOM, "suspend_line", LINE, sets={"status": "Suspended"}),
    case(
        "already there",
        TELECOM,
        "suspend_line",
        {"customer_id": "C1", "line_id": "L2"},
        fails=(409, "already_suspended"),
    ),
    case(
        "another's",
        TELECOM,
        "suspend_line",
        {"customer_id": "C2", "line_id": "L1"},
        fails=(404, "line_not_found"),
    ),
    case(
        "back to work",
        TELECOM,
        "resume_line",
        {"customer_id": "C1", "line_id": "L2"},
        sets={"status": "Active"},
    ),
    case(
        "back to whatever work is called",
        BANK,
        "unfreeze_account",
        {"account_id": "acc-2"},
        sets={"status": "open"},
    ),
    case("a switch", TELECOM, "enable_roaming", LINE, sets={"roaming_enabled": True}),
    case("a switch that is off", TELECOM, "disable_roaming", LINE, fails=(409, "already_disabled")),
    case(
        "with a reason",
        HOTEL,
        "cancel_booking",
        {"booking_id": "bk-001", "reason": "ill"},
        sets={"status": "CANCELLED", "cancel_reason": "ill"},
    ),
    case("in a final state", DEVOPS, "deployment_cancel", {"deployment_id": 1}, fails=(409, "cannot_cancel")),
    case(
        "with its time",
        HOTEL,
        "check_in",
        {"booking_id": "bk-001"},
        sets={"status": "CHECKED_IN", "checked_in_at": NOW},
    ),
    case("verb last", DEVOPS, "deployment_cancel", {"deployment_id": 2}, sets={"status": "Cancelled"}),
    case("of an enum", HR, "approve_leave_request", {"request_id": "LR-1"}, sets={"status": "approved"}),
    case("of a loan", LIBRARY, "return_book", {"loan_id": "l-10"}, sets={"status": "returned"}),
    # taking away
    case("what is not there", LIBRARY, "delete_loan", {"loan_id": "l-99"}, fails=(404, "loan_not_found")),
    # plain lists
    case(
        "into a list",
        DEVOPS,
        "add_to_allowed_hosts",
        {"host": "b"},
        sets={"allowed_hosts": ["a.example.com", "b"]},
    ),
    case(
        "into it twice",
        DEVOPS,
        "add_to_allowed_hosts",
        {"host": "a.example.com"},
        answers={"allowed_hosts": ["a.example.com"]},
    ),
    case(
        "out of it",
        DEVOPS,
        "remove_from_allowed_hosts",
        {"host": "a.example.com"},
        sets={"allowed_hosts": []},
    ),
    case("not in it", DEVOPS, "remove_from_allowed_hosts", {"host": "b"}, fails=(404, "host_not_found")),
    case(
        "into a record's list",
        LIBRARY,
        "add_tag_to_book",
        {"book_id": "b-2", "tag": "old"},
        sets={"tags": ["old"]},
    ),
    # money
    case(
        "decimal sums",
        BANK,
        "deposit_to_account",
        {"account_id": "acc-2", "amount": 0.2},
        sets={"balance": 0.3},
    ),
    case(
        "too much",
        BANK,
        "withdraw_from_account",
        {"account_id": "acc-1", "amount": 500},
        fails=(409, "not_enough"),
    ),
    case(
        "less than nothing",
        BANK,
        "withdraw_from_account",
        {"account_id": "acc-1", "amount": -5},
        fails=(400, "invalid_amount"),
    ),
    # sessions, arithmetic, people
    case("logout", DEVOPS, "cluster_logout", {}, sets={"current_user": None, "authenticated": False}),
    case("login status", DEVOPS, "cluster_get_login_status", {}, answers={"status": True}),
    case("a mean", DEVOPS, "mean", {"numbers": [1, 2]}, answers={"result": 1.5}),
    case("by zero", DEVOPS, "divide", {"a": 1, "b": 0}, fails=(400, "division_by_zero")),
    case("an expression", HR, "calculate", {"expression": "(1 + 2) * 0.1"}, answers=0.3),
    case("no expression", HR, "calculate", {"expression": "import os"}, fails=(400, "invalid_expression")),
    case(
        "handing over", AIRLINE, "transfer_to_human_agents", {"summary": "s"}, answers="Transfer successful"
    ),
    case("thinking", AIRLINE, "think", {"thought": "hm"}, answers=""),
    case(
        "verifying",
        TELECOM,
        "verify_customer",
        {"customer_id": "C1", "date_of_birth": "1985-06-15"},
        answers={"verified": True},
    ),
    case(
        "verifying wrongly",
        TELECOM,
        "verify_customer",
        {"customer_id": "C1", "date_of_birth": "x"},
        answers={"verified": False},
    ),
    # a world without anything
    case(
        "made from nothing",
        NOTHING,
        "create_task",
        {"title": "t"},
        adds=("task", "1"),
        has={"status": "open"},
    ),
    case("read from nothing", NOTHING, "get_task", {"task_id": "1"}, fails=(404, "task_not_found")),
    case("listed from nothing", NOTHING, "list_tasks", {"status": "open"}, answers=[]),
    case(
        "changed from nothing",
        NOTHING,
        "update_task",
        {"task_id": "1", "title": "t"},
        fails=(404, "task_not_found"),
    ),
    case("finished from nothing", NOTHING, "complete_task", {"task_id": "1"}, fails=(404, "task_not_found")),
    case("deleted from nothing", NOTHING, "delete_task", {"task_id": "1"}, fails=(404, "task_not_found")),
    case(
        "a verb nobody knows changes nothing",
        NOTHING,
        "frobnicate_widget",
        {"size": 1},
        fails=(404, "widget_not_found"),
    ),
    case(
        "a verb nobody knows, of a record, only reads it",
        LIBRARY,
        "shelve_book",
        {"book_id": "b-1"},
        has={"title": "Dune"},
    ),
    case(
        "a verb nobody knows, of no record",
        LIBRARY,
        "shelve_book",
        {"book_id": "b-9"},
        fails=(404, "book_not_found"),
    ),
    case("a message is kept", NOTHING, "send_email", {"to": "a", "body": "b"}, adds=("email", "1")),
    case("nothing is invented", NOTHING, "get_weather", {"city": "Oslo"}, fails=(404, "weather_not_found")),
]


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


@pytest.mark.parametrize(
    ("name", "verb", "nouns"),
    [
        ("getOrderDetails", "get", ("order", "details")),
        ("orders_get", "get", ("orders",)),
        ("invoice.void", "void", ("invoice",)),
        ("trading_get_login_status", "get", ("login", "status")),
        ("message_login", "login", ("message",)),
        ("log_in_user", "login", ("user",)),
        ("post_tweet", "post", ("tweet",)),
        ("order_pizza", "order", ("pizza",)),
        ("list-all-airports", "list", ("airports",)),
        ("remove_stock_from_watchlist", "remove", ("stock",)),
        ("HTTPRequestSend", "send", ("http", "request")),
    ],
)
def test_takes_a_tool_name_apart(name: str, verb: str, nouns: tuple[str, ...]) -> None:
    read = read_tool_name(name)
    assert (read.verb, read.nouns) == (verb, nouns)


def test_a_name_without_a_verb_borrows_it_from_the_description() -> None:
    assert read_tool_name("order_status", "Retrieves the status of an order.").verb == "retrieve"
    assert read_tool_name("frobnicate_order", "Frobnicates it.").op is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("get_order", "read"),
        ("search_flights", "search"),
        ("square_root", "computed"),
        ("cancel_order", "write"),
        ("zap_order", "read"),  # by default
    ],
)
def test_the_kind_of_a_tool(name: str, kind: str) -> None:
    assert kind_of_tool(name) == kind


@pytest.mark.parametrize(
    ("one", "many"),
    [("order", "orders"), ("entry", "entries"), ("bus", "buses"), ("person", "people"), ("box", "boxes")],
)
def test_singular_and_plural(one: str, many: str) -> None:
    assert (singular(many), plural(one)) == (one, many)


@pytest.mark.parametrize("word", ["status", "address", "process", "news", "details"])
def test_what_only_looks_plural_stays(word: str) -> None:
    assert singular(word) == word


@pytest.mark.parametrize(
    ("verb", "done"), [("cancel", "cancelled"), ("close", "closed"), ("deny", "denied"), ("send", "sent")]
)
def test_participles(verb: str, done: str) -> None:
    assert participle(verb) == done


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=1, max_size=4))
def test_words_of_a_name_survive_any_spelling(words: list[str]) -> None:
    assert tokens("_".join(words)) == tokens("-".join(words)) == tokens(".".join(words)) == tuple(words)


SAID: list[tuple[str, str, Any]] = [
    ("the order status will be changed to 'return requested'.", "becomes", "return requested"),
    ('Its status becomes "on hold".', "becomes", "on hold"),
    (
        "If the order is already processed or delivered, it cannot be cancelled.",
        "forbidden_states",
        ("processed", "delivered"),
    ),
    ("the payment will be refunded.", "refunds", True),
    ("Cancel an order.", "becomes", None),
    ("Get the status of all orders.", "becomes", None),
]


@pytest.mark.parametrize(("sentence", "part", "value"), SAID)
def test_what_a_description_says(sentence: str, part: str, value: Any) -> None:
    assert getattr(read_description(sentence), part) == value


def test_a_survey_tells_tables_services_and_collections_apart() -> None:
    known = survey(World.from_initial_state(DEVOPS.state))
    assert list(known.tables) == ["cluster_deployments"]
    assert [one.entity_type for one in known.singletons] == ["cluster"]
    inside = {one.path: (one.form, one.of_records, one.is_empty) for one in known.collections if one.path}
    assert inside == {
        ("services",): ("map", True, False),
        ("incidents",): ("list", False, True),
        ("allowed_hosts",): ("list", False, False),
    }


JSON_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab_1#", max_size=4)


@settings(deadline=None, max_examples=40)  # forty tools are read for each world
@given(
    st.dictionaries(
        st.sampled_from(["order", "user", "shop"]),
        st.dictionaries(
            st.sampled_from(["self", "1", "o-2"]),
            st.dictionaries(
                st.sampled_from(["id", "status", "orders", "order_counter", "tags"]),
                JSON_SCALARS
                | st.lists(JSON_SCALARS, max_size=2)
                | st.dictionaries(st.sampled_from(["1", "a"]), JSON_SCALARS | st.just({"id": 1}), max_size=2),
                max_size=3,
            ),
            max_size=2,
        ),
        max_size=2,
    )
)
def test_any_world_can_be_read_for_any_tool(state: dict[str, Json]) -> None:
    world = World.from_initial_state(state)
    for backend in (LIBRARY, DEVOPS, NOTHING):
        known = survey_for(backend.tools, world=world)
        for one in backend.tools:
            found = read_plan(one, tools=backend.tools, world=world, known=known)
            parse_plan(list(found.body), origin="read")


_WORDS = st.sampled_from(
    [
        *sorted(OP_OF_VERB)[::7],
        "order",
        "books",
        "id",
        "status",
        "by",
        "to",
        "class",
        "args",
        "sum",
        "self",
        "x",
    ]
)
_SCHEMAS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a b": {"type": "string"}, "status": {}}},
        {"type": "string", "default": "it's"},
        {},
    ]
)
_OUTPUTS = st.sampled_from(
    [
        None,
        {"type": "boolean"},
        {"type": "array", "items": {"type": "object", "properties": {"id": {}, "x y": {"type": "string"}}}},
        {"type": "object", "properties": {"books": {"type": "array"}, "class": {"type": "string"}}},
    ]
)


@settings(deadline=None)  # each example reads a whole tool set
@given(
    st.lists(_WORDS, min_size=1, max_size=4).map("_".join),
    st.sampled_from(
        ["", 'Can only be called once. The status will be changed to "it\'s {done}". Refunds the payment.']
    ),
    st.dictionaries(
        st.lists(_WORDS, min_size=1, max_size=2).map("_".join) | st.text(max_size=5), _SCHEMAS, max_size=3
    ),
    _OUTPUTS,
    st.sampled_from(sorted(ALL)),
)
def test_any_tool_can_be_read_over_any_world(
    name: str, says: str, arguments: dict[str, Any], output: JsonObject | None, trade: str
) -> None:
    schema: JsonObject = {"type": "object", "properties": arguments, "required": list(arguments)[:1]}
    strange = Tool(name=name, description=says, input_schema=schema, output_schema=output)
    backend = ALL[trade]
    world = World.from_initial_state(backend.state)
    found = read_plan(strange, tools=(*backend.tools, strange), world=world)
    parse_plan(list(found.body), origin="read", argument_names=arguments)


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
