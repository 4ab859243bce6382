"""A server process that all tests of the command line share."""

from collections.abc import Iterator

import pytest

from support.server_process import Api, house_in


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("cli"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()
