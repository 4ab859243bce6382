"""What tests of worlds share: the invented toolsets, and a small shop to bend."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.worlds.ground import Ground, ground_of
from pipelines.core.worlds.make_world import make_world
from pipelines.core.worlds.shapes import Toolset

NOW = "2026-05-01T12:00:00Z"
TRADES = ("clinic", "tool_hire", "credit_union")
#: Trades whose fields have units, roles and descriptions of two sentences.
MORE_TRADES = ("road_freight", "veterinary", "parking_permits", "marketplace")
#: Trades that no wording was made for: what holds for every row has to hold for theirs.
OTHER_TRADES = ("public_library", "solar_installer", "child_care", "print_shop")
HERE = Path(__file__).parent / "toolsets"


@cache
def trade(name: str) -> Toolset:
    body = json.loads((HERE / f"{name}.json").read_text())
    return toolset(body["tools"], body.get("ledger_schema"), body.get("behavior"))


def toolset(tools: Any, ledger_schema: Any = None, behavior: str | None = None, **more: Any) -> Toolset:
    schema = parse_ledger_schema(ledger_schema)
    return Toolset(
        tools=parse_tools_schema(tools, ledger_schema=schema),
        ledger_schema=schema,
        behavior=behavior,
        **more,
    )


@cache
def world_of(name: str) -> JsonObject:
    return make_world(trade(name), size="standard", rng_seed=1, now=NOW).state


@cache
def ground(name: str) -> Ground:
    return ground_of(trade(name), world_of(name))


def tool(name: str, description: str = "", /, **arguments: Any) -> JsonObject:
    """An argument is a schema, or the word for its type; all are required."""
    properties = {
        key: {"type": value} if isinstance(value, str) else value for key, value in arguments.items()
    }
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"name": name, "description": description, "input_schema": schema}


#: Enough of a shop for every advisory: owners, states, dates, lines, a rule.
SHOP_SCHEMA: JsonObject = {
    "entities": [
        {
            "type": "customer",
            "id_field": "customer_id",
            "fields": [
                {"name": "customer_id", "type": "string"},
                {"name": "name", "type": "string"},
                {"name": "email", "type": "string"},
                {"name": "role", "type": "string", "enum": ["buyer", "seller"]},
            ],
        },
        {
            "type": "order",
            "id_field": "order_id",
            "fields": [
                {"name": "order_id", "type": "string"},
                {"name": "customer_id", "type": "string"},
                {"name": "status", "type": "string", "enum": ["pending", "shipped", "cancelled"]},
                {"name": "lines", "type": "array"},
                {"name": "total", "type": "number"},
                {"name": "created_at", "type": "string"},
                {"name": "shipped_at", "type": "string"},
                {"name": "note", "type": "string"},
            ],
        },
    ]
}
SHOP_RULE = "cancel_order rejects orders whose total is over 100 with a 409 too_large error."


def shop(behavior: str | None = SHOP_RULE, **more: Any) -> Toolset:
    tools = [
        tool("get_order", "Get an order.", order_id="string"),
        tool("cancel_order", "Cancel a pending order.", order_id="string"),
        tool("get_customer", "Get a customer.", customer_id="string"),
        tool("list_orders", "Orders of a customer.", customer_id="string"),
    ]
    return toolset(tools, SHOP_SCHEMA, behavior, **more)


def order(customer: str, status: str, price: float, created: str, shipped: str | None = None) -> JsonObject:
    return {
        "customer_id": customer,
        "status": status,
        "lines": [{"description": "Lamp", "quantity": 2, "unit_price": price / 2}],
        "total": price,
        "created_at": f"{created}T10:00:00Z",
        "shipped_at": f"{shipped}T10:00:00Z" if shipped else None,
        "note": "",
    }


def shop_state() -> JsonObject:
    """Nothing in it is the matter."""
    people = (("C-1", "Ada", "buyer"), ("C-2", "Bo", "seller"), ("C-3", "Cy", "buyer"))
    customers: JsonObject = {
        id: {"customer_id": id, "name": name, "email": f"{name.lower()}@example.com", "role": role}
        for id, name, role in people
    }
    orders = {
        "O-1": order("C-1", "pending", 40.0, "2026-04-20"),
        "O-2": order("C-2", "shipped", 80.0, "2026-02-01", "2026-02-03"),
        "O-3": order("C-1", "cancelled", 120.0, "2025-12-24"),
        "O-4": order("C-1", "pending", 140.0, "2026-04-02"),
    }
    return {"customer": customers, "order": {id: {"order_id": id, **one} for id, one in orders.items()}}
