"""One server for the runs of this folder; where code cannot be isolated its tests are skipped, saying why."""

from collections.abc import Iterator

import pytest

from support.server_process import Api, House, fresh_house_in


@pytest.fixture(scope="module")
def house_of_code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with fresh_house_in(
        tmp_path_factory.mktemp("code") / "house", {"PIPELINES_PROXY_RATE_LIMIT": "0"}
    ) as house:
        yield house


@pytest.fixture(scope="module")
def api(house_of_code: House) -> Api:
    opened = house_of_code.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    return opened
