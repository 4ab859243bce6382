"""A small shop for the verdict tests: its tools, its world, and short ways to write down what a run did."""

from pipelines.core.ledger.ledger import Add, Remove, SetFlag, Update, World
from pipelines.core.tools.tools_schema import parse_tools_schema
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge


def tool(name, *arguments, description=""):
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = parse_tools_schema(
    [
        tool("get_order", "order_id"),
        tool("refund_order", "order_id", "amount"),
        tool("cancel_order", "order_id"),
        tool("send_email", "to", "body"),
        tool("create_ticket", "subject"),
        tool("transfer_to_human_agents", "summary"),
    ]
)
STATE = {
    "order": {
        "4521": {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5},
        "9001": {"status": "paid", "user_id": "u-7", "amount": 20},
        "7003": {"status": "cancelled"},
    },
    "user": {"a.b@example.com": {"tier": "gold", "address": {"city": "Berlin", "zip": "10115"}}},
    "flags": {"sale": True},
}


def call(sequence, tool, arguments=None, response=None, *, source="odyssey", status=200, updates=(), **more):
    return EvidenceRow(
        sequence=sequence,
        tool_name=tool,
        arguments=arguments or {},
        response=response,
        source=source,
        http_status=status,
        updates=tuple(updates),
        **more,
    )


def update(id, entity_type="order", **attributes):
    return Update(entity_type=entity_type, id=id, set=attributes)


def add(entity_type, id, **attributes):
    return Add(entity_type=entity_type, id=id, attrs=attributes)


def remove(entity_type, id):
    return Remove(entity_type=entity_type, id=id)


def flag(name, value=True):
    return SetFlag(flag=name, value=value)


def get_order(sequence, id="4521"):
    return call(sequence, "get_order", {"order_id": id}, {"order_id": id, **STATE["order"][id]})


def refund(sequence, id="4521", *more):
    done = [update(id, status="refunded"), *more]
    return call(sequence, "refund_order", {"order_id": id}, {"status": "refunded"}, updates=done)


def cancel(sequence, id="9001"):
    done = [update(id, status="cancelled")]
    return call(sequence, "cancel_order", {"order_id": id}, {"status": "cancelled"}, updates=done)


def refused(sequence, tool, code, message, *, id="4521", status=409):
    error = {"error": {"code": code, "message": message}}
    return call(sequence, tool, {"order_id": id}, error, status=status)


def injected(sequence, tool="refund_order", status=502, id="4521"):
    error = {"error": {"code": status, "message": "Payment processor unavailable"}}
    return call(
        sequence, tool, {"order_id": id}, error, source="injected", status=status, matched_rule_index=0
    )


def platform_error(sequence, tool="refund_order", code="simulation_failed"):
    return call(sequence, tool, {"order_id": "4521"}, {}, source="error", status=None, error_code=code)


def run(*trace, says="All done.", **axes):
    """A completed run in the shop; `says` is one answer, or all turns."""
    given = {
        "user_instruction": "Please refund order #4521.",
        "tools": TOOLS,
        "world": World.from_initial_state(STATE),
        "trace": trace,
        "responses": says if isinstance(says, tuple) else (says,),
    }
    return RunEvidence(**given | axes)


def judged(*trace, **axes):
    return judge(run(*trace, **axes))
