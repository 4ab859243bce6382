"""Encodes an agent's reply as text, to pass it between processes."""

from typing import Any

from pipelines.core.agents.agent_reply import AgentReply, BadReply
from pipelines.core.agents.transcript import messages_from_stored
from pipelines.core.text.json_text import JsonObject, dumps, loads_own


def encode_reply(reply: AgentReply | BadReply) -> bytes:
    """What `reply_from_text` reads."""
    if isinstance(reply, BadReply):
        return dumps({"detail": reply.detail, "hint": reply.hint, "is_empty": reply.is_empty})
    body: JsonObject = {
        "final_response": reply.final_response,
        "messages": reply.messages_json(),
        "metadata": reply.metadata,
        "soft_warnings": list(reply.soft_warnings),
    }
    return dumps(body)


def reply_from_text(text: bytes) -> AgentReply | BadReply:
    body: Any = loads_own(text)
    if "detail" in body:
        return BadReply(**body)
    messages = body["messages"]
    return AgentReply(
        final_response=body["final_response"],
        messages=messages_from_stored(messages) if messages is not None else None,
        metadata=body["metadata"],
        soft_warnings=tuple(body["soft_warnings"]),
    )
