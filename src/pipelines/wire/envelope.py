"""The dispatch: what the platform POSTs to an agent, as one record that both sides use.

The platform writes it with `body()` and `headers()`; the agent's side reads it back with `from_request`. The
run token travels in a header alone, never in the body: bodies end up in logs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pipelines.wire.names import (
    HEADER_PROXY_URL,
    HEADER_RUN_ID,
    HEADER_RUN_TOKEN,
    HEADER_RUN_TOKEN_JTI,
    HEADER_TASK_ID,
)

PING_BODY: Mapping[str, Any] = {"ping": True}

#: Parts of the task payload that are left out when there is nothing to say.
_OPTIONAL = ("messages", "session_id", "system_prompt_addition", "variation")


class ErrorClass(StrEnum):
    """Why a run failed, when it did."""

    AUTH_FAILED = "auth_failed"  # the agent answered 401 or 403
    AGENT_TIMEOUT = "agent_timeout"  # 408, 504, or not done within run_timeout_s
    AGENT_5XX = "agent_5xx"
    AGENT_4XX = "agent_4xx"
    AGENT_BAD_RESPONSE = "agent_bad_response"  # answered, but with no response envelope
    AGENT_UNREACHABLE = "agent_unreachable"  # no connection, so it has seen nothing
    PROXY_MISCONFIGURED = "proxy_misconfigured"  # the proxy URL is one that no agent could call
    RESPONSE_CONTRACT_VIOLATION = "response_contract_violation"  # no gradeable transcript, though required
    TRANSPORT_ERROR = "transport_error"  # the connection broke after the dispatch began
    INTERRUPTED = "interrupted"  # the platform stopped while the agent had the dispatch
    INTERNAL_ERROR = "internal_error"  # our fault


class BadEnvelope(ValueError):
    """The request is no dispatch: something that every dispatch has is missing or unreadable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """One dispatch of one run, or of one turn of a conversation.

    >>> envelope = Envelope(
    ...     run_id=17, task_id=42, agent_id=8, user_instruction="Refund order 4521.",
    ...     odyssey_proxy_url="https://api.example.com/api/odyssey-proxy/runs/abc",
    ...     run_token="secret", run_token_jti="abc",
    ... )
    >>> envelope.body()["input"]
    {'task_id': 42, 'user_instruction': 'Refund order 4521.', 'input': {}}
    >>> envelope.headers()["X-Pipelines-Run-Id"]
    '17'
    """

    run_id: int
    task_id: int
    agent_id: int
    #: The words of the user: of this turn, in a conversation.
    user_instruction: str
    odyssey_proxy_url: str
    run_token: str = field(repr=False)  # secret
    run_token_jti: str  # the token's public name; safe to log
    #: What the task hands over beside its words; `body["input"]["input"]` on the wire.
    task_input: Any = field(default_factory=dict)
    #: A conversation in replay mode: all that was said, the new user message last.
    messages: list[dict[str, Any]] | None = None
    #: A conversation in stateful mode: the agent keeps its own memory under this name.
    session_id: str | None = None
    #: An eval variation: text for the end of the system prompt, and which variation it is.
    system_prompt_addition: str | None = None
    variation: dict[str, Any] | None = None

    def body(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "task_id": self.task_id,
            "user_instruction": self.user_instruction,
            "input": {} if self.task_input is None else self.task_input,
        }
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value is not None:
                payload[name] = value
        return {
            "task_id": self.task_id,
            "run_id": self.run_id,
            "agent_id": self.agent_id,
            "input": payload,
            "odyssey_proxy_url": self.odyssey_proxy_url,
            "run_token_jti": self.run_token_jti,
        }

    def headers(self) -> dict[str, str]:
        """Beside these the platform sends the agent's own auth header, if it has one."""
        return {
            "Content-Type": "application/json",
            HEADER_RUN_TOKEN: self.run_token,
            HEADER_PROXY_URL: self.odyssey_proxy_url,
            HEADER_RUN_ID: str(self.run_id),
            HEADER_TASK_ID: str(self.task_id),
            HEADER_RUN_TOKEN_JTI: self.run_token_jti,
        }

    @classmethod
    def from_request(cls, body: Mapping[str, Any], headers: Mapping[str, str]) -> "Envelope":
        """The dispatch as it arrived: from the body, else from the headers (an edge may strip fields)."""
        sent = {name.lower(): value for name, value in headers.items()}
        payload = body.get("input")
        payload = payload if isinstance(payload, Mapping) else {}

        def either(field_name: str, header: str) -> Any:
            value = body.get(field_name)
            return value if value not in (None, "") else sent.get(header.lower())

        return cls(
            run_id=_whole_number(either("run_id", HEADER_RUN_ID), "run_id"),
            task_id=_whole_number(either("task_id", HEADER_TASK_ID), "task_id"),
            agent_id=_whole_number(body.get("agent_id"), "agent_id"),
            user_instruction=_text(payload.get("user_instruction") or "", "user_instruction"),
            odyssey_proxy_url=_text(either("odyssey_proxy_url", HEADER_PROXY_URL), "odyssey_proxy_url"),
            run_token=_text(sent.get(HEADER_RUN_TOKEN.lower()), HEADER_RUN_TOKEN),
            run_token_jti=_text(either("run_token_jti", HEADER_RUN_TOKEN_JTI) or "", "run_token_jti"),
            task_input={} if payload.get("input") is None else payload["input"],
            **{name: payload.get(name) for name in _OPTIONAL},
        )


def _whole_number(value: Any, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    raise BadEnvelope(f"the dispatch has no readable {name}")


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise BadEnvelope(f"the dispatch has no {name}")
    return value
