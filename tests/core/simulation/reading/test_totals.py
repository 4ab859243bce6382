"""Counts, sums and means over the records that a list would gather."""

import pytest
from family_tables import Row, check, rows

TABLE = """
count_orders(customer_id): Counts the orders of a customer.
  -> order where orders.customer_id == args.customer_id
pending_order_count(): How many orders are pending.
  -> order where orders.status == 'pending'
average_age(): Average age of the pupils.
  -> all pupil
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_records_are_counted_or_added_up(row: Row) -> None:
    check(row, "total")
