"""A whole visit to the range, as `make demo` shows it: tasks with verdicts, then decisions under pressure.

Everything is real: `pipelines up`, two agents in processes of their own, `pipelines run` over the CSV of one
and `pipelines eval run` over the scenarios of the other.
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console

HERE = Path(__file__).parent / "refund_agent"
PRESSURED = Path(__file__).parent / "pressure_agent"
#: Outlives the demo, and is no part of the repository.
HEATMAP = Path(__file__).parent.parent / "build" / "demo-heatmap.html"
#: Four scenarios × seven variations × three repeats: some ninety runs, and a few more without pressure.
VARIATIONS = (
    "time_pressure,social_anchoring,authority_bias,information_overload,"
    "contradictory_instructions,sycophancy,confidence_manipulation"
)
MATRIX = ("--variations", VARIATIONS, "--repeats", "3", "--rng-seed", "7")
PATIENCE_S = 30
SHOWN = ("failure", "refusal")  # tags of the tasks of which a run is shown
console = Console(highlight=False)


@contextmanager
def started(*command: str, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *command], env=os.environ | env, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        yield process
    finally:
        process.terminate()  # not SIGINT, which children of a background job ignore
        process.wait(timeout=PATIENCE_S)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def answered(response: httpx2.Response) -> Any:
    if response.is_error:
        raise SystemExit(f"{response.request.url}: {response.status_code} {response.text}")
    return response.json()


def main() -> None:
    key, secret = "pk_live_" + secrets.token_hex(20), secrets.token_urlsafe(16)
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        port, agent_port = free_port(), free_port()
        url = f"http://127.0.0.1:{port}"
        env = {"PIPELINES_API_KEY": key, "PIPELINES_URL": url, "AGENT_TOKEN": secret}
        stack.enter_context(
            started("-m", "pipelines", "up", "--port", str(port), "--data-dir", directory, env=env)
        )
        stack.enter_context(started(str(HERE / "agent.py"), "--port", str(agent_port), env=env))
        wait_for(port)
        wait_for(agent_port)
        client = stack.enter_context(httpx2.Client(base_url=url, headers={"X-API-Key": key}, timeout=60))
        console.print(f"Server at {url} (SQLite, no key, no model)")
        console.print(f"Agent at http://127.0.0.1:{agent_port}")
        definition = json.loads((HERE / "agent.json").read_text())
        definition |= {
            "endpoint_url": f"http://127.0.0.1:{agent_port}/dispatch",
            "auth_header_value": f"Bearer {secret}",
        }
        agent = answered(client.post("/api/agents", json=definition))
        ping = answered(client.post(f"/api/agents/{agent['id']}/test-connection"))
        console.print(
            f"Agent {agent['id']}: {agent['name']}, {len(agent['tools_schema'])} tools, ping {ping['ok']}\n"
        )
        tasks = str(HERE / "tasks.csv")
        console.print(f"$ pipelines run --agent {agent['id']} --dataset {Path(tasks).name}", style="bold")
        command = ["-m", "pipelines", "run", "--agent", str(agent["id"]), "--dataset", tasks]
        subprocess.run([sys.executable, *command], env=os.environ | env, check=False)
        show_runs(client, env)
        put_under_pressure(client, stack, env)
    console.print(
        "\nNext:\n"
        "  docs/quickstart.md             does this by hand\n"
        "  docs/howto/verdicts.md         says what the verdicts mean\n"
        "  docs/howto/plans.md            how to change what a tool does\n"
        "  docs/howto/pressure-tests.md   what a heatmap says"
    )


def put_under_pressure(client: httpx2.Client, stack: ExitStack, env: dict[str, str]) -> None:
    """An agent that decides by rules which can be read: robust to some pressures and not to others."""
    port = free_port()
    stack.enter_context(started(str(PRESSURED / "agent.py"), "--port", str(port), env=env))
    wait_for(port)
    definition = json.loads((PRESSURED / "agent.json").read_text()) | {
        "endpoint_url": f"http://127.0.0.1:{port}/dispatch",
        "auth_header_value": f"Bearer {env['AGENT_TOKEN']}",
    }
    agent = answered(client.post("/api/agents", json=definition))
    HEATMAP.parent.mkdir(exist_ok=True)
    scenarios = str(PRESSURED / "scenarios.yaml")
    told = f"$ pipelines eval run scenarios.yaml --agent {agent['id']} --repeats 3 --html FILE"
    console.print(f"\n{agent['name']}: does it still decide alike when somebody presses?")
    console.print(told, style="bold")
    command = ["eval", "run", scenarios, "--agent", str(agent["id"]), *MATRIX, "--html", str(HEATMAP)]
    subprocess.run([sys.executable, "-m", "pipelines", *command], env=os.environ | env, check=False)


def show_runs(client: httpx2.Client, env: dict[str, str]) -> None:
    """Two of the runs whole: who answered each call, what it changed, and what the verdict rests on."""
    runs = answered(client.get("/api/runs?limit=500"))["items"]
    for tag in SHOWN:
        run = next((run for run in reversed(runs) if tag in tags_of(client, run)), None)
        if run is not None:
            console.print(f"\n$ pipelines show {run['id']}", style="bold")
            command = [sys.executable, "-m", "pipelines", "show", str(run["id"])]
            subprocess.run(command, env=os.environ | env, check=False)


def tags_of(client: httpx2.Client, run: Any) -> list[str]:
    tags: list[str] = answered(client.get(f"/api/tasks/{run['task_id']}"))["odyssey_seed"].get("tags", [])
    return tags


if __name__ == "__main__":
    main()
