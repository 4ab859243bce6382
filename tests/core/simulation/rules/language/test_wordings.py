"""Every form of the language in several wordings: each sentence and what it is shown as."""

from typing import TypeAlias

import pytest
from tests.core.simulation.rules.language.worlds import canonical, meant, shop

Table: TypeAlias = list[tuple[str, list[str]]]

STATES: Table = [
    (
        "cancel_order fails if the order's status is not pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order is refused when status is shipped or delivered.",
        ["cancel_order fails when the order's status is one of 'shipped', 'delivered'"],
    ),
    (
        "cancel_order is not allowed while the order is shipped.",
        ["cancel_order fails when the order's status is 'shipped'"],
    ),
    (
        "cancel_order can not be called once the order is delivered.",
        ["cancel_order fails when the order's status is 'delivered'"],
    ),
    (
        "cancel_order won't work until the order is shipped.",
        ["cancel_order fails unless the order's status is 'shipped'"],
    ),
    (
        "cancel_order succeeds only if the order is pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order is possible only when the order is pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order goes through only if the status matches pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order accepts only pending orders.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order requires that the order is pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "cancel_order declines orders that are shipped.",
        ["cancel_order fails when the order's status is 'shipped'"],
    ),
    (
        "cancel_order does not accept shipped orders.",
        ["cancel_order fails when the order's status is 'shipped'"],
    ),
    (
        "cancel_order fails for shipped or delivered orders.",
        ["cancel_order fails when the order's status is one of 'shipped', 'delivered'"],
    ),
    ("You cannot cancel shipped orders.", ["cancel_order fails when the order's status is 'shipped'"]),
    (
        "Nobody may cancel orders that have been delivered.",
        ["cancel_order fails when the order's status is 'delivered' or the order's delivered_at is not null"],
    ),
    (
        "Orders may only be cancelled if they are pending.",
        ["cancel_order fails unless the order's status is 'pending'"],
    ),
    (
        "Only pending orders may be refunded (409).",
        ["refund_order fails with 409 unless the order's status is 'pending'"],
    ),
    (
        "An order must be delivered to be refunded.",
        ["refund_order fails unless the order's status is 'delivered'"],
    ),
    (
        "To refund an order, it must be delivered.",
        ["refund_order fails unless the order's status is 'delivered'"],
    ),
    (
        "Cancelling an order fails when its total is above 100.",
        ["cancel_order fails when the order's total is more than 100"],
    ),
    (
        "Cancellations of orders are rejected when the total exceeds 100.",
        ["cancel_order fails when the order's total is more than 100"],
    ),
    (
        "Refunds fail unless the order has been delivered.",
        [
            "refund_order fails unless the order's status is 'delivered' or the order's delivered_at "
            "is not null",
        ],
    ),
    (
        "refund_order fails when the user is not verified.",
        ["refund_order fails unless the user's verified is true"],
    ),
    ("refund_order fails when it is shipped.", ["refund_order fails when the order's status is 'shipped'"]),
    (
        "refund_order only works for orders with status delivered.",
        ["refund_order fails unless the order's status is 'delivered'"],
    ),
    (
        "refund_order rejects orders without any delivered_at.",
        ["refund_order fails when the order's delivered_at is missing"],
    ),
    (
        "refund_order rejects orders that are no longer pending.",
        ["refund_order fails unless the order's status is 'pending'"],
    ),
    ("refund_order is switched off.", ["refund_order always fails with 503 service_unavailable"]),
]

COMPARISONS: Table = [
    (
        "refund_order fails when (the order is shipped or the order is delivered) and its total is "
        "more than 50.",
        [
            "refund_order fails when (the order's status is 'shipped' or the order's status is "
            "'delivered') and the order's total is more than 50",
        ],
    ),
    (
        "refund_order fails when total > 100 and status = shipped.",
        ["refund_order fails when the order's total is more than 100 and the order's status is 'shipped'"],
    ),
    (
        "refund_order fails when total ≥ 100, but status is not shipped.",
        ["refund_order fails when the order's total is at least 100 and the order's status is not 'shipped'"],
    ),
    (
        "refund_order fails when the total is not between 10 and 20.",
        ["refund_order fails unless the order's total is at least 10 and the order's total is at most 20"],
    ),
    ("refund_order fails when total is zero.", ["refund_order fails when the order's total is 0"]),
    (
        "refund_order fails when the order's balance is negative.",
        ["refund_order fails when the order's balance is less than 0"],
    ),
    (
        "refund_order fails when the total is not more than 50.",
        ["refund_order fails unless the order's total is more than 50"],
    ),
    (
        "refund_order fails when the total is no more than 50.",
        ["refund_order fails when the order's total is at most 50"],
    ),
    (
        "refund_order fails when the total is fewer than 1,000.",
        ["refund_order fails when the order's total is less than 1000"],
    ),
    ("refund_order fails when total != 5.", ["refund_order fails unless the order's total is 5"]),
    ("refund_order fails when total does not equal 5.", ["refund_order fails unless the order's total is 5"]),
    (
        "refund_order fails when the order's status is in ('shipped', 'delivered').",
        ["refund_order fails when the order's status is one of 'shipped', 'delivered'"],
    ),
    (
        "refund_order fails when the order's status is not one of shipped, delivered.",
        ["refund_order fails unless the order's status is one of 'shipped', 'delivered'"],
    ),
    (
        "refund_order fails when status is other than pending.",
        ["refund_order fails unless the order's status is 'pending'"],
    ),
    (
        "refund_order fails when the order has no shipped_at.",
        ["refund_order fails when the order's shipped_at is missing"],
    ),
    (
        "refund_order fails when it has no shipped_at.",
        ["refund_order fails when the order's shipped_at is missing"],
    ),
    (
        "refund_order fails when the order has a total of at least 50.",
        ["refund_order fails when the order's total is at least 50"],
    ),
    (
        "refund_order fails when the given amount + 5 is more than the order's total * 2.",
        ["refund_order fails when the given amount + 5 is more than the order's total * 2"],
    ),
    (
        "refund_order fails when the amount exceeds 10% of the total.",
        ["refund_order fails when the given amount is more than the order's total * 0.1"],
    ),
    (
        "refund_order fails when the sum of price * quantity over items is more than 100.",
        [
            "refund_order fails when `sum(part.price * part.quantity for part in order.items)` is "
            "more than 100",
        ],
    ),
    (
        "refund_order fails when the number of pending orders is more than 3.",
        [
            "refund_order fails when `len([other for other in entities('order') if other.status == "
            "'pending'])` is more than 3",
        ],
    ),
    (
        "refund_order fails when the total of the order is more than order.subtotal + 10.",
        ["refund_order fails when the order's total is more than the order's subtotal + 10"],
    ),
    (
        "cancel_order fails when the reason is longer than 20 characters.",
        ["cancel_order fails when `len(args.reason)` is more than 20"],
    ),
]

DATES: Table = [
    (
        "refund_order fails when shipped_at is before delivered_at.",
        ["refund_order fails when the order's shipped_at is before the order's delivered_at"],
    ),
    (
        "refund_order fails when the order's created_at is later than 2026-01-15.",
        ["refund_order fails when the order's created_at is after 2026-01-15"],
    ),
    (
        "refund_order fails when shipped_at is in the future.",
        ["refund_order fails when the order's shipped_at is after now"],
    ),
    (
        "refund_order fails when the order is older than 2 weeks.",
        ["refund_order fails when the order's created_at is more than 14 days before now"],
    ),
    (
        "refund_order fails when the order was shipped more than 3 months ago.",
        ["refund_order fails when the order's shipped_at is more than 3 months before now"],
    ),
    (
        "refund_order fails when the order was not shipped before 2026-01-15.",
        ["refund_order fails unless the order's shipped_at is before 2026-01-15"],
    ),
    (
        "refund_order only works on orders shipped within the last 2 weeks.",
        [
            "refund_order fails unless the order's shipped_at is at most 14 days before now and the "
            "order's shipped_at is not after now",
        ],
    ),
    (
        "refund_order only works on orders shipped within the next 3 months.",
        [
            "refund_order fails unless the order's shipped_at is not null and the order's shipped_at "
            "is not more than 3 months after now and the order's shipped_at is not before now",
        ],
    ),
    (
        "refund_order fails when delivered_at is at least 1 year before now.",
        [
            "refund_order fails when the order's delivered_at is not null and the order's "
            "delivered_at is not less than 12 months before now",
        ],
    ),
    (
        "refund_order fails when delivered_at is at most 2 months ago.",
        [
            "refund_order fails when the order's delivered_at is not null and the order's "
            "delivered_at is not more than 2 months before now",
        ],
    ),
    (
        "refund_order fails when delivered_at is less than a day ago.",
        ["refund_order fails when the order's delivered_at is less than 1 days before now"],
    ),
    (
        "refund_order fails when delivered_at is less than 36 hours from now.",
        ["refund_order fails when the order's delivered_at is less than 36 hours after now"],
    ),
    (
        "refund_order fails when the order's delivered_at is more than 45 minutes after shipped_at.",
        [
            "refund_order fails when the order's shipped_at is more than 45 minutes before the "
            "order's delivered_at",
        ],
    ),
    (
        "Orders created before 2026-01-15 cannot be refunded.",
        ["refund_order fails when the order's created_at is before 2026-01-15"],
    ),
    (
        "Orders that were created after 2026-01-15 cannot be refunded.",
        ["refund_order fails when the order's created_at is after 2026-01-15"],
    ),
    (
        "Orders cannot be refunded more than 2 weeks after they were delivered.",
        ["refund_order fails when the order's delivered_at is more than 14 days before now"],
    ),
]

ANSWERS: Table = [
    (
        "get_order returns 404 no_such_order for an unknown order.",
        ["get_order returns 404 no_such_order when the order does not exist"],
    ),
    ("get_order fails when the order does not exist.", ["get_order fails when the order does not exist"]),
    (
        "place_order fails with error code conflict when the product's stock is 0.",
        ["place_order fails with error code conflict when the product's stock is 0"],
    ),
    (
        'place_order fails with "Sold out" when the product\'s stock is 0.',
        ['place_order fails with "Sold out" when the product\'s stock is 0'],
    ),
    (
        'place_order fails with 409 out_of_stock: "Sold out" when the product\'s stock is 0.',
        ['place_order fails with 409 out_of_stock "Sold out" when the product\'s stock is 0'],
    ),
    (
        "place_order responds with 409 out_of_stock when the product's stock is 0.",
        ["place_order fails with 409 out_of_stock when the product's stock is 0"],
    ),
    (
        "place_order fails when the product's stock is 0 with a 409 out_of_stock error.",
        ["place_order fails with 409 out_of_stock when the product's stock is 0"],
    ),
    (
        "place_order fails with OUT_OF_STOCK (status 409) when the product's stock is 0.",
        ["place_order fails with 409 OUT_OF_STOCK when the product's stock is 0"],
    ),
    (
        "If the product's stock is 0, place_order fails with 409 out_of_stock.",
        ["place_order fails with 409 out_of_stock when the product's stock is 0"],
    ),
    (
        "If the order is shipped, cancel_order does nothing.",
        ["cancel_order does nothing when the order's status is 'shipped'"],
    ),
    (
        "If the order is shipped, cancel_order fails when its total is below 5.",
        ["cancel_order fails when the order's status is 'shipped' and the order's total is less than 5"],
    ),
    (
        "cancel_order leaves the order unchanged if it is already cancelled.",
        ["cancel_order does nothing when the order's status is 'cancelled'"],
    ),
    (
        "cancel_order only works when the order is pending, otherwise it fails with 409 not_pending.",
        ["cancel_order fails with 409 not_pending unless the order's status is 'pending'"],
    ),
]

ARGUMENTS: Table = [
    ("The given amount must not be negative.", ["refund_order fails when the given amount is less than 0"]),
    ("The amount must be at least 5.", ["refund_order fails unless the given amount is at least 5"]),
    (
        "reason must not be 'x' or 'y'.",
        ["cancel_order and refund_order fail when the given reason is one of 'x', 'y'"],
    ),
    (
        "amount of refund_order must be at most 500.",
        ["refund_order fails unless the given amount is at most 500"],
    ),
    (
        "refund_order's amount must be at most 500.",
        ["refund_order fails unless the given amount is at most 500"],
    ),
    (
        "quantity must be greater than zero with 422 bad_quantity.",
        ["place_order fails with 422 bad_quantity unless the given quantity is more than 0"],
    ),
    (
        "Its reason must be given when cancelling an order.",
        ["cancel_order fails when the given reason is missing"],
    ),
    (
        "cancel_order needs a reason with 422 say_why.",
        ["cancel_order fails with 422 say_why when the given reason is missing"],
    ),
    ("refund_order rejects amounts below 5.", ["refund_order fails when the given amount is less than 5"]),
    ("refund_order fails when no amount is given.", ["refund_order fails when the given amount is missing"]),
    (
        "refund_order fails when the requested amount is set.",
        ["refund_order fails unless the given amount is missing"],
    ),
    (
        "A user's email must be unique.",
        ["register_user fails when `any(other.email == args.email for other in entities('user'))`"],
    ),
]

COUNTS: Table = [
    (
        "refund_order can be called no more than twice per order.",
        ["refund_order can be called at most twice per order"],
    ),
    ("refund_order may only be called once.", ["refund_order can be called at most once"]),
    ("refund_order only works after get_order.", ["refund_order can only be called after get_order"]),
    (
        "refund_order requires get_order first for the same order.",
        ["refund_order can only be called after get_order for the same order"],
    ),
    (
        "The total of the given amount over all calls of refund_order per order is at most 500.",
        ["The sum of the given amount over all calls of refund_order must not exceed 500 per order"],
    ),
    (
        "An order can be refunded at most twice with 409 refunded_twice.",
        ["refund_order can be called at most twice per order with 409 refunded_twice"],
    ),
    (
        "A user can have at most 2 orders.",
        [
            "place_order fails unless `len([other for other in entities('order') if "
            "same_id(other.user_id, args.user_id)])` is less than 2",
        ],
    ),
    (
        "The user's balance can not go below 0.",
        [
            "After cancel_order, refund_order, place_order, delete_user, register_user and "
            "archive_order, the user's balance is at least 0",
        ],
    ),
    ("The product's stock can never exceed 100.", ["After place_order, the product's stock is at most 100"]),
    (
        "After place_order, the product's stock is at least 0.",
        ["After place_order, the product's stock is at least 0"],
    ),
]

CALLERS: Table = [
    (
        "Users can only view their own orders.",
        [
            "get_order and get_quote fail with 403 forbidden unless the order's user_id matches `caller()`",
            "list_orders returns only orders where the order's user_id matches the given user_id",
        ],
    ),
    (
        "Only the owner of the order can refund it.",
        ["refund_order fails with 403 forbidden unless the order's user_id matches `caller()`"],
    ),
    (
        "Only the user of an order can cancel it.",
        ["cancel_order fails with 403 forbidden unless the order's user_id matches the given user_id"],
    ),
    ("refund_order is restricted to admins.", ["refund_order fails with 403 forbidden unless `caller()`"]),
    (
        "delete_user is only open to admins with 401 who_are_you.",
        ["delete_user fails with 401 who_are_you unless `entity('user', args.requester_id).role` is 'admin'"],
    ),
    (
        "Only gold users can place an order.",
        ["place_order fails with 403 forbidden unless the user's tier is 'gold'"],
    ),
]

EFFECTS: Table = [
    ("cancel_order sets status to 'void'.", ["cancel_order sets the order's status to 'void'"]),
    (
        "cancel_order sets the status of the order to void and balance to 0.",
        ["cancel_order sets the order's status to 'void'", "cancel_order sets the order's balance to 0"],
    ),
    ("cancel_order sets order.status to cancelled.", ["cancel_order sets the order's status to 'cancelled'"]),
    ("cancel_order marks it as void.", ["cancel_order sets the order's status to 'void'"]),
    ("cancel_order marks the order as refunded.", ["cancel_order sets the order's refunded to true"]),
    (
        "cancel_order sets refunded to true when the total is above 10.",
        ["cancel_order sets the order's refunded to true when the order's total is more than 10"],
    ),
    ("cancel_order sets shipped_at to null.", ["cancel_order sets the order's shipped_at to null"]),
    (
        "cancel_order keeps the reason.",
        ["cancel_order sets the order's reason to the given reason when the given reason is not null"],
    ),
    ("cancel_order removes the order's shipped_at.", ["cancel_order clears the order's shipped_at"]),
    (
        "refund_order credits the given amount to the user's balance.",
        ["refund_order increases the user's balance by the given amount"],
    ),
    ("refund_order deducts 5 from the user's balance.", ["refund_order decreases the user's balance by 5"]),
    (
        "refund_order takes 10% of the total from the user's loyalty_points.",
        ["refund_order decreases the user's loyalty_points by the order's total * 0.1"],
    ),
    (
        "refund_order subtracts 2 weeks from the order's delivered_at.",
        ["refund_order subtracts 14 days from the order's delivered_at"],
    ),
    ("cancel_order adds 1 year to created_at.", ["cancel_order adds 12 months to the order's created_at"]),
    ("cancel_order adds 3 hours to created_at.", ["cancel_order adds 180 minutes to the order's created_at"]),
    (
        "place_order lowers the product's stock by 1 if quantity is 1.",
        ["place_order decreases the product's stock by 1 when the given quantity is 1"],
    ),
    (
        "If the total exceeds 5, cancel_order sets status to void and balance to 0.",
        [
            "cancel_order sets the order's status to 'void' when the order's total is more than 5",
            "cancel_order sets the order's balance to 0 when the order's total is more than 5",
        ],
    ),
    (
        "refund_order creates an order with total = 5 and status pending.",
        ["refund_order adds an order with total = 5, status = 'pending'"],
    ),
    (
        "delete_user deletes the user when the user is not verified.",
        ["delete_user removes the user when the user's verified is not true"],
    ),
    ("cancel_order clears the outage flag.", ["cancel_order clears the outage flag"]),
    (
        "cancel_order raises the outage flag when the total is above 5.",
        ["cancel_order sets the outage flag when the order's total is more than 5"],
    ),
]

REPLIES: Table = [
    ("get_quote calculates total as subtotal + 5.", ["get_quote returns total = the order's subtotal + 5"]),
    (
        "get_quote shows total = (subtotal + 5) * 2 and half = total / 2.",
        [
            "get_quote returns total = (the order's subtotal + 5) * 2",
            "get_quote returns half = reply.total / 2",
        ],
    ),
    ("get_quote never shows a negative total.", ["get_quote never returns a negative total"]),
    ("get_quote caps balance at the order's total.", ["get_quote caps balance at the order's total"]),
    (
        "get_quote returns total = `round(order.subtotal, 1)`.",
        ["get_quote returns total = the order's subtotal, rounded to 1 decimals"],
    ),
    (
        "list_orders lists orders, newest first.",
        ["list_orders returns results sorted by created_at descending"],
    ),
    (
        "list_orders returns results ordered by total, highest first.",
        ["list_orders returns results sorted by total descending"],
    ),
    (
        "list_orders returns results sorted by total.",
        ["list_orders returns results sorted by total ascending"],
    ),
    (
        "list_orders returns up to 5 orders, oldest first.",
        [
            "list_orders returns at most 5 results",
            "list_orders returns results sorted by created_at ascending",
        ],
    ),
    ("list_orders shows no more than 5 entries.", ["list_orders returns at most 5 results"]),
    (
        "list_orders does not list cancelled orders.",
        ["list_orders returns only orders where the order's status is not 'cancelled'"],
    ),
    (
        "list_orders hides orders older than 90 days.",
        ["list_orders returns only orders where the order's created_at is not more than 90 days before now"],
    ),
    (
        "list_orders omits orders whose total is below 5 and status is pending.",
        ["list_orders returns only orders where `not (each.total < 5 and each.status == 'pending')`"],
    ),
    (
        "search_products shows only products with a price of at most 30.",
        ["search_products returns only products where the product's price is at most 30"],
    ),
    (
        "search_products lists active products first.",
        ["search_products shows products where the product's active is true first"],
    ),
    ("get_user omits ssn and card number.", ["get_user does not include ssn and card_number"]),
    ("get_user only shows name, tier.", ["get_user returns only name and tier"]),
    ("get_user never shows the ssn.", ["get_user does not include ssn"]),
    (
        "get_user masks ssn and card_number but for the last 2 digits.",
        [
            "get_user masks ssn except the last 2 characters",
            "get_user masks card_number except the last 2 characters",
        ],
    ),
    ("get_user hides the ssn fields.", ["get_user does not include ssn"]),
]

ALL = [*STATES, *COMPARISONS, *DATES, *ANSWERS, *ARGUMENTS, *COUNTS, *CALLERS, *EFFECTS, *REPLIES]


@pytest.mark.parametrize(("sentence", "shown"), ALL)
def test_a_sentence_is_shown_as_it_was_read(sentence: str, shown: list[str]) -> None:
    assert canonical(sentence) == shown


@pytest.mark.parametrize("sentence", [shown for _, several in ALL for shown in several])
def test_what_is_shown_is_read_as_the_same_and_shown_alike(sentence: str) -> None:
    assert canonical(sentence) == [sentence]


@pytest.mark.parametrize("sentence", [sentence for sentence, _ in ALL])
def test_letter_case_and_the_full_stop_mean_nothing(sentence: str) -> None:
    plain = sentence.removesuffix(".")
    other = plain if plain[1].isupper() or "_" in plain.split()[0] else plain[0].lower() + plain[1:]
    assert meant(shop().read(other).rules) == meant(shop().read(sentence).rules)
