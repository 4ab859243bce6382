"""Coding tasks of an uploaded CSV, with a server's own limits: what a row says otherwise, what is kept."""

import csv
import io
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.server.config.settings import load_settings
from pipelines.server.service.sandboxes import workspaces
from support.atif_fields import check_atif
from support.desk import TOOLS, answered
from support.server_process import Api, House, Row, house_in

PATIENCE_S = 300.0
MOST_FILES, MOST_DIFF_KB = 40, 64
MOST_OUTPUT = 64 * 1024
COLUMNS = ("user", "scenario_ref", "workspace_seed", "setup_command", "eval")
SETTINGS = {
    "PIPELINES_PROXY_RATE_LIMIT": "0",
    "PIPELINES_WORKSPACE_FILES": str(MOST_FILES),
    "PIPELINES_WORKSPACE_DIFF_KB": str(MOST_DIFF_KB),
}
AGENT = """
import json, os, pathlib, random, time, urllib.error, urllib.request

def call(proxy_url, run_token, tool, **arguments):
    named = {"Authorization": f"Bearer {run_token}", "Content-Type": "application/json"}
    body = json.dumps(arguments).encode()
    request = urllib.request.Request(f"{proxy_url}/tools/{tool}", data=body, headers=named)
    try:
        urllib.request.urlopen(request, timeout=30).read()
    except urllib.error.HTTPError:  # there is no such order: the call was made all the same
        pass

def run(task_input, *, proxy_url, run_token):
    top = pathlib.Path(os.environ["PIPELINES_WORKSPACE"])
    task = json.loads(pathlib.Path(os.environ["PIPELINES_TASK_FILE"]).read_text())
    wish = task["user_instruction"]
    (top / "done.txt").write_text("done\\n")
    seen = dict(task=task, files=sorted(path.name for path in top.iterdir()), notes=os.environ.get("NOTES"))
    seen["python"] = os.environ.get("PIPELINES_WORKSPACE_PYTHON")
    told = ("I wrote done.txt.", "Done.")
    said = [dict(role="user", content=wish), *(dict(role="assistant", content=text) for text in told)]
    if wish == "sleep":
        time.sleep(600)
    if wish == "flood":
        (top / "large.txt").write_text("".join(str(random.random()) for _ in range(20_000)))
    if wish == "call":
        said[1]["tool_calls"] = [dict(id="c1", name="get_order", arguments=dict(order_id="4521"))]
        call(proxy_url, run_token, "get_order", order_id="4521")
    return dict(final_response="Done.", messages=said, metadata=dict(seen=seen))
"""


def scenario(port: int) -> Row:
    offline = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
    return {
        "name": "notes",
        "user_instruction": "Write done.txt.",
        "workspace_seed": {"type": "files", "files": {"a.txt": "one\n"}},
        "setup_instructions": "Read a.txt first.",
        "env_vars": {"NOTES": "seven"},
        "scorers": [
            {"name": "done", "type": "file_equals", "path": "done.txt", "text": "done\n"},
            {"name": "offline", "type": "command", "command": f'! python3 -c "{offline}"'},
            {"name": "loud", "type": "command", "command": "yes word | head -c 300000; echo the end"},
            {"name": "env", "type": "command", "command": 'test "$NOTES" = seven'},
            {"name": "marks", "type": "command", "command": "touch left.txt /tmp/left"},
            {"name": "fresh", "type": "command", "command": "! test -e left.txt && ! test -e /tmp/left"},
        ],
    }


#: Its packages can be imported and are mounted read-only.
PACKAGES = """python3 -c 'import iniconfig' && grep -q ' /deps [^ ]* ro' /proc/mounts"""


def rows() -> dict[str, Row]:
    own = {"type": "files", "files": {"b.txt": "two\n"}}
    lines = [{"name": "lines", "type": "max_diff_lines", "max": 0}]
    return {
        "keep": {},
        "sleep": {"scenario_ref": "hasty"},
        "flood": {},
        "call": {},
        "seed": {"workspace_seed": json.dumps(own), "eval": "grep two b.txt && ! test -e a.txt"},
        "setup": {
            "scenario_ref": "plain",
            "setup_command": "echo set > made.txt",
            "eval": "grep set made.txt",
        },
        "scorers": {"eval": json.dumps(lines)},
        "packages": {"scenario_ref": "packed", "eval": PACKAGES},
        "many": {"scenario_ref": "plain", "setup_command": f"seq {MOST_FILES + 1} | xargs touch"},
    }


@pytest.fixture(scope="module")
def listening() -> Iterator[int]:
    """A door on the machine's own loopback, which no sandbox may find."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_in(tmp_path_factory.mktemp("rows") / "house", SETTINGS) as opened:
        yield opened


@pytest.fixture(scope="module")
def api(house: House, listening: int) -> Api:
    opened = house.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    body = scenario(listening)
    plain = {key: value for key, value in body.items() if key != "setup_instructions"}
    for changes in ({}, {"name": "hasty", "timeouts": {"agent_s": 3}}):
        opened.post("/api/coding-scenarios", body | changes, 201)
    opened.post("/api/coding-scenarios", plain | {"name": "plain"}, 201)
    opened.post("/api/coding-scenarios", plain | {"name": "packed", "requirements": "iniconfig"}, 201)
    return opened


@pytest.fixture(scope="module")
def ran(api: Api) -> dict[str, Row]:
    """Uploaded as a CSV; then its scenario changes and another is deleted, before anything is run."""
    code = {"source": "paste", "text": AGENT}
    agent = {"name": "Writer", "mode": "code", "run_timeout_s": 100, "tools_schema": TOOLS, "code": code}
    agent_id = api.post("/api/agents", agent, 201)["id"]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    for user, changes in rows().items():
        writer.writerow({"user": user, "scenario_ref": "notes"} | changes)
    given = {"file": ("tasks.csv", text.getvalue().encode())}
    reply = api.client.post("/api/datasets", files=given, data={"name": "rows", "agent_id": str(agent_id)})
    dataset = answered(reply, 201)
    other = {"name": "none", "type": "diff_contains", "text": "nobody writes this"}
    api.put("/api/coding-scenarios/notes", scenario(0) | {"scorers": [other]})
    assert api.client.delete("/api/coding-scenarios/plain").status_code == 204
    batch_id = api.batch_of(agent_id, dataset["id"])
    api.ended(batch_id, PATIENCE_S)
    whole = [api.get(f"/api/runs/{run['id']}") for run in api.runs(batch_id)]
    return {
        name: run | {"coding": api.get(f"/api/runs/{run['id']}/coding")}
        for name, run in zip(rows(), whole, strict=True)
    }


def results(run: Row) -> dict[str, Any]:
    return {result["name"]: result for result in run["coding"]["grading"]["results"]}


def test_a_task_keeps_the_scenario_that_it_was_made_of(ran: dict[str, Row]) -> None:
    assert ran["keep"]["verdict"] == "PASS", results(ran["keep"])
    assert set(results(ran["keep"])) == {"done", "offline", "loud", "env", "marks", "fresh"}


def test_a_row_of_a_csv_has_its_own_workspace_setup_and_scorers(ran: dict[str, Row]) -> None:
    for name in ("seed", "setup"):
        assert ran[name]["verdict"] == "PASS", results(ran[name])
        assert list(results(ran[name])) == ["eval"]
    assert ran["seed"]["metadata"]["seen"]["files"] == [".git", "b.txt", "done.txt"]
    assert "made.txt" in ran["setup"]["metadata"]["seen"]["files"]
    assert list(results(ran["scorers"])) == ["lines"]
    assert ran["scorers"]["verdict"] == "FAIL"


def test_each_scorer_has_a_sandbox_of_its_own(ran: dict[str, Row]) -> None:
    found = results(ran["keep"])
    assert (found["marks"]["status"], found["fresh"]["status"]) == ("PASS", "PASS")


def test_packages_of_a_scenario_are_installed_once_and_nobody_can_change_them(
    house: House, ran: dict[str, Row]
) -> None:
    run = ran["packages"]
    assert run["verdict"] == "PASS", results(run)
    assert "import iniconfig" not in results(run)["eval"]["output"]
    assert run["metadata"]["seen"]["python"] == "/deps/bin/python"
    made = list(house.directory.rglob("site-packages/iniconfig"))
    assert len(made) == 1, made


@pytest.mark.anyio
async def test_limits_of_a_workspace_are_settings_with_their_defaults(tmp_path: Path) -> None:
    def limits(**given: str) -> Any:
        settings = load_settings({"PIPELINES_DATA_DIR": str(tmp_path), **given})
        return workspaces(settings, None, None, None).limits  # type: ignore[arg-type]

    assert (limits().bytes, limits().files) == (500 * 2**20, 50_000)
    own = limits(PIPELINES_WORKSPACE_MB="3", PIPELINES_WORKSPACE_FILES="7", PIPELINES_WORKSPACE_DIFF_KB="2")
    assert (own.bytes, own.files, own.diff_bytes) == (3 * 2**20, 7, 2_048)


def test_an_agent_is_told_its_setup_instructions_and_has_its_variables(ran: dict[str, Row]) -> None:
    seen = ran["keep"]["metadata"]["seen"]
    assert seen["task"]["setup_instructions"] == "Read a.txt first."
    assert seen["task"]["workspace"] == "/job/workspace"
    assert seen["notes"] == "seven"


def test_a_scorer_has_no_network_and_what_it_prints_is_cut(ran: dict[str, Row]) -> None:
    found = results(ran["keep"])
    assert found["offline"]["status"] == "PASS", found["offline"]["output"]
    assert "Error" in found["offline"]["output"]  # it was tried
    assert 0 < len(found["loud"]["output"]) <= MOST_OUTPUT + 200
    assert "the end" in found["loud"]["output"]


def test_an_agent_s_time_is_shortened_and_what_it_did_is_graded(ran: dict[str, Row]) -> None:
    run = ran["sleep"]
    assert run["error_class"] == "agent_timeout", run["error_json"]
    assert "3 s" in run["error_json"]["detail"]
    assert results(run)["done"]["status"] == "PASS"
    assert run["verdict"] != "PASS"


def test_a_change_over_the_limit_is_cut_and_fails(ran: dict[str, Row]) -> None:
    run = ran["flood"]
    assert run["coding"]["diff"]["truncated"] is True
    assert run["coding"]["diff"]["bytes"] <= MOST_DIFF_KB * 1024
    assert run["verdict"] == "FAIL"
    assert "over its limit" in run["coding"]["grading"]["reason"]


def test_a_workspace_of_too_many_files_is_not_made(ran: dict[str, Row]) -> None:
    run = ran["many"]
    assert run["status"] == "failed"
    assert f"at most {MOST_FILES} are allowed" in run["error_json"]["detail"]


def test_what_an_agent_said_and_called_is_in_its_trace_and_in_atif(api: Api, ran: dict[str, Row]) -> None:
    run = ran["call"]
    (row,) = [row for row in api.trace(run["id"]) if row["tool_name"]]
    assert row["tool_name"] == "get_order"
    assert [message["content"] for message in run["messages"]][1] == "I wrote done.txt."
    whole = api.get(f"/api/runs/{run['id']}/export", format="atif")
    check_atif(whole)
    said = [step["message"] for step in whole["steps"]]
    assert "call" in said
    assert "I wrote done.txt." in said
    assert [call["function_name"] for step in whole["steps"] for call in step.get("tool_calls", ())] == [
        "get_order"
    ]
    assert "I wrote done.txt." in json.dumps(api.get(f"/api/runs/{run['id']}/export", format="json"))


def test_nothing_of_the_runs_is_left_behind(house: House, ran: dict[str, Row]) -> None:
    """Sandboxes that wait for more work are the server's own, and go with it."""
    assert ran
    assert house.node is not None
    process = house.node.process.pid
    assert house.stop()[0] == 0
    left = [path for path in house.directory.rglob("*") if path.name.startswith(("new-", "tmp"))]
    assert left == []
    mounts = Path("/proc/mounts").read_text()
    assert str(house.directory) not in mounts
    assert not [pid for pid in _processes() if f"{house.directory}" in _command(pid) or pid == str(process)]


def _processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit()]


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
