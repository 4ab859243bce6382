"""The JSON Schema of an agent's reply to a dispatch (/schemas/agent-response.json).

A reply that fits gets no soft warning, except for what a schema cannot express: which tool call a tool
message answers, and whether encoded arguments can be decoded.
"""

from pipelines.core.agents.reply_limits import MAX_FINAL_RESPONSE, MAX_MESSAGES
from pipelines.core.agents.transcript import ROLES
from pipelines.core.text.json_text import JsonObject

TEXT_KEYS = ("model", "system_prompt_id")
COUNT_KEYS = ("total_input_tokens", "total_output_tokens")
NUMBER_KEYS = ("agent_runtime_ms", "total_cost_usd")
ANSWER_KEY = "answer"

_PARTS: JsonObject = {
    "type": "array",
    "items": {
        "type": ["object", "string"],
        "if": {"type": "object", "properties": {"type": {"const": "text"}}, "required": ["type"]},
        "then": {"properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
}
_CALLED: JsonObject = {
    "name": {"type": "string", "minLength": 1},
    "arguments": {"type": ["object", "string", "null"], "description": "An object, or one encoded as JSON."},
}

RESPONSE_SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Agent response",
    "description": "What an agent answers to a dispatch.",
    "type": "object",
    "required": ["final_response"],
    "properties": {
        "final_response": {
            "type": "string",
            "pattern": "\\S",
            "maxLength": MAX_FINAL_RESPONSE,
            "description": "The agent's answer to the user. Longer text is cut.",
        },
        "messages": {
            "type": ["array", "null"],
            "maxItems": MAX_MESSAGES,
            "items": {"$ref": "#/$defs/message"},
            "description": "The transcript, for the trace view and the judge.",
        },
        "metadata": {
            "type": ["object", "null"],
            "properties": {
                **{key: {"type": ["string", "null"]} for key in TEXT_KEYS},
                **{key: {"type": ["integer", "null"], "minimum": 0} for key in COUNT_KEYS},
                **{key: {"type": ["number", "null"], "minimum": 0} for key in NUMBER_KEYS},
                ANSWER_KEY: {
                    "type": ["object", "null"],
                    "description": "The answer as data, by name: what `expected_answer` of a task looks at.",
                },
            },
        },
    },
    "$defs": {
        "message": {
            "type": "object",
            "required": ["role"],
            "properties": {
                "role": {"enum": list(ROLES)},
                "content": {"anyOf": [{"type": ["string", "null"]}, _PARTS]},
                "tool_call_id": {"type": ["string", "null"]},
                "tool_calls": {"type": ["array", "null"], "items": {"$ref": "#/$defs/tool_call"}},
                "thinking": {"anyOf": [{"type": "null"}, _PARTS]},
            },
            "allOf": [
                {
                    "if": {"properties": {"role": {"const": "tool"}}},
                    "then": {
                        "required": ["tool_call_id"],
                        "properties": {"tool_call_id": {"type": "string", "minLength": 1}},
                    },
                },
                {
                    "if": {"properties": {"role": {"not": {"const": "assistant"}}}},
                    "then": {"properties": {"tool_calls": {"type": ["array", "null"], "maxItems": 0}}},
                },
            ],
        },
        "tool_call": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string", "minLength": 1}},
            "if": {"required": ["function"]},
            "then": {
                "properties": {"function": {"type": "object", "required": ["name"], "properties": _CALLED}}
            },
            "else": {"required": ["name"], "properties": _CALLED},
        },
    },
}
