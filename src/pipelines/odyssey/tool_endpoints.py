"""Tool endpoints from Python: real backends that a tool may be passed through to."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from textwrap import dedent
from typing import Any

from .api import Api, Row
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
    env_vars: Mapping[str, str] | None = None,
    org_id: int | None = None,
    api_key: str | None = None,
    base_url: str | None = None,
) -> Row:
    """Register Python functions as a tool endpoint, which the platform runs in its sandbox.

        create_code(
            name="prices",
            functions="def get_price(sku: str) -> dict: ...",
            requirements=["requests==2.32.3"],
            env_vars={"PRICES_KEY": "prices-api-key"},
        )

    `functions` is source text, or the functions themselves, whose source is read. `env_vars` maps a variable
    to the name of an org credential; never put a secret's value here. The org is the key's: `org_id` may be
    written, and says nothing more. Raises ApiFailed, also when the server has no tool endpoints yet.
    """
    body = {
        "name": name,
        "type": "code",
        "functions": functions if isinstance(functions, str) else _source_of(functions),
        "requirements": list(requirements),
        "env_vars": dict(env_vars or {}),
    }
    try:
        made: Row = Api(api_key=api_key, base_url=base_url).post(ENDPOINTS, body, timeout_s=DISCOVERY_S)
    except ApiFailed as failed:
        if failed.status not in (404, 405):
            raise
        raise ApiFailed(
            "This server has no tool endpoints (POST /api/tool-endpoints is not there): a later version of"
            " pipelines has them. Until then leave the tools in the sandbox, without passthrough.",
            status=failed.status,
            code=failed.code,
        ) from failed
    return made


def _source_of(functions: Sequence[Callable[..., Any]]) -> str:
    return "\n\n".join(dedent(inspect.getsource(function)) for function in functions)
