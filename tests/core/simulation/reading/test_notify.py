"""Somebody is told, or people take over: nothing is kept."""

import pytest
from family_tables import Row, check, rows

TABLE = """
notify_customer(customer_id, message): Notifies a customer.
  -> returns {'status': "'sent'"}
send_reminder(invoice_id): Sends a reminder.
  -> returns {'status': "'sent'"}
transfer_to_human(summary): Hands over to a human.
  -> returns 'Transfer successful'
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_nothing_is_kept_of_what_is_told(row: Row) -> None:
    check(row, "told", "handoff")
