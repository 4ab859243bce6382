"""Checks: whether a record has what is given, or is in a state; what may be done is no such question."""

import pytest
from family_tables import Row, check, rows

TABLE = """
verify_customer(customer_id, birth_date): Checks that the birth date is the customer's.
  -> returns {'verified': 'customer.birth_date == args.birth_date'}
is_frozen(account_id): Whether an account is frozen.
  -> returns {'frozen': 'account.frozen == true'}
check_order_address(order_id, address): Checks the address of an order.
  -> returns {'order_address': 'order.address == args.address'}
can_cancel(order_id): Whether an order may be cancelled.
  ->? returns order
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_yes_or_no_is_worked_out(row: Row) -> None:
    check(row, "check", "lookup")
