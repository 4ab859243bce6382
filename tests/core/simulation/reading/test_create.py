"""One more record: of the type that the name means, or that has fields for all that is given."""

import pytest
from family_tables import Row, check, rows

TABLE = """
create_note(customer_id, text): Writes a note on a customer.
  -> add note
add_note(customer_id, text)
  -> add note
place_order(customer_id, address): Places an order.
  -> add order
new_pupil(name, age:integer): Adds a pupil.
  -> add pupil
register_pupil(name, age:integer): Registers a pupil.
  -> add pupil
onboard(name, age:integer): Onboards somebody.
  -> add pupil
reserve_room(room_id, day): Reserves a room.
  ->? returns room
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_record_is_made_where_its_type_is_known(row: Row) -> None:
    check(row, "made", "unclear")
