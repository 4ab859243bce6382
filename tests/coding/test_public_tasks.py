"""Task folders of others, which are not kept here: imported and graded where somebody names a folder of them.

    PIPELINES_HARBOR_TASKS=/folder pytest tests/coding/test_public_tasks.py

A folder `refused/` in it may hold tasks that must not be taken.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodes import Api, house_in
from pipelines.cli.coding.scenario_files import read_tree
from pipelines.core.coding.import_harbor import CONFIG, read_harbor_task
from pipelines.core.coding.imported import ImportedTask, RefusedTask

NAMED = os.environ.get("PIPELINES_HARBOR_TASKS", "")
TASKS = sorted(path.parent for path in Path(NAMED).rglob(CONFIG)) if NAMED else []

pytestmark = pytest.mark.skipif(not TASKS, reason="PIPELINES_HARBOR_TASKS names no folder of tasks")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("public") / "house", {}) as house:
        opened = house.open()
        found = opened.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        opened.client.timeout = 1_800.0
        yield opened


@pytest.mark.parametrize("folder", TASKS, ids=lambda folder: folder.name)
def test_a_public_task_is_proved_and_stored_or_refused_by_name(api: Api, folder: Path) -> None:
    task = read_harbor_task(folder.name, read_tree(folder))
    if folder.parent.name == "refused":
        assert isinstance(task, RefusedTask)
        assert task.reasons
        return
    assert isinstance(task, ImportedTask), task
    made = api.post("/api/coding-scenarios/import", task.as_json(), 200)
    assert made["refused"] == []
    assert made["proof"]["reference"]["passed"] is True
    assert made["proof"]["unchanged"]["passed"] is False
