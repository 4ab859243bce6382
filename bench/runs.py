"""Runs end to end against the same work in inspect-ai, in one go.

    python bench/runs.py [--json] [--runs 2000] [--large 20000]

A run is: dispatched over HTTP to an agent in its own process, three tool calls through the proxy, judged by
an oracle, stored. A sample of inspect-ai is: a mock model asked four times, three tools called in process,
scored, logged. inspect-ai is installed once into .bench; skipped with a note where it cannot be had.
"""

import argparse
import json
import os
import platform
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import servers

CONCURRENCY = 32
ROUNDS = 3
SAMPLES = 300
LISTINGS = 300
TOOLS = [
    servers.TOOL,
    {
        "name": "refund_order",
        "description": "Refund an order. The order status will be changed to 'refunded'.",
        "input_schema": servers.TOOL["input_schema"],
    },
]
TASK = {
    "user": "Refund order 4521.",
    "state": {"order": {"4521": servers.ORDER}},
    "expected_outcome": "completion",
    "expected_state": {"order.4521.status": "refunded"},
}


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        port, key, pid = _server(stack)
        agent_id, dataset_id = _register(port, key, _agent(stack))
        _run(port, key, agent_id, dataset_id, 64)  # warm
        inspect = _inspect_python()
        rates, samples = [], []
        for turn in range(ROUNDS):
            print(f"round {turn + 1}", file=sys.stderr)
            rates.append(_run(port, key, agent_id, dataset_id, options.runs // ROUNDS))
            if inspect is not None:
                samples.append(_inspect(inspect))
        listing = _listing(port, key, dataset_id)
        memory = _memory(port, key, agent_id, dataset_id, pid, options.large) if options.large else None
    report = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "runs_per_s": round(statistics.median(rates), 1),
        "inspect_samples_per_s": round(statistics.median(samples), 1) if samples else None,
        "ratio": round(statistics.median(a / b for a, b in zip(rates, samples, strict=True)), 2)
        if samples
        else None,
        "listing": listing,
        "memory": memory,
        "skipped": [] if samples else ["inspect-ai"],
    }
    print(json.dumps(report, indent=2) if options.json else _text(report))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--large", type=int, default=20_000, help="runs of the memory test; 0 leaves it out")
    return parser.parse_args()


def _server(stack: ExitStack) -> tuple[int, str, int]:
    port, key = servers.free_port(), "pk_live_" + secrets.token_hex(20)
    directory = stack.enter_context(tempfile.TemporaryDirectory())
    env = {"PIPELINES_API_KEY": key, "PIPELINES_PROXY_RATE_LIMIT": "0"}
    command = [sys.executable, "-m", "pipelines", "up", "--port", str(port), "--data-dir", directory]
    pid = stack.enter_context(servers.started(command, env=env, pinned=False))
    servers.wait_until_open(port)
    return port, key, pid


def _agent(stack: ExitStack) -> int:
    port = servers.free_port()
    options = ["--http", "httptools", "--loop", "uvloop", "--no-access-log", "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "fast_agent:app", "--port", str(port), *options]
    stack.enter_context(servers.started(command, cwd=Path(__file__).parent, pinned=False))
    servers.wait_until_open(port)
    return port


def _register(port: int, key: str, agent_port: int) -> tuple[int, int]:
    definition = {
        "name": "bench",
        "endpoint_url": f"http://127.0.0.1:{agent_port}/dispatch",
        "tools_schema": TOOLS,
        "max_concurrency": CONCURRENCY,
    }
    agent = servers.call(port, key, "/api/agents", definition)
    body = {"name": "bench", "agent_id": agent["id"], "rows": [TASK] * 20}
    return agent["id"], servers.call(port, key, "/api/datasets", body)["id"]


def _run(port: int, key: str, agent_id: int, dataset_id: int, runs: int) -> float:
    """Runs a second, from asking for the batch to its end."""
    done, started = 0, time.perf_counter()
    while done < runs:
        repeats = min(100, -(-(runs - done) // 20))
        body = {"agent_id": agent_id, "dataset_id": dataset_id, "repeats": repeats}
        batch_id = servers.call(port, key, "/api/runs", body)["batch_id"]
        batch = _finished(port, key, batch_id)
        assert batch["counts"]["by_verdict"] == {"PASS": repeats * 20}, batch
        done += repeats * 20
    return done / (time.perf_counter() - started)


def _finished(port: int, key: str, batch_id: int) -> Any:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        batch = servers.call(port, key, f"/api/batches/{batch_id}", None)
        if batch["status"] != "running":
            return batch
        time.sleep(0.05)
    raise TimeoutError(f"batch {batch_id} does not end")


def _listing(port: int, key: str, dataset_id: int) -> dict[str, float]:
    """p99 of `GET /api/runs` at rest, and beside 5,000 runs that wait for an agent who takes his time."""
    idle_ms = _p99_ms(port, key)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        definition = {
            "name": "silent",
            "endpoint_url": f"http://127.0.0.1:{silent.getsockname()[1]}/",
            "tools_schema": TOOLS,
            "max_concurrency": 1,
        }
        agent = servers.call(port, key, "/api/agents", definition)
        body = {"agent_id": agent["id"], "dataset_id": dataset_id, "repeats": 100}
        batches = [
            servers.call(port, key, "/api/runs", body)["batch_id"] for _ in range(3)
        ]  # 2,000 runs each
        pending_ms = _p99_ms(port, key)
        for batch_id in batches:
            servers.call(port, key, f"/api/batches/{batch_id}/cancel", {})
    return {"idle_p99_ms": idle_ms, "pending_p99_ms": pending_ms, "ratio": round(pending_ms / idle_ms, 2)}


def _p99_ms(port: int, key: str) -> float:
    times = []
    for _ in range(LISTINGS):
        started = time.perf_counter()
        servers.call(port, key, "/api/runs", None)
        times.append((time.perf_counter() - started) * 1000)
    return round(sorted(times)[int(LISTINGS * 0.99)], 2)


def _memory(port: int, key: str, agent_id: int, dataset_id: int, pid: int, large: int) -> dict[str, float]:
    _run(port, key, agent_id, dataset_id, 1_000)
    small_mb = _resident_mb(pid)
    _run(port, key, agent_id, dataset_id, large)
    return {"after_1000_mb": small_mb, f"after_{large + 1000}_mb": _resident_mb(pid)}


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def _inspect_python() -> Path | None:
    python = servers.TOOLS / "inspect" / "bin" / "python"
    if not python.exists():
        print("installing inspect-ai into .bench (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=False)
        install = [python, "-m", "pip", "install", "--quiet", "inspect-ai"]
        subprocess.run(install, capture_output=True, check=False)
    found = subprocess.run([python, "-c", "import inspect_ai"], capture_output=True, check=False)
    return python if found.returncode == 0 else None


def _inspect(python: Path) -> float:
    task = Path(__file__).parent / "inspect_task.py"
    done = subprocess.run([python, task, str(SAMPLES)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["samples_per_s"])


def _text(report: dict[str, Any]) -> str:
    lines = [report["machine"], f"odyssey: {report['runs_per_s']} runs/s"]
    if report["ratio"] is not None:
        lines.append(f"inspect-ai: {report['inspect_samples_per_s']} samples/s; ratio {report['ratio']}")
    lines.append(f"GET /api/runs: {report['listing']}")
    if report["memory"] is not None:
        lines.append(f"memory: {report['memory']}")
    lines += [f"skipped, not to be had here: {name}" for name in report["skipped"]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
