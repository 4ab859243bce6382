"""Fixtures for every room above core: a server in this process, and its first org.

The server is imported by the fixtures that need it: core's tests do not hang on it.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Machines are shared and noisy: how long an example takes says nothing about the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_collection_finish() -> None:
    """What was collected lives to the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


if TYPE_CHECKING:
    from desk import DrivenRun, House, Org
    from pipelines.storage.database.store import Store
    from private_postgres import Cluster


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    from private_postgres import cluster

    with cluster() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Each of the two, with its tables and nothing in them."""
    from migrated import migrated_sqlite
    from pipelines.storage.database.postgres_store import PostgresStore
    from pipelines.storage.database.sqlite_store import SqliteStore

    if request.param == "sqlite":
        path = tmp_path / "odyssey.db"
        path.write_bytes(migrated_sqlite())
        yield SqliteStore(path)
        return
    postgres: Cluster = request.getfixturevalue("postgres")
    url = postgres.new_database()
    yield PostgresStore(url)
    postgres.drop(url)


@pytest.fixture
async def house(tmp_path: Path, anyio_backend: str) -> AsyncIterator[House]:
    from desk import open_house

    async with open_house(tmp_path / "house") as opened:
        yield opened


@pytest.fixture
def org(house: House) -> Org:
    return house.owner


@pytest.fixture
async def run(org: Org) -> DrivenRun:
    """A run of the desk's own task, no failures in it."""
    return await org.run()
