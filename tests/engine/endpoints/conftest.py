"""One pool of sandboxes for this folder; where code cannot be isolated its tests are skipped, saying why."""

from collections.abc import Iterator

import pytest
from functions_desk import Desk

from pipelines.wire.errors import CodeModeUnavailable


@pytest.fixture(scope="session")
def desk_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("functions")
    folder.chmod(0o755)
    desk = Desk(folder)
    try:
        desk.do(desk.mode.opened())
        yield desk
    except CodeModeUnavailable as error:
        pytest.skip(error.message)
    finally:
        desk.stop()


@pytest.fixture
def desk(desk_of_all: Desk) -> Iterator[Desk]:
    yield desk_of_all
    desk_of_all.close_endpoints()
