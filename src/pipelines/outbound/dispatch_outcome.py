"""What came of a dispatch: a reply, or a failure under one of the contract's error classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pipelines.core.agents.agent_reply import AgentReply, BadReply, check_response_contract
from pipelines.core.text.json_text import JsonObject
from pipelines.outbound.address_guard import ALLOWED_BY, NEVER_ALLOWED
from pipelines.outbound.post_once import Answer, NoAnswer, Reached, Trouble
from pipelines.wire.envelope import ErrorClass
from pipelines.wire.records import As, Hidden, Often, Omitted, Record

LONGEST_DETAIL = 500  # characters of an agent's own words
LOOKED_AT = (
    64 * 1024
)  # bytes of a body for its excerpt: a megabyte of broken characters takes a second to decode
LONGEST_EXCERPT = 200  # of a reply that is no envelope, behind the words on why
REDACTED = "[redacted]"
SHORTEST_SECRET = 4  # characters: taking less out of a text would garble it and hide nothing

_BY_TROUBLE = {
    Trouble.UNSENDABLE: ErrorClass.AGENT_UNREACHABLE,
    Trouble.ADDRESS_REFUSED: ErrorClass.AGENT_UNREACHABLE,
    Trouble.ADDRESS_NEVER: ErrorClass.AGENT_UNREACHABLE,
    Trouble.UNREACHABLE: ErrorClass.AGENT_UNREACHABLE,
    Trouble.TIMEOUT: ErrorClass.AGENT_TIMEOUT,
    Trouble.BROKEN: ErrorClass.TRANSPORT_ERROR,
    Trouble.WASTEFUL: ErrorClass.TRANSPORT_ERROR,
}
_BY_STATUS = {
    401: ErrorClass.AUTH_FAILED,
    403: ErrorClass.AUTH_FAILED,
    408: ErrorClass.AGENT_TIMEOUT,
    504: ErrorClass.AGENT_TIMEOUT,
}
_HINTS = {
    ErrorClass.AUTH_FAILED: "check the agent's auth header name and value; Test connection tries them",
    ErrorClass.AGENT_TIMEOUT: "make the agent answer within its run_timeout_s, or raise that (at most 1800)",
}
REDIRECT_HINT = "register the URL at which the agent itself answers"
WASTEFUL_HINT = "send the reply with a Content-Length, or in chunks of a kilobyte or more"
ADDRESS_HINTS = {Trouble.ADDRESS_REFUSED: ALLOWED_BY, Trouble.ADDRESS_NEVER: NEVER_ALLOWED}


@dataclass(frozen=True, kw_only=True, slots=True)
class Dispatched:
    reply: AgentReply
    http_status: int | None  # None: a code agent, which no HTTP reached
    latency_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchFailed(Record, component="RunError"):
    """Why a run failed."""

    error_class: Hidden[ErrorClass]
    detail: str
    http_status: Annotated[Often[int | None], "what the agent answered with"] = None
    #: Unless "no", the agent may have acted: nothing may dispatch this again by itself.
    reached: Annotated[Often[Reached], As(str), "whether the agent may have acted: yes, no, maybe"]
    hint: Omitted[str | None] = None
    is_empty: Omitted[bool] = False  # the agent answered as it should, with nothing in its final_response
    latency_ms: Hidden[float] = 0.0
    reply: Hidden[AgentReply | None] = None  # readable, but against the response contract
    traceback: Annotated[Omitted[str | None], "of a code agent"] = None
    warnings: Hidden[tuple[str, ...]] = ()  # about how it was sent


Outcome: TypeAlias = Dispatched | DispatchFailed


def outcome_of(
    answer: Answer | NoAnswer,
    *,
    reply: AgentReply | BadReply | None,
    contract: JsonObject | None,
    secrets: Sequence[str],
    latency_ms: float,
) -> Outcome:
    """`reply` is what a success was read as.

    `secrets` are taken out of everything that quotes the agent: error pages like to echo requests.
    """
    if isinstance(answer, NoAnswer):
        return _failure_without_answer(answer, latency_ms)
    if answer.is_success:
        assert reply is not None, "a success is read before it is judged"
        return _outcome_of_reply(answer, reply, contract, secrets, latency_ms)
    error_class = _error_class_of(answer.status)
    if 300 <= answer.status < 400:
        detail, hint = redirect_detail(answer, secrets), REDIRECT_HINT
    else:
        detail = excerpt(answer.body, secrets) or f"HTTP {answer.status} with an empty body"
        hint = _HINTS.get(error_class, "see the agent's own log")
    return DispatchFailed(
        error_class=error_class,
        detail=detail,
        reached="yes",
        http_status=answer.status,
        hint=hint,
        latency_ms=latency_ms,
    )


def excerpt(body: bytes, secrets: Sequence[str], longest: int = LONGEST_DETAIL) -> str:
    """The beginning of a body as text. Secrets go first, lest the cut leave half of one."""
    body = body.strip()
    text = body[:LOOKED_AT].decode("utf-8", "replace").replace("\0", "\ufffd")
    if len(body) > LOOKED_AT:
        text = text[: -max(map(len, secrets), default=1)]  # nor the end of what is looked at
    return without_secrets(secrets, text).strip()[:longest]


def without_secrets(secrets: Sequence[str], text: str) -> str:
    for secret in sorted(secrets, key=len, reverse=True):  # the whole header before the token in it
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    return text


def redirect_detail(answer: Answer, secrets: Sequence[str]) -> str:
    """Where a redirect points, without the query: tokens live there."""
    try:
        parts = urlsplit(answer.headers.get("location", ""))
        host = f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
        to = without_secrets(secrets, f"{host}{parts.path}")[:200] or "nowhere"
    except ValueError:
        to = "no URL"
    return f"the agent answered {answer.status}, a redirect to {to}; redirects are not followed"


def _error_class_of(status: int) -> ErrorClass:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ErrorClass.AGENT_5XX
    return ErrorClass.AGENT_4XX if status >= 400 else ErrorClass.AGENT_BAD_RESPONSE


def _failure_without_answer(failure: NoAnswer, latency_ms: float) -> DispatchFailed:
    error_class = _BY_TROUBLE[failure.trouble]
    by_trouble = {**ADDRESS_HINTS, Trouble.WASTEFUL: WASTEFUL_HINT}
    return DispatchFailed(
        error_class=error_class,
        detail=failure.detail,
        reached=failure.reached,
        http_status=failure.status,
        hint=by_trouble.get(failure.trouble, _HINTS.get(error_class)),
        latency_ms=latency_ms,
    )


def _outcome_of_reply(
    answer: Answer,
    reply: AgentReply | BadReply,
    contract: JsonObject | None,
    secrets: Sequence[str],
    latency_ms: float,
) -> Outcome:
    error_class = ErrorClass.AGENT_BAD_RESPONSE
    if isinstance(reply, BadReply):
        begins = excerpt(answer.body, secrets, LONGEST_EXCERPT)
        detail = without_secrets(secrets, reply.detail) + (f"; it begins: {begins}" if begins else "")
        hint, kept = reply.hint, None
    else:
        violation = check_response_contract(reply, contract)
        if violation is None:
            return Dispatched(reply=reply, http_status=answer.status, latency_ms=latency_ms)
        error_class = ErrorClass.RESPONSE_CONTRACT_VIOLATION
        detail, hint, kept = without_secrets(secrets, violation.detail), violation.hint, reply
    return DispatchFailed(
        error_class=error_class,
        detail=detail,
        reached="yes",
        http_status=answer.status,
        hint=hint,
        latency_ms=latency_ms,
        reply=kept,
        is_empty=isinstance(reply, BadReply) and reply.is_empty,
    )


def encoding_complaint(answer: Answer) -> BadReply | None:
    """Why a reply cannot be read for how it was sent."""
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        return None
    return BadReply(
        detail=f"the reply is compressed ({encoding[:40]}), though Accept-Encoding asked for identity",
        hint="switch compression off for this route",
    )
