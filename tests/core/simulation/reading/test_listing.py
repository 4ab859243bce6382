"""Lists and searches: the records of a type, narrowed by arguments and by what name and description say."""

import pytest
from family_tables import Row, check, rows

TABLE = """
list_orders(): Lists all orders.
  -> all order
list_orders(customer_id): Lists the orders of a customer.
  -> order where orders.customer_id == args.customer_id
customer_invoices(customer_id): Invoices of a customer.
  -> invoice where invoices.customer_id == args.customer_id
open_invoices(): Invoices that are open.
  -> invoice where invoices.status == 'open'
open_invoices()
  -> invoice where invoices.status == 'open'
unpaid_invoices(): Invoices that are not paid.
  -> invoice where invoices.status != 'paid'
search_customers(city?): Searches customers.
  -> customer where args.city in [null, '', 'None'] or lower(str(customers.city)) == lower(args.city)
search_notes(query): Searches notes.
  -> note where all(word in lower(str(notes)) for word in words(args.query))
suspended_customers(): Customers who are suspended.
  -> customer where customers.suspended == true
customers_not_suspended(): Customers who are not suspended.
  -> customer where customers.suspended == false
orders_not_cancelled(): Orders that are not cancelled.
  -> order where orders.status != 'cancelled'
list_orders(status?, limit?:integer): Lists orders.
  -> order where args.status in [null, '', 'None'] or lower(str(orders.status)) == lower(args.status)
orders_placed_after(date): Orders placed after a date.
  -> order where orders.placed_at != null and str(orders.placed_at)[:10] >= str(args.date)[:10]
list_orders(min_total:number): Orders of at least so much.
  -> order where orders.total >= args.min_total
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_records_are_listed_as_name_arguments_and_description_say(row: Row) -> None:
    check(row, "listing")
