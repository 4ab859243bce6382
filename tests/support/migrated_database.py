"""Databases as all steps of the schema leave them: running the steps takes longer than most tests."""

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pipelines.storage.database.sqlite_store import SqliteStore


@lru_cache(maxsize=1)
def migrated_sqlite() -> bytes:
    """The file of an empty one."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "empty.db"
        store = SqliteStore(path)
        connection = store.connect(read_only=False)
        store.migrate(connection)
        connection.close()
        return path.read_bytes()
