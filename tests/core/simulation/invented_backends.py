"""Invented tool sets and worlds of several trades: reading must generalise beyond any one of them."""

from dataclasses import dataclass, field
from typing import Any

from pipelines.core.ledger.ledger_schema import LedgerSchema, parse_ledger_schema
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import Tool

_TYPES: dict[str, JsonObject] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "number"}},
    "things": {"type": "array", "items": {"type": "object"}},
    "object": {"type": "object"},
}


def tool(name: str, says: str = "", /, output: JsonObject | None = None, **arguments: Any) -> Tool:
    """A tool; an argument whose name ends in `_` is optional, and a type is a word or a schema."""
    properties: JsonObject = {
        key.rstrip("_"): _TYPES[kind] if isinstance(kind, str) else kind for key, kind in arguments.items()
    }
    required = [key for key in arguments if not key.endswith("_")]
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name.replace(".", "_"), description=says, input_schema=schema, output_schema=output)


@dataclass(frozen=True, kw_only=True)
class Backend:
    state: JsonObject
    tools: tuple[Tool, ...]
    ledger_schema: LedgerSchema | None = field(default=None)


AIRLINE = Backend(
    state={
        "reservation": {
            "ZX1": {
                "reservation_id": "ZX1",
                "user_id": "ann_1",
                "origin": "SFO",
                "destination": "JFK",
                "cabin": "economy",
                "status": None,
                "total_baggages": 1,
                "nonfree_baggages": 0,
                "passengers": [{"first_name": "Ann", "last_name": "Lee"}],
                "created_at": "2024-05-01T10:00:00",
            }
        },
        "user": {
            "ann_1": {
                "user_id": "ann_1",
                "name": {"first_name": "Ann", "last_name": "Lee"},
                "email": "ann@example.com",
                "reservations": ["ZX1"],
            }
        },
        "flight": {
            "HAT001": {
                "flight_number": "HAT001",
                "origin": "PHL",
                "destination": "LGA",
                "dates": {"2024-05-16": {"status": "available"}, "2024-05-17": {"status": "landed"}},
            }
        },
    },
    tools=(
        tool("get_reservation_details", reservation_id="text"),
        tool("cancel_reservation", "Cancel the whole reservation.", reservation_id="text"),
        tool("update_reservation_passengers", reservation_id="text", passengers="things"),
        tool(
            "update_reservation_baggages",
            reservation_id="text",
            total_baggages="whole",
            nonfree_baggages="whole",
        ),
        tool("get_flight_status", flight_number="text", date="text"),
        tool("search_direct_flight", origin="text", destination="text", date="text"),
        tool("book_reservation", user_id="text", origin="text", destination="text", cabin="text"),
        tool("list_all_airports", "Returns all airports."),
        tool("think", "Think aloud.", thought="text"),
        tool("transfer_to_human_agents", summary="text"),
    ),
)

TELECOM = Backend(
    state={
        "customer": {
            "C1": {
                "customer_id": "C1",
                "full_name": "John Smith",
                "date_of_birth": "1985-06-15",
                "phone_number": "555-2002",
                "line_ids": ["L1", "L2"],
            },
            "C2": {
                "customer_id": "C2",
                "full_name": "Mia Wong",
                "date_of_birth": "1990-01-01",
                "phone_number": "555-3003",
                "line_ids": [],
            },
        },
        "line": {
            "L1": {"line_id": "L1", "status": "Active", "roaming_enabled": False, "data_refueling_gb": 0},
            "L2": {"line_id": "L2", "status": "Suspended", "roaming_enabled": True, "data_refueling_gb": 1},
        },
        "bill": {"B1": {"bill_id": "B1", "customer_id": "C1", "status": "Issued", "total_due": 30.0}},
    },
    tools=(
        tool("get_customer_by_phone", phone_number="text"),
        tool("get_customer_by_name", full_name="text", dob="text"),
        tool("get_details_by_id", "Retrieves the details for a given ID.", id="text"),
        tool("suspend_line", customer_id="text", line_id="text"),
        tool("resume_line", customer_id="text", line_id="text"),
        tool("enable_roaming", "Enables roaming on a line.", customer_id="text", line_id="text"),
        tool("disable_roaming", customer_id="text", line_id="text"),
        tool("refuel_data", customer_id="text", line_id="text", gb_amount="number"),
        tool("get_bills_for_customer", customer_id="text"),
        tool("verify_customer", customer_id="text", date_of_birth="text"),
    ),
)

LIBRARY = Backend(
    state={
        "book": {
            "b-1": {"title": "Dune", "author": "Herbert", "year": 1965, "tags": ["sf"]},
            "b-2": {"title": "Emma", "author": "Austen", "year": 1815, "tags": []},
            "b-3": {"title": "Dune Messiah", "author": "Herbert", "year": 1969, "tags": ["sf", "sequel"]},
        },
        "loan": {"l-10": {"book_id": "b-1", "member_id": "m-7", "status": "active"}},
        "member": {"m-7": {"name": "Zoe", "loans": ["l-10"]}},
    },
    tools=(
        tool("findBooks", title_="text", author_="text", minYear_="whole", maxYear_="whole", limit_="whole"),
        tool("books.get", id="text"),
        tool("search_books", query="text", sort_by_="text", offset_="whole"),
        tool("count_books"),
        tool("return_book", loan_id="text"),
        tool("create_loan", book_id="text", member_id="text"),
        tool("reserve_book", book_id="text", member_id="text"),
        tool("delete_loan", loan_id="text"),
        tool("update_book", book_id="text", title_="text", year_="whole"),
        tool("rename_book", book_id="text", new_title="text"),
        tool("list_loans_for_member", member_id="text"),
        tool("add_tag_to_book", book_id="text", tag="text"),
        tool("shelve_book", "Frobnicates a book.", book_id="text"),
    ),
)

_ROOM_OUT: JsonObject = {
    "type": "object",
    "properties": {
        "roomNumber": {"type": "string"},
        "rate": {"type": "number"},
        "is_free": {"type": "boolean"},
    },
    "required": ["roomNumber", "rate"],
}
_BOOKING_OUT: JsonObject = {
    "type": "object",
    "properties": {
        "booking_id": {"type": "string"},
        "status": {"type": "string"},
        "guest": {"type": "object", "properties": {"name": {"type": "string"}}},
        "success": {"type": "boolean"},
    },
    "required": ["booking_id", "status", "success"],
}
HOTEL = Backend(
    state={
        "room": {
            "101": {"room_number": "101", "rate": 80.0, "kind": "single", "is_free": True},
            "102": {"room_number": "102", "rate": 120.5, "kind": "double", "is_free": False},
        },
        "booking": {
            "bk-001": {
                "room_number": "102",
                "guest": {"name": "Ida", "email": "ida@example.com"},
                "status": "CONFIRMED",
                "checked_in_at": None,
            },
            "bk-002": {
                "room_number": "101",
                "guest": {"name": "Bo", "email": "bo@example.com"},
                "status": "CANCELLED",
                "checked_in_at": None,
            },
        },
    },
    tools=(
        tool("list_rooms", kind_="text", max_rate_="number", output={"type": "array", "items": _ROOM_OUT}),
        tool("get_room", room_number="text", output=_ROOM_OUT),
        tool(
            "search_rooms",
            kind="text",
            output={
                "type": "object",
                "properties": {"rooms": {"type": "array", "items": _ROOM_OUT}, "total": {"type": "integer"}},
                "required": ["rooms", "total"],
            },
        ),
        tool("cancel_booking", booking_id="text", reason_="text", output=_BOOKING_OUT),
        tool("check_in", "Check a guest in.", booking_id="text"),
        tool("get_booking_status", booking_id="text"),
        tool("update_guest_email", booking_id="text", email="text"),
        tool(
            "delete_booking",
            booking_id="text",
            output={
                "type": "object",
                "properties": {"deleted": {"type": "boolean"}},
                "required": ["deleted"],
            },
        ),
    ),
)

DEVOPS = Backend(
    state={
        "cluster": {
            "self": {
                "current_user": "root",
                "authenticated": True,
                "deployment_counter": 3,
                "services": {
                    "web": {"replicas": 2, "status": "Running"},
                    "db": {"replicas": 1, "status": "Running"},
                },
                "incidents": [],
                "maintenance_mode": False,
                "allowed_hosts": ["a.example.com"],
                "quota": {"cpu": 8, "memory_gb": 32},
            }
        },
        "cluster_deployments": {
            "1": {"id": 1, "service": "web", "status": "Completed", "created_by": "root"},
            "2": {"id": 2, "service": "db", "status": "Pending", "created_by": "eve"},
        },
    },
    tools=(
        tool("get_service", service_id="text"),
        tool("getQuota"),
        tool("get_allowed_hosts"),
        tool("add_to_allowed_hosts", host="text"),
        tool("remove_from_allowed_hosts", host="text"),
        tool("create_deployment", service="text"),
        tool("deployment.cancel", deployment_id="whole"),
        tool("get_user_deployments", "Get all deployments created by the current user.", status_="text"),
        tool("create_incident", title="text", severity_={"type": "integer", "default": 2}),
        tool("get_incident", incident_id="whole"),
        tool("resolve_incident", incident_id="whole"),
        tool("enable_maintenance_mode"),
        tool("cluster_logout"),
        tool("cluster_get_login_status"),
        tool("mean", "Calculate the mean of a list of numbers.", numbers="numbers"),
        tool("divide", a="number", b="number"),
    ),
)

HR = Backend(
    state={
        "employee": {
            "E-07": {
                "name": "Kim",
                "department": "Ops",
                "salary": 5000,
                "leave_days": 10,
                "manager_id": "E-01",
            },
            "E-01": {"name": "Lou", "department": "Ops", "salary": 9000, "leave_days": 5, "manager_id": None},
        },
        "leave_request": {"LR-1": {"employee_id": "E-07", "days": 3, "status": "pending"}},
    },
    tools=(
        tool("listEmployees", department_="text", salary_gte_="number"),
        tool("approve_leave_request", request_id="text"),
        tool(
            "reject_leave_request",
            "Reject a leave request. If the request is already approved, it cannot be rejected.",
            request_id="text",
            reason="text",
        ),
        tool("submit_leave_request", employee_id="text", days="whole"),
        tool(
            "modify_employee",
            employee_id="text",
            updates={
                "type": "object",
                "properties": {"name": {"type": "string"}, "salary": {"type": "number"}},
            },
        ),
        tool("create_review", employee_id="text", score="whole"),
        tool("calculate", expression="text"),
    ),
    ledger_schema=parse_ledger_schema(
        {
            "entities": [
                {"type": "employee", "id_field": "id", "fields": [{"name": "name", "type": "string"}]},
                {
                    "type": "leave_request",
                    "id_field": "id",
                    "fields": [
                        {"name": "status", "type": "string", "enum": ["pending", "approved", "rejected"]}
                    ],
                },
            ]
        }
    ),
)

BANK = Backend(
    state={
        "account": {
            "acc-1": {"owner": "Ann", "balance": 100.0, "transactions": [], "status": "open"},
            "acc-2": {"owner": "Bob", "balance": 0.1, "transactions": [], "status": "frozen"},
        }
    },
    tools=(
        tool("deposit_to_account", account_id="text", amount="number"),
        tool("withdraw_from_account", account_id="text", amount="number"),
        tool("unfreeze_account", account_id="text"),
        tool("get_balance", account_id="text"),
    ),
)

NOTHING = Backend(
    state={},
    tools=(
        tool("create_task", title="text", due_="text"),
        tool("get_task", task_id="text"),
        tool("list_tasks", status_="text"),
        tool("complete_task", task_id="text"),
        tool("update_task", task_id="text", title="text"),
        tool("delete_task", task_id="text"),
        tool("frobnicate_widget", size="whole"),
        tool("send_email", to="text", body="text"),
        tool("get_weather", city="text"),
    ),
)

ALL = {
    "airline": AIRLINE,
    "telecom": TELECOM,
    "library": LIBRARY,
    "hotel": HOTEL,
    "devops": DEVOPS,
    "hr": HR,
    "bank": BANK,
    "nothing": NOTHING,
}
