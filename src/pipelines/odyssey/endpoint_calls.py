"""Tool endpoints with a URL from Python: register them, find their tools, call a tool."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .api import Api, Row
from .errors import ApiFailed

ENDPOINTS = "/api/tool-endpoints"
DISCOVERY_S = 200.0  # the server gives a discovery 180 s: packages may have to be installed for one


def create_openapi(
    *,
    name: str,
    base_url: str,
    spec: str | Path | Mapping[str, Any],
    bearer: str | None = None,
    api_key_header: Mapping[str, str] | None = None,
    org_id: int | None = None,
    api_key: str | None = None,
    server_url: str | None = None,
) -> Row:
    """Register an HTTP service by its OpenAPI document, one tool per operation.

        create_openapi(
            name="orders-api",
            base_url="https://staging.example.com/v2",
            spec=Path("openapi.yaml"),
            bearer="ORDERS_KEY",
        )

    `spec` is a file (a Path), a URL that the server fetches, the document's text, or the document itself.
    `bearer` is the name of an org credential, and `api_key_header` a header with such a name, as
    `{"X-API-Key": "ORDERS_KEY"}`; never put a secret's value here. `server_url` is the Odyssey server, and
    `org_id` must be the org of the key. Its tools are found at once: `discovery_error` of what comes back
    says why where they are not.
    """
    config: Row = {"base_url": base_url}
    if isinstance(spec, Path):
        config["spec"] = spec.read_text(encoding="utf-8")
    elif isinstance(spec, str) and spec.startswith(("http://", "https://")) and "\n" not in spec:
        config["spec_url"] = spec
    else:
        config["spec"] = spec if isinstance(spec, str) else dict(spec)
    body: Row = {
        "name": name,
        "type": "http_openapi",
        "config": config,
        "auth": _auth(bearer, api_key_header),
    }
    body |= {"org_id": org_id} if org_id is not None else {}
    return _post_endpoint(Api(api_key=api_key, base_url=server_url), ENDPOINTS, body)


def create_mcp(
    *,
    name: str,
    url: str | None = None,
    command: str | None = None,
    args: Sequence[str] = (),
    env_vars: Mapping[str, str] | None = None,
    bearer: str | None = None,
    api_key_header: Mapping[str, str] | None = None,
    org_id: int | None = None,
    api_key: str | None = None,
    server_url: str | None = None,
) -> Row:
    """Register an MCP server: one that speaks streamable HTTP at `url`, or a program of the server's folder.

        create_mcp(name="calendar", url="https://mcp.example.com/mcp", bearer="CALENDAR_KEY")
        create_mcp(name="time", command="/env/time/bin/python", args=["-m", "mcp_server_time"])

    A program is started in the sandbox, with `env_vars` from org credentials, as `{"TOKEN": "TIME_KEY"}`. The
    rest is as in `create_openapi`.
    """
    if (url is None) == (command is None):
        raise ValueError("give url or command: a server that runs, or the program that is one")
    if command is None and (args or env_vars):
        raise ValueError("args and env_vars go with command, not with url")
    config: Row = {"url": url}
    if command is not None:
        config = {"command": command, "args": list(args), "env_vars": dict(env_vars or {})}
    auth = _auth(bearer, api_key_header)
    body: Row = {"name": name, "type": "mcp_server", "config": config, "auth": auth}
    body |= {"org_id": org_id} if org_id is not None else {}
    return _post_endpoint(Api(api_key=api_key, base_url=server_url), ENDPOINTS, body)


def discover(
    name: str, *, accept: bool = False, api_key: str | None = None, server_url: str | None = None
) -> Row:
    """Ask an endpoint for its tools again. `accept` takes what changed or went for right: runs go on.

    discover("orders-api")["drift"]  # what is not as it was accepted
    """
    api = Api(api_key=api_key, base_url=server_url)
    return _post_endpoint(api, f"{ENDPOINTS}/{_endpoint_id(api, name)}/discover", {"accept": accept})


def call(
    name: str,
    tool_name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    api_key: str | None = None,
    server_url: str | None = None,
) -> Row:
    """Call one tool of an endpoint by hand: `{"status": …, "response": …, "latency_ms": …}`.

        call("orders-api", "get_order", {"order_id": "4521"})["response"]

    Raises ApiFailed, with the code `transport_error` where no answer came that can be used.
    """
    api = Api(api_key=api_key, base_url=server_url)
    body = {"tool_name": tool_name, "arguments": dict(arguments or {})}
    return _post_endpoint(api, f"{ENDPOINTS}/{_endpoint_id(api, name)}/call", body)


def _post_endpoint(api: Api, path: str, body: Mapping[str, Any]) -> Row:
    answered: Row = api.post(path, body, timeout_s=DISCOVERY_S)
    return answered


def _endpoint_id(api: Api, name: str) -> str:
    found = api.get(f"{ENDPOINTS}?name={quote(name, safe='')}")["items"]
    if not found:
        raise ApiFailed(f"There is no tool endpoint named {name!r}.", status=404, code="not_found")
    return str(found[0]["id"])


def _auth(bearer: str | None, api_key_header: Mapping[str, str] | None) -> Row | None:
    if bearer is not None and api_key_header:
        raise ValueError("give bearer or api_key_header, not both")
    if bearer is not None:
        return {"type": "bearer", "credential": bearer}
    if not api_key_header:
        return None
    if len(api_key_header) != 1:
        raise ValueError("api_key_header has one header, as {'X-API-Key': 'ORDERS_KEY'}")
    ((header, credential),) = api_key_header.items()
    return {"type": "api_key", "header": header, "credential": credential}
