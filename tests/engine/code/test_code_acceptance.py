"""The whole story over real sockets: the example uploaded in each of the four ways, its verdicts, its end."""

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from code_desk import CODE_AGENT, EXAMPLES, code_agent, run_code
from git_server import git_server, repository

from support.desk import open_house, refused
from support.server_process import REFUND_TASK, clean_environment, eventually, fresh_house_in

TASKS = EXAMPLES / "refund_agent" / "tasks.csv"
DEFINITION = json.loads((EXAMPLES / "code_agent" / "agent.json").read_text())
TOKEN = "agent-token-1"


@contextmanager
def http_agent() -> Iterator[str]:
    """The example behind a URL, as a process of its own."""
    command = [sys.executable, str(EXAMPLES / "refund_agent" / "agent.py"), "--port", "0"]
    environment = clean_environment() | {"AGENT_TOKEN": TOKEN}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        try:
            yield found[0]
        finally:
            process.kill()


def verdicts(api, agent_id):
    """What each task came to, in the order of the file."""
    reply = api.client.post(
        "/api/datasets",
        files={"file": ("tasks.csv", TASKS.read_bytes())},
        data={"name": "tasks", "agent_id": str(agent_id)},
    )
    batch_id = api.batch_of(agent_id, reply.json()["id"])
    api.ended(batch_id)
    return [(run["status"], run["verdict"], run["failure_mode"]) for run in api.runs(batch_id)]


def registered(api, **changes):
    return api.post("/api/agents", DEFINITION | {"name": "Uploaded"} | changes, 201)


@pytest.mark.slow
def test_each_way_to_upload_gives_the_verdicts_of_the_http_agent(api, tmp_path):
    text = CODE_AGENT.read_text()
    with http_agent() as url:
        body = json.loads((EXAMPLES / "refund_agent" / "agent.json").read_text())
        header = {"endpoint_url": url, "auth_header_value": f"Bearer {TOKEN}"}
        expected = verdicts(api, api.post("/api/agents", body | header, 201)["id"])
    assert {verdict for _, verdict, _ in expected} == {"PASS", "FAIL"}
    assert len(expected) == 12

    pasted = registered(api, code={"source": "paste", "text": text})
    assert verdicts(api, pasted["id"]) == expected

    split = text.replace("class Tools:", "from proxy.tools import Tools\n\n\nclass _Unused:")
    tools = f"import json, urllib.error, urllib.request, uuid\n\n{text[text.index('class Tools:') :]}"
    files = {"main.py": split, "proxy/tools.py": tools}
    several = registered(api, code={"source": "files", "files": files})
    assert several["code"]["entrypoint"] == "main.py:run"
    assert verdicts(api, several["id"]) == expected

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {
            "bots/main.py": split,
            "proxy/tools.py": tools,
            "logo.png": b"\x89PNG\0",
        }.items():
            archive.writestr(path, content)
    draft = registered(api, status="draft", entrypoint="bots/main.py:run")
    zipped = api.client.put(
        f"/api/agents/{draft['id']}/code",
        content=buffer.getvalue(),
        headers={"Content-Type": "application/zip"},
    )
    assert zipped.json()["code"]["files"] == 3
    api.post(f"/api/agents/{draft['id']}/publish")
    assert verdicts(api, draft["id"]) == expected

    commit = repository(tmp_path / "agents", {"README": "x", "refund/agent.py": text})
    with git_server(tmp_path) as server:
        source = {"source": "git", "url": f"{server.url}/agents", "ref": "main", "directory": "refund"}
        cloned = registered(api, code=source)
    assert cloned["code"]["commit"] == commit
    assert cloned["code"]["hash"] == pasted["code"]["hash"]
    assert verdicts(api, cloned["id"]) == expected


def test_one_command_uploads_and_runs_a_folder(api, tmp_path):
    command = [sys.executable, "-m", "pipelines", "run", "--json", "--fail-under", "0.5"]
    command += ["--agent", str(EXAMPLES / "code_agent" / "agent.json"), "--dataset", str(TASKS)]
    environment = clean_environment() | {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert len(told["runs"]) == 12
    agent = api.get(f"/api/agents/{told['batch']['agent_id']}")
    assert (agent["mode"], agent["name"]) == ("code", DEFINITION["name"])


def sandboxes_of(code_hash: str) -> list[str]:
    """The processes of this machine that have this code mounted."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                found += [entry.name] if code_hash in (entry / "mountinfo").read_text() else []
    return found


@pytest.mark.slow
def test_a_server_that_is_killed_takes_its_sandboxes_along_and_repeats_nothing(tmp_path):
    body = f"""
        call(proxy_url, run_token, "add_note", order_id="4521", text="begun in {tmp_path.name}")
        __import__("time").sleep(300)
    """
    with fresh_house_in(tmp_path / "house") as house:
        api = house.open()
        if not api.get("/api/code-mode")["available"]:
            pytest.skip("no isolation here")
        agent = api.post("/api/agents", code_agent(body), 201)
        batch_id = api.batch_of(agent["id"], api.dataset()["id"])
        (run,) = eventually(lambda: [r for r in api.runs(batch_id) if api.trace(r["id"])], "it has begun")
        code_hash = agent["code"]["hash"]
        assert sandboxes_of(code_hash)
        house.kill()
        eventually(lambda: not sandboxes_of(code_hash), "its sandboxes are gone")
        api = house.open()
        api.ended(batch_id)
        ended = api.only_run(batch_id)
        assert (ended["status"], ended["error_class"]) == ("failed", "interrupted")
        assert len(api.trace(run["id"])) == 1
        assert run_code(api, "return 'Goes on.'")["final_response"] == "Goes on."
        assert house.stop()[0] == 0


# -- without isolation


@pytest.fixture
def no_bubblewrap(monkeypatch):
    monkeypatch.setattr("pipelines.sandbox.probe.bubblewrap", lambda: None)


@pytest.mark.anyio
async def test_without_isolation_code_is_taken_and_not_run(tmp_path, no_bubblewrap):
    async with open_house(tmp_path / "house") as house:
        client = house.owner.client
        told = (await client.get("/api/code-mode")).json()
        assert told["available"] is False
        assert "not installed" in told["reason"]
        agent = (await client.post("/api/agents", json=code_agent("return 1"))).json()
        assert agent["code"]["entrypoint"] == "agent.py:run"
        reply = await client.post(f"/api/agents/{agent['id']}/test-connection")
        assert "PIPELINES_UNSAFE_CODE" in refused(reply, 409, "code_mode_unavailable")["message"]
        dataset = await house.owner.dataset(REFUND_TASK)
        reply = await client.post("/api/runs", json={"agent_id": agent["id"], "dataset_id": dataset["id"]})
        refused(reply, 409, "code_mode_unavailable")
        assert (await client.get("/api/runs")).json()["items"] == []
        # By hand it can be run like any other.
        await house.owner.open_run(agent["id"], dataset["task_ids"][0])


@pytest.mark.anyio
async def test_the_operator_can_allow_it_and_every_run_says_so(tmp_path, no_bubblewrap, caplog):
    async with open_house(tmp_path / "house", unsafe_code="yes") as house:
        client = house.owner.client
        told = (await client.get("/api/code-mode")).json()
        assert (told["available"], told["isolation"]) == (True, "none")
        dataset = await house.owner.dataset(REFUND_TASK)
        for body, status in (("return 'Done.'", "completed"), ("raise ValueError", "failed")):
            agent = (await client.post("/api/agents", json=code_agent(body))).json()
            asked = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
            batch_id = (await client.post("/api/runs", json=asked)).json()["batch_id"]
            async with client.stream("GET", f"/api/batches/{batch_id}/events") as events:
                async for _ in events.aiter_lines():
                    pass
            (run,) = (await client.get(f"/api/batches/{batch_id}/export")).json()["items"]
            assert run["status"] == status, run["error_json"]
            assert [warning for warning in run["soft_warnings"] if warning.startswith("isolation: none")]
        tested = (await client.post(f"/api/agents/{agent['id']}/test-connection")).json()
        assert tested["hint"].startswith("isolation: none")
