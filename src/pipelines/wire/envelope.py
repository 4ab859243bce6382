"""The dispatch: what the platform POSTs to an agent, as one record that both sides use.

The platform writes it with `body()` and `headers()`; the agent's side reads it back with `from_request`, in
code mode with `from_env`. The run token travels in a header alone, never in the body: bodies end up in logs.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from .actor import ACTOR_ID_RULE, is_actor_id
from .names import (
    ENV_PROXY_URL,
    ENV_RUN_ID,
    ENV_RUN_TOKEN,
    ENV_RUN_TOKEN_JTI,
    ENV_TASK_ID,
    ENV_TASK_INPUT,
    HEADER_ACTOR_ID,
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
    AGENT_EXCEPTION = "agent_exception"  # a code agent raised, exited or was killed; judged all the same
    AGENT_BAD_RESPONSE = "agent_bad_response"  # answered, but with no response envelope
    AGENT_UNREACHABLE = "agent_unreachable"  # no connection, or not started: it has seen nothing
    PROXY_MISCONFIGURED = "proxy_misconfigured"  # the proxy URL is one that no agent could call
    RESPONSE_CONTRACT_VIOLATION = "response_contract_violation"  # no gradeable transcript, though required
    TRANSPORT_ERROR = "transport_error"  # the connection broke after the dispatch began
    SIMULATOR_FAULT = "simulator_fault"  # the simulated user went wrong, or its model: not the agent's doing
    INTERRUPTED = "interrupted"  # the platform stopped while the agent had the dispatch
    BUDGET_EXCEEDED = "budget_exceeded"  # its batch may ask models no more; it was cancelled
    INTERNAL_ERROR = "internal_error"  # our fault


class BadEnvelope(ValueError):
    """This is no dispatch: something that every dispatch has is missing or unreadable.

    The message names all of it at once, and never contains the run token.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """One dispatch of one run, or of one turn of a conversation: what is asked, and where the tools are.

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
    agent_id: int | None  # None in code mode, where nothing needs it
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
    #: The sub-agent that makes the calls, a path such as `supervisor/refunds`. Not part of the dispatch.
    actor_id: str | None = None

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

    def call_headers(self) -> dict[str, str]:
        """What a call of this run's proxy carries: the run token, and the actor if there is one.

        >>> envelope = Envelope(
        ...     run_id=17, task_id=42, agent_id=8, user_instruction="", odyssey_proxy_url="http://…",
        ...     run_token="secret", run_token_jti="abc",
        ... )
        >>> envelope.for_actor("supervisor").for_actor("refunds").call_headers()
        {'Authorization': 'Bearer secret', 'X-Pipelines-Actor-Id': 'supervisor/refunds'}
        """
        actor = {} if self.actor_id is None else {HEADER_ACTOR_ID: self.actor_id}
        return {"Authorization": f"Bearer {self.run_token}"} | actor

    def for_actor(self, actor_id: str) -> "Envelope":
        """The same dispatch in the hands of a sub-agent: its calls and events are recorded under this name.

        An actor of an actor is a path: `envelope.for_actor("supervisor").for_actor("refunds")` acts as
        `supervisor/refunds`. Raises ValueError for a name that the proxy would refuse.
        """
        path = actor_id if self.actor_id is None else f"{self.actor_id}/{actor_id}"
        if not is_actor_id(path):
            raise ValueError(f"{path!r} is not an actor id: {ACTOR_ID_RULE}")
        return replace(self, actor_id=path)

    def system_prompt(self, base: str) -> str:
        """The agent's system prompt with what this dispatch adds to it; without an addition it is `base`.

        An eval variation reaches the agent this way. Call it wherever the system prompt is made:

        >>> envelope = Envelope(
        ...     run_id=17, task_id=42, agent_id=8, user_instruction="", odyssey_proxy_url="http://…",
        ...     run_token="secret", run_token_jti="abc", system_prompt_addition="You are in a hurry.",
        ... )
        >>> envelope.system_prompt("You are a support agent.")
        'You are a support agent.\\n\\nYou are in a hurry.'
        """
        if not self.system_prompt_addition:
            return base
        return f"{base}\n\n{self.system_prompt_addition}" if base else self.system_prompt_addition

    @classmethod
    def from_request(cls, body: Mapping[str, Any], headers: Mapping[str, str]) -> "Envelope":
        """The dispatch as it arrived: from the body, else from the headers (an edge may strip fields).

        Raises BadEnvelope, which names everything that is missing.
        """
        sent = {name.lower(): value for name, value in headers.items()}
        payload = body.get("input")

        def either(field_name: str, header: str) -> Any:
            value = body.get(field_name)
            return value if value not in (None, "") else sent.get(header.lower())

        return _read(
            "the dispatch",
            payload=payload if isinstance(payload, Mapping) else {},
            run_id=either("run_id", HEADER_RUN_ID),
            task_id=either("task_id", HEADER_TASK_ID),
            agent_id=body.get("agent_id"),
            odyssey_proxy_url=either("odyssey_proxy_url", HEADER_PROXY_URL),
            run_token=sent.get(HEADER_RUN_TOKEN.lower()),
            run_token_jti=either("run_token_jti", HEADER_RUN_TOKEN_JTI),
            names={"run_token": HEADER_RUN_TOKEN},
        )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> "Envelope":
        """The dispatch of a code-mode run, from the environment variables that the platform sets for it.

        Raises BadEnvelope where they are not set, that is outside of such a run.

        >>> envelope = Envelope.from_env({
        ...     "PIPELINES_ODYSSEY_PROXY_URL": "http://127.0.0.1:8000/api/odyssey-proxy/runs/abc",
        ...     "PIPELINES_RUN_TOKEN": "secret",
        ...     "PIPELINES_RUN_ID": "17",
        ...     "PIPELINES_TASK_ID": "42",
        ...     "_PIPELINES_TASK_INPUT_JSON": '{"user_instruction": "Refund order 4521.", "input": {}}',
        ... })
        >>> envelope.user_instruction
        'Refund order 4521.'
        """
        found = os.environ if environ is None else environ
        return _read(
            "the environment",
            payload=_payload_of(found.get(ENV_TASK_INPUT) or "{}"),
            run_id=found.get(ENV_RUN_ID),
            task_id=found.get(ENV_TASK_ID),
            agent_id=None,
            odyssey_proxy_url=found.get(ENV_PROXY_URL),
            run_token=found.get(ENV_RUN_TOKEN),
            run_token_jti=found.get(ENV_RUN_TOKEN_JTI),
            names={
                "run_id": ENV_RUN_ID,
                "task_id": ENV_TASK_ID,
                "odyssey_proxy_url": ENV_PROXY_URL,
                "run_token": ENV_RUN_TOKEN,
                "run_token_jti": ENV_RUN_TOKEN_JTI,
            },
        )


def _read(where: str, *, payload: Mapping[str, Any], names: Mapping[str, str], **given: Any) -> Envelope:
    """The envelope of what was given, or BadEnvelope with every part that is missing. `names` says what a
    part is called where it was looked for."""
    problems: list[str] = []

    def label(part: str) -> str:
        return names.get(part, part)

    def whole_number(part: str) -> int:
        value = given[part]
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            return int(value)
        problems.append(f"no readable {label(part)}")
        return 0

    def text(part: str, value: Any) -> str:
        if not isinstance(value, str):
            problems.append(f"no {label(part)}" if value is None else f"a {label(part)} that is no text")
            return ""
        return value

    def needed(part: str) -> str:
        return text(part, given[part] or None)

    envelope = Envelope(
        run_id=whole_number("run_id"),
        task_id=whole_number("task_id"),
        agent_id=None if given["agent_id"] is None else whole_number("agent_id"),
        user_instruction=text("user_instruction", payload.get("user_instruction") or ""),
        odyssey_proxy_url=needed("odyssey_proxy_url"),
        run_token=needed("run_token"),
        run_token_jti=text("run_token_jti", given["run_token_jti"] or ""),
        task_input={} if payload.get("input") is None else payload["input"],
        **{name: payload.get(name) for name in _OPTIONAL},
    )
    if problems:
        raise BadEnvelope(f"{where} has {', '.join(problems)}")
    return envelope


def _payload_of(text: str) -> Mapping[str, Any]:
    try:
        payload = json.loads(text)
    except ValueError:
        raise BadEnvelope(f"{ENV_TASK_INPUT} is not JSON") from None
    if not isinstance(payload, Mapping):
        raise BadEnvelope(f"{ENV_TASK_INPUT} is not a JSON object")
    return payload
