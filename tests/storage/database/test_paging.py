"""Pages of a list: every row once, whatever the page size and whatever is added meanwhile."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.storage.database.paging import Filter, page_of


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, colour TEXT)")
    yield connection
    connection.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    colours=st.lists(st.sampled_from("rgb"), max_size=30),
    added=st.lists(st.sampled_from("rgb"), max_size=5),
    limit=st.integers(1, 12),
    newest_first=st.booleans(),
    colour=st.sampled_from(["r", None]),
)
def test_every_row_comes_once_and_in_order(
    connection: sqlite3.Connection,
    colours: list[str],
    added: list[str],
    limit: int,
    newest_first: bool,
    colour: str | None,
) -> None:
    connection.execute("DELETE FROM things")
    connection.executemany("INSERT INTO things (colour) VALUES (?)", colours)
    before = [
        row["id"]
        for row in connection.execute("SELECT * FROM things ORDER BY id")
        if colour in (None, row["colour"])
    ]
    seen: list[int] = []
    last_id = None
    waiting = list(added)
    while True:
        page = page_of(
            connection,
            "things",
            filters=[Filter("colour", colour)],
            limit=limit,
            before_id=last_id,
            newest_first=newest_first,
        )
        assert len(page.items) <= limit
        seen += [row["id"] for row in page.items]
        last_id = page.last_id
        if last_id is None:
            break
        assert len(page.items) == limit
        if waiting:  # somebody adds one between two pages
            connection.execute("INSERT INTO things (colour) VALUES (?)", (waiting.pop(),))
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen, reverse=newest_first)
    assert set(before) <= set(seen)
    assert not newest_first or seen == before[::-1]


def test_the_last_full_page_says_that_it_is_the_last(connection: sqlite3.Connection) -> None:
    connection.executemany("INSERT INTO things (colour) VALUES (?)", ["r"] * 4)
    page = page_of(connection, "things", filters=[], limit=4, before_id=None)
    assert (len(page.items), page.last_id) == (4, None)
