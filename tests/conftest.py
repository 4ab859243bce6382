"""Fixtures for every room above core: a server in this process, and its first org.

The server is imported by the fixtures that need it: core's tests do not hang on it.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
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


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
