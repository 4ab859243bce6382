"""MCP servers that nobody here wrote, each in its own environment: over HTTP, and as sandboxed programs."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.code.held_commands import CannotStart, Command
from pipelines.core.tools.live_tools import ERROR_NOTE, DiscoveredTool, LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.mcp.server import McpServerEndpoint, mcp_server_endpoint
from pipelines.sandbox.held_commands import HeldCommands
from pipelines.sandbox.pool import SandboxPool

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-memory@2026.8.31")
# It listens on every address of the machine; here it must not.
LOOPBACK = """const net = require("net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, Number(port), "127.0.0.1", ...rest);
};
"""


@pytest.fixture
def anyio_backend():
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As an operator would fill it: packages of Node, and an environment of Python for another."""
    made = tmp_path_factory.mktemp("servers")
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    install(["npm", "install", "--silent", "--no-fund", "--no-audit", *NPM], made)
    python = made / "time"
    uv = str(Path(sys.executable).parent / "uv")
    install([uv, "venv", "-q", "--python", sys.executable, str(python)], made)
    install([uv, "pip", "install", "-q", "--python", str(python / "bin/python"), "mcp-server-time"], made)
    (made / "loopback.cjs").write_text(LOOPBACK)
    for parent in (made, made.parent):
        parent.chmod(0o755)
    return made


def install(command: list[str], where: Path) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=600, umask=0o022)
    if done.returncode != 0:
        pytest.skip(f"{command[0]} could not fetch the servers: {done.stderr[-300:]}")


@pytest.fixture(scope="module")
def everything(folder: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    entry = folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    process = subprocess.Popen(
        ["node", "--require", str(folder / "loopback.cjs"), str(entry), "streamableHttp"],
        env={"PORT": str(port), "PATH": os.environ["PATH"]},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "listening" in line:
                break
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def opened(config: dict[str, Any], **more: Any) -> AsyncIterator[McpServerEndpoint]:
    policy = AddressPolicy(allow_private=True)
    endpoint = mcp_server_endpoint(config=config, auth_headers={}, policy=policy, **more)
    try:
        yield endpoint
    finally:
        await endpoint.close()


async def tools_of(endpoint: McpServerEndpoint) -> dict[str, DiscoveredTool]:
    return {tool.name: tool for tool in (await endpoint.discover()).tools}


async def test_the_reference_server_over_http(everything: str) -> None:
    async with opened({"url": everything}) as endpoint:
        found = await endpoint.discover()
        tools = {tool.name: tool for tool in found.tools}
        assert {"echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"} <= tools.keys()
        assert any("simulate-research-query" in note and "task" in note for note in found.notes)
        echo = await endpoint.call(tools["echo"], {"message": "hello"})
        assert (echo.response, echo.is_error) == ("Echo: hello", False)
        structured = await endpoint.call(tools["get-structured-content"], {"location": "New York"})
        assert isinstance(structured.response, dict)
        assert structured.response.keys() == {"temperature", "conditions", "humidity"}
        image = await endpoint.call(tools["get-tiny-image"], {})
        assert isinstance(image.response, list)
        assert [type(block) for block in image.response] == [str, dict, str]
        wrong = await endpoint.call(tools["echo"], {})
        assert wrong.is_error
        assert ERROR_NOTE in wrong.notes


async def test_the_reference_server_reports_progress_and_serves_many_calls_at_once(everything: str) -> None:
    async with opened({"url": everything}, idle_s=5.0, longest_s=50.0) as endpoint:
        slow = (await tools_of(endpoint))["trigger-long-running-operation"]
        replies = await asyncio.gather(
            *(endpoint.call(slow, {"duration": 7, "steps": 7}) for _ in range(16)),
            endpoint.call(slow, {"duration": 1, "steps": 1}),
        )
        assert {str(reply.response)[:32] for reply in replies} == {"Long running operation completed"}


async def test_the_reference_server_stays_usable_after_a_call_that_took_too_long(everything: str) -> None:
    async with opened({"url": everything}, longest_s=4.0) as endpoint:
        tools = await tools_of(endpoint)
        with pytest.raises(LiveCallFailed, match="did not answer within 4 s"):
            await endpoint.call(tools["trigger-long-running-operation"], {"duration": 60, "steps": 60})
        assert (await endpoint.call(tools["echo"], {"message": "next"})).response == "Echo: next"


# As programs


@pytest.fixture
async def held(folder: Path) -> AsyncIterator[HeldCommands]:
    commands = HeldCommands(lambda: SandboxPool(warm=0, most_warm=0, most_running=2), folder)
    try:
        async with commands.open(Command(argv=["true"])):
            pass
    except CannotStart as error:
        pytest.skip(str(error))
    yield commands
    await commands.close()


async def test_the_memory_server_in_the_sandbox(held: HeldCommands) -> None:
    entry = "/env/node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    config = {"command": "env", "args": ["MEMORY_FILE_PATH=/tmp/memory.json", "node", entry]}
    entity = {"name": "order 4521", "entityType": "order", "observations": ["shipped"]}
    async with opened(config, open_pipes=held.open) as endpoint:
        tools = await tools_of(endpoint)
        await endpoint.call(tools["create_entities"], {"entities": [entity]})
        graph = await endpoint.call(tools["read_graph"], {})
        assert graph.response == {"entities": [entity], "relations": []}


async def test_the_time_server_in_the_sandbox(held: HeldCommands) -> None:
    config = {"command": "/env/time/bin/python", "args": ["-m", "mcp_server_time"]}
    async with opened(config, open_pipes=held.open) as endpoint:
        tools = await tools_of(endpoint)
        berlin = await endpoint.call(tools["get_current_time"], {"timezone": "Europe/Berlin"})
        assert isinstance(berlin.response, dict)
        assert berlin.response["timezone"] == "Europe/Berlin"
        assert (await endpoint.call(tools["get_current_time"], {"timezone": "Nowhere"})).is_error
