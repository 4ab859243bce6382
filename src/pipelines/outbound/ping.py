"""Test connection: what the answer to a ping says about an agent's set-up, and what to change about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.outbound.dispatch_outcome import (
    ADDRESS_HINTS,
    REDIRECT_HINT,
    WASTEFUL_HINT,
    excerpt,
    redirect_detail,
)
from pipelines.outbound.post_once import Answer, NoAnswer, Trouble
from pipelines.wire.records import Record

PING_TIMEOUT_S = 15.0  # a ping does no work; what takes longer is a cold start that a person should see
LONGEST_QUOTE = 200

_SHORT_CIRCUIT = (
    'answer {"ping": true} with a 2xx, after the check of the auth header and before anything else'
)
_STATUS_HINTS = {
    400: f"the ping seems to have been read as a dispatch: {_SHORT_CIRCUIT}",
    404: "the host answers, but not at this path: the endpoint URL must include the route, such as /dispatch",
    405: "this path does not accept POST: check the route",
    408: "the agent took too long to read the ping",
    413: "the agent or a proxy in front of it limits bodies to less than a ping",
    415: "the agent must accept application/json",
    422: f"the ping seems to have been read as a dispatch: {_SHORT_CIRCUIT}",
    429: "the agent limits its callers; try again later",
    500: f"see the agent's log; if it failed on reading the ping: {_SHORT_CIRCUIT}",
    502: "a proxy answers, but the agent behind it does not: is it running?",
    503: "a proxy answers, but the agent behind it does not: is it running?",
    504: "a proxy answers, but the agent behind it took too long",
}
_TROUBLE_HINTS = {
    Trouble.UNSENDABLE: "correct the endpoint URL or the auth header",
    **ADDRESS_HINTS,
    Trouble.UNREACHABLE: "is the agent running, and listening on this host and port?",
    Trouble.TIMEOUT: f"the agent took the ping but did not answer: {_SHORT_CIRCUIT}",
    Trouble.BROKEN: "see the agent's log: it took the connection and dropped it (http:// for https://?)",
    Trouble.WASTEFUL: WASTEFUL_HINT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class PingResult(Record, component="ConnectionTest"):
    """Whether an agent could be sent a run."""

    ok: bool
    http_status: int | None
    latency_ms: float
    problem: str | None = None  # what is wrong; None when it is ok
    hint: Annotated[str | None, "what to change; an agent that is ok may still get one"] = None


class _Finding(NamedTuple):
    problem: str | None = None
    hint: str | None = None


def judge_ping(
    answer: Answer | NoAnswer, *, latency_ms: float, has_auth_header: bool, secrets: Sequence[str]
) -> PingResult:
    if isinstance(answer, NoAnswer):
        problem, hint = _Finding(answer.detail, _TROUBLE_HINTS[answer.trouble])
    elif answer.is_success:
        problem, hint = _success(answer)
    else:
        problem, hint = _error_status(answer, has_auth_header=has_auth_header, secrets=secrets)
    return PingResult(
        ok=problem is None, http_status=answer.status, latency_ms=latency_ms, problem=problem, hint=hint
    )


def _success(answer: Answer) -> _Finding:
    """Any 2xx passes, with or without a body; but a web page is never an agent."""
    if "html" in answer.headers.get("content-type", "").lower():
        problem = f"the answer ({answer.status}) is an HTML page, not an agent's"
        return _Finding(problem, "it may be a login or landing page; check the endpoint URL")
    if b'"final_response"' in answer.body:
        return _Finding(hint=f"the agent ran on the ping as if it were a dispatch: {_SHORT_CIRCUIT}")
    return _Finding()


def _error_status(answer: Answer, *, has_auth_header: bool, secrets: Sequence[str]) -> _Finding:
    status = answer.status
    if 300 <= status < 400:
        return _Finding(redirect_detail(answer, secrets), REDIRECT_HINT)
    quoted = excerpt(answer.body, secrets, LONGEST_QUOTE)
    problem = f"the agent answered {status}" + (f": {quoted}" if quoted else "")
    if status in (401, 403):
        return _Finding(problem, _auth_hint(has_auth_header=has_auth_header))
    return _Finding(problem, _STATUS_HINTS.get(status))


def _auth_hint(*, has_auth_header: bool) -> str:
    if has_auth_header:
        return "the agent refuses the auth header's value: is it complete, as in `Bearer <token>`?"
    return "the agent requires authentication: set its auth_header_name and auth_header_value"
