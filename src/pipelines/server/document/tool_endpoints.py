"""Tool endpoints and the tools found on them, as they are answered."""

from pipelines.core.endpoints.endpoint_drift import StoredTool
from pipelines.engine.endpoints.call_endpoint import EndpointReply
from pipelines.engine.endpoints.manage_endpoints import EndpointDiscovery
from pipelines.server.document.parts import (
    Operation,
    Page,
)
from pipelines.storage.agents.tool_endpoints import CountedEndpoint

_ONE = "/api/tool-endpoints/{endpoint_id}"
OPERATIONS = (
    Operation("create_tool_endpoint", "POST", "/api/tool-endpoints", {201: CountedEndpoint}),
    Operation(
        "list_tool_endpoints", "GET", "/api/tool-endpoints", {200: Page(CountedEndpoint, "tool endpoints")}
    ),
    Operation("get_tool_endpoint", "GET", _ONE, {200: CountedEndpoint}),
    Operation("change_tool_endpoint", "PUT", _ONE, {200: CountedEndpoint}),
    Operation("delete_tool_endpoint", "DELETE", _ONE, {204: None}),
    Operation("discover_tool_endpoint", "POST", f"{_ONE}/discover", {200: EndpointDiscovery}),
    Operation("list_endpoint_tools", "GET", f"{_ONE}/tools", {200: Page(StoredTool, "tools")}),
    Operation("call_endpoint_tool", "POST", f"{_ONE}/call", {200: EndpointReply}),
)
