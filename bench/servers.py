"""The servers of the benchmarks: ours, a bare echo on the same uvicorn, and what people use instead."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from load import request

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".bench"  # npm packages, kept between runs, never committed
TOOL = {
    "name": "get_order",
    "description": "Get an order by its id.",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    },
}
ORDER = {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}
ARGUMENTS = b'{"order_id":"4521"}'
PATIENCE_S = 60

ECHO = """
async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""


class Target(NamedTuple):
    name: str
    port: int
    requests: list[bytes]
    pid: int


def server_core() -> int:
    return min(os.sched_getaffinity(0))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def started(
    command: list[str], *, env: dict[str, str] | None = None, cwd: Path | None = None, pinned: bool = True
) -> Iterator[int]:
    """A child, on the servers' core where `pinned`; ended by its own process group when the block ends."""
    process = subprocess.Popen(
        [*(["taskset", "-c", str(server_core())] if pinned else []), *command],
        env=os.environ | (env or {}),
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_open(port: int) -> None:
    """Poll until the port takes a connection: the children say nothing when they are ready."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port} after {PATIENCE_S} s")


@contextmanager
def odyssey(synchronous: str, *, runs: int) -> Iterator[Target]:
    port, key = free_port(), "pk_live_" + secrets.token_hex(20)
    with tempfile.TemporaryDirectory() as directory:
        env = {
            "PIPELINES_API_KEY": key,
            "PIPELINES_SYNCHRONOUS": synchronous,
            "PIPELINES_PROXY_RATE_LIMIT": "0",
        }
        command = [sys.executable, "-m", "pipelines", "up", "--port", str(port), "--data-dir", directory]
        with started(command, env=env) as pid:
            wait_until_open(port)
            yield Target(f"odyssey {synchronous.upper()}", port, open_runs(port, key, runs), pid)


def open_runs(port: int, key: str, count: int) -> list[bytes]:
    """One request per run, ready to send."""
    definition = {"name": "bench", "endpoint_url": "http://127.0.0.1:9/", "tools_schema": [TOOL]}
    agent = call(port, key, "/api/agents", definition)
    rows = [{"user": "bench", "state": {"order": {"4521": ORDER}}}]
    dataset = call(port, key, "/api/datasets", {"name": "bench", "agent_id": agent["id"], "rows": rows})
    made = []
    for _ in range(count):
        body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
        run = call(port, key, "/api/runs", body)
        path = f"/api/odyssey-proxy/runs/{run['run_token_jti']}/tools/get_order"
        made.append(request(path, ARGUMENTS, {"Authorization": f"Bearer {run['run_token']}"}))
    return made


def call(port: int, key: str, path: str, body: Any) -> Any:
    """POST a body, or GET when there is none."""
    wanted = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=json.dumps(body).encode() if body is not None else None,
        headers={"Content-Type": "application/json", "X-API-Key": key},
    )
    with urllib.request.urlopen(wanted, timeout=PATIENCE_S) as answer:
        return json.load(answer)


@contextmanager
def echo() -> Iterator[Target]:
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "echo_app.py").write_text(ECHO)
        options = [
            "--http",
            "httptools",
            "--loop",
            "uvloop",
            "--no-access-log",
            "--log-level",
            "warning",
            "--no-server-header",
        ]
        command = [sys.executable, "-m", "uvicorn", "echo_app:app", "--port", str(port), *options]
        with started(command, cwd=Path(directory)) as pid:
            wait_until_open(port)
            yield Target("echo", port, [request("/tools/get_order", ARGUMENTS)], pid)


def npm_package(name: str, binary: str) -> Path | None:
    """An npm package's command, installed once into .bench; None where it cannot be had."""
    path = TOOLS / "node_modules" / ".bin" / binary
    if not path.exists() and shutil.which("npm"):
        TOOLS.mkdir(exist_ok=True)
        install = ["npm", "install", "--prefix", str(TOOLS), "--no-audit", "--no-fund", "--silent", name]
        subprocess.run(install, capture_output=True, timeout=600, check=False)
    return path if path.exists() else None


@contextmanager
def prism() -> Iterator[Target | None]:
    binary = npm_package("@stoplight/prism-cli", "prism")
    if binary is None:
        yield None
        return
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "api.json").write_text(json.dumps(_openapi()))
        command = [str(binary), "mock", "-h", "127.0.0.1", "-p", str(port), "api.json"]
        with started(command, cwd=Path(directory), env={"NODE_ENV": "production"}) as pid:
            wait_until_open(port)
            yield Target("prism", port, [request("/tools/get_order", ARGUMENTS)], pid)


@contextmanager
def wiremock() -> Iterator[Target | None]:
    binary = npm_package("wiremock", "wiremock") if shutil.which("java") else None
    if binary is None:
        yield None
        return
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        mappings = Path(directory) / "mappings"
        mappings.mkdir()
        (mappings / "get_order.json").write_text(json.dumps(_mapping()))
        command = [str(binary), "--port", str(port), "--bind-address", "127.0.0.1", "--root-dir", directory]
        with started([*command, "--no-request-journal", "--disable-banner"]) as pid:
            wait_until_open(port)
            yield Target("wiremock", port, [request("/tools/get_order", ARGUMENTS)], pid)


def _openapi() -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": "bench", "version": "1"},
        "paths": {
            "/tools/get_order": {
                "post": {
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": TOOL["input_schema"]}},
                    },
                    "responses": {
                        "200": {
                            "description": "ok",
                            "content": {"application/json": {"example": ORDER, "schema": {"type": "object"}}},
                        }
                    },
                }
            }
        },
    }


def _mapping() -> dict[str, Any]:
    schema = json.dumps(TOOL["input_schema"])
    return {
        "request": {
            "method": "POST",
            "urlPath": "/tools/get_order",
            "bodyPatterns": [{"matchesJsonSchema": schema}],
        },
        "response": {"status": 200, "jsonBody": ORDER, "headers": {"Content-Type": "application/json"}},
    }
