"""Tool endpoints from Python: real backends that a tool may be passed through to."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import Api, Row
from .collected_source import CannotShip as CannotShip
from .collected_source import collect
from .endpoint_calls import DISCOVERY_S, ENDPOINTS
from .endpoint_calls import call as call
from .endpoint_calls import create_mcp as create_mcp
from .endpoint_calls import create_openapi as create_openapi
from .endpoint_calls import discover as discover
from .errors import ApiFailed


def create_code(
    *,
    name: str,
    functions: str | Sequence[Callable[..., Any]],
    requirements: Sequence[str] = (),
    env_vars: Sequence[str] | Mapping[str, str] = (),
    allow_hosts: Sequence[str] = (),
    org_id: int | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
) -> Row:
    """Register Python functions as a tool endpoint, which the platform runs in its sandbox.

        create_code(
            name="research-tools",
            functions=[tools_network.search_wikipedia, tools_network.fetch_url],
            requirements=["httpx>=0.27", "trafilatura"],
            env_vars=["SEARCH_KEY"],
            allow_hosts=["*.wikipedia.org"],
        )

    `functions` are the functions themselves: their modules are shipped, with the modules of your project that
    those import. Or the source text of one file. `requirements` are the packages they import; one that seems
    to be missing is a warning. `env_vars` are names of org credentials, each of which becomes an environment
    variable of that name, or a mapping of variables to credentials; never put a secret's value here.
    `allow_hosts` are the only hosts that the functions reach, as `api.example.com` or `*.example.com`. The
    org is the key's: `org_id` may be written, and says nothing more. Raises CannotShip (a ValueError) with
    every function that cannot be shipped and what to do about it, and ApiFailed.
    """
    body: dict[str, Any] = {"name": name, "type": "code", **_shipped(functions, requirements)}
    body |= {
        "requirements": list(requirements),
        "env_vars": dict(env_vars) if isinstance(env_vars, Mapping) else list(env_vars),
        "allow_hosts": list(allow_hosts),
    }
    try:
        created: Row = Api(api_key=api_key, base_url=base_url).post(ENDPOINTS, body, timeout_s=DISCOVERY_S)
    except ApiFailed as failed:
        if failed.status not in (404, 405):
            raise
        raise ApiFailed(
            "This server has no tool endpoints (POST /api/tool-endpoints is not there): a later version of"
            " pipelines has them. Until then leave the tools in the sandbox, without passthrough.",
            status=failed.status,
            code=failed.code,
        ) from failed
    return created


def _shipped(functions: str | Sequence[Callable[..., Any]], requirements: Sequence[str]) -> dict[str, Any]:
    if isinstance(functions, str):
        return {"source": functions}
    collected = collect(functions, requirements)
    for line in collected.warnings:
        warnings.warn(line, stacklevel=3)
    return {"files": collected.files, "functions": collected.functions}
