"""Ten rows in SWE-bench's form, of repositories of our own: each is proved, and graded as it should be."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from swebench_rows import make_repositories

from pipelines.cli.coding.repositories import seed_at
from pipelines.core.coding.import_swebench import read_swebench_row
from pipelines.core.coding.imported import ImportedTask
from support.server_process import Api, Row, house_in

PATIENCE_S = 600.0


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    folder = tmp_path_factory.mktemp("repositories")
    return folder, make_repositories(folder)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("rows") / "house", {}) as house:
        opened = house.open()
        found = opened.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        opened.client.timeout = PATIENCE_S
        yield opened


def task_of(repositories: tuple[Path, list[Row]], place: int) -> ImportedTask:
    folder, rows = repositories
    row = rows[place]
    task = read_swebench_row(row, place, seed_at(folder, row["repo"], row["base_commit"]))
    assert isinstance(task, ImportedTask), task
    return task


def test_rows_have_the_fields_and_the_commits_that_the_form_asks_for(
    repositories: tuple[Path, list[Row]],
) -> None:
    _, rows = repositories
    assert len(rows) == 10
    assert [row["base_commit"][:8] for row in rows[:2]] == ["88c1c676", "f851065e"]  # the same everywhere
    assert all(row["patch"] and row["test_patch"] for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(10))
def test_a_row_is_proved_and_stored(api: Api, repositories: tuple[Path, list[Row]], place: int) -> None:
    task = task_of(repositories, place)
    made = api.post("/api/coding-scenarios/import", task.as_json(), 200)
    assert made["refused"] == []
    reference, unchanged = made["proof"]["reference"], made["proof"]["unchanged"]
    assert reference["passed"] is True
    assert reference["tamper_signs"] == []
    assert unchanged["passed"] is False
    stored = api.get(f"/api/coding-scenarios/{made['id']}")
    assert stored["test_files"]
    again = api.post(f"/api/coding-scenarios/{made['id']}/grade", {"patch": task.reference.patch}, 200)
    assert again["passed"] is True


@pytest.mark.slow
def test_a_row_that_proves_nothing_is_refused(api: Api, repositories: tuple[Path, list[Row]]) -> None:
    body = task_of(repositories, 0).as_json()
    wrong = body | {"reference": {"patch": "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}}
    told = api.post("/api/coding-scenarios/import", wrong | {"replace": True}, 200)
    assert told["id"] is None
    assert "cannot be applied" in told["refused"][0]
    easy = body["scenario"] | {"scorers": [{"name": "any", "type": "max_diff_lines", "max": 1_000}]}
    told = api.post("/api/coding-scenarios/import", body | {"scenario": easy, "replace": True}, 200)
    assert (told["id"], told["refused"]) == (None, ["The scenario passes without a change."])
    told = api.post("/api/coding-scenarios/import", body | {"test_patch": "nonsense", "replace": True}, 200)
    assert told["refused"] == ["The test patch changes no file."]
