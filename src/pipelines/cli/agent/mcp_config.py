"""`pipelines odyssey mcp-config`: the configuration that connects an MCP client to the tools of a run.

It names the variable of the run's token, never the token itself: people commit these files.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import typer

from pipelines.cli.client import Server
from pipelines.cli.files import stderr, stop
from pipelines.wire.names import ENV_PROXY_URL, ENV_RUN_TOKEN, PROXY_BASE

SHIM = "pipelines-mcp-shim"


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientOptions:
    client: str  # one of odyssey.McpClient
    name: str  # of the server in the client's own list
    token_env: str
    is_stdio: bool


class Configuration(NamedTuple):
    file: str
    text: str


def print_config(
    server: Server, options: ClientOptions, *, run_id: int | None, agent: int | None, task: int | None
) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", options.name):
        stop("--name takes letters, digits, - and _.")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", options.token_env):
        stop("--token-env takes the name of a variable.")
    if (run_id is None) == (agent is None or task is None):
        stop("Say which run: --run N, or --agent N and --task N to open one.")
    if run_id is not None:
        proxy_url = _proxy_url_of_run(server, run_id)
    else:
        proxy_url = _open_run(server, options.token_env, {"agent_id": agent, "task_ids": [task]})
    document = configuration(options, proxy_url)
    stderr.print(f"# {document.file}", markup=False)
    typer.echo(document.text)


def _proxy_url_of_run(server: Server, run_id: int) -> str:
    run = server.get(f"/api/runs/{run_id}")
    if run["status"] != "running":
        stop(f"Run {run_id} is {run['status']}: its tools do not answer. Open a run: --agent and --task.")
    return f"{server.url.rstrip('/')}{PROXY_BASE}"  # the token says which run


def _open_run(server: Server, token_env: str, body: dict[str, Any]) -> str:
    opened = server.post("/api/runs", {"mode": "manual"} | body)
    stderr.print(f"Run {opened['id']} is open. Its token is shown only this once:", markup=False)
    stderr.print(f"  export {token_env}={opened['run_token']}", markup=False)
    stderr.print(
        f"When the agent is done, get the verdict: POST /api/runs/{opened['id']}/finish with final_response",
        markup=False,
    )
    return str(opened["odyssey_proxy_url"])


def configuration(options: ClientOptions, proxy_url: str) -> Configuration:
    if options.client == "codex":
        return Configuration("~/.codex/config.toml", _codex_config(options, proxy_url))
    if options.client == "vscode":
        return Configuration(".vscode/mcp.json", _format_json(_vscode_config(options, proxy_url)))
    is_claude = options.client == "claude-code"
    token = f"${{{options.token_env}}}" if is_claude else f"${{env:{options.token_env}}}"
    entry = _server_entry(options, proxy_url, token)
    if not is_claude:
        entry.pop("type")  # Cursor tells them apart by their fields
    return Configuration(
        ".mcp.json" if is_claude else ".cursor/mcp.json", _format_json({"mcpServers": {options.name: entry}})
    )


def _server_entry(options: ClientOptions, proxy_url: str, token: str) -> dict[str, Any]:
    if options.is_stdio:
        environment = {ENV_PROXY_URL: proxy_url, ENV_RUN_TOKEN: token}
        return {"type": "stdio", "command": SHIM, "args": [], "env": environment}
    headers = {"Authorization": f"Bearer {token}"}
    return {"type": "http", "url": f"{proxy_url}/mcp", "headers": headers}


def _vscode_config(options: ClientOptions, proxy_url: str) -> dict[str, Any]:
    """VS Code asks for the token when it first needs it, and keeps it out of the file."""
    id = f"{options.name}-run-token"
    prompt = {"type": "promptString", "id": id, "description": "The run's token", "password": True}
    entry = _server_entry(options, proxy_url, f"${{input:{id}}}")
    return {"inputs": [prompt], "servers": {options.name: entry}}


def _codex_config(options: ClientOptions, proxy_url: str) -> str:
    head = f"[mcp_servers.{options.name}]"
    if not options.is_stdio:
        url, variable = json.dumps(f"{proxy_url}/mcp"), json.dumps(options.token_env)
        return f"{head}\nurl = {url}\nbearer_token_env_var = {variable}"
    if options.token_env != ENV_RUN_TOKEN:
        stop(f"With --stdio Codex passes variables on under their own names: leave {ENV_RUN_TOKEN} as it is.")
    return (
        f"{head}\ncommand = {json.dumps(SHIM)}\nenv_vars = [{json.dumps(ENV_RUN_TOKEN)}]\n\n"
        f"[mcp_servers.{options.name}.env]\n{ENV_PROXY_URL} = {json.dumps(proxy_url)}"
    )


def _format_json(value: Any) -> str:
    return json.dumps(value, indent=2)
