"""Changes of state: which arguments of a call become part of the record."""

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD = World.from_initial_state(
    {
        "order": {
            "o-1": {"status": "pending", "user_id": "u-1", "reason": None},
            "o-2": {"status": "cancelled", "user_id": "u-2", "reason": "late"},
        },
        "user": {"u-1": {"name": "Ada"}, "u-2": {"name": "Bo"}},
    }
)


@pytest.mark.parametrize("required", [["order_id"], ["order_id", "user_id"]])
def test_who_asks_for_a_change_does_not_become_the_owner(required: list[str]) -> None:
    properties: JsonObject = {name: {"type": "string"} for name in ("order_id", "user_id", "reason")}
    schema = {"type": "object", "properties": properties, "required": [*required]}
    tools = parse_tools_schema(
        [{"name": "cancel_order", "description": "Cancel an order.", "input_schema": schema}]
    )
    ledger = Ledger(WORLD)
    call: JsonObject = {"order_id": "o-1", "user_id": "u-2", "reason": "changed mind"}
    reply = build_simulator(tools, world=WORLD).answer(
        "cancel_order", call, ledger, Moment("x", 1, "2026-01-15T12:00:00Z")
    )
    ledger.apply(reply.updates)
    order = ledger.get("order", "o-1")
    assert order is not None
    assert order["user_id"] == "u-1"
    if required == ["order_id"]:
        assert (order["status"], order["reason"]) == ("cancelled", "changed mind")
    else:
        assert (reply.status, order["status"]) == (404, "pending")  # it is not this user's
