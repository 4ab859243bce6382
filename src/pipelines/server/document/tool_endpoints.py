"""Tool endpoints and the tools found on them, as they are answered."""

from pipelines.core.tools.passthrough_binding import ENDPOINT_TYPES
from pipelines.server.document.parts import (
    ANY,
    MOMENT,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    Operation,
    Schemas,
    listed,
    one_of,
    or_null,
    page_of,
    record,
    told,
)

_UUID = told({"type": "string", "format": "uuid"}, "what `endpoint_id` of a binding names")
_DRIFT = told(or_null(one_of(("changed", "gone"))), "since it was accepted; null: it is what was accepted")
_DIFFERENCES = told(
    listed(record("A value that differs.", {"path": TEXT}, {"before": ANY, "after": ANY})),
    "from what was accepted to what was found, at most 20",
)
_ENDPOINT = {
    "id": _UUID,
    "name": TEXT,
    "type": one_of(ENDPOINT_TYPES),
    "config": told(OBJECT, "without a spec, source, files or zip"),
    "content_hash": told(or_null(TEXT), "of what is left out of `config`; null: nothing is"),
    "auth": or_null(OBJECT),
    "version": told(WHOLE, "up with every change of config, auth or accepted tools"),
    "discovered_at": told(or_null(MOMENT), "when its tools were last seen"),
    "discovery_error": told(or_null(TEXT), "why they were not, the last time"),
    "discovery_notes": told(listed(TEXT), "what could not be made a tool, or got another name"),
    "tools": told(WHOLE, "how many are accepted"),
    "drifted": told(WHOLE, "how many of these have changed or gone since"),
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
SCHEMAS: Schemas = {
    "ToolEndpoint": record("A tool endpoint.", _ENDPOINT),
    "ToolEndpointPage": page_of("ToolEndpoint", "tool endpoints"),
    "EndpointDiscovery": record(
        "A tool endpoint, and what a discovery changed.",
        {
            **_ENDPOINT,
            "added": told(WHOLE, "new tools"),
            "removed": told(WHOLE, "tools that are gone, and were accepted as gone"),
            "drift": told(
                listed(
                    record(
                        "A tool that differs.", {"name": TEXT, "drift": _DRIFT, "differences": _DIFFERENCES}
                    )
                ),
                "what is not as it was accepted, at most 100 of it",
            ),
        },
    ),
    "EndpointTool": record(
        "A tool as it was accepted.",
        {
            "name": told(TEXT, "what `tool_name` of a binding names"),
            "description": TEXT,
            "input_schema": OBJECT,
            "output_schema": or_null(OBJECT),
            "call": told(OBJECT, "how the endpoint is called for it: a method and path, or its own name"),
            "fingerprint": told(TEXT, "changes when what a caller may rely on does"),
            "drift": _DRIFT,
            "differences": _DIFFERENCES,
        },
    ),
    "EndpointToolPage": page_of("EndpointTool", "tools"),
    "EndpointReply": record(
        "What a tool answered.",
        {
            "tool_name": TEXT,
            "status": told(WHOLE, "the service's own, also an error; 200 where it has none"),
            "response": told(ANY, "decoded; text stays text"),
            "latency_ms": NUMBER,
            "notes": listed(TEXT),
        },
    ),
}
_ONE = "/api/tool-endpoints/{endpoint_id}"
OPERATIONS = (
    Operation("create_tool_endpoint", "POST", "/api/tool-endpoints", {201: "ToolEndpoint"}),
    Operation("list_tool_endpoints", "GET", "/api/tool-endpoints", {200: "ToolEndpointPage"}),
    Operation("get_tool_endpoint", "GET", _ONE, {200: "ToolEndpoint"}),
    Operation("change_tool_endpoint", "PUT", _ONE, {200: "ToolEndpoint"}),
    Operation("delete_tool_endpoint", "DELETE", _ONE, {204: None}),
    Operation("discover_tool_endpoint", "POST", f"{_ONE}/discover", {200: "EndpointDiscovery"}),
    Operation("list_endpoint_tools", "GET", f"{_ONE}/tools", {200: "EndpointToolPage"}),
    Operation("call_endpoint_tool", "POST", f"{_ONE}/call", {200: "EndpointReply"}),
)
