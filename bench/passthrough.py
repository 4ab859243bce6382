"""What a call through Odyssey costs over asking the same local service directly, by type of endpoint.

    python bench/passthrough.py [--json] [--calls 300] [--rounds 5]

One server of ours, one service of each type on loopback, one caller with one connection. In each round every
way is asked `calls` times, so that neighbours in time are compared; told are medians over the rounds.
The last part has 32 runs at once call a service that takes 200 ms.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.server_process import Api, house_in

THINGS = [sys.executable, str(Path(__file__).parent / "live_things.py")]
PROXY = "/api/odyssey-proxy/tools"
SLOW_S, AT_ONCE, SLOW_CALLS = 0.2, 32, 10
GOALS = {
    "http_openapi added ms": (3.0, False),
    "mcp_server added ms": (5.0, False),
    "code added ms": (30.0, False),
    "replay / simulated": (1.5, False),
    "shim / proxy": (3.0, False),
    "32 runs, of ideal": (0.9, True),
}
OBJECT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
SPEC = {
    "openapi": "3.1.0",
    "info": {"title": "Things", "version": "1"},
    "paths": {
        f"/{name}/{{id}}": {
            "get": {
                "operationId": name,
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "It."}},
            }
        }
        for name in ("thing", "late")
    },
}
FUNCTION = "def thing(id: str) -> dict:\n    return {'id': id, 'status': 'there'}\n"


async def timed(ask: Callable[[], Awaitable[Any]], calls: int) -> float:
    """The median of so many calls, in milliseconds."""
    took = []
    for _ in range(calls):
        began = time.perf_counter()
        await ask()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


def tool(name: str, endpoint: str | None, found: str = "thing") -> dict[str, Any]:
    declared: dict[str, Any] = {"name": name, "description": "Gets a thing.", "input_schema": OBJECT}
    if endpoint is not None:
        declared |= {
            "default_execution_mode": "passthrough",
            "passthrough_binding": {"endpoint_name": endpoint, "tool_name": found},
        }
    return declared


class Bench:
    def __init__(self, api: Api, service: str, mcp_url: str) -> None:
        self.api = api
        self.service = service
        self.mcp_url = mcp_url
        self.client = httpx2.AsyncClient(base_url=api.url, timeout=60)
        self.direct = httpx2.AsyncClient(base_url=service, timeout=60)

    def prepare(self) -> None:
        for name, type, config in (
            ("http", "http_openapi", {"base_url": self.service, "spec": json.dumps(SPEC)}),
            ("mcp", "mcp_server", {"url": self.mcp_url}),
            ("code", "code", {"source": FUNCTION, "functions": ["thing"]}),
        ):
            made = self.api.post("/api/tool-endpoints", {"name": name, "type": type, "config": config}, 201)
            if not made["tools"]:
                print(f"{name}: {made['discovery_error']}", file=sys.stderr)
        self.agent = self.api.post(
            "/api/agents",
            {
                "name": "caller",
                "endpoint_url": "http://127.0.0.1:1/",
                "tools_schema": [
                    tool("get_thing", None),
                    tool("http_thing", "http"),
                    tool("mcp_thing", "mcp"),
                    tool("code_thing", "code"),
                    tool("late_thing", "http", "late"),
                ],
            },
            201,
        )["id"]
        row = {"user": "Get the thing.", "state": {"thing": {"1": {"status": "there"}}}}
        self.task = self.api.dataset(row, agent_id=self.agent)["task_ids"][0]

    def token(self, **more: Any) -> dict[str, str]:
        body = {"mode": "manual", "agent_id": self.agent, "task_ids": [self.task], **more}
        return {"Authorization": f"Bearer {self.api.post('/api/runs', body, 201)['run_token']}"}

    def asking(self, name: str, token: dict[str, str], source: str) -> Callable[[], Awaitable[None]]:
        async def ask() -> None:
            reply = await self.client.post(f"{PROXY}/{name}", json={"id": "1"}, headers=token)
            assert reply.json()["source"] == source, reply.text

        return ask

    async def shim(self, token: dict[str, str]) -> None:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "get_thing", "arguments": {"id": "1"}},
        }
        accepts = {"Accept": "application/json, text/event-stream"}
        reply = await self.client.post("/api/odyssey-proxy/mcp", json=message, headers=token | accepts)
        assert "result" in reply.json(), reply.text

    async def recorded(self, calls: int) -> dict[str, str]:
        """A run that replays as many calls as it is asked for, and those of warming it."""
        token = self.token(passthrough="record", cassette="bench")
        await timed(self.asking("http_thing", token, "passthrough"), calls)
        return self.token(passthrough="replay", cassette="bench")

    async def round(self, calls: int) -> dict[str, float]:
        token = self.token()
        ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "direct": lambda: self.direct.get("/thing/1"),
            "simulated": self.asking("get_thing", token, "odyssey"),
            "shim": lambda: self.shim(token),
            "http_openapi": self.asking("http_thing", token, "passthrough"),
            "mcp_server": self.asking("mcp_thing", token, "passthrough"),
            "code": self.asking("code_thing", token, "passthrough"),
            "replay": self.asking("http_thing", await self.recorded(calls + 20), "passthrough"),
        }
        found = {}
        async with AsyncExitStack() as stack:
            ways["direct mcp"] = await direct_mcp(stack, self.mcp_url)
            for name, ask in ways.items():
                some = max(20, calls // 5) if name in ("code", "mcp_server", "direct mcp") else calls
                await timed(ask, 10)
                found[name] = await timed(ask, some)
        return found

    async def at_once(self) -> float:
        """How much of the ideal rate so many runs reach against a service that takes its time."""
        asks = [self.asking("late_thing", self.token(), "passthrough") for _ in range(AT_ONCE)]
        await asyncio.gather(*(ask() for ask in asks))
        began = time.perf_counter()
        await asyncio.gather(*(timed(ask, SLOW_CALLS) for ask in asks))
        return SLOW_CALLS * SLOW_S / (time.perf_counter() - began)


async def direct_mcp(stack: AsyncExitStack, url: str) -> Callable[[], Awaitable[Any]]:
    from mcp import Client

    client = await stack.enter_async_context(Client(url))
    return lambda: client.call_tool("thing", {"id": "1"})


def figures(rounds: list[dict[str, float]], of_ideal: float) -> dict[str, float]:
    def middle(of: Callable[[dict[str, float]], float]) -> float:
        return round(statistics.median(map(of, rounds)), 2)

    return {
        "http_openapi added ms": middle(lambda one: one["http_openapi"] - one["direct"]),
        "mcp_server added ms": middle(lambda one: one["mcp_server"] - one["direct mcp"]),
        "code added ms": middle(lambda one: one["code"]),
        "replay / simulated": middle(lambda one: one["replay"] / one["simulated"]),
        "shim / proxy": middle(lambda one: one["shim"] / one["simulated"]),
        "32 runs, of ideal": round(of_ideal, 3),
    }


async def measured(bench: Bench, calls: int, rounds: int) -> dict[str, Any]:
    every = [await bench.round(calls) for _ in range(rounds)]
    found = figures(every, await bench.at_once())
    return {"figures": found, "rounds_ms": every, "load": os.getloadavg()[0], "calls": calls}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment = {"PIPELINES_PROXY_RATE_LIMIT": "0"}
    with tempfile.TemporaryDirectory() as folder, house_in(Path(folder) / "house", environment) as house:
        service = subprocess.Popen([*THINGS, "http", str(SLOW_S)], stdout=subprocess.PIPE, text=True)
        mcp = subprocess.Popen([*THINGS, "mcp"], stdout=subprocess.PIPE, text=True)
        try:
            assert service.stdout is not None
            assert mcp.stdout is not None
            port, mcp_port = int(service.stdout.readline()), int(mcp.stdout.readline())
            bench = Bench(house.open(), f"http://127.0.0.1:{port}", f"http://127.0.0.1:{mcp_port}/mcp")
            bench.prepare()
            result = asyncio.run(measured(bench, options.calls, options.rounds))
        finally:
            for process in (service, mcp):
                process.terminate()
                process.wait()
    if options.json:
        print(json.dumps(result))
        return
    for name, figure in result["figures"].items():
        bound, is_least = GOALS[name]
        is_reached = figure >= bound if is_least else figure <= bound
        sign = "≥" if is_least else "≤"
        print(f"{name:24} {figure:8} {sign} {bound:<5} {'reached' if is_reached else 'MISSED'}")


if __name__ == "__main__":
    main()
