"""One server process for all tests that leave it running, and one of its own for each that does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.server_process import Api, House, house_in

NO_LIMIT = {"PIPELINES_PROXY_RATE_LIMIT": "0"}
USER_MODEL = {"PIPELINES_USER_MODEL": f"scripted:{Path(__file__).with_name('user_script.jsonl')}"}


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("shared"), NO_LIMIT | USER_MODEL) as house:
        yield house.open()


@pytest.fixture
def own_house(tmp_path: Path) -> Iterator[House]:
    """Not started yet: a test kills it, stops it and opens it again."""
    with house_in(tmp_path / "own", NO_LIMIT) as house:
        yield house
