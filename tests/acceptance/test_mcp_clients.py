"""MCP clients that others wrote, pointed at a run of a real server: over HTTP and through the shim."""

import asyncio
import json
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from served import KEY, Server, clean_environment, run_command, running

from support.desk import AGENT, STATE, TASK, TOOLS, outage

NAMES = [tool["name"] for tool in TOOLS]
ORDER = {"order_id": "4521"}


class Opened(NamedTuple):
    server: Server
    url: str
    token: str
    id: int

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def environment(self) -> dict[str, str]:
        return {"PIPELINES_ODYSSEY_PROXY_URL": self.url, "PIPELINES_RUN_TOKEN": self.token}

    def trace(self) -> list[dict[str, Any]]:
        key = {"Authorization": f"Bearer {KEY}"}
        return list(httpx2.get(f"{self.server.url}/api/runs/{self.id}/trace", headers=key).json()["items"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("mcp") / "data") as started:
        yield started
        assert started.stop() == 0
        assert "Traceback" not in started.errors.read_text()


@pytest.fixture
def run(server: Server) -> Opened:
    return opened(server)


def opened(server: Server, **task: Any) -> Opened:
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}) as client:
        agent = client.post("/api/agents", json=AGENT).json()
        dataset = client.post("/api/datasets", json={"name": "x", "rows": [TASK | task]}).json()
        body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
        made = client.post("/api/runs", json=body).json()
    return Opened(server, made["odyssey_proxy_url"], made["run_token"], made["id"])


# The Python SDK


async def use_tools(client: Any) -> list[Any]:
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == NAMES
    found = await client.call_tool("get_order", ORDER)
    done = await client.call_tool("refund_order", ORDER)
    missing = await client.call_tool("get_order", {"order_id": "none"})
    return [found, done, missing]


async def python_client(stack: AsyncExitStack, target: Any, mode: str) -> Any:
    from mcp.client import Client

    return await stack.enter_async_context(Client(target, mode=mode))


async def over_http(run: Opened, mode: str) -> list[Any]:
    from mcp.client.streamable_http import streamable_http_client

    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=run.headers))
        transport = streamable_http_client(f"{run.url}/mcp", http_client=http)
        return await use_tools(await python_client(stack, transport, mode))


async def over_stdio(run: Opened, mode: str) -> list[Any]:
    from mcp.client.stdio import StdioServerParameters

    shim = [sys.executable, "-c", "from pipelines.odyssey.mcp_shim import main; main()"]
    parameters = StdioServerParameters(command=shim[0], args=shim[1:], env=run.environment)
    async with AsyncExitStack() as stack:
        return await use_tools(await python_client(stack, parameters, mode))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("way", [over_http, over_stdio])
def test_the_python_sdk_finds_and_calls_the_tools(run: Opened, way: Any, mode: str) -> None:
    found, done, missing = asyncio.run(way(run, mode))
    assert found.structured_content == STATE["order"]["4521"]
    assert done.structured_content["status"] == "refunded"
    assert not done.is_error
    assert missing.is_error
    assert json.loads(missing.content[0].text)["error"]["code"]
    rows = run.trace()
    assert [row["tool_name"] for row in rows] == ["get_order", "refund_order", "get_order"]
    assert all(row["client"] for row in rows)


def test_two_runs_at_once_are_apart(server: Server) -> None:
    first, second = opened(server), opened(server)

    async def both() -> None:
        await asyncio.gather(over_http(first, "auto"), over_http(second, "legacy"))

    asyncio.run(both())
    assert [len(run.trace()) for run in (first, second)] == [3, 3]


# Frameworks


def test_openai_agents_uses_them_as_its_own_tools(run: Opened) -> None:
    from agents.mcp import MCPServerStreamableHttp

    async def use() -> Any:
        params = {"url": f"{run.url}/mcp", "headers": run.headers}
        async with MCPServerStreamableHttp(params=params, cache_tools_list=True) as server:
            assert [tool.name for tool in await server.list_tools()] == NAMES
            return await server.call_tool("get_order", ORDER)

    result = asyncio.run(use())
    assert json.loads(result.content[0].text) == STATE["order"]["4521"]


@pytest.mark.slow
def test_langchains_adapter_opens_a_session_per_call_and_one_world_answers(
    run: Opened, tmp_path: Path
) -> None:
    python = environment(tmp_path, "langchain-mcp-adapters==0.3.2")
    script = f"""
        import asyncio, json
        from langchain_mcp_adapters.client import MultiServerMCPClient
        async def use():
            client = MultiServerMCPClient({{"odyssey": {{
                "transport": "streamable_http", "url": {f"{run.url}/mcp"!r}, "headers": {run.headers!r}}}}})
            tools = {{tool.name: tool for tool in await client.get_tools()}}
            await tools["refund_order"].ainvoke({{"order_id": "4521"}})
            print(json.dumps([list(tools), str(await tools["get_order"].ainvoke({{"order_id": "4521"}}))]))
        asyncio.run(use())
    """
    names, answer = json.loads(output_of([str(python), "-c", textwrap.dedent(script)]))
    assert names == NAMES
    assert "refunded" in answer


def environment(folder: Path, *requirements: str) -> Path:
    """A place of its own for a package that wants another version of what is installed here."""
    uv = str(Path(sys.executable).parent / "uv")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    made = subprocess.run(
        [uv, "pip", "install", "-q", "--python", str(python), *requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"{requirements} cannot be installed here")
    return python


@pytest.mark.slow
def test_the_typescript_sdk_finds_and_calls_the_tools(run: Opened, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    (tmp_path / "package.json").write_text('{"type": "module", "private": true}')
    made = subprocess.run(
        ["npm", "install", "--silent", "--no-fund", "--no-audit", "@modelcontextprotocol/sdk@1.32.2"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip("npm could not fetch the SDK")
    (tmp_path / "use.js").write_text(
        textwrap.dedent("""
            import { Client } from "@modelcontextprotocol/sdk/client/index.js";
            import { StreamableHTTPClientTransport as Http } from
              "@modelcontextprotocol/sdk/client/streamableHttp.js";
            const [url, token] = process.argv.slice(2);
            const client = new Client({ name: "typescript", version: "1" });
            const requestInit = { headers: { Authorization: `Bearer ${token}` } };
            await client.connect(new Http(new URL(url), { requestInit }));
            const { tools } = await client.listTools();
            const call = (name, id) => client.callTool({ name, arguments: { order_id: id } });
            const answers = [await call("get_order", "4521"), await call("get_order", "none")];
            console.log(JSON.stringify([tools.map((tool) => tool.name), answers]));
            await client.close();
        """)
    )
    names, (found, missing) = json.loads(
        output_of(["node", "use.js", f"{run.url}/mcp", run.token], cwd=tmp_path)
    )
    assert names == NAMES
    assert found["structuredContent"] == STATE["order"]["4521"]
    assert missing["isError"]
    assert {row["client"] for row in run.trace()} == {"typescript 1"}


def output_of(command: list[str], **options: Any) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_curl_alone_is_enough(run: Opened) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_order", "arguments": ORDER},
    }
    header = f"Authorization: Bearer {run.token}"
    answer = json.loads(output_of(["curl", "-s", f"{run.url}/mcp", "-H", header, "-d", json.dumps(message)]))
    assert answer["result"]["structuredContent"] == STATE["order"]["4521"]


# The shim by itself


def shim(run_environment: dict[str, str], *lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "pipelines-mcp-shim")],
        input="".join(f"{line}\n" for line in lines),
        env=clean_environment() | run_environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def call(id: int, tool: str, arguments: Any) -> str:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def test_calls_are_made_in_the_order_in_which_they_came(run: Opened) -> None:
    lines = [call(at, "add_note", {"order_id": "4521", "text": f"note {at}"}) for at in range(8)]
    done = shim(run.environment, *lines)
    answers = {each["id"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert answers[7]["result"]["structuredContent"]["notes"] == [f"note {at}" for at in range(8)]


def test_an_injected_failure_comes_through_and_is_made_once(server: Server) -> None:
    run = opened(server, failure_rules=[outage("refund_order", 1, code=503)])
    (answer,) = map(json.loads, shim(run.environment, call(1, "refund_order", ORDER)).stdout.splitlines())
    assert answer["result"]["isError"] is True
    assert [row["source"] for row in run.trace()] == ["injected"]


@pytest.mark.parametrize("line", ["no json", "[]", '{"jsonrpc": "2.0", "method": "notifications/x"}'])
def test_what_is_no_request_ends_nothing(run: Opened, line: str) -> None:
    ping = json.dumps({"jsonrpc": "2.0", "id": "p", "method": "ping"})
    done = shim(run.environment, line, ping)
    assert json.loads(done.stdout.splitlines()[-1]) == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert done.returncode == 0


def test_a_wrong_token_is_told_as_an_error(run: Opened) -> None:
    (answer,) = map(
        json.loads,
        shim(
            run.environment | {"PIPELINES_RUN_TOKEN": "wrong"}, call(1, "get_order", ORDER)
        ).stdout.splitlines(),
    )
    assert "401" in answer["error"]["message"]


def test_without_a_run_it_says_what_is_missing() -> None:
    done = shim({})
    assert done.returncode == 2
    assert "PIPELINES_ODYSSEY_PROXY_URL and PIPELINES_RUN_TOKEN" in done.stderr


# What to put where


@pytest.mark.parametrize("client", ["claude-code", "cursor", "codex", "vscode"])
@pytest.mark.parametrize("way", [[], ["--stdio"]], ids=["http", "stdio"])
def test_the_configuration_of_a_client_names_the_run_and_no_secret(
    run: Opened, client: str, way: list[str]
) -> None:
    done = run_command(
        "odyssey",
        "mcp-config",
        "--client",
        client,
        "--run",
        str(run.id),
        "--url",
        run.server.url,
        *way,
        PIPELINES_API_KEY=KEY,
    )
    assert done.returncode == 0, done.stderr
    assert run.token not in done.stdout + done.stderr
    read = tomllib.loads(done.stdout) if client == "codex" else json.loads(done.stdout)
    (entry,) = next(iter(value for key, value in read.items() if key != "inputs")).values()
    base = f"{run.server.url}/api/odyssey-proxy"
    if way:
        assert entry["command"] == "pipelines-mcp-shim"
        assert entry["env"]["PIPELINES_ODYSSEY_PROXY_URL"] == base
    else:
        assert entry["url"] == f"{base}/mcp"


def test_a_run_is_opened_for_a_task_and_its_token_shown_apart(server: Server) -> None:
    run = opened(server)
    key = {"Authorization": f"Bearer {KEY}"}
    told = httpx2.get(f"{server.url}/api/runs/{run.id}", headers=key).json()
    done = run_command(
        "odyssey", "mcp-config", "--client", "claude-code", "--agent", str(told["agent_id"]), "--task",
        str(told["task_id"]), "--url", server.url, PIPELINES_API_KEY=KEY,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    entry = json.loads(done.stdout)["mcpServers"]["odyssey"]
    token = done.stderr.split("export PIPELINES_RUN_TOKEN=")[1].split()[0]
    assert entry["headers"]["Authorization"] == "Bearer ${PIPELINES_RUN_TOKEN}"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    reply = httpx2.post(entry["url"], json=message, headers={"Authorization": f"Bearer {token}"})
    assert [tool["name"] for tool in reply.json()["result"]["tools"]] == NAMES


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Say which run"),
        (["--run", "1", "--agent", "1", "--task", "1"], "Say which run"),
        (["--run", "999999"], "run"),
        (["--run", "1", "--name", "a b"], "--name"),
        (["--run", "1", "--token-env", "A-B"], "--token-env"),
    ],
)
def test_what_cannot_be_configured_is_said(server: Server, arguments: list[str], told: str) -> None:
    done = run_command(
        "odyssey", "mcp-config", "--client", "cursor", "--url", server.url, *arguments, PIPELINES_API_KEY=KEY
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
