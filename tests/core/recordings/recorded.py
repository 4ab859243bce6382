"""One refund, as each of the formats tells it."""

import json
from typing import Any

ASKED = "Refund order 4521."
ANSWER = "I have refunded order 4521."
STATE = {"order": {"4521": {"status": "shipped", "total": 80}}}
REFUNDED = {"order": {"4521": {"status": "refunded", "total": 80}}}
TOOLS = [
    {"name": "get_order", "description": "Look up an order.", "input_schema": {"type": "object"}},
    {"name": "refund_order", "description": "Refund an order.", "input_schema": {"type": "object"}},
]


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def reply(id: str, body: Any, **beside: Any) -> dict[str, Any]:
    content = body if isinstance(body, str) else json.dumps(body)
    return {"role": "tool", "tool_call_id": id, "content": content, **beside}


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are the refund desk."},
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [call("c1", "get_order", order_id="4521")],
    },
    reply("c1", {"status": "shipped", "total": 80}),
    {"role": "assistant", "content": None, "tool_calls": [call("c2", "refund_order", order_id="4521")]},
    reply("c2", {"status": "refunded"}),
    {"role": "assistant", "content": ANSWER},
]

ATIF: dict[str, Any] = {
    "schema_version": "ATIF-v1.4",
    "session_id": "session-1",
    "agent": {"name": "desk", "version": "1", "model_name": "some-model"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are the refund desk."},
        {"step_id": 2, "source": "user", "message": ASKED, "timestamp": "2026-05-01T10:00:00+02:00"},
        {
            "step_id": 3,
            "source": "agent",
            "message": "Let me look.",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "get_order", "arguments": {"order_id": "4521"}}
            ],
            "observation": {
                "results": [{"source_call_id": "c1", "content": '{"status": "shipped", "total": 80}'}]
            },
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": "c2", "function_name": "refund_order", "arguments": {"order_id": "4521"}}
            ],
            "observation": {"results": [{"source_call_id": "c2", "content": '{"status": "refunded"}'}]},
        },
        {"step_id": 5, "source": "agent", "message": ANSWER},
    ],
}


def attribute(key: str, value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value)
    return {"key": key, "value": {"stringValue": text}}


def span(
    number: int, name: str, trace: str = "a" * 32, *, status: int = 0, **attributes: Any
) -> dict[str, Any]:
    """`gen_ai__tool__name="…"`: two underscores stand for a dot."""
    return {
        "name": name,
        "traceId": trace,
        "spanId": f"{number:016x}",
        "startTimeUnixNano": str(1_777_000_000_000_000_000 + number * 1_000_000),
        "endTimeUnixNano": str(1_777_000_000_000_000_000 + number * 1_000_000 + 500_000),
        "status": {"code": status},
        "attributes": [attribute(key.replace("__", "."), value) for key, value in attributes.items()],
    }


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def called(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    part = {"type": "tool_call", "id": id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def answered(id: str, response: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": response}]}


def otlp(*spans: dict[str, Any], **beside: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}], **beside}


_FIRST = [said("user", ASKED)]
_SECOND = [*_FIRST, called("c2", "refund_order", order_id="4521"), answered("c2", {"status": "refunded"})]
SPANS = otlp(
    span(
        1,
        "chat some-model",
        gen_ai__operation__name="chat",
        gen_ai__system_instructions=[{"type": "text", "content": "You are the refund desk."}],
        gen_ai__input__messages=_FIRST,
        gen_ai__output__messages=[called("c2", "refund_order", order_id="4521")],
    ),
    span(
        2,
        "execute_tool refund_order",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="refund_order",
        gen_ai__tool__call__id="c2",
        gen_ai__tool__call__arguments={"order_id": "4521"},
        gen_ai__tool__call__result={"status": "refunded"},
    ),
    span(
        3,
        "chat some-model",
        gen_ai__operation__name="chat",
        gen_ai__input__messages=_SECOND,
        gen_ai__output__messages=[said("assistant", ANSWER)],
    ),
)


def data(value: Any) -> bytes:
    return json.dumps(value).encode()


def lines(*values: Any) -> bytes:
    return b"\n".join(map(data, values))
