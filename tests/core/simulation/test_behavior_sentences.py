"""Sentences of behaviour text, each with what happens in a shop under it. The table is the specification."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from shop import Shop

from pipelines.core.json_text import Json
from pipelines.core.simulation.simulator import SimulatedReply

Check = Callable[[SimulatedReply, Shop], None]


@dataclass(frozen=True, kw_only=True)
class Call:
    tool: str
    arguments: dict[str, Any]
    check: Check


def refused(status: int, error: str | None = None, message: str | None = None) -> Check:
    def check(reply: SimulatedReply, shop: Shop) -> None:
        assert reply.status == status, reply
        assert reply.updates == ()
        assert isinstance(reply.response, dict)
        said = reply.response["error"]
        assert isinstance(said, dict)
        assert error is None or said["code"] == error
        assert message is None or said["message"] == message

    return check


def goes_through(**fields: Json) -> Check:
    """A success that changed something, with these fields in the reply."""

    def check(reply: SimulatedReply, shop: Shop) -> None:
        assert reply.status == 200, reply
        assert reply.updates, "nothing was changed"
        assert _shown(reply, fields) == fields

    return check


def answers(**fields: Json) -> Check:
    """A success that changed nothing, with these fields in the reply."""

    def check(reply: SimulatedReply, shop: Shop) -> None:
        assert reply.status == 200, reply
        assert reply.updates == ()
        assert _shown(reply, fields) == fields

    return check


def _shown(reply: SimulatedReply, fields: dict[str, Json]) -> dict[str, Json]:
    assert isinstance(reply.response, dict)
    return {name: reply.response.get(name, "(absent)") for name in fields}


def lists(*ids: str) -> Check:
    def check(reply: SimulatedReply, shop: Shop) -> None:
        rows: Any = reply.response["items"] if isinstance(reply.response, dict) else reply.response
        assert [row["id"] for row in rows] == list(ids)

    return check


def leaves(kind: str, id: str, **fields: Json) -> Check:
    """A success after which the entity has these values ("(absent)" for none)."""

    def check(reply: SimulatedReply, shop: Shop) -> None:
        assert reply.status == 200, reply
        attrs = shop.ledger.get(kind, id) or {}
        assert {name: attrs.get(name, "(absent)") for name in fields} == fields

    return check


def raises_flag(flag: str) -> Check:
    def check(reply: SimulatedReply, shop: Shop) -> None:
        assert reply.status == 200, reply
        assert shop.ledger.is_flagged(flag)

    return check


def cancel(check: Check, order: str = "o-1", **arguments: Json) -> Call:
    return Call(tool="cancel_order", arguments={"order_id": order, **arguments}, check=check)


def refund(check: Check, order: str = "o-1", **arguments: Json) -> Call:
    return Call(tool="refund_order", arguments={"order_id": order, **arguments}, check=check)


def archive(check: Check, order: str = "o-1") -> Call:
    return Call(tool="archive_order", arguments={"order_id": order}, check=check)


def get(check: Check, order: str = "o-1") -> Call:
    return Call(tool="get_order", arguments={"order_id": order}, check=check)


def quote(check: Check, order: str = "o-1") -> Call:
    return Call(tool="get_quote", arguments={"order_id": order}, check=check)


def search(check: Check, **arguments: Json) -> Call:
    return Call(tool="search_products", arguments=arguments, check=check)


def orders(check: Check, **arguments: Json) -> Call:
    return Call(tool="list_orders", arguments=arguments, check=check)


def place(check: Check, user: str = "u-1", product: str = "p-1", quantity: int = 1) -> Call:
    arguments = {"user_id": user, "product_id": product, "quantity": quantity}
    return Call(tool="place_order", arguments=arguments, check=check)


def user(check: Check, id: str = "u-1") -> Call:
    return Call(tool="get_user", arguments={"user_id": id}, check=check)


def delete(check: Check, **arguments: Json) -> Call:
    return Call(tool="delete_user", arguments={"user_id": "u-2", **arguments}, check=check)


def register(check: Check, email: str) -> Call:
    return Call(tool="register_user", arguments={"email": email}, check=check)


OK = goes_through()
# o-1 is pending, o-2 shipped on 5 June, o-3 delivered in January, o-4 cancelled; it is the first of July.
ONLY_PENDING = (cancel(OK), cancel(refused(409), "o-2"), cancel(refused(409), "o-3"))
ONLY_PENDING_SHIPPED = (
    cancel(OK),
    cancel(refused(409, "already_shipped"), "o-2"),
    cancel(refused(409, "already_shipped"), "o-3"),
)
NOT_SHIPPED = (cancel(OK), cancel(refused(409), "o-2"), cancel(OK, "o-3"))
NOT_SHIPPED_SHIPPED = (cancel(OK), cancel(refused(409, "already_shipped"), "o-2"), cancel(OK, "o-3"))
NOT_OLD = (refund(OK), refund(OK, "o-2"), refund(refused(409), "o-3"))
OWN_ONLY = (
    cancel(refused(403, "forbidden"), user_id="u-2"),
    cancel(refused(403, "forbidden")),
    cancel(goes_through(status="cancelled"), user_id="u-1"),
)
GOLD_PLACES = (place(OK), place(refused(403, "forbidden"), "u-2"))
ADMIN_DELETES = (
    delete(refused(403, "forbidden")),
    delete(refused(403, "forbidden"), requester_id="u-1"),
    delete(goes_through(deleted=True), requester_id="u-9"),
)
WITH_TAX = (quote(answers(total=97.2)), quote(answers(total=21.6), "o-2"))
NEWEST = search(lists("p-2", "p-3", "p-1"))

CASES: dict[str, tuple[Call, ...]] = {
    # -- the seed's own ---------------------------------------------------------------------------------
    "cancel_order only succeeds when the order's status is pending; otherwise it returns a 409 "
    "already_shipped error.": (
        cancel(goes_through(status="cancelled")),
        cancel(refused(409, "already_shipped", "Already shipped"), "o-2"),
    ),
    "get_quote computes total = subtotal * 1.08 (8% tax) and never returns a negative balance.": (
        quote(answers(total=97.2, balance=15, subtotal=90)),
        quote(answers(total=21.6, balance=0), "o-2"),
    ),
    "search_products returns at most 10 items, most-recent first.": (NEWEST,),
    "The refund_order tool rejects any order whose shipped_at is more than 90 days before the run date "
    "and returns it unchanged.": (
        refund(answers(id="o-3", status="delivered"), "o-3"),
        refund(goes_through(status="refunded"), "o-2"),
        refund(goes_through(status="refunded"), "o-1"),
    ),
    "Only the original buyer (user_id matches order.user_id) can cancel an order.": OWN_ONLY,
    "cancel only allowed when status=pending": ONLY_PENDING,
    # -- only when --------------------------------------------------------------------------------------
    "cancel_order succeeds only if the order is pending.": ONLY_PENDING,
    "cancel_order works only while the order's status is pending, otherwise it fails with a "
    "409.": ONLY_PENDING,
    "cancel_order is only allowed when the order status is pending; otherwise return 409 "
    "conflict.": ONLY_PENDING,
    "cancel_order is allowed only when the order's status is 'pending'.": ONLY_PENDING,
    "cancel_order may only be called for pending orders.": ONLY_PENDING,
    "cancel_order can only be used while the order is still pending.": ONLY_PENDING,
    "cancel_order only works on pending orders.": ONLY_PENDING,
    "cancel_order only accepts pending orders.": ONLY_PENDING,
    "cancel_order only cancels orders that are pending.": ONLY_PENDING,
    "cancel_order requires the order to be pending.": ONLY_PENDING,
    "cancel_order requires status = pending.": ONLY_PENDING,
    "cancel_order requires that the order's status is pending, otherwise it returns a 409.": ONLY_PENDING,
    "cancel_order checks that the order is pending and returns a 409 if not.": ONLY_PENDING,
    "cancel_order is only allowed when the status is pending or cancelled.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(refused(409), "o-3"),
    ),
    "cancel_order only succeeds if the status is one of pending, processing, or on_hold.": ONLY_PENDING,
    "`cancel_order` only succeeds when `status` is `pending`; otherwise returns `409 "
    "already_shipped`.": ONLY_PENDING_SHIPPED,
    "The cancel_order tool succeeds if the order is pending, otherwise it returns a 409 "
    "already_shipped error.": ONLY_PENDING_SHIPPED,
    "The cancel order tool only works for pending orders.": ONLY_PENDING,
    "cancel_order only succeeds when the order's status is pending. Otherwise it returns a 409 "
    "already_shipped error.": (ONLY_PENDING_SHIPPED),
    "cancel_order only succeeds when the order's status is pending. Other orders return a 409 "
    "already_shipped error.": (ONLY_PENDING_SHIPPED),
    "For cancel_order: the order's status must be pending.": ONLY_PENDING,
    "For cancel_order to succeed, the order's status must be pending.": ONLY_PENDING,
    "Orders can only be cancelled while pending.": ONLY_PENDING,
    "An order can be cancelled only if its status is pending.": ONLY_PENDING,
    "Orders can only be cancelled when their status is 'pending'; otherwise a 409 already_shipped "
    "error is returned.": (ONLY_PENDING_SHIPPED),
    "Only pending orders can be cancelled.": ONLY_PENDING,
    "Only pending orders can be cancelled; all others return a 409 not_cancellable error.": (
        cancel(OK),
        cancel(refused(409, "not_cancellable"), "o-3"),
    ),
    "An order must be pending to be cancelled.": ONLY_PENDING,
    "An order must be pending before it can be cancelled.": ONLY_PENDING,
    "To cancel an order, its status must be pending.": ONLY_PENDING,
    "Cancelling an order is only possible while it is pending.": ONLY_PENDING,
    "Orders are cancellable only while pending.": ONLY_PENDING,
    "An order cannot be cancelled unless it is pending.": ONLY_PENDING,
    "Unless the order is pending, cancel_order fails with 409 already_shipped.": ONLY_PENDING_SHIPPED,
    "cancel_order fails with a 409 already_shipped error unless the order is pending.": ONLY_PENDING_SHIPPED,
    "cancel_order fails when status is not pending.": ONLY_PENDING,
    "cancel_order rejects orders that are not pending.": ONLY_PENDING,
    "cancel_order rejects non-pending orders.": ONLY_PENDING,
    "cancel_order and refund_order only work on pending orders.": (
        *ONLY_PENDING,
        refund(refused(409), "o-2"),
        archive(OK, "o-2"),
    ),
    # -- not when ---------------------------------------------------------------------------------------
    "Shipped orders cannot be cancelled.": NOT_SHIPPED,
    "Shipped orders can't be cancelled (409 already_shipped).": NOT_SHIPPED_SHIPPED,
    "Orders with status shipped cannot be cancelled.": NOT_SHIPPED,
    "Orders that have shipped cannot be cancelled.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(refused(409), "o-3"),
    ),
    "An order cannot be cancelled once it has shipped.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(refused(409), "o-3"),
    ),
    "An order cannot be cancelled after it has been shipped.": (cancel(OK), cancel(refused(409), "o-3")),
    "cancel_order fails if the order has already shipped.": (cancel(OK), cancel(refused(409), "o-3")),
    "cancel_order returns a 409 error if the order's status is shipped or delivered.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(refused(409), "o-3"),
        cancel(answers(), "o-4"),
    ),
    'cancel_order returns 409 "Order already shipped" when the order is shipped.': (
        cancel(OK),
        cancel(refused(409, "conflict", "Order already shipped"), "o-2"),
    ),
    "cancel_order returns error code ORDER_SHIPPED with status 409 if the order is shipped.": (
        cancel(OK),
        cancel(refused(409, "ORDER_SHIPPED"), "o-2"),
    ),
    "cancel_order rejects shipped orders with a 409 already_shipped error.": NOT_SHIPPED_SHIPPED,
    "cancel_order does not allow shipped orders.": NOT_SHIPPED,
    "cancel_order never succeeds for shipped orders.": NOT_SHIPPED,
    "If the order is shipped, cancel_order returns a 409 already_shipped error.": NOT_SHIPPED_SHIPPED,
    "When an order's status is shipped, cancel_order fails.": NOT_SHIPPED,
    "If the order is shipped, cancellation fails with a 409.": NOT_SHIPPED,
    "Cancelling a shipped order fails with a 409 already_shipped error.": NOT_SHIPPED_SHIPPED,
    "Attempts to cancel a shipped order are rejected with 409.": NOT_SHIPPED,
    "Cancellations are not allowed once the order is shipped.": NOT_SHIPPED,
    "Cancellation is only possible before the order is shipped.": NOT_SHIPPED,
    "cancel_order and refund_order both fail with 409 when the order is shipped.": (
        *NOT_SHIPPED,
        refund(refused(409), "o-2"),
    ),
    "Neither shipped nor delivered orders can be cancelled.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(refused(409), "o-3"),
    ),
    "cancel_order fails if the order is refunded or its total exceeds 500.": (
        cancel(OK),
        cancel(refused(409), "o-3"),
        cancel(refused(409), "o-4"),
    ),
    "cancel_order fails when the order is shipped and its total is below 50.": (
        cancel(OK),
        cancel(refused(409), "o-2"),
        cancel(OK, "o-3"),
    ),
    # -- numbers and presence ---------------------------------------------------------------------------
    "cancel_order is refused when the order's total exceeds 500.": (cancel(OK), cancel(refused(409), "o-3")),
    "Orders over $500 cannot be refunded.": (refund(OK), refund(refused(409), "o-3")),
    "Orders with a total over 500 cannot be refunded.": (refund(OK), refund(refused(409), "o-3")),
    "refund_order only works for orders with a total of at least 100.": (
        refund(OK),
        refund(refused(409), "o-2"),
    ),
    "refund_order rejects orders with a total between 10 and 30.": (refund(OK), refund(refused(409), "o-2")),
    "refund_order rejects any order whose total is greater than 500 and returns it unchanged.": (
        refund(OK),
        refund(answers(id="o-3", status="delivered", total=600), "o-3"),
    ),
    "refund_order rejects orders whose total is less than the amount.": (
        refund(refused(409), amount=101),
        refund(OK, amount=100),
    ),
    "refund_order fails if the order has no shipped_at.": (refund(refused(409)), refund(OK, "o-2")),
    "refund_order requires a shipped_at on the order.": (refund(refused(409)), refund(OK, "o-2")),
    "refund_order rejects orders without a delivered_at.": (refund(refused(409)), refund(OK, "o-3")),
    "archive_order fails when refunded is true.": (archive(OK), archive(refused(409), "o-4")),
    "archive_order only works if the order has items.": (archive(OK), archive(refused(409), "o-3")),
    # -- time -------------------------------------------------------------------------------------------
    "Orders older than 90 days cannot be refunded.": NOT_OLD,
    "Orders shipped more than 90 days ago cannot be refunded.": NOT_OLD,
    "refund_order rejects orders that were shipped more than 90 days ago.": NOT_OLD,
    "refund_order fails with 422 refund_window_closed if the order was shipped more than 90 days ago.": (
        refund(OK),
        refund(refused(422, "refund_window_closed"), "o-3"),
    ),
    "refund_order fails if more than 90 days have passed since shipped_at.": NOT_OLD,
    "An order cannot be refunded more than 30 days after it was shipped.": NOT_OLD,
    "Refunds are refused for orders older than 3 months.": NOT_OLD,
    "refund_order rejects orders that are over a year old.": (refund(OK), refund(OK, "o-3")),
    "refund_order only works for orders placed within the last 30 days.": (
        refund(OK),
        refund(OK, "o-2"),
        refund(refused(409), "o-3"),
    ),
    "refund_order only succeeds if shipped_at is within the last 90 days.": (
        refund(refused(409)),
        refund(OK, "o-2"),
    ),
    "Refunds are only allowed within 30 days of delivery.": (
        refund(refused(409)),
        refund(refused(409), "o-3"),
    ),
    "Orders can only be refunded within 90 days of shipment.": (
        refund(OK, "o-2"),
        refund(refused(409), "o-3"),
    ),
    "refund_order refuses orders created before 2026-01-15.": (refund(OK), refund(refused(409), "o-3")),
    "refund_order refuses orders created after January 15, 2026.": (refund(refused(409)), refund(OK, "o-3")),
    "refund_order fails if the order was delivered more than 2 weeks ago.": (
        refund(OK),
        refund(refused(409), "o-3"),
    ),
    "cancel_order is rejected if the order was placed more than 24 hours ago.": (cancel(refused(409)),),
    # -- arguments --------------------------------------------------------------------------------------
    "refund_order rejects amounts greater than the order total.": (
        refund(refused(422, "invalid_amount"), amount=101),
        refund(OK, amount=100),
        refund(OK, "o-2"),
    ),
    "An amount greater than the order total is rejected with a 422.": (
        refund(refused(422), amount=101),
        refund(OK, amount=99),
    ),
    "The refund amount must not exceed the order total.": (
        refund(refused(422), amount=100.01),
        refund(OK, amount=100),
    ),
    "refund_order fails with 400 amount_too_high when amount exceeds the order's total.": (
        refund(refused(400, "amount_too_high"), amount=101),
        refund(OK),
    ),
    "amount must be positive.": (
        refund(refused(422, "invalid_amount"), amount=0),
        refund(OK, amount=1),
        cancel(OK),
    ),
    "amount cannot be negative.": (refund(refused(422), amount=-1), refund(OK, amount=0)),
    "Refunds over $50 are rejected.": (refund(refused(422), amount=51), refund(OK, amount=50)),
    "quantity must be between 1 and 10.": (
        place(refused(422, "invalid_quantity"), quantity=0),
        place(refused(422), quantity=11),
        place(OK, quantity=10),
    ),
    "quantity must be at least 1, otherwise place_order returns a 400 bad_quantity error.": (
        place(refused(400, "bad_quantity"), quantity=0),
        place(OK),
    ),
    "place_order rejects quantities below 1.": (place(refused(422), quantity=0), place(OK)),
    "cancel_order requires a reason.": (
        cancel(refused(422, "reason_required")),
        cancel(refused(422), reason=""),
        cancel(OK, reason="x"),
    ),
    "A reason is required for cancel_order.": (
        cancel(refused(422, "reason_required")),
        cancel(OK, reason="x"),
        refund(OK),
    ),
    "A reason must be provided when cancelling an order.": (cancel(refused(422)), cancel(OK, reason="x")),
    "cancel_order fails with 400 no_reason if no reason is given.": (
        cancel(refused(400, "no_reason")),
        cancel(OK, reason="x"),
    ),
    "reason must be one of 'no longer needed', 'ordered by mistake'.": (
        cancel(refused(422, "invalid_reason"), reason="bored"),
        cancel(OK, reason="ordered by mistake"),
    ),
    "place_order fails with 409 out_of_stock when quantity exceeds the product's stock.": (
        place(refused(409, "out_of_stock"), quantity=4),
        place(OK, quantity=3),
    ),
    "place_order fails if there is not enough stock.": (
        place(refused(409), quantity=4),
        place(OK, quantity=3),
    ),
    "Out-of-stock products cannot be ordered.": (place(refused(409), product="p-2"), place(OK)),
    "Inactive products cannot be ordered.": (place(refused(409), product="p-3"), place(OK)),
    "The user's email must be unique.": (
        register(refused(422, "invalid_email"), "ada@example.com"),
        register(OK, "new@example.com"),
    ),
    "register_user rejects duplicate emails with a 409 email_taken error.": (
        register(refused(409, "email_taken"), "ada@example.com"),
        register(OK, "new@example.com"),
    ),
    # -- who may ----------------------------------------------------------------------------------------
    "Only the owner of an order can cancel it.": OWN_ONLY,
    "Only the customer who placed the order can cancel it.": OWN_ONLY,
    "Users can only cancel their own orders.": OWN_ONLY,
    "Customers cannot cancel other customers' orders.": OWN_ONLY,
    "Orders can only be cancelled by the user who placed them.": OWN_ONLY,
    "cancel_order returns 403 unless user_id matches order.user_id.": OWN_ONLY,
    "cancel_order fails with a 403 if the order does not belong to the user.": OWN_ONLY,
    "Users may only see their own orders.": (
        orders(lists("o-1", "o-3"), user_id="u-1"),
        get(refused(403, "forbidden")),
    ),
    "place_order is only available to gold-tier customers.": GOLD_PLACES,
    "Only gold customers can place orders.": GOLD_PLACES,
    "Only verified users can place an order.": GOLD_PLACES,
    "place_order is rejected with 403 unless the user is verified.": GOLD_PLACES,
    "refund_order is only allowed for gold-tier users.": (refund(OK), refund(refused(403), "o-2")),
    "Only admins can delete users.": ADMIN_DELETES,
    "delete_user is restricted to admins.": ADMIN_DELETES,
    "delete_user requires admin permissions, otherwise it returns a 403 forbidden error.": ADMIN_DELETES,
    # -- unknown, never, once, nothing -------------------------------------------------------------------
    "get_order returns 404 no_such_order when the order does not exist.": (
        get(refused(404, "no_such_order"), "o-99"),
        get(answers()),
    ),
    "If the order does not exist, get_order returns a 404 no_such_order error.": (
        get(refused(404, "no_such_order"), "o-99"),
    ),
    "Unknown order ids return a 404 unknown_order error.": (
        get(refused(404, "unknown_order"), "o-99"),
        cancel(refused(404, "unknown_order"), "o-99"),
    ),
    "get_order returns a 410 for unknown orders.": (get(refused(410, "gone"), "o-99"),),
    "refund_order always fails with a 503 payment_unavailable error.": (
        refund(refused(503, "payment_unavailable")),
        cancel(OK),
    ),
    "refund_order is disabled.": (refund(refused(503, "service_unavailable")),),
    "refund_order is unavailable and returns a 503.": (refund(refused(503)),),
    "An order can only be refunded once.": (refund(OK), refund(refused(409, "already_refunded"))),
    "Orders cannot be refunded twice.": (refund(OK), refund(refused(409, "already_refunded"))),
    "Refunding an order twice fails with 409 already_refunded.": (
        refund(OK),
        refund(refused(409, "already_refunded")),
    ),
    "A second refund returns a 409 refund_exists error.": (refund(OK), refund(refused(409, "refund_exists"))),
    "cancel_order does nothing when the order is already cancelled.": (
        cancel(answers(status="cancelled"), "o-4"),
        cancel(OK),
    ),
    "cancel_order returns the order unchanged if it is shipped.": (
        cancel(answers(id="o-2", status="shipped"), "o-2"),
    ),
    "Cancelling a delivered order has no effect.": (cancel(answers(status="delivered"), "o-3"), cancel(OK)),
    "cancel_order is a no-op for shipped orders.": (cancel(answers(status="shipped"), "o-2"), cancel(OK)),
    "list_orders returns an empty list when no user_id is given.": (
        orders(lambda r, s: _equal(r.response, [])),
        orders(lists("o-1", "o-3"), user_id="u-1"),
    ),
    # -- effects ----------------------------------------------------------------------------------------
    "archive_order sets status to archived.": (archive(leaves("order", "o-1", status="archived")),),
    "archive_order sets the order's status to archived.": (archive(goes_through(status="archived")),),
    "archive_order marks the order as archived.": (archive(leaves("order", "o-1", status="archived")),),
    "archive_order changes the status from pending to archived.": (
        archive(leaves("order", "o-1", status="archived")),
    ),
    "After a refund, the order's status becomes returned.": (
        refund(leaves("order", "o-1", status="returned")),
    ),
    "After refund_order succeeds, status is set to returned.": (
        refund(leaves("order", "o-1", status="returned")),
    ),
    "cancel_order sets cancelled_at to the run date and status to void.": (
        cancel(leaves("order", "o-1", status="void", cancelled_at="2026-07-01T12:00:00Z")),
    ),
    "cancel_order records the reason.": (
        cancel(leaves("order", "o-1", reason="late"), reason="late"),
        cancel(leaves("order", "o-2", reason="(absent)"), "o-2"),
    ),
    "cancel_order stores the reason as cancel_reason.": (
        cancel(leaves("order", "o-1", cancel_reason="late"), reason="late"),
    ),
    "Cancelling an order restores the stock.": (cancel(leaves("product", "p-1", stock=5)),),
    "When an order is cancelled, its items are restocked.": (cancel(leaves("product", "p-2", stock=1)),),
    "place_order reduces the product's stock by quantity.": (
        place(leaves("product", "p-1", stock=1), quantity=2),
    ),
    "Placing an order reduces stock by the quantity.": (
        place(leaves("product", "p-1", stock=1), quantity=2),
    ),
    "place_order decreases inventory by the requested quantity.": (
        place(leaves("product", "p-1", stock=1), quantity=2),
    ),
    "place_order adds 10 loyalty points.": (place(leaves("user", "u-1", loyalty_points=15)),),
    "Placing an order adds 10 loyalty points to the user.": (
        place(leaves("user", "u-1", loyalty_points=15)),
    ),
    "When an order is placed, 10 loyalty points are added to the user.": (
        place(leaves("user", "u-1", loyalty_points=15)),
    ),
    "refund_order adds the order total to the user's balance.": (refund(leaves("user", "u-1", balance=130)),),
    "refund_order deducts 5 from the user's loyalty_points.": (
        refund(leaves("user", "u-1", loyalty_points=0)),
    ),
    "If the order total exceeds 100, refund_order adds 10 loyalty points to the user.": (
        refund(leaves("user", "u-1", loyalty_points=15), "o-3"),
        refund(leaves("user", "u-2", loyalty_points=0), "o-2"),
    ),
    "cancel_order sets the warehouse_outage flag.": (cancel(raises_flag("warehouse_outage")),),
    "When an order is cancelled, the restock_due flag is set.": (cancel(raises_flag("restock_due")),),
    "cancel_order only succeeds when the order is pending and sets the stock_freed flag.": (
        cancel(refused(409), "o-2"),
        cancel(raises_flag("stock_freed")),
    ),
    "The user's loyalty_points can never go below zero. refund_order deducts 10 from the user's "
    "loyalty_points.": (refund(refused(409)),),
    # -- computed ---------------------------------------------------------------------------------------
    "get_quote computes total as subtotal plus 8% tax.": WITH_TAX,
    "get_quote calculates the total as subtotal times 1.08.": WITH_TAX,
    "get_quote adds 8% tax to the subtotal.": WITH_TAX,
    "total is subtotal plus 8% tax.": (*WITH_TAX, get(answers(total=97.2))),
    "For get_quote, total = subtotal * 1.08": (*WITH_TAX, get(answers(total=100))),
    "get_quote returns total = subtotal * 1.075, rounded to 2 decimals.": (quote(answers(total=96.75)),),
    "get_quote returns tax = 8% of subtotal and total = subtotal + tax.": (
        quote(answers(tax=7.2, total=97.2)),
    ),
    "tax is 8% of the subtotal. total is subtotal + tax.": (quote(answers(tax=7.2, total=97.2)),),
    "get_quote applies a 10% discount when subtotal exceeds 100.": (
        quote(answers(total=100)),
        quote(answers(total=540), "o-3"),
    ),
    "get_quote applies a 10% discount to the total for gold customers.": (
        quote(answers(total=90)),
        quote(answers(total=20), "o-2"),
    ),
    "A 10% discount is applied to orders over 500.": (
        quote(answers(total=100)),
        quote(answers(total=540), "o-3"),
    ),
    "Shipping is free for orders over $50, otherwise it is $5.99.": (
        quote(answers(shipping=0)),
        quote(answers(shipping=5.99), "o-2"),
    ),
    "shipping is free for orders over 50, otherwise 5.99.": (
        quote(answers(shipping=0)),
        quote(answers(shipping=5.99), "o-2"),
    ),
    "get_quote: shipping is 0 when subtotal exceeds 50 and 5.99 otherwise.": (
        quote(answers(shipping=0)),
        quote(answers(shipping=5.99), "o-2"),
    ),
    "get_quote never returns a negative balance.": (
        quote(answers(balance=15)),
        quote(answers(balance=0), "o-2"),
    ),
    "The balance is never negative.": (quote(answers(balance=0), "o-2"), get(answers(balance=0), "o-2")),
    "get_quote returns total = max(0, subtotal - 25).": (
        quote(answers(total=65)),
        quote(answers(total=0), "o-2"),
    ),
    "get_quote computes total as the sum of price * quantity over items.": (quote(answers(total=90)),),
    "place_order computes total = quantity * the product's price.": (
        place(leaves("order", "o-5", total=60), quantity=3),
    ),
    "total is capped at 500.": (quote(answers(total=500), "o-3"), quote(answers(total=100))),
    # -- lists ------------------------------------------------------------------------------------------
    "search_products returns at most 2 items.": (search(lists("p-1", "p-2")),),
    "search_products returns up to 2 results.": (search(lists("p-1", "p-2")),),
    "search_products is limited to 2 results.": (search(lists("p-1", "p-2")),),
    "search_products returns the 2 most recent items.": (search(lists("p-2", "p-3")),),
    "search_products returns newest first.": (NEWEST,),
    "list_orders returns orders most recent first.": (orders(lists("o-1", "o-2", "o-4", "o-3")),),
    "search_products returns results sorted by price descending.": (search(lists("p-2", "p-3", "p-1")),),
    "search_products sorts results by price from low to high.": (search(lists("p-1", "p-3", "p-2")),),
    "Results of search_products are sorted by price, cheapest first.": (search(lists("p-1", "p-3", "p-2")),),
    "search_products lists items in descending order of price, at most 1.": (search(lists("p-2")),),
    "search_products returns no more than 2 items sorted by name.": (search(lists("p-3", "p-2")),),
    "search_products returns only active products.": (search(lists("p-1", "p-2")),),
    "search_products only returns products that are in stock.": (search(lists("p-1", "p-3")),),
    "search_products excludes out-of-stock products.": (search(lists("p-1", "p-3")),),
    "search_products never returns inactive products.": (search(lists("p-1", "p-2")),),
    "Out-of-stock products are excluded from search results.": (search(lists("p-1", "p-3")),),
    "search_products hides inactive products and returns at most 1 item.": (search(lists("p-1")),),
    "search_products returns pages of 2.": (search(lists("p-1", "p-2")), search(lists("p-3"), page=2)),
    "search_products returns 2 items per page.": (search(lists("p-3"), page=2),),
    "list_orders only returns pending orders.": (orders(lists("o-1")),),
    "list_orders excludes cancelled orders.": (orders(lists("o-1", "o-2", "o-3")),),
    # -- shape ------------------------------------------------------------------------------------------
    "get_user does not include the ssn field.": (user(answers(ssn="(absent)", name="Ada")),),
    "get_user never returns ssn.": (user(answers(ssn="(absent)")),),
    "get_user omits the ssn and email.": (user(answers(ssn="(absent)", email="(absent)", tier="gold")),),
    "The ssn field is never returned.": (user(answers(ssn="(absent)")),),
    "get_user returns only name and tier.": (
        user(lambda r, s: _equal(r.response, {"name": "Ada", "tier": "gold"})),
    ),
    "get_user masks card numbers.": (user(answers(card_number="************1111")),),
    "card_number is masked except the last 2 digits.": (user(answers(card_number="**************11")),),
    # -- nothing out of the ordinary ---------------------------------------------------------------------
    "All tools succeed.": (cancel(OK, "o-2"), get(answers(status="delivered"), "o-3")),
    "Tools behave normally.": (cancel(OK, "o-3"),),
    "Everything works as expected.": (cancel(OK),),
    "No special rules.": (cancel(OK),),
}


def _equal(left: Json, right: Json) -> None:
    assert left == right


@pytest.mark.parametrize("sentence", CASES)
def test_a_sentence_does_what_it_says(sentence: str) -> None:
    shop = Shop(text=sentence)
    assert shop.behavior.not_understood == ()
    for call in CASES[sentence]:
        call.check(shop.call(call.tool, **call.arguments), shop)
