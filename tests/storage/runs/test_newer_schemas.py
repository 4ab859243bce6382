"""A database whose schema a newer version has changed: an older one does not touch it."""

from contextlib import closing

import pytest

from pipelines.core.text.problems import Refused
from pipelines.storage.database.store import Store

pytestmark = pytest.mark.unit


def test_a_newer_schema_is_refused_by_the_name_of_its_migration(empty_store: Store) -> None:
    with closing(empty_store.connect(read_only=False)) as connection:
        empty_store.migrate(connection)
        connection.execute("INSERT INTO migrations (name) VALUES (?)", ("9998_from_the_future",))
        with pytest.raises(Refused) as refused:
            empty_store.migrate(connection)
        (problem,) = refused.value.problems
        assert "9998_from_the_future" in problem.message
        assert "newer version" in (problem.hint or "")
        connection.execute("DELETE FROM migrations WHERE name = ?", ("9998_from_the_future",))
        assert empty_store.migrate(connection) == []
