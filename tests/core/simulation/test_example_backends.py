"""The example backends: they are checked, short enough to read, and do what a shop and a desk do.

How close they come to the real ones is measured with recordings; here their rules are.
"""

from pathlib import Path

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.plan_text import parse_plans_text
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.text.json_text import Json, JsonObject

BACKENDS = Path(__file__).parents[3] / "examples" / "backends"
TEXTS = {path.stem: path.read_text() for path in sorted(BACKENDS.glob("*.yaml"))}
PLANS = {name: parse_plans_text(text) for name, text in TEXTS.items()}


def item(id: str, price: float, product: str = "p1") -> JsonObject:
    return {"name": "Mug", "product_id": product, "item_id": id, "price": price, "options": {"color": id}}


def shop() -> JsonObject:
    variants = {
        id: {"item_id": id, "options": {"color": id}, "available": id != "13", "price": price}
        for id, price in (("11", 53.27), ("12", 53.48), ("13", 1.0), ("14", 99.0))
    }
    payment = {"transaction_type": "payment", "amount": 53.27, "payment_method_id": "gc"}
    order = {
        "user_id": "ann",
        "items": [item("11", 53.27)],
        "status": "pending",
        "payment_history": [payment],
    }
    methods = {
        "gc": {"source": "gift_card", "id": "gc", "balance": 10.0},
        "pp": {"source": "paypal", "id": "pp"},
    }
    return {
        "user": {"ann": {"user_id": "ann", "email": "a@x.org", "payment_methods": methods}},
        "order": {
            "#W1": {"order_id": "#W1", **order},
            "#W2": {"order_id": "#W2", **order, "status": "delivered"},
        },
        "product": {"p1": {"name": "Mug", "product_id": "p1", "variants": variants}},
    }


def desk(**orders: Json) -> JsonObject:
    bot = {"authenticated": True, "order_counter": 7, "watch_list": ["ABC"], "transaction_history": [],
           "account_info": {"balance": 100.0}, **orders}  # fmt: skip
    chat = {"user_map": {"Ann": "U1", "Bob": "U2"}, "inbox": [{"U1": "hi"}], "current_user": "U1",
            "message_count": 1, "generated_ids": "set()", "user_count": 2}  # fmt: skip
    return {
        "trading_bot": {"self": bot},
        "trading_bot_stocks": {"ABC": {"price": 5.0, "percent_change": 3}, "XYZ": {"price": 9.0}},
        "ticket_api": {"self": {"ticket_counter": 0, "ticket_queue": [], "current_user": "Ann"}},
        "message_api": {"self": chat},
    }


class Backend:
    def __init__(self, name: str, state: JsonObject) -> None:
        self.plans, self.ledger, self.calls = PLANS[name], Ledger(World.from_initial_state(state)), 0

    def __call__(self, tool: str, /, **arguments: Json) -> SimulatedReply:
        self.calls += 1
        moment = Moment(seed="s", call_number=self.calls, now="2026-11-15T10:30:00Z")
        reply = run(self.plans[tool], arguments, self.ledger, moment)
        self.ledger.apply(reply.updates)
        return reply

    def error(self, tool: str, /, **arguments: Json) -> str:
        reply = self(tool, **arguments)
        assert reply.status >= 400
        return reply.response["error"]["code"]  # type: ignore[index, call-overload, return-value]


@pytest.mark.parametrize("name", TEXTS)
def test_a_backend_fits_on_a_few_pages(name):
    assert len(TEXTS[name].splitlines()) <= 250
    assert max(map(len, TEXTS[name].splitlines())) <= 120


def test_cancelling_pays_back_to_the_gift_card_once():
    shopping = Backend("retail", shop())
    order = shopping("cancel_pending_order", order_id="#W1", reason="no longer needed").response
    assert order["status"] == "cancelled"
    assert order["payment_history"][-1] == {
        "transaction_type": "refund",
        "amount": 53.27,
        "payment_method_id": "gc",
    }
    assert shopping.ledger.get("user", "ann")["payment_methods"]["gc"]["balance"] == 63.27
    assert (
        shopping.error("cancel_pending_order", order_id="#W1", reason="no longer needed")
        == "order_not_pending"
    )


def test_changing_items_reproduces_the_noise_of_the_real_shop():
    shopping = Backend("retail", shop())
    change = {"order_id": "#W1", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "pp"}
    order = shopping("modify_pending_order_items", **change).response
    assert order["items"] == [item("12", 53.48)]
    assert order["payment_history"][-1]["amount"] == 0.20999999999999375
    assert order["status"] == "pending (item modified)"
    assert shopping.error("modify_pending_order_items", **change) == "order_not_pending"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"new_item_ids": ["13"]}, "item_not_available"),
        ({"new_item_ids": ["99"]}, "item_not_available"),
        ({"new_item_ids": ["14"], "payment_method_id": "gc"}, "insufficient_balance"),
        ({"item_ids": ["11", "11"], "new_item_ids": ["12", "12"]}, "item_not_found"),
        ({"new_item_ids": []}, "numbers_of_items_differ"),
        ({"payment_method_id": "visa"}, "method_not_found"),
        ({"order_id": "#W1"}, "order_not_delivered"),
        ({"order_id": "W2"}, "order_not_found"),
    ],
)
def test_an_exchange_is_refused_with_the_reason(change, code):
    shopping = Backend("retail", shop())
    usual = {"order_id": "#W2", "item_ids": ["11"], "new_item_ids": ["12"], "payment_method_id": "pp"}
    assert shopping.error("exchange_delivered_order_items", **(usual | change)) == code
    assert shopping("exchange_delivered_order_items", **usual).response["exchange_price_difference"] == 0.21


def test_changing_the_payment_moves_the_money():
    shopping = Backend("retail", shop())
    assert shopping.error("modify_pending_order_payment", order_id="#W1", payment_method_id="gc") == (
        "same_payment_method"
    )
    order = shopping("modify_pending_order_payment", order_id="#W1", payment_method_id="pp").response
    assert [entry["transaction_type"] for entry in order["payment_history"]] == [
        "payment",
        "payment",
        "refund",
    ]
    assert shopping.ledger.get("user", "ann")["payment_methods"]["gc"]["balance"] == 63.27


@pytest.mark.parametrize(
    "orders", [{}, {"orders": {"order_type": "Buy"}}], ids=["entities", "inside the record"]
)
def test_an_order_is_placed_read_and_cancelled_wherever_orders_stand(orders):
    trading = Backend("desk", desk(**orders))
    order = {"order_type": "Buy", "symbol": "ABC", "price": 5, "amount": 2}
    assert trading("place_order", **order).response == {
        "order_id": 7, "order_type": "Buy", "status": "Pending", "price": 5, "amount": 2,
    }  # fmt: skip
    assert trading("get_order_details", order_id=7).response == {"id": 7, **order, "status": "Open"}
    assert trading("cancel_order", order_id=7).response == {"order_id": 7, "status": "Cancelled"}
    assert trading("get_order_details", order_id=7).response["status"] == "Cancelled"
    assert trading("get_order_history").response == {"history": [7]}
    assert trading.error("place_order", **(order | {"symbol": "NO"})) == "stock_not_found"


def test_messages_are_sent_listed_and_deleted():
    chat = Backend("desk", desk())
    for text in ("one", "two"):
        assert chat("send_message", receiver_id="U2", message=text).response["sent_status"] is True
    assert chat("view_messages_sent").response == {"messages": {"U1": ["hi"], "U2": ["one", "two"]}}
    record = chat.ledger.get("message_api", "self")
    assert record["message_count"] == 3
    assert record["generated_ids"].count(",") == 1
    chat("delete_message", receiver_id="U2")
    assert chat("search_messages", keyword="O").response["results"] == [
        {"receiver_id": "U2", "message": "one"}
    ]
    assert chat.error("send_message", receiver_id="U9", message="x") == "user_not_found"


def test_tickets_are_made_changed_and_closed():
    tickets = Backend("desk", desk())
    assert tickets("create_ticket", title="T").response["priority"] == 1
    assert tickets("create_ticket", title="U", priority=5).response["id"] == 1
    tickets("edit_ticket", ticket_id=1, updates={"priority": 2})
    assert tickets("get_ticket", ticket_id=1).response == {
        "id": 1, "title": "U", "description": "", "status": "Open", "priority": 2, "created_by": "Ann",
    }  # fmt: skip
    tickets("resolve_ticket", ticket_id=1, resolution="done")
    assert tickets.error("resolve_ticket", ticket_id=1, resolution="done") == "already_resolved"
    assert [one["id"] for one in tickets("get_user_tickets", status="Open").response] == [0]
    tickets("logout")
    assert tickets.error("create_ticket", title="V") == "not_logged_in"


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("add", {"a": 0.1, "b": 0.2}, 0.30000000000000004),
        ("divide", {"a": 1, "b": 8}, 0.125),
        ("percentage", {"part": 1, "whole": 4}, 25.0),
        ("power", {"base": 2, "exponent": 10}, 1024),
        ("round_number", {"number": 2.675, "decimal_places": 2}, 2.67),
        ("square_root", {"number": 2, "precision": 5}, 1.4142),
        ("logarithm", {"value": 8, "base": 2, "precision": 10}, 3.0),
        ("standard_deviation", {"numbers": [1, 3]}, 1.0),
        ("si_unit_conversion", {"value": 2.5, "unit_in": "km", "unit_out": "m"}, 2500.0),
        ("imperial_si_conversion", {"value": 2.54, "unit_in": "cm", "unit_out": "inch"}, 1.0),
    ],
)
def test_the_desk_computes(tool, arguments, result):
    assert Backend("desk", desk())(tool, **arguments).response == {"result": result}
