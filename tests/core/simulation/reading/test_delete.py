"""Records that leave, unless the call gives more than says which."""

import pytest
from family_tables import Row, check, rows

TABLE = """
delete_note(note_id): Deletes a note.
  -> remove note
remove_note(note_id)
  -> remove note
purge_order(order_id): Purges an order.
  -> remove order
remove_note(note_id, tag): Removes a note.
  ->? returns note
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_record_leaves(row: Row) -> None:
    check(row, "delete", "unclear")
