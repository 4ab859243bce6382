"""Look-ups: one record by its id or by its fields, or the part of it that the name asks for."""

import pytest
from family_tables import Row, check, rows

TABLE = """
get_order(order_id): Returns an order.
  -> returns order
order_get(order_id): Returns an order.
  -> returns order
getOrder(order_id): Get an order
  -> returns order
find_customer_by_email(email): Finds a customer by email.
  -> customer where customer.email == args.email
get_order_status(order_id): Returns the status of an order.
  -> returns order.status
customer_profile(customer_id): The profile of a customer.
  -> returns customer
order_exists(order_id): Whether an order exists.
  ->? returns order
preview_refund(order_id): Shows what a refund would be.
  -> returns order
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_one_record_or_a_part_of_it_is_answered(row: Row) -> None:
    check(row, "lookup")
