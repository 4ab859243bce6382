"""Coding tasks from a scenario to a verdict: on a real server, in real sandboxes."""

import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

from support.server_process import Api, House, Row, house_in

PATIENCE_S = 300.0
SUM = "def total(xs):\n    return sum(xs[1:])\n"
FILES = {
    "sum.py": SUM,
    "old.txt": "one\ntwo\nthree\n",
    "tool.sh": "#!/bin/sh\necho built > built.txt\n",
    ".gitignore": "*.log\n",
    "check.py": "import sum\n",
}
CHECK = "import sys; sys.path.insert(0, '.')\nfrom sum import total\nassert total([1, 2]) == 3\n"
SCENARIO: Row = {
    "name": "sum",
    "user_instruction": "total([1, 2]) must be 3.",
    "workspace_seed": {"type": "files", "files": FILES},
    "setup_command": "sh tool.sh && id -u > uid.log && echo $DEPTH > depth.txt",
    "env_vars": {"DEPTH": "7"},
    "scorers": [
        {"name": "check", "type": "command", "command": "python3 /tests/check.py", "timeout_s": 30},
        {"name": "who", "type": "command", "command": "test $(id -u) = 1001", "required": False},
        {"name": "small", "type": "max_diff_lines", "max": 100, "required": False, "weight": 2},
    ],
    "test_files": {"/tests/check.py": CHECK},
}
#: What it is asked to do comes with the task: one agent is registered, one sandbox waits for all.
AGENT = """
import json, os, pathlib, subprocess
def run(task_input, *, proxy_url, run_token):
    place = pathlib.Path(os.environ["PIPELINES_WORKSPACE"])
    told = json.loads(pathlib.Path(os.environ["PIPELINES_TASK_FILE"]).read_text())
    seen = {}
    names = {"place": place, "told": told, "seen": seen, "run": subprocess.run, "os": os}
    exec(task_input["input"]["do"], names)
    return {"final_response": "I am done.", "metadata": {"seen": seen}}
"""
MEND = 'place.joinpath("sum.py").write_text("def total(xs):\\n    return sum(xs)\\n")'


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("coding") / "house", {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as opened:
        yield opened


@pytest.fixture(scope="module")
def api(house: House) -> Api:
    opened = house.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    opened.client.timeout = PATIENCE_S
    opened.post("/api/coding-scenarios", SCENARIO, 201)
    return opened


WAYS = {
    "mends": MEND,
    "nothing": "",
    "everything": MEND
    + textwrap.dedent(
        """
        place.joinpath("new.bin").write_bytes(b"a" + bytes([0, 255]))
        place.joinpath("old.txt").rename(place / "renamed.txt")
        place.joinpath("check.py").unlink()
        place.joinpath("tool.sh").chmod(0o644)
        place.joinpath("noise.log").write_text("x")
        git = run(["git", "log", "--oneline"], cwd=place, capture_output=True, text=True)
        run(["git", "commit", "-qam", "mine"], cwd=place, check=True)
        seen |= {"log": git.stdout, "error": git.stderr, "told": told}
        seen |= {"agent": os.access("/job/agent", os.W_OK)}
        seen |= {"fixed": bool(os.statvfs("/job/agent").f_flag & os.ST_RDONLY)}
        seen |= {"depth": place.joinpath("depth.txt").read_text(), "tests": os.path.exists("/tests")}
        seen |= {"remotes": run(["git", "remote"], cwd=place, capture_output=True, text=True).stdout}
        """
    ),
    "tampers": MEND + '\nplace.joinpath("conftest.py").write_text("")\n',
    "fails": MEND + "\nraise RuntimeError('no more')\n",
}


@pytest.fixture(scope="module")
def runs(api: Api) -> dict[str, Row]:
    """All at once; each with what is known of its workspace."""
    code = {"source": "paste", "text": AGENT}
    agent = {"name": "Coder", "mode": "code", "run_timeout_s": 60, "tools_schema": [], "code": code}
    agent_id = api.post("/api/agents", agent, 201)["id"]
    rows = [
        {"user": "Mend it.", "scenario_ref": "sum", "task_input": {"do": do}, "tags": name}
        for name, do in WAYS.items()
    ]
    batch_id = api.batch_of(agent_id, api.dataset(*rows, agent_id=agent_id)["id"])
    api.ended(batch_id, PATIENCE_S)
    whole = [api.get(f"/api/runs/{run['id']}") for run in api.runs(batch_id)]
    return {
        name: run | {"coding": api.get(f"/api/runs/{run['id']}/coding"), "batch_id": batch_id}
        for name, run in zip(WAYS, whole, strict=True)
    }


def results(run: Row) -> dict[str, Any]:
    return {result["name"]: result for result in run["coding"]["grading"]["results"]}


def test_a_change_that_passes_its_scorers_passes_and_no_change_fails(runs: dict[str, Row]) -> None:
    assert runs["mends"]["verdict"] == "PASS", runs["mends"]["judgement"]
    assert runs["mends"]["coding"]["grading"]["score"] == 1.0
    assert runs["nothing"]["verdict"] == "FAIL"
    assert runs["nothing"]["failure_mode"] == "incomplete"
    assert results(runs["nothing"])["check"]["output"].count("AssertionError") == 1
    assert runs["nothing"]["coding"]["diff"]["files"] == []


def test_how_runs_have_their_workspaces_is_told(api: Api) -> None:
    told = api.get("/api/code-mode")["workspaces"]
    assert told.startswith(("shared by the runs of a scenario", "in memory, a copy for each run: "))


def test_graders_are_another_user(runs: dict[str, Row]) -> None:
    assert results(runs["mends"])["who"]["status"] == "PASS"


def test_the_diff_has_every_kind_of_change_and_tells_what_is_ignored(runs: dict[str, Row]) -> None:
    diff = runs["everything"]["coding"]["diff"]
    told = {file["path"]: file for file in diff["files"]}
    assert {path: file["change"] for path, file in told.items()} == {
        "sum.py": "modified",
        "new.bin": "added",
        "renamed.txt": "renamed",
        "check.py": "deleted",
        "tool.sh": "modified",
    }
    assert told["renamed.txt"]["old_path"] == "old.txt"
    assert told["new.bin"]["binary"] is True
    assert told["tool.sh"]["new_mode"] == "100644"
    assert "noise.log" in diff["ignored_files"]
    assert "GIT binary patch" in diff["patch"]
    assert runs["everything"]["verdict"] == "PASS"


def test_an_agent_sees_its_task_and_one_commit_and_nothing_of_its_graders(runs: dict[str, Row]) -> None:
    seen = runs["everything"]["metadata"]["seen"]
    assert len(seen["log"].splitlines()) == 1, seen["error"]
    assert seen["remotes"] == ""
    assert seen["depth"] == "7\n"
    assert (seen["agent"], seen["fixed"]) == (False, True)  # by its owner, and by how it is mounted
    assert seen["tests"] is False
    assert seen["told"]["user_instruction"] == "Mend it."
    assert "scorers" not in str(seen["told"])
    assert runs["everything"]["coding"]["baseline"]["files"] == len(FILES) + 3


def test_what_could_deceive_a_grader_is_put_back_and_goes_to_people(api: Api, runs: dict[str, Row]) -> None:
    run = runs["tampers"]
    assert run["verdict"] == "PENDING"
    assert run["coding"]["grading"]["passed"] is True
    assert run["coding"]["grading"]["restored_files"] == ["conftest.py"]
    assert any(warning.startswith("tamper_suspected: ") for warning in run["soft_warnings"])
    waiting = api.get("/api/v1/eval/reviews", limit=100)["items"]
    (item,) = [item for item in waiting if item["run_id"] == run["id"]]
    assert any("tamper_suspected" in reason for reason in item["reasons"])


def test_what_an_agent_did_before_it_failed_is_there_and_graded(runs: dict[str, Row]) -> None:
    assert runs["fails"]["error_class"] == "agent_exception"
    assert runs["fails"]["verdict"] == "FAIL"
    assert runs["fails"]["coding"]["grading"]["passed"] is True


def test_stored_changes_are_scored_again_without_their_agent(api: Api, runs: dict[str, Row]) -> None:
    run_id = runs["mends"]["id"]
    stricter = [{"name": "tiny", "type": "max_diff_lines", "max": 1}]
    again = api.post(f"/api/runs/{run_id}/rescore", {"scorers": stricter}, 200)
    assert again["grading"]["passed"] is False
    assert len(again["earlier_gradings"]) == 1
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "FAIL"
    api.put("/api/coding-scenarios/sum", SCENARIO | {"scorers": [{**stricter[0], "max": 50}]})
    done = api.post(f"/api/batches/{runs['mends']['batch_id']}/rescore", None, 200)
    assert done["rescored"] == len(WAYS)
    assert {change["run_id"] for change in done["changes"]} >= {run_id, runs["nothing"]["id"]}
    api.put("/api/coding-scenarios/sum", SCENARIO)


def test_any_change_can_be_graded_by_a_scenario(api: Api) -> None:
    patch = (
        "diff --git a/sum.py b/sum.py\n--- a/sum.py\n+++ b/sum.py\n@@ -1,2 +1,2 @@\n def total(xs):\n"
        "-    return sum(xs[1:])\n+    return sum(xs)\n"
    )
    graded = api.post("/api/coding-scenarios/sum/grade", {"patch": patch}, 200)
    assert graded["passed"] is True
    assert [file["path"] for file in graded["diff"]["files"]] == ["sum.py"]
    broken = api.post("/api/coding-scenarios/sum/grade", {"patch": patch.replace("xs[1:]", "ys")}, 200)
    assert broken["passed"] is False
    assert "cannot be applied" in broken["reason"]


def test_rows_of_coding_tasks_are_refused_with_row_and_column(api: Api) -> None:
    http = api.agent("https://agent.example.com/run")["id"]
    rows = [
        {"user": "x", "scenario_ref": "smu"},
        {"user": "x", "scenario_ref": "sum", "eval": [{"name": "t"}]},
    ]
    answer = api.client.post("/api/datasets", json={"name": "t", "agent_id": http, "rows": rows})
    assert answer.status_code == 422
    told = [(one["row"], one["column"], one.get("hint")) for one in answer.json()["error"]["details"]]
    assert (1, "scenario_ref", "did you mean `sum`?") in told
    assert any(row == 2 and column == "eval" for row, column, _ in told)
    assert sum("over HTTP" in one["message"] for one in answer.json()["error"]["details"]) == 2


def test_a_batch_of_coding_tasks_needs_a_code_agent(api: Api) -> None:
    http = api.agent("https://agent.example.com/run")["id"]
    dataset = api.dataset({"user": "x", "scenario_ref": "sum"})
    answer = api.client.post("/api/runs", json={"agent_id": http, "dataset_id": dataset["id"]})
    assert answer.status_code == 422
    assert "over HTTP" in answer.text


def test_a_setup_that_fails_is_told_on_the_run(api: Api, runs: dict[str, Row]) -> None:
    row = {
        "user": "x",
        "scenario_ref": "sum",
        "setup_command": "echo no luck; exit 3",
        "task_input": {"do": ""},
    }
    agent_id = runs["mends"]["agent_id"]
    batch_id = api.batch_of(agent_id, api.dataset(row, agent_id=agent_id)["id"])
    api.ended(batch_id, PATIENCE_S)
    run = api.only_run(batch_id)
    assert run["status"] == "failed"
    assert "ended with 3" in run["error_json"]["detail"]
    assert "no luck" in run["error_json"]["detail"]


def test_scenarios_are_made_listed_changed_and_deleted(api: Api) -> None:
    body = {
        "name": "other",
        "user_instruction": "x",
        "scorers": [{"name": "a", "type": "max_diff_lines", "max": 1}],
    }
    made = api.post("/api/coding-scenarios", body, 201)
    assert api.client.post("/api/coding-scenarios", json=body).status_code == 409
    (listed,) = api.get("/api/coding-scenarios", name="other")["items"]
    assert listed["scorers"] == [{"name": "a", "type": "max_diff_lines", "required": True}]
    changed = api.put(f"/api/coding-scenarios/{made['id']}", body | {"setup_command": "make"})
    assert (changed["version"], changed["setup_command"]) == (2, "make")
    assert api.client.delete("/api/coding-scenarios/other").status_code == 204
    assert api.client.get(f"/api/coding-scenarios/{made['id']}").status_code == 404
