"""A small gym for tests of behaviour texts: a world that no rule was written for, and its tools."""

from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

NOW = "2026-11-16T09:00:00Z"

STATE: JsonObject = {
    "member": {
        "m1": {"name": "Ada", "plan": "basic", "status": "active", "balance": 10, "age": 30},
        "m2": {"name": "Bo", "plan": "gold", "status": "frozen", "balance": -5, "age": 17},
    },
    "class": {
        "c1": {"title": "Yoga", "capacity": 10, "booked": 3, "starts_at": "2026-11-20", "level": "easy"},
        "c2": {"title": "Spin", "capacity": 2, "booked": 2, "starts_at": "2026-11-10", "level": "hard"},
    },
    "booking": {
        "b1": {"member_id": "m1", "class_id": "c1", "status": "active", "guests": 0},
        "b2": {"member_id": "m2", "class_id": "c2", "status": "cancelled", "guests": 1},
    },
    "locker": {
        "l1": {"size": "small", "status": "FREE", "member_id": None},
        "l2": {"size": "large", "status": "TAKEN", "member_id": "m1"},
        "l3": {"size": "small", "status": "OUT_OF_ORDER", "member_id": None},
    },
    "invoice": {
        "i1": {"member_id": "m1", "amount": 40, "status": "open", "paid_on": None, "reminders": 0},
        "i2": {"member_id": "m2", "amount": 60, "status": "paid", "paid_on": "2026-10-20", "reminders": 2},
    },
    "debit_card": {
        "d1": {"member_id": "m1", "status": "active", "e-mail": "ada@example.com"},
        "d2": {"member_id": "m2", "status": "blocked", "e-mail": "bo@example.com"},
    },
}  # fmt: skip


def tool(name: str, *arguments: str) -> JsonObject:
    """`tool("pay_invoice", "invoice_id", "reason?")`: a question mark marks an optional argument."""
    numbers = {"guests": "integer", "amount": "number", "capacity": "integer", "limit": "integer"}
    properties: JsonObject = {
        one.rstrip("?"): {"type": numbers.get(one.rstrip("?"), "string")} for one in arguments
    }
    required: list[Json] = [one for one in arguments if not one.endswith("?")]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": "", "input_schema": schema}


TOOLS: tuple[Tool, ...] = parse_tools_schema(
    [
        tool("book_class", "member_id", "class_id", "guests?"),
        tool("cancel_booking", "booking_id", "member_id", "reason?"),
        tool("freeze_membership", "member_id", "reason?"),
        tool("assign_locker", "locker_id", "member_id"),
        tool("release_locker", "locker_id"),
        tool("pay_invoice", "invoice_id", "member_id", "amount?"),
        tool("send_reminder", "invoice_id"),
        tool("list_classes", "status?", "limit?"),
        tool("upgrade_plan", "member_id", "plan?"),
        tool("refund_invoice", "invoice_id"),
        tool("set_class_capacity", "class_id", "capacity"),
        tool("replace_debit_card", "debit_card_id"),
    ]
)
