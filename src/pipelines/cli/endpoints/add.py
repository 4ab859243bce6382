"""`pipelines endpoints add`: turns the options into one request and prints the result."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.cli.client import Server
from pipelines.cli.files import read_text, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.endpoint_report import DISCOVERY_S, ENDPOINTS, find_endpoint, print_endpoint

Body = dict[str, Any]
KINDS = ("--openapi", "--mcp", "--mcp-command", "--code")
IN_SANDBOX = ("--mcp-command", "--code")


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEndpoint:
    name: str
    openapi: str | None = None  # a file, or a URL
    base_url: str | None = None
    mcp: str | None = None
    mcp_command: str | None = None
    code: Path | None = None
    functions: tuple[str, ...] = ()
    requirements: Path | None = None
    allow_hosts: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    bearer: str | None = None
    api_key_header: str | None = None


def add_endpoint(server: Server, endpoint: NewEndpoint, *, replace: bool) -> Answer:
    body = request_body(endpoint)
    known = find_endpoint(server, endpoint.name) if replace else None
    if known is None:
        stored = server.post(ENDPOINTS, body, timeout=DISCOVERY_S)
    else:
        stored = server.put(f"{ENDPOINTS}/{known['id']}", body, timeout=DISCOVERY_S)
    done = "changed" if known is not None else "registered"
    return Answer(stored, lambda endpoint: print_endpoint(endpoint, done))


def request_body(endpoint: NewEndpoint) -> Body:
    """The request body. Ends the command if options contradict each other."""
    values = (endpoint.openapi, endpoint.mcp, endpoint.mcp_command, endpoint.code)
    kinds = [kind for kind, value in zip(KINDS, values, strict=True) if value]
    if len(kinds) != 1:
        given = f", not {' and '.join(kinds)}" if kinds else ", which says what the endpoint is"
        stop(f"Give exactly one of {', '.join(KINDS)}{given}.")
    (kind,) = kinds
    _check_options(endpoint, kind)
    type, config = _CONFIGS[kind](endpoint)
    auth = _read_auth(endpoint)
    return {"name": endpoint.name, "type": type, "config": config, "auth": auth}


def _check_options(endpoint: NewEndpoint, kind: str) -> None:
    code_only = {
        "--function": endpoint.functions,
        "--requirements": endpoint.requirements,
        "--allow-host": endpoint.allow_hosts,
    }
    for option, value in code_only.items():
        if value and kind != "--code":
            stop(f"{option} goes with --code, not with {kind}.")
    if endpoint.env and kind not in IN_SANDBOX:
        stop(f"--env goes with --code or --mcp-command, not with {kind}.")
    if endpoint.base_url is not None and kind != "--openapi":
        stop(f"--base-url goes with --openapi, not with {kind}.")
    if (endpoint.bearer or endpoint.api_key_header) and kind in IN_SANDBOX:
        what = "code" if kind == "--code" else "a program"
        stop(f"--bearer and --api-key-header are for services with a URL; {what} gets credentials by --env.")


def _openapi_config(endpoint: NewEndpoint) -> tuple[str, Body]:
    if endpoint.base_url is None:
        stop("--openapi needs --base-url: where the service answers, such as https://api.example.com/v2")
    document = str(endpoint.openapi)
    if document.startswith(("http://", "https://")):
        return "http_openapi", {"base_url": endpoint.base_url, "spec_url": document}
    return "http_openapi", {"base_url": endpoint.base_url, "spec": read_text(Path(document))}


def _mcp_config(endpoint: NewEndpoint) -> tuple[str, Body]:
    return "mcp_server", {"url": endpoint.mcp}


def _mcp_command_config(endpoint: NewEndpoint) -> tuple[str, Body]:
    try:
        command, *args = shlex.split(str(endpoint.mcp_command))
    except ValueError:  # no words, or a quote that is not closed
        stop("--mcp-command is written as in a shell, such as 'python -m server', with every quote closed.")
    return "mcp_server", {"command": command, "args": args, "env_vars": _variables(endpoint)}


def _code_config(endpoint: NewEndpoint) -> tuple[str, Body]:
    assert endpoint.code is not None
    listed = read_text(endpoint.requirements).splitlines() if endpoint.requirements is not None else []
    lines = [line.strip() for line in listed]
    return "code", {
        "source": read_text(endpoint.code),
        "functions": [*endpoint.functions],
        "requirements": [
            line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")
        ],
        "env_vars": _variables(endpoint),
        "allow_hosts": [*endpoint.allow_hosts],
    }


def _variables(endpoint: NewEndpoint) -> dict[str, str]:
    return dict(_split_pair("--env", each, "VAR=CREDENTIAL") for each in endpoint.env)


def _read_auth(endpoint: NewEndpoint) -> Body | None:
    if endpoint.bearer is not None and endpoint.api_key_header is not None:
        stop("Give --bearer or --api-key-header, not both.")
    if endpoint.bearer is not None:
        return {"type": "bearer", "credential": endpoint.bearer}
    if endpoint.api_key_header is None:
        return None
    header, credential = _split_pair("--api-key-header", endpoint.api_key_header, "HEADER=CREDENTIAL")
    return {"type": "api_key", "header": header, "credential": credential}


def _split_pair(option: str, text: str, shape: str) -> tuple[str, str]:
    before, separator, after = text.partition("=")
    if not separator or not before or not after:
        stop(f"{option} is written as {shape}, the name of an org credential behind the `=`.")
    return before, after


_CONFIGS = {
    "--openapi": _openapi_config,
    "--mcp": _mcp_config,
    "--mcp-command": _mcp_command_config,
    "--code": _code_config,
}
