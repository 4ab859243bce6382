"""Fixtures for every room above core: a server in this process, and its first org.

The server is imported by the fixtures that need it: core's tests do not hang on it.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from support.kinds import kind_of

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


#: Servers that tests start note their keys here, and not among those of whoever runs the tests.
STATE = tempfile.mkdtemp(prefix="odyssey-state-")
os.environ["XDG_STATE_HOME"] = STATE


def pytest_sessionfinish() -> None:
    shutil.rmtree(STATE, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each test is of one kind, so that `pytest -m browser` runs all tests of the pages in a browser."""
    for item in items:
        item.add_marker(kind_of(item))


def pytest_collection_finish() -> None:
    """What was collected lives to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


if TYPE_CHECKING:
    from pipelines.storage.database.connection import Connection
    from pipelines.storage.database.database import Database
    from pipelines.storage.database.store import Store
    from support.desk import DrivenRun, House, Org
    from support.private_postgres import Cluster

    Fill = Callable[[Connection], object]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    from support.private_postgres import cluster

    with cluster() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each of the two, with its tables and nothing in them."""
    from pipelines.storage.database.postgres_store import PostgresStore
    from pipelines.storage.database.sqlite_store import SqliteStore
    from support.migrated_database import migrated_sqlite

    if request.param == "sqlite":
        path = tmp_path / "odyssey.db"
        path.write_bytes(migrated_sqlite())
        yield SqliteStore(path)
        return
    postgres: Cluster = request.getfixturevalue("postgres")
    url = postgres.new_database()
    yield PostgresStore(url)
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def empty_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Each of the two, without a single table."""
    from pipelines.storage.database.postgres_store import PostgresStore
    from pipelines.storage.database.sqlite_store import SqliteStore

    if request.param == "sqlite":
        return SqliteStore(tmp_path / "odyssey.db")
    postgres: Cluster = request.getfixturevalue("postgres")
    return PostgresStore(postgres.new_database(is_empty=True))


@pytest.fixture
async def database(store: Store, anyio_backend: str) -> AsyncIterator[Database]:
    """Opened on each of the two. A file that fills it has a fixture of this name over this one."""
    from pipelines.storage.database.database import Database

    opened = Database(store)
    yield opened
    await opened.close()


@pytest.fixture
async def sqlite_database(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Database]:
    from pipelines.storage.database.database import Database
    from pipelines.storage.database.sqlite_store import SqliteStore

    opened = Database(SqliteStore(tmp_path / "odyssey.db"))
    yield opened
    await opened.close()


@pytest.fixture
async def two_nodes(postgres: Cluster, anyio_backend: str) -> AsyncIterator[tuple[Database, Database]]:
    """Two processes that work on one Postgres."""
    from pipelines.storage.database.database import Database
    from pipelines.storage.database.postgres_store import PostgresStore

    url = postgres.new_database()
    both = Database(PostgresStore(url)), Database(PostgresStore(url))
    yield both
    for opened in both:
        await opened.close()


@pytest.fixture
def store_before(empty_store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Fill], Store]:
    """Makes a database as an older release left it: its schema before a migration, the rows of `fill`."""
    from pipelines.storage.database import postgres_store, sqlite_store
    from pipelines.storage.database.migrations import MIGRATIONS

    def make(migration: str, fill: Fill) -> Store:
        older = tuple(step for step in MIGRATIONS if step[0] < migration)
        with monkeypatch.context() as release:
            for module in (sqlite_store, postgres_store):
                release.setattr(module, "MIGRATIONS", older)
            with closing(empty_store.connect(read_only=False)) as connection:
                empty_store.migrate(connection)
                fill(connection)
        return empty_store

    return make


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    from support.desk import open_house

    async with open_house(tmp_path / "house") as opened:
        yield opened


@pytest.fixture
def org(house: House) -> Org:
    return house.owner


@pytest.fixture
async def run(org: Org) -> DrivenRun:
    """A run of the desk's own task, no failures in it."""
    return await org.run()
