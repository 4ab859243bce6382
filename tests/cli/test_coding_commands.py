"""`pipelines coding …` over a real server, read as a person reads at 80 columns."""

import json
import shutil
from pathlib import Path

import pytest
from test_results_commands import Look

from pipelines.cli.coding.repositories import RepositoryNotFound, seed_at
from support.repository import TESTS
from support.server_process import Api

HARBOR = TESTS / "engine" / "coding" / "harbor"
YAML = """
scenarios:
  - name: {name}
    user_instruction: Write done.txt.
    workspace_seed: {{type: folder, path: repo}}
    test_folder: hidden
    scorers:
      - {{name: done, type: command, command: test -f done.txt}}
"""
AGENT = """
import os, pathlib

def run(task_input, *, proxy_url, run_token):
    pathlib.Path(os.environ["PIPELINES_WORKSPACE"], "done.txt").write_text("yes\\n" * 3)
    return "Done."
"""


@pytest.fixture
def look(api: Api, tmp_path: Path) -> Look:
    found = api.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/README.md").write_text("# A repository\n")
    (tmp_path / "repo/run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "hidden/tests").mkdir(parents=True)
    (tmp_path / "hidden/tests/check.txt").write_text("hidden\n")
    return Look(api, tmp_path)


def written(look: Look, name: str) -> str:
    (look.directory / "scenario.yaml").write_text(YAML.format(name=name))
    return "scenario.yaml"


def fits(said: str) -> str:
    assert max(map(len, said.splitlines()), default=0) <= 80, said
    return said


def test_a_scenario_from_its_file_to_its_end(look: Look) -> None:
    file = written(look, "kept")
    assert "Scenario kept (id cs_" in fits(look("coding", "scenario", "add", file))
    assert "is changed." in look("coding", "scenario", "add", file)
    assert "kept" in fits(look("coding", "scenario", "ls"))
    shown = look.json("coding", "scenario", "show", "kept")
    assert shown["workspace_seed"]["files"]["README.md"] == "# A repository\n"
    assert shown["test_files"] == {"tests/check.txt": "hidden\n"}
    text = look("coding", "scenario", "show", shown["id"])
    assert "README.md: |\n      # A repository\n" in text
    (look.directory / "again.yaml").write_text(text)
    assert look.json("coding", "scenario", "add", "again.yaml")[0]["version"] == 3
    assert "did you mean `kept`" in look("coding", "scenario", "show", "kapt", code=2)
    assert "is deleted" in look("coding", "scenario", "rm", "kept")
    assert "There is no scenario" in look("coding", "scenario", "rm", "kept", code=2)


def test_everything_wrong_with_a_file_is_told_at_once(look: Look) -> None:
    (look.directory / "wrong.yaml").write_text("name: x\nscorers: [{name: a, type: comand}]\nsetup: make\n")
    said = look("coding", "scenario", "add", "wrong.yaml", code=2)
    assert "user_instruction" in said
    assert "did you mean" in said
    (look.directory / "none.yaml").write_text("workspace_seed: {type: folder, path: nowhere}\n")
    assert "nowhere is no folder" in look("coding", "scenario", "add", "none.yaml", code=2)
    (look.directory / "list.yaml").write_text("- 1\n")
    assert "one scenario, or a list" in look("coding", "scenario", "add", "list.yaml", code=2)


def test_a_run_is_shown_with_its_change_and_scored_again(look: Look, api: Api) -> None:
    look("coding", "scenario", "add", written(look, "shown"))
    code = {"source": "paste", "text": AGENT}
    agent = {"name": "Writer", "mode": "code", "tools_schema": [], "code": code}
    agent_id = api.post("/api/agents", agent, 201)["id"]
    rows = [{"user": "Write done.txt.", "scenario_ref": "shown"}]
    dataset = api.post("/api/datasets", {"name": "d", "agent_id": agent_id, "rows": rows}, 201)
    assert dataset.get("warnings") in ([], None)
    batch = api.batch_of(agent_id, dataset["id"])
    api.ended(batch, 300.0)
    run = api.only_run(batch)
    said = fits(look("show", str(run["id"])))
    assert "Changed in the workspace: 1 file, +3 −0" in said
    assert "    +yes" in said
    assert "PASS  done (command, required, score 1.00)" in said
    assert "Changed in the world" not in said
    assert look.json("show", str(run["id"]))["coding"]["diff"]["added"] == 3
    (look.directory / "strict.yaml").write_text("- {name: small, type: max_diff_lines, max: 2}\n")
    said = fits(look("coding", "rescore", str(run["id"]), "--scorers", "strict.yaml"))
    assert f"Run {run['id']}: FAIL (was PASS; no agent was called)" in said
    assert "3 lines were added or removed; at most 2 are allowed." in said
    said = fits(look("coding", "rescore", f"batch:{batch}"))
    assert f"run {run['id']} FAIL (incomplete) → PASS" in said
    assert "1 run graded again, 1 verdict changed; no agent was called." in said
    assert look.json("coding", "rescore", f"batch:{batch}")["changed"] == 0
    assert "give the number of a run" in look("coding", "rescore", "x", code=2)
    (look.directory / "none.yaml").write_text("a: 1\n")
    assert "a list of scorers" in look("coding", "rescore", "1", "--scorers", "none.yaml", code=2)


def test_harbor_tasks_are_proved_or_refused_with_the_reason(look: Look) -> None:
    shutil.copytree(HARBOR, look.directory / "tasks")
    broken = look.directory / "tasks/word-frequencies/solution/solve.sh"
    (look.directory / "tasks/broken").mkdir()
    shutil.copytree(broken.parents[1], look.directory / "tasks/broken", dirs_exist_ok=True)
    (look.directory / "tasks/broken/task.toml").write_text("[verifier]\ntimeout_sec = 30\n")
    (look.directory / "tasks/broken/solution/solve.sh").write_text("true\n")
    found = {
        each["name"]: each
        for each in json.loads(_refused(look, "coding", "import", "harbor", "tasks", "--json", "--replace"))
    }
    assert found["odyssey/word-frequencies"]["result"] == "imported"
    assert found["ledger-totals"]["result"] == "imported"
    assert found["broken"]["reasons"][0].startswith("The reference solution does not pass.")
    assert "environment/docker-compose.yaml needs containers" in found["needs-compose"]["reasons"]
    kept = look.json("coding", "scenario", "show", "odyssey/word-frequencies")
    assert "punctuation" not in json.dumps(kept["workspace_seed"])
    said = fits(_refused(look, "coding", "import", "harbor", "tasks/ledger-totals"))
    assert "There is a coding scenario `ledger-totals` already" in " ".join(said.split())
    assert "no task in it" in look("coding", "import", "harbor", "hidden", code=2)


def _refused(look: Look, *arguments: str) -> str:
    """What is printed of an import of which something was refused."""
    from typer.testing import CliRunner

    from pipelines.cli.main import app

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(look.directory)
        done = CliRunner().invoke(app, [*arguments], env=look.env)
    assert done.exit_code == 1, done.output
    return done.stdout


def test_rows_are_read_where_their_repositories_are(look: Look) -> None:
    (look.directory / "rows.jsonl").write_text(
        '{"instance_id": "a-1", "repo": "acme/x", "base_commit": "1"}\n'
    )
    said = fits(_refused(look, "coding", "import", "swebench", "rows.jsonl", "--repos", "repo"))
    assert "repo has no repository acme/x" in said
    said = fits(_refused(look, "coding", "import", "swebench", "rows.jsonl", "--dry-run"))
    assert "has no `patch`" in said
    assert "has no row of b-2" in look("coding", "import", "swebench", "rows.jsonl", "--only", "b-2", code=2)
    (look.directory / "rows.json").write_text("[")
    assert "not valid JSON" in look("coding", "import", "swebench", "rows.json", code=2)


def test_a_repository_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme/x.bundle").write_text("no bundle")
    with pytest.raises(RepositoryNotFound, match="cannot be read"):
        seed_at(tmp_path, "acme/x", "HEAD")
