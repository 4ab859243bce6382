"""The one place where the types of tool endpoints get what asks them.

A type that is not in the mapping is refused when an endpoint of it is registered: "this server cannot ask…".
"""

from pipelines.core.tools.live_tools import EndpointMaker, EndpointValues, LiveEndpoint
from pipelines.engine.code.code_endpoint import code_endpoint
from pipelines.engine.workspaces.code_mode import CodeMode
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.http_openapi import http_openapi_endpoint
from pipelines.outbound.mcp.server import mcp_server_endpoint
from pipelines.processes.pool import HelperProcesses
from pipelines.sandbox.held_commands import HeldCommands


def endpoint_makers(
    *,
    policy: AddressPolicy,
    helpers: HelperProcesses,
    code_mode: CodeMode,
    commands: HeldCommands | None = None,
) -> dict[str, EndpointMaker]:
    """The makers by endpoint type. `policy` decides where the server may connect; `helpers` read large texts;
    `code_mode` provides sandboxes; `commands` starts local MCP servers, if the operator allows them."""
    open_pipes = commands.open if commands is not None else None

    def http_openapi(given: EndpointValues) -> LiveEndpoint:
        return http_openapi_endpoint(
            config=given.config,
            auth_headers=given.auth_headers,
            policy=policy,
            helpers=helpers,
            org_id=given.org_id,
        )

    def mcp_server(given: EndpointValues) -> LiveEndpoint:
        return mcp_server_endpoint(
            config=given.config,
            auth_headers=given.auth_headers,
            policy=policy,
            variables=given.variables,
            credentials=given.credentials,
            open_pipes=open_pipes,
            org_id=given.org_id,
        )

    def code(given: EndpointValues) -> LiveEndpoint:
        return code_endpoint(
            config=given.config,
            secrets=given.secrets,
            org_id=given.org_id,
            code_mode=code_mode,
            policy=policy,
        )

    return {"http_openapi": http_openapi, "mcp_server": mcp_server, "code": code}
