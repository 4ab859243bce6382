"""`pipelines endpoints add`: what was given becomes one request, and its outcome is printed."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.cli.client import Server
from pipelines.cli.files import read_text, stop
from pipelines.cli.output.endpoint_report import DISCOVERY_S, ENDPOINTS, find_endpoint, print_endpoint

Body = dict[str, Any]
KINDS = ("--openapi", "--mcp", "--mcp-command", "--code")
IN_SANDBOX = ("--mcp-command", "--code")


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
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


def add_endpoint(server: Server, given: Given, *, replace: bool, as_json: bool) -> None:
    body = body_of(given)
    known = find_endpoint(server, given.name) if replace else None
    if known is None:
        made = server.post(ENDPOINTS, body, timeout=DISCOVERY_S)
    else:
        made = server.put(f"{ENDPOINTS}/{known['id']}", body, timeout=DISCOVERY_S)
    print_endpoint(made, "changed" if known is not None else "registered", as_json=as_json)


def body_of(given: Given) -> Body:
    """The request, or a message about what does not go together."""
    values = (given.openapi, given.mcp, given.mcp_command, given.code)
    kinds = [kind for kind, value in zip(KINDS, values, strict=True) if value]
    if len(kinds) != 1:
        found = f"not {' and '.join(kinds)}" if kinds else "what the endpoint is"
        stop(f"Give one of {', '.join(KINDS)}: {found}.")
    (kind,) = kinds
    _refuse_what_does_not_fit(given, kind)
    type, config = _READERS[kind](given)
    auth = _auth(given)
    return {"name": given.name, "type": type, "config": config, "auth": auth}


def _refuse_what_does_not_fit(given: Given, kind: str) -> None:
    code_only = {
        "--function": given.functions,
        "--requirements": given.requirements,
        "--allow-host": given.allow_hosts,
    }
    for option, value in code_only.items():
        if value and kind != "--code":
            stop(f"{option} goes with --code, not with {kind}.")
    if given.env and kind not in IN_SANDBOX:
        stop(f"--env goes with --code or --mcp-command, not with {kind}.")
    if given.base_url is not None and kind != "--openapi":
        stop(f"--base-url goes with --openapi, not with {kind}.")
    if (given.bearer or given.api_key_header) and kind in IN_SANDBOX:
        what = "code" if kind == "--code" else "a program"
        stop(f"--bearer and --api-key-header are for services with a URL; {what} gets credentials by --env.")


def _openapi(given: Given) -> tuple[str, Body]:
    if given.base_url is None:
        stop("--openapi needs --base-url: where the service answers, such as https://api.example.com/v2")
    document = str(given.openapi)
    if document.startswith(("http://", "https://")):
        return "http_openapi", {"base_url": given.base_url, "spec_url": document}
    return "http_openapi", {"base_url": given.base_url, "spec": read_text(Path(document))}


def _mcp(given: Given) -> tuple[str, Body]:
    return "mcp_server", {"url": given.mcp}


def _mcp_command(given: Given) -> tuple[str, Body]:
    try:
        command, *args = shlex.split(str(given.mcp_command))
    except ValueError:  # no words, or a quote that is not closed
        stop("--mcp-command is written as in a shell, such as 'python -m server', with every quote closed.")
    return "mcp_server", {"command": command, "args": args, "env_vars": _variables(given)}


def _code(given: Given) -> tuple[str, Body]:
    assert given.code is not None
    listed = read_text(given.requirements).splitlines() if given.requirements is not None else []
    lines = [line.strip() for line in listed]
    return "code", {
        "source": read_text(given.code),
        "functions": [*given.functions],
        "requirements": [
            line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")
        ],
        "env_vars": _variables(given),
        "allow_hosts": [*given.allow_hosts],
    }


def _variables(given: Given) -> dict[str, str]:
    return dict(_pair("--env", each, "VAR=CREDENTIAL") for each in given.env)


def _auth(given: Given) -> Body | None:
    if given.bearer is not None and given.api_key_header is not None:
        stop("Give --bearer or --api-key-header, not both.")
    if given.bearer is not None:
        return {"type": "bearer", "credential": given.bearer}
    if given.api_key_header is None:
        return None
    header, credential = _pair("--api-key-header", given.api_key_header, "HEADER=CREDENTIAL")
    return {"type": "api_key", "header": header, "credential": credential}


def _pair(option: str, text: str, shape: str) -> tuple[str, str]:
    before, separator, after = text.partition("=")
    if not separator or not before or not after:
        stop(f"{option} is written as {shape}, the name of an org credential behind the `=`.")
    return before, after


_READERS = {"--openapi": _openapi, "--mcp": _mcp, "--mcp-command": _mcp_command, "--code": _code}
