"""What is not clear reads, changes nothing and is a guess."""

import pytest
from family_tables import Row, check, rows

TABLE = """
run_close(month): Runs it.
  ->? returns {'status': "'accepted'"}
process_orders(): Processes the orders.
  ->? returns {'status': "'accepted'"}
swap_history(order_id): Swaps of an order.
  ->? returns order
refund_policy(): The policy on refunds.
  ->? returns {'refund_policy': None}
get_order(order_id): Cancels an order.
  ->? returns order
cancel_order(order_id): Returns the order.
  ->? returns order
frobnicate(order_id): Frobnicates an order.
  ->? returns order
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_nothing_changes(row: Row) -> None:
    check(row, "unclear", "outside", "lookup")
