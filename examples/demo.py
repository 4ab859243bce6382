"""A whole visit to the range, as `make demo` shows it: tasks with verdicts, then decisions under pressure.

Everything is real: `pipelines up`, two agents in processes of their own, `pipelines run` over the CSV of one
and `pipelines eval run` over the scenarios of the other. `--open` keeps it all up, to be looked at.
"""

import argparse
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console

CHECKOUT = Path(__file__).parent.parent
HERE = Path(__file__).parent / "refund_agent"
PRESSURED = Path(__file__).parent / "pressure_agent"
#: Outlives the demo, and is no part of the repository: beside it in a checkout, else where it was started.
BUILD = (CHECKOUT if (CHECKOUT / "Makefile").exists() else Path()) / "build"
HEATMAP, REPORT = BUILD / "demo-heatmap.html", BUILD / "demo-report.html"
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


def link_from(server: subprocess.Popen[str]) -> str:
    """What `pipelines up` printed: it signs in once."""
    assert server.stdout is not None
    for line in server.stdout:
        if found := re.search(r"Open (http\S+)", line):
            return found[1]
    raise SystemExit("the server did not start")


def answered(response: httpx2.Response) -> Any:
    if response.is_error:
        raise SystemExit(f"{response.request.url}: {response.status_code} {response.text}")
    return response.json()


def main(*, stays: bool) -> None:
    key, secret = "pk_live_" + secrets.token_hex(20), secrets.token_urlsafe(16)
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        port, agent_port = free_port(), free_port()
        url = f"http://127.0.0.1:{port}"
        env = {"PIPELINES_API_KEY": key, "PIPELINES_URL": url, "AGENT_TOKEN": secret}
        server = stack.enter_context(
            started("-m", "pipelines", "up", "--port", str(port), "--data-dir", directory, env=env)
        )
        link = link_from(server)
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
        batch, matrix = pages_of(client)
        command = ["report", batch, "--html", str(REPORT), "--yes"]
        subprocess.run(
            [sys.executable, "-m", "pipelines", *command],
            env=os.environ | env,
            check=True,
            capture_output=True,
        )
        if stays:
            keep_up(server, url, link, batch, matrix)
            return
    console.print(
        f"\nThe twelve runs as a page, with each call and why it was judged so: {REPORT}", soft_wrap=True
    )
    console.print(
        f"Live in the browser, at /batches/{batch} and /evals: make demo OPEN=1 keeps the server up\n"
        "and prints a link that signs you in."
    )
    console.print(
        "\nNext:\n"
        "  docs/howto/pages.md            does this in the browser\n"
        "  docs/quickstart.md             does this by hand\n"
        "  docs/howto/verdicts.md         says what the verdicts mean\n"
        "  docs/howto/plans.md            how to change what a tool does\n"
        "  docs/howto/pressure-tests.md   what a heatmap says"
    )


def pages_of(client: httpx2.Client) -> tuple[str, str]:
    """What shows what just ran: the batch over the tasks, and the matrix."""
    batches = answered(client.get("/api/batches"))["items"]
    matrices = answered(client.get("/api/v1/eval/matrix"))["items"]
    return str(batches[-1]["id"]), str(matrices[0]["matrix_id"])


def keep_up(server: subprocess.Popen[str], url: str, link: str, batch: str, matrix: str) -> None:
    console.print(
        "\nOpen this; it signs you in, once, and shows the twelve runs:\n"
        f"  {link}&next=%2Fbatches%2F{batch}\n"
        "Then:\n"
        f"  {url}/batches/{batch}   which runs failed; each leads to its trace\n"
        f"  {url}/evals/{matrix}   what gave way under pressure\n"
        "Ctrl-C ends it, and what it stored is gone.",
        soft_wrap=True,
    )
    # A plain `kill` ends what it started too, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with suppress(KeyboardInterrupt):
        server.wait()


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
    BUILD.mkdir(exist_ok=True)
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
    asked = argparse.ArgumentParser(description="Odyssey's demo.")
    asked.add_argument("--open", action="store_true", help="keep the server up, to be looked at")
    main(stays=asked.parse_args().open)
