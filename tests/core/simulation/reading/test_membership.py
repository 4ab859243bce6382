"""Ids and values that go into a list which a record keeps, and out of it."""

import pytest
from family_tables import Row, check, rows

TABLE = """
add_pupil(lesson_id, pupil_id): Adds a pupil to a lesson.
  -> append lesson.pupil_ids=args.pupil_id
book_pupil(lesson_id, pupil_id): Books a pupil on a lesson.
  -> append lesson.pupil_ids=args.pupil_id
remove_pupil(lesson_id, pupil_id): Takes a pupil off a lesson.
  -> set lesson.pupil_ids=[one for one in lesson.pupil_ids if not same_id(one, args.pupil_id)]
unbook_pupil(lesson_id, pupil_id)
  -> set lesson.pupil_ids=[one for one in lesson.pupil_ids if not same_id(one, args.pupil_id)]
add_tag(lesson_id, tag): Adds a tag to a lesson.
  -> append lesson.tags=args.tag
remove_tag(lesson_id, tag): Removes a tag from a lesson.
  -> set lesson.tags=[one for one in lesson.tags if one != args.tag]
"""


@pytest.mark.parametrize("row", rows(TABLE), ids=str)
def test_a_list_gets_or_loses_one(row: Row) -> None:
    check(row, "membership")
