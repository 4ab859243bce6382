"""Agents, their code and their plans, as they are answered."""

from pipelines.core.simulation.proposed_plans.proposal import MeasuredPlan, ProposedPlan, ProposedPlanList
from pipelines.outbound.ping import PingResult
from pipelines.server.document.parts import (
    BINARY,
    ID,
    MOMENT,
    NUMBER,
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
    page_of,
    record,
    ref,
    told,
)

_MODE = one_of(("external_http", "code"))
_HEAD = {
    "id": ID,
    "version": told(ID, "each change is a new one"),
    "status": one_of(("draft", "published")),
    "name": TEXT,
    "description": TEXT,
    "mode": _MODE,
    "endpoint_url": or_null(TEXT),
    "auth_header_name": or_null(TEXT),
    "run_timeout_s": WHOLE,
    "has_auth_header_value": told(YES_NO, "the value itself is never shown"),
    "created_at": MOMENT,
    "updated_at": MOMENT,
}
_CODE = {
    "code": or_null(ref("AgentCode")),
    "entrypoint": or_null(TEXT),
    "requirements": or_null(TEXT),
    "secrets": told(listed(TEXT), "names of credentials"),
    "model_gateways": told(listed(TEXT), "models that its runs may ask; left out where there are none"),
}
SCHEMAS: Schemas = {
    "Tool": record(
        "A tool as the agent declares it.",
        {"name": TEXT, "description": TEXT, "input_schema": told(OBJECT, "JSON Schema of the arguments")},
        {
            "output_schema": told(OBJECT, "JSON Schema of the response"),
            "annotations": ref("ToolAnnotations"),
            "default_execution_mode": one_of(("sandbox", "passthrough")),
            "passthrough_binding": OBJECT,
            "ledger_write_policy": one_of(("record_only", "adapter", "none")),
            "ledger_adapter": OBJECT,
            "simulation": told(
                either(listed(OBJECT), OBJECT), "an authored plan: its steps, or an object with them"
            ),
        },
    ),
    "ToolAnnotations": record(
        "What the tool's definition says of it, in MCP's spelling.",
        {},
        {
            "title": TEXT,
            "readOnlyHint": told(YES_NO, "it changes nothing"),
            "destructiveHint": told(YES_NO, "it may change or delete what is there; false: it only adds"),
            "idempotentHint": told(YES_NO, "the same call again changes nothing more"),
            "openWorldHint": told(YES_NO, "it reaches things outside"),
        },
    ),
    "AgentCode": record(
        "Where the code of an agent came from, and how much it is.",
        {
            "source": one_of(("paste", "files", "zip", "git")),
            "hash": TEXT,
            "files": WHOLE,
            "bytes": told(WHOLE, "unpacked"),
            "entrypoint": TEXT,
        },
        {"url": TEXT, "ref": TEXT, "directory": TEXT, "commit": or_null(TEXT)},
    ),
    "Agent": record(
        "An agent at one of its versions.",
        {
            **_HEAD,
            "tools_schema": listed(ref("Tool")),
            "ledger_schema": or_null(OBJECT),
            "response_contract": or_null(OBJECT),
            "config": told(OBJECT, "sub_agents, topology, simulator, models, honesty"),
            "max_concurrency": WHOLE,
            "variation_delivery": one_of(("system", "user", "tool_result")),
        },
        {
            **_CODE,
            "rules": told(
                listed(OBJECT), "typed rules that hold for all its tasks; left out where there are none"
            ),
            "warnings": told(
                listed(ref("Problem")),
                "where it is registered or changed, and only if there are some: rules, its own or of tasks of"
                " its datasets or accepted translations there, that name a tool or an argument which this"
                " version has not",
            ),
        },
    ),
    "AgentSummary": record(
        "An agent in a list.",
        {name: _HEAD[name] for name in ("id", "version", "status", "name", "has_auth_header_value")}
        | {"created_at": MOMENT, "updated_at": MOMENT},
        {
            name: _HEAD[name]
            for name in ("description", "mode", "endpoint_url", "auth_header_name", "run_timeout_s")
        },
    ),
    "AgentPage": page_of("AgentSummary", "agents"),
    "ToolPlan": record(
        "What one tool does in a simulated world.",
        {
            "tool": TEXT,
            "origin": one_of(("authored", "read", "model")),
            "confidence": NUMBER,
            "is_guess": YES_NO,
            "settled_by": told(or_null(TEXT), "what would make it more than a guess"),
            "hints": told(listed(TEXT), "what the tool's annotations say it does, which decided the plan"),
            "grounds": told(
                listed(TEXT), "what the plan rests on: what was matched, and what speaks against it"
            ),
            "plan": told(or_null(listed(OBJECT)), "its steps"),
            "notes": listed(TEXT),
        },
    ),
    "PlanList": record(
        "The plans of an agent's tools, and how the behaviour text is read.",
        {
            "items": listed(ref("ToolPlan")),
            "not_understood": told(
                listed(TEXT), "what is not enforced, or not whole, each with the reason in parentheses"
            ),
            "uniform": listed(TEXT),
            "sentences": listed(ref("ReadSentence")),
            "findings": listed(ref("RuleFinding")),
        },
    ),
    "PlanCheck": record("What is wrong with plans.", {"ok": YES_NO, "problems": listed(ref("Problem"))}),
}
_ZIP = {"application/zip": BINARY}
RECORDS = (PingResult, MeasuredPlan, ProposedPlan, ProposedPlanList)
OPERATIONS = (
    Operation("create_agent", "POST", "/api/agents", {201: "Agent"}),
    Operation("list_agents", "GET", "/api/agents", {200: "AgentPage"}),
    Operation("get_agent", "GET", "/api/agents/{agent_id}", {200: "Agent"}),
    Operation("change_agent", "PUT", "/api/agents/{agent_id}", {200: "Agent"}),
    Operation("delete_agent", "DELETE", "/api/agents/{agent_id}", {204: None}),
    Operation("publish_agent", "POST", "/api/agents/{agent_id}/publish", {200: "Agent"}),
    Operation("test_connection", "POST", "/api/agents/{agent_id}/test-connection", {200: PingResult}),
    Operation("upload_agent_code", "PUT", "/api/agents/{agent_id}/code", {200: "Agent"}),
    Operation("download_agent_code", "GET", "/api/agents/{agent_id}/code", {200: _ZIP}),
    Operation("list_plans", "GET", "/api/agents/{agent_id}/plans", {200: "PlanList"}),
    Operation("propose_plans", "POST", "/api/agents/{agent_id}/plans/propose", {202: "AuthorJob"}),
    Operation("accept_plans", "POST", "/api/agents/{agent_id}/plans/accept", {200: "Agent"}),
    Operation("check_plans", "POST", "/api/agents/{agent_id}/plans/check", {200: "PlanCheck"}),
)
