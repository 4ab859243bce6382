"""A run as a trajectory in ATIF, the interchange format of Harbor, so that other tools can read it.

One step is one thing that happened: what the user asked, a tool call with its reply, an event, a call of a
model, a message, the answer. What ATIF has no field for stands in `extra`, under our own names.
"""

from collections.abc import Iterable, Mapping

from pipelines.core.agents.placed_messages import thinking_text
from pipelines.core.agents.transcript import Message
from pipelines.core.text.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from pipelines.wire.names import MODEL_CALL, TraceEventType

#: The first version with `llm_call_count`, and the newest that readers in use all take.
VERSION = "ATIF-v1.7"
_TEXT_KEYS = ("text", "content", "message", "reasoning")


def head(
    *,
    run_id: int,
    agent: str,
    agent_version: int,
    model: str | None,
    tools: Iterable[Tool],
    extra: JsonObject,
) -> JsonObject:
    """Everything but `steps` and `final_metrics`."""
    step: JsonObject = {"name": agent, "version": str(agent_version)}
    step |= {"model_name": model} if model else {}
    definitions: list[Json] = [_definition(tool) for tool in tools]
    step |= {"tool_definitions": definitions} if definitions else {}
    return {"schema_version": VERSION, "session_id": f"run-{run_id}", "agent": step, "extra": extra}


def user_step(text: str, at: str | None) -> JsonObject:
    return _step("user", text, at)


def answer_step(text: str, at: str | None) -> JsonObject:
    return _step("agent", text, at)


def message_step(message: Message) -> JsonObject:
    """A message of the transcript that is not in the trace. Its time is not known."""
    step = _step("user" if message.role == "user" else "agent", message.text(), None)
    thinking = thinking_text(message)
    return step | ({"reasoning_content": thinking} if thinking and message.role != "user" else {})


def row_step(row: TraceRow) -> JsonObject:
    if row.kind == TOOL_CALL:
        return _call_step(row)
    if row.kind == MODEL_CALL:
        return _model_step(row)
    return _event_step(row)


def number_steps(steps: Iterable[JsonObject], first: int) -> list[JsonObject]:
    """Steps are counted from 1 without a gap."""
    return [{"step_id": number, **step} for number, step in enumerate(steps, first)]


def final_metrics(metadata: Json, total_steps: int) -> JsonObject:
    """As the agent reports them, else as the model gateway counted; what nobody knows is left out."""
    own = metadata if isinstance(metadata, dict) else {}
    gateway = own.get("model_gateway")
    counted = gateway if isinstance(gateway, dict) else {}
    known = {
        "total_prompt_tokens": _number(own, "total_input_tokens", _number(counted, "input_tokens")),
        "total_completion_tokens": _number(own, "total_output_tokens", _number(counted, "output_tokens")),
        "total_cost_usd": _number(own, "total_cost_usd"),
    }
    found: JsonObject = {name: value for name, value in known.items() if value is not None}
    return found | {"total_steps": total_steps}


def _step(source: str, message: str, at: str | None) -> JsonObject:
    return {**({"timestamp": at} if at else {}), "source": source, "message": message}


def _call_step(row: TraceRow) -> JsonObject:
    call_id = f"call-{row.sequence}"
    arguments = _value(row.arguments)
    extra = _without_none(
        source=row.source,
        http_status=row.http_status,
        error_code=row.error_code,
        matched_rule_index=row.matched_rule_index,
        matched_rule=row.matched_rule,
        latency_ms=row.latency_ms,
        actor_id=row.actor_id,
    )
    call: JsonObject = {
        "tool_call_id": call_id,
        "function_name": row.tool_name or "",
        "arguments": arguments if isinstance(arguments, dict) else {},  # a body that is none is not kept
    }
    reply: JsonObject = {"source_call_id": call_id, "content": _text(_value(row.response))}
    step = _step("agent", "", row.occurred_at)
    return step | {"tool_calls": [call], "observation": {"results": [reply]}, "extra": extra}


def _model_step(row: TraceRow) -> JsonObject:
    """A model call. Its messages are not stored, so the message is empty."""
    payload = _value(row.payload)
    fields = payload if isinstance(payload, dict) else {}
    model = fields.get("model")
    metrics = {"prompt_tokens": fields.get("input_tokens"), "completion_tokens": fields.get("output_tokens")}
    extra = _without_none(
        kind=row.kind,
        gateway=fields.get("gateway"),
        call=fields.get("call"),
        error=fields.get("error"),
        http_status=row.http_status,
        latency_ms=row.latency_ms,
    )
    step = _step("agent", "", row.occurred_at) | ({"model_name": model} if isinstance(model, str) else {})
    return step | {"metrics": _without_none(**metrics), "llm_call_count": 1, "extra": extra}


def _event_step(row: TraceRow) -> JsonObject:
    payload = _value(row.payload)
    text = _event_text(payload)
    extra = _without_none(event_type=row.kind, actor_id=row.actor_id)
    if isinstance(payload, dict) and set(payload) - {*_TEXT_KEYS}:
        extra["payload"] = payload
    if row.kind == TraceEventType.SYSTEM_PROMPT:
        return _step("system", text, row.occurred_at) | {"extra": extra}
    if row.kind == TraceEventType.THINKING:
        return _step("agent", "", row.occurred_at) | {"reasoning_content": text, "extra": extra}
    return _step("agent", text, row.occurred_at) | {"extra": extra}


def _definition(tool: Tool) -> JsonObject:
    """As OpenAI writes functions, which is what ATIF asks for."""
    function: JsonObject = {"name": tool.name, "parameters": tool.input_schema}
    function |= {"description": tool.description} if tool.description else {}
    return {"type": "function", "function": function}


def _event_text(payload: Json) -> str:
    """The words of an event: its text, or else all of it as JSON."""
    if isinstance(payload, dict):
        texts = (payload.get(key) for key in _TEXT_KEYS)
        return next((text for text in texts if isinstance(text, str)), "") or _text(payload)
    return _text(payload)


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value).decode()


def _value(text: str | None) -> Json:
    return loads_own(text) if text is not None else None


def _without_none(**fields: Json) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}


def _number(told: Mapping[str, Json], key: str, otherwise: float | None = None) -> float | None:
    value = told.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
