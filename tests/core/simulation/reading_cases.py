"""Calls of tools without a plan, and what they answer and change, over the invented backends."""

from dataclasses import dataclass
from typing import Any

from invented_backends import AIRLINE, BANK, DEVOPS, HOTEL, HR, LIBRARY, NOTHING, TELECOM, Backend

from pipelines.core.text.json_text import JsonObject

NOW = "2026-01-15T10:30:00Z"


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
