"""The same agent in every language: the same tasks at a real server, the same verdicts, the same contract."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.agent.conformance import reply_problems
from pipelines.odyssey.conformance import Options, Wrapper, check_wrapper
from support.repository import EXAMPLES
from support.server_process import PATIENCE_S, Api, clean_environment, house_in

TOKEN = "agent-token-1"
REGISTRATION = json.loads((EXAMPLES / "refund_agent" / "agent.json").read_text())
TASKS = EXAMPLES / "refund_agent" / "tasks.csv"

# The tasks in their order, and what comes of each.
VERDICTS = [
    *[("PASS", None)] * 7,
    ("FAIL", "incorrect_completion"),  # cancels for somebody who is not the buyer
    ("FAIL", "incomplete"),  # refuses a large refund that it should give
    ("PASS", None),  # the first refund fails, the second works
    ("FAIL", "unrecovered_failure"),  # every refund fails
    ("PASS", None),  # two turns
]


def python_command(_: Path) -> list[str]:
    return [sys.executable, str(EXAMPLES / "refund_agent" / "agent.py")]


def typescript_compiler() -> list[str]:
    folder = EXAMPLES / "typescript_agent"
    compiler = folder / "node_modules" / "typescript" / "bin" / "tsc"
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    if not compiler.exists():
        pytest.skip("the TypeScript compiler is not installed: run `npm ci` in examples/typescript_agent")
    return [node, str(compiler), "--project", str(folder)]


def typescript_command(build: Path) -> list[str]:
    node, *compiler = typescript_compiler()
    # Types are checked by a test of their own, which takes ten times as long.
    compiled(node, *compiler, "--noCheck", "--outDir", str(build))
    (build / "package.json").write_text('{"type": "module"}')
    return [node, str(build / "agent.js")]


def rust_command(build: Path) -> list[str]:
    cargo = shutil.which("cargo")
    if (
        cargo is None
        or subprocess.run([cargo, "--version"], capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("Rust is not installed, or not for this user")
    manifest = str(EXAMPLES / "rust_agent" / "Cargo.toml")
    compiled(cargo, "build", "--locked", "--offline", "--manifest-path", manifest, "--target-dir", str(build))
    return [str(build / "debug" / "refund-agent")]


def compiled(*command: str) -> None:
    built = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert built.returncode == 0, built.stdout + built.stderr


LANGUAGES = {"python": python_command, "typescript": typescript_command, "rust": rust_command}


@contextmanager
def running(command: list[str]) -> Iterator[str]:
    """The agent in a process of its own, and the endpoint that its first line names."""
    env = clean_environment() | {"AGENT_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen([*command, "--port", "0"], env=env, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], PATIENCE_S)[0], f"{command} says nothing"
        said = os.read(process.stdout.fileno(), 65_536).decode()
        found = re.search(r"http://\S+", said)
        assert found is not None, said
        yield found[0]
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module", params=LANGUAGES)
def endpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(LANGUAGES[request.param](tmp_path_factory.mktemp(request.param))) as url:
        yield url


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("house"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


def dataset_for(api: Api, agent_id: int) -> Any:
    uploaded = api.client.post(
        "/api/datasets", files={"file": ("tasks.csv", TASKS.read_bytes())}, data={"agent_id": str(agent_id)}
    )
    assert uploaded.status_code == 201, uploaded.text
    return uploaded.json()


def test_its_verdicts_are_those_of_the_refund_agent(api: Api, endpoint: str):
    registered = REGISTRATION | {"endpoint_url": endpoint, "auth_header_value": f"Bearer {TOKEN}"}
    registered |= {"response_contract": {"response_mode": "rich", "strictness": "strict"}}
    agent = api.post("/api/agents", registered, 201)
    assert api.post(f"/api/agents/{agent['id']}/test-connection")["ok"]
    batch = api.ended(api.batch_of(agent["id"], dataset_for(api, agent["id"])["id"]))
    runs = [api.get(f"/api/runs/{run['id']}") for run in api.runs(batch["id"])]
    assert [(run["verdict"], run["failure_mode"]) for run in runs] == VERDICTS
    assert [run["soft_warnings"] for run in runs if run["soft_warnings"]] == []


def test_it_keeps_every_rule_of_the_contract(endpoint: str):
    options = Options(
        instruction="Refund order 4521.", slow_s=0.1, retry_after_s=0, reply_problems=reply_problems
    )
    report = check_wrapper(Wrapper(url=endpoint, auth_value=f"Bearer {TOKEN}", timeout_s=30), options)
    assert report.failed == (), [finding for finding in report.findings if finding.outcome == "failed"]
    # It tries a failing backend once more, on purpose; everything else is kept to the letter and was seen.
    assert [(f.rule, f.outcome.value) for f in report.findings if f.outcome != "passed"] == [
        ("tools.injected_not_retried", "warned")
    ]


@pytest.mark.slow
def test_the_typescript_agent_has_no_type_errors():
    compiled(*typescript_compiler(), "--noEmit")


def test_curl_alone_drives_runs_to_the_same_verdicts(api: Api):
    for program in ("bash", "curl", "jq"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    agent = api.post("/api/agents", REGISTRATION, 201)
    env = clean_environment() | {"PIPELINES_URL": api.url, "PIPELINES_API_KEY": api.key}
    script = str(EXAMPLES / "curl_agent" / "agent.sh")
    for task_id, expected in zip(dataset_for(api, agent["id"])["task_ids"], VERDICTS, strict=True):
        command = ["bash", script, str(agent["id"]), str(task_id)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        found = re.match(r"run (\d+): (\w+) ?(\w*)\n", done.stdout)
        assert found is not None, done.stdout
        assert (found[2], found[3] or None) == expected, done.stdout
    command = ["bash", script, str(agent["id"]), "999999"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "not_found" in done.stderr  # the platform's own words, not only curl's
