"""One pool for the tests of this room. Where code cannot be isolated they are skipped, with the reason."""

from collections.abc import Iterator

import pytest
from boxes import Boxes, boxes_in, mounts

from pipelines.sandbox.pool import CannotIsolate


@pytest.fixture(scope="session")
def _boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boxes]:
    try:
        # Without waiting sandboxes: what is left after a test is then left by that test.
        with boxes_in(tmp_path_factory.mktemp("boxes"), warm=0) as boxes:
            yield boxes
    except CannotIsolate as error:
        pytest.skip(f"code cannot be isolated here: {error}")


@pytest.fixture
def boxes(_boxes: Boxes) -> Iterator[Boxes]:
    """And the host is as it was before: no process, no mount, no file more or less."""
    before = mounts()
    yield _boxes
    assert _boxes.left_behind() == []
    assert mounts() == before
    assert _boxes.files() == _boxes.written
    assert (_boxes.folder / "bystander").read_text() == "untouched"
