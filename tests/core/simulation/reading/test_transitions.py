"""Transitions to the state or switch that the verb or the words lead to."""

import pytest
from family_tables import Row, check, rows

TABLE = """
cancel_order(order_id): Cancels an order.
  -> set order.status='cancelled'
void_order(order_id): Voids an order.
  -> set order.status='voided'
mark_order_delivered(order_id): Marks an order as delivered.
  -> set order.status='delivered'
hold_order(order_id): Puts an order on hold.
  -> set order.status='on_hold'
put_on_hold(order_id): Puts an order on hold.
  -> set order.status='on_hold'
freeze_account(account_id): Freezes an account.
  -> set account.frozen=True
suspend_customer(customer_id, reason): Suspends a customer.
  -> set customer.suspended=True; set customer.suspend_reason=args.reason
close_account(account_id): Closes an account.
  -> set account.status='closed'
toggle_frozen(account_id): Toggles whether an account is frozen.
  -> set account.frozen=not account.frozen
renew_account(account_id): Renews an account by 14 days.
  ->? returns account
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_verb_leads_to_a_state(row: Row) -> None:
    check(row, "transition", "evident", "unclear", "lookup")
