"""What undoes a state never sets it: back where something says to what, else unclear."""

import pytest
from family_tables import Row, check, rows

TABLE = """
unfreeze_account(account_id): Unfreezes an account.
  -> set account.frozen=False
release_hold(order_id): Takes an order off hold.
  ->? returns order
reopen_order(order_id): Reopens a cancelled order.
  -> set order.status='pending'
lift_suspension(customer_id): Lifts the suspension of a customer.
  ->? returns customer
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_an_undoing_never_sets_what_it_undoes(row: Row) -> None:
    check(row, "transition", "unclear")
