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

from load import WrongAnswer, answer, request

ROOT = Path(__file__).parent.parent
TICKING = [sys.executable, str(ROOT / "bench" / "ticking.py")]  # in front of a module and its arguments
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
REFUND = {
    "name": "refund_order",
    "description": "Refund part of an order.",
    "input_schema": {
        "type": "object",
        "properties": {"order_id": {"type": "string"}, "amount": {"type": "number"}},
        "required": ["order_id", "amount"],
        "additionalProperties": False,
    },
    # Both guards hold however often the call is repeated; each call changes the order.
    "simulation": [
        {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
        {
            "require": "order.status == 'shipped' and args.amount <= order.amount",
            "else": {
                "status": 409,
                "error": "not_refundable",
                "message": "Order {order.id} is {order.status}",
            },
        },
        {"set": {"order.refunds": "default(order.refunds, 0) + 1", "order.refunded": "args.amount"}},
        {"return": "order"},
    ],
}
ORDER = {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}
ARGUMENTS = b'{"order_id":"4521"}'
REFUND_ARGUMENTS = b'{"order_id":"4521","amount":5.5}'
PATIENCE_S = 60
# Taken before anyone pins this process: afterwards both would be the same core.
SERVER_CORE = min(os.sched_getaffinity(0))
LOAD_CORE = max(os.sched_getaffinity(0))

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
    reply: dict[str, Any]  # what every answer must hold
    ticks: Path | None = None  # where a server of ours writes how late its loop was


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
        [*(["taskset", "-c", str(SERVER_CORE)] if pinned else []), *command],
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
def odyssey(synchronous: str, *, runs: int) -> Iterator[list[Target]]:
    """One server, and two targets on it: a read and a guarded write, each on runs of its own."""
    port, key = free_port(), "pk_live_" + secrets.token_hex(20)
    with tempfile.TemporaryDirectory() as directory:
        ticks = Path(directory) / "ticks.json"
        env = {
            "PIPELINES_API_KEY": key,
            "PIPELINES_SYNCHRONOUS": synchronous,
            "PIPELINES_PROXY_RATE_LIMIT": "0",
            "BENCH_TICKS": str(ticks),
        }
        command = [*TICKING, "pipelines", "up", "--port", str(port), "--data-dir", directory]
        with started(command, env=env) as pid:
            wait_until_open(port)
            name = f"odyssey {synchronous.upper()}"
            world = open_world(port, key)
            reads = open_runs(port, key, world, "get_order", ARGUMENTS, runs)
            writes = open_runs(port, key, world, "refund_order", REFUND_ARGUMENTS, runs)
            refunded = {"status": "shipped", "refunded": 5.5}
            yield [
                Target(name, port, reads, pid, {"tool_name": "get_order", "response": ORDER}, ticks),
                Target(f"{name} write", port, writes, pid, {"response": refunded}, ticks),
            ]


def open_world(port: int, key: str) -> dict[str, Any]:
    """An agent with both tools and a task with one order: what a run is opened with."""
    definition = {"name": "bench", "endpoint_url": "http://127.0.0.1:9/", "tools_schema": [TOOL, REFUND]}
    agent = call(port, key, "/api/agents", definition)
    rows = [{"user": "bench", "state": {"order": {"4521": ORDER}}}]
    dataset = call(port, key, "/api/datasets", {"name": "bench", "agent_id": agent["id"], "rows": rows})
    return {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}


def open_runs(
    port: int, key: str, world: dict[str, Any], tool: str, arguments: bytes, count: int
) -> list[bytes]:
    """One request per run, ready to send."""
    made = []
    for _ in range(count):
        run = call(port, key, "/api/runs", world)
        path = f"/api/odyssey-proxy/runs/{run['run_token_jti']}/tools/{tool}"
        made.append(request(path, arguments, {"Authorization": f"Bearer {run['run_token']}"}))
    return made


def check(target: Target) -> None:
    """Every request once, and the first again: a write must succeed when it is repeated."""
    for wanted in [*target.requests, target.requests[0]]:
        status, body = answer(target.port, wanted)
        if status != 200 or not _holds(json.loads(body), target.reply):
            raise WrongAnswer(f"{target.name}: {status} {body[:300]!r}")


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and isinstance(value, dict):
        return all(_holds(value.get(key), inner) for key, inner in wanted.items())
    return bool(value == wanted)


def ticks_of(target: Target) -> dict[str, float]:
    """Stops a server's ticks and takes what they saw."""
    assert target.ticks is not None
    os.kill(target.pid, signal.SIGUSR2)
    deadline = time.monotonic() + PATIENCE_S
    while not target.ticks.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{target.name} wrote no ticks")
        time.sleep(0.01)
    found: dict[str, float] = json.loads(target.ticks.read_text())
    target.ticks.unlink()
    return found


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
        ticks = Path(directory) / "ticks.json"
        options = ["--http", "httptools", "--loop", "uvloop", "--no-access-log", "--log-level", "warning"]
        command = [*TICKING, "uvicorn", "echo_app:app", "--port", str(port), *options, "--no-server-header"]
        with started(command, cwd=Path(directory), env={"BENCH_TICKS": str(ticks)}) as pid:
            wait_until_open(port)
            asked = [request("/tools/get_order", ARGUMENTS)]
            yield Target("echo", port, asked, pid, json.loads(ARGUMENTS), ticks)


@contextmanager
def raw() -> Iterator[Target]:
    """The cheapest server there is, to see what the load generator can do."""
    port = free_port()
    with started([sys.executable, str(ROOT / "bench" / "raw_server.py"), str(port)]) as pid:
        wait_until_open(port)
        yield Target("raw", port, [request("/tools/get_order", ARGUMENTS)], pid, json.loads(ARGUMENTS))


def npm_package(name: str, binary: str, *, into: Path = TOOLS) -> Path | None:
    """An npm package's command, installed once into a folder; None where it cannot be had."""
    path = into / "node_modules" / ".bin" / binary
    if not path.exists() and shutil.which("npm"):
        into.mkdir(exist_ok=True)
        install = ["npm", "install", "--prefix", str(into), "--no-audit", "--no-fund", "--silent", name]
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
            yield Target("prism", port, [request("/tools/get_order", ARGUMENTS)], pid, ORDER)


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
            yield Target("wiremock", port, [request("/tools/get_order", ARGUMENTS)], pid, ORDER)


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
