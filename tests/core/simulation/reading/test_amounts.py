"""Numbers that grow or fall by the one given: which way only a verb says."""

import pytest
from family_tables import Row, check, rows

TABLE = """
top_up(account_id, amount:number): Tops up an account.
  -> set account.balance=default(account.balance, 0) + args.amount
deposit(account_id, amount:number): Deposits money.
  -> set account.balance=default(account.balance, 0) + args.amount
withdraw(account_id, amount:number): Withdraws money.
  -> set account.balance=default(account.balance, 0) - args.amount
pay_invoice(invoice_id, amount:number): Pays an invoice.
  -> set invoice.amount_paid=default(invoice.amount_paid, 0) + args.amount
record_payment(invoice_id, amount:number): Records a payment.
  -> set invoice.amount_paid=default(invoice.amount_paid, 0) + args.amount
set_balance(account_id, balance:number): Sets the balance.
  -> set account.balance=args.balance
refund_deposit(account_id, amount:number): Refunds a deposit.
  ->? returns account
transfer(from_account_id, to_account_id, amount:number): Transfers money.
  -> set giver.balance=giver.balance - args.amount; set taker.balance=taker.balance + args.amount
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_number_grows_or_falls(row: Row) -> None:
    check(row, "amount", "transfer", "update", "unclear")
