"""Changes of fields: each argument beside the id is one."""

import pytest
from family_tables import Row, check, rows

TABLE = """
change_address(order_id, address): Changes the address of an order.
  -> set order.address=args.address
update_customer(customer_id, email?, city?): Updates a customer.
  -> set customer.email=args.email; set customer.city=args.city
rename_lesson(lesson_id, new_title): Gives a lesson another title.
  -> set lesson.title=args.new_title
assign_order(order_id, customer_id): Assigns an order to another customer.
  -> set order.customer_id=args.customer_id
set_room(lesson_id, room)
  -> set lesson.room=args.room
move_note(note_id, new_customer_id): Moves a note to another customer.
  -> set note.customer_id=args.new_customer_id
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_arguments_become_fields(row: Row) -> None:
    check(row, "update")
