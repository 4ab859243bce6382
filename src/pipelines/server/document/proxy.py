"""The proxy of a run, which is not FastAPI's: its paths, and what they answer with."""

from collections.abc import Mapping

from pipelines.core.text.json_text import JsonObject
from pipelines.server.document.parts import (
    ANY,
    OBJECT,
    TEXT,
    WHOLE,
    YES_NO,
    Operation,
    Schemas,
    either,
    listed,
    one_of,
    or_null,
    record,
    ref,
    told,
)
from pipelines.wire.names import (
    HEADER_ACTOR_ID,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_SOURCE,
    PROXY_BASE,
    Source,
    TraceEventType,
)

SCHEMAS: Schemas = {
    "RunTool": record(
        "What an agent may know of a tool.",
        {"name": TEXT, "description": TEXT, "input_schema": told({"type": "object"}, "JSON Schema")},
        {"output_schema": told({"type": "object"}, "JSON Schema")},
    ),
    "RunTools": record(
        "The tools of a run, all of them.", {"items": listed(ref("RunTool")), "next_cursor": {"type": "null"}}
    ),
    "ToolReply": record(
        "What a tool answered, and who answered for it.",
        {
            "tool_name": TEXT,
            "response": told(ANY, "the tool's own answer"),
            "source": one_of(Source),
            "latency_ms": WHOLE,
            "matched_rule_index": told(or_null(WHOLE), "of the failure rule that fired"),
        },
        {
            "validation": ref("Validation"),
            "error": told(ref("ErrorBody"), "where the platform refused the call, or could not answer it"),
            "retryable": YES_NO,
        },
    ),
    "ToolFailure": either(ref("ToolReply"), ref("ErrorAnswer")),
    "McpAnswer": record(
        "An answer of JSON-RPC: a result, or an error.",
        {"jsonrpc": {"const": "2.0"}, "id": told(ANY, "of the request")},
        {"result": OBJECT, "error": ref("McpError")},
    ),
    "McpError": record("An error of JSON-RPC.", {"code": WHOLE, "message": TEXT}, {"data": ANY}),
    "McpAnswers": either(ref("McpAnswer"), listed(ref("McpAnswer"))),
    "EventAccepted": record(
        "The row that an event became.",
        {"accepted": YES_NO, "sequence": WHOLE, "event_type": one_of(TraceEventType)},
    ),
}
_BY_JTI = f"{PROXY_BASE}/runs/{{jti}}"
_CALL, _EVENT, _MCP = "/tools/{tool_name}", "/traces/{event_type}", "/mcp"
_MCP_ANSWERS: Mapping[int, str | None] = {200: "McpAnswers", 202: None}
OPERATIONS = (
    Operation("list_run_tools", "GET", f"{PROXY_BASE}/tools", {200: "RunTools"}),
    Operation("call_tool", "POST", PROXY_BASE + _CALL, {200: "ToolReply"}),
    Operation("record_event", "POST", PROXY_BASE + _EVENT, {200: "EventAccepted"}),
    Operation("speak_mcp", "POST", PROXY_BASE + _MCP, _MCP_ANSWERS),
    Operation("list_run_tools_by_jti", "GET", f"{_BY_JTI}/tools", {200: "RunTools"}),
    Operation("call_tool_by_jti", "POST", _BY_JTI + _CALL, {200: "ToolReply"}),
    Operation("record_event_by_jti", "POST", _BY_JTI + _EVENT, {200: "EventAccepted"}),
    Operation("speak_mcp_by_jti", "POST", _BY_JTI + _MCP, _MCP_ANSWERS),
)
PATHS = frozenset(operation.path for operation in OPERATIONS)
CALLS = frozenset(operation.path for operation in OPERATIONS if operation.path.endswith(_CALL))
MCP = frozenset(operation.path for operation in OPERATIONS if operation.path.endswith(_MCP))
_SUMMARIES = {
    "tools": "The run's tools.",
    _CALL: "One tool call: the body is the arguments object. Errors of the simulated backend and"
    " injected failures answer with their own status.",
    _MCP: "The same tools for clients of the Model Context Protocol: one JSON-RPC message, or several.",
    _EVENT: "What the agent reports about itself; `__occurred_at` (ISO-8601) orders it.",
}


def paths() -> dict[str, JsonObject]:
    """As FastAPI would describe them; answers are added as for all others."""
    return {operation.path: {operation.method.lower(): _described(operation)} for operation in OPERATIONS}


def _described(operation: Operation) -> JsonObject:
    end = next(end for end in _SUMMARIES if operation.path.endswith(end))
    parameters: list[JsonObject] = []
    if operation.path.startswith(_BY_JTI):
        parameters.append(_in_path("jti", "of the run's token"))
    if end == _CALL:
        parameters.append(_in_path("tool_name", "as the agent declares it"))
    if end == _EVENT:
        kinds = [kind.value for kind in TraceEventType]
        parameters.append(_in_path("event_type", "what it is about", enum=kinds))
    if end != "tools":
        parameters.append(_header(HEADER_ACTOR_ID, "which sub-agent is acting"))
    if end == _CALL:
        parameters.append(_header(HEADER_IDEMPOTENCY_KEY, "a retry with the same key gets the first reply"))
    described: JsonObject = {"tags": ["proxy"], "summary": _SUMMARIES[end], "parameters": [*parameters]}
    described |= {"responses": {}}
    if end != "tools":
        body: JsonObject = {"schema": {"type": "object"}}
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
    return described


#: Who answered, in a header for those who unwrap the reply.
SOURCE_HEADER: JsonObject = {
    HEADER_SOURCE: {"description": "who answered: the reply's `source`", "schema": one_of(Source)}
}


def _in_path(name: str, description: str, **schema: list[str]) -> JsonObject:
    kind: JsonObject = {"type": "string", **schema}  # type: ignore[dict-item]
    return {"name": name, "in": "path", "required": True, "description": description, "schema": kind}


def _header(name: str, description: str) -> JsonObject:
    return {
        "name": name,
        "in": "header",
        "required": False,
        "description": description,
        "schema": {"type": "string"},
    }
