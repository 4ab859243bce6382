"""What the form of an agent can try before it is saved: its connection, and the tools of a live service.

A secret that was typed goes back with the form sealed (`engine/access/kept_secret.py`), never as text.
"""

from typing import Any, NamedTuple, cast

from fastapi import Request

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.access.kept_secret import keep_secret, kept_secret
from pipelines.engine.endpoints.read_tools import Kind, ToolsSource, merge_tools, read_tools
from pipelines.engine.runs.check_connection import TypedConnection, check_typed_connection
from pipelines.server.api.common import platform_of
from pipelines.server.pages.agents.agent_form import EXAMPLE_TOOLS, SECRET
from pipelines.server.pages.form_fields import problems_in, read_json_text
from pipelines.server.pages.visitor import Visitor
from pipelines.storage.agents.agents import Agent
from pipelines.web.pretty_json import pretty_json
from pipelines.wire.errors import OdysseyError

KEPT = "kept_secret"  # the field of the form that carries the sealed secret
SOURCES = (("mcp", "an MCP server"), ("openapi", "an OpenAPI document"), ("url", "a JSON list of tools"))


class Tried(NamedTuple):
    """What came of a button that saves nothing."""

    typed: dict[str, str]
    problems: list[Problem]
    tested: JsonObject | None = None  # the result of the connection test
    tools_read: JsonObject | None = None  # how many tools were read, and what could not be


def with_kept_secret(request: Request, visitor: Visitor, typed: dict[str, str]) -> dict[str, str]:
    """The fields with the secret that an earlier answer of this form sealed, unless another one was typed."""
    kept = kept_secret(platform_of(request), _owner(visitor), typed.get(KEPT, ""))
    return typed if typed.get(SECRET) or kept is None else typed | {SECRET: kept}


def sealed_for_form(request: Request, visitor: Visitor, typed: dict[str, str]) -> JsonObject | None:
    """What the form carries in place of the secret; None if there is none."""
    if not typed.get(SECRET):
        return None
    kept = keep_secret(platform_of(request), _owner(visitor), typed[SECRET])
    return {"sealed": kept.sealed, "until": kept.until}


async def try_connection(
    request: Request, visitor: Visitor, typed: dict[str, str], agent: Agent | None
) -> Tried:
    if typed.get("mode") == "code":
        message = "is tested after the agent is saved: the sandbox then loads its code"
        return Tried(typed, [Problem(path="/mode", message=message)])
    connection = TypedConnection(
        endpoint_url=typed.get("endpoint_url", "").strip(),
        auth_header_name=typed.get("auth_header_name", "").strip() or None,
        auth_header_value=typed.get(SECRET) or None,
    )
    client = request.app.state.agent_client
    try:
        tested = await check_typed_connection(platform_of(request), client, visitor.org_id, connection, agent)
    except (Refused, OdysseyError) as error:
        return Tried(typed, problems_in(error))
    return Tried(typed, [], tested=tested)


async def try_tools(request: Request, visitor: Visitor, typed: dict[str, str]) -> Tried:
    """The form with the tools that were found in its field *Tools*, beside those that stood there."""
    kind = typed.get("tools_from", "")
    source = ToolsSource(
        cast("Kind", kind if kind in dict(SOURCES) else "mcp"),
        typed.get("tools_url", "").strip(),
        typed.get("tools_credential", "").strip() or None,
    )
    text = typed.get("tools_schema", "").strip()
    is_example = text.replace("\r\n", "\n") == EXAMPLE_TOOLS
    platform, client = platform_of(request), request.app.state.agent_client
    try:
        declared: Any = [] if is_example or not text else await read_json_text(request, text, "/tools_schema")
        found = await read_tools(platform, client, visitor.org_id, source)
    except (Refused, OdysseyError) as error:
        return Tried(typed, problems_in(error))
    merged = pretty_json(merge_tools(declared, found.tools))
    told: JsonObject = {"count": len(found.tools), "notes": [*found.notes[:20]]}
    return Tried(typed | {"tools_schema": merged}, [], tools_read=told)


def _owner(visitor: Visitor) -> str:
    return f"{visitor.org_id}|{visitor.csrf}"
