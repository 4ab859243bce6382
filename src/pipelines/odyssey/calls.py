"""Tool calls through the run's proxy. Sync and async calls share one retry flow without I/O.

proxy_call -> proxy_call_with -> run_flow(retry_flow) -> exchange; the async functions only wait differently.
"""

import json
import os
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from ..wire.envelope import Envelope
from ..wire.names import HEADER_IDEMPOTENCY_KEY, Source
from .context import current
from .errors import MOST_SHOWN, ProxyRefused, ProxyUnavailable, ToolFailed
from .retry import MAX_TRIES, Attempt, wait_before_next
from .threads import LazyThreadPool
from .transport import ExchangeFailed, HttpReply, HttpRequest, exchange, is_in_process

TIMEOUT_S = 120.0  # a tool that a model answers may take 20 s; this is for one try
MAX_AT_ONCE = 64  # async calls under way; each waits in a thread


class Send(NamedTuple):
    request: HttpRequest


class Wait(NamedTuple):
    seconds: float


Outcome: TypeAlias = HttpReply | ExchangeFailed
RetryFlow: TypeAlias = Generator[Send | Wait, Outcome | None, Outcome]


def proxy_call(tool: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float = TIMEOUT_S) -> Any:
    """Call a tool of the current run and return the tool's own result, decoded, without the trace envelope.

    This is the body of a ported tool:

        def get_order(order_id: str) -> dict:
            return proxy_call("get_order", {"order_id": order_id})

    Raises ToolFailed when the tool answers with an error (show its `response` to the model), ProxyUnavailable
    when the proxy cannot be reached after four tries. What the platform calls temporary is tried again, under
    one Idempotency-Key, so a call whose answer was lost is not done twice; an injected failure never is.
    """
    return proxy_call_with(current(), tool, arguments, timeout_s=timeout_s)


async def async_proxy_call(
    tool: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """`proxy_call` for async code: the loop goes on while the tool works.

    async def get_order(order_id: str) -> dict:
        return await async_proxy_call("get_order", {"order_id": order_id})
    """
    return await async_proxy_call_with(current(), tool, arguments, timeout_s=timeout_s)


def proxy_call_with(
    envelope: Envelope, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """`proxy_call` for an envelope at hand, where none is bound or another actor calls.

    proxy_call_with(envelope.for_actor("refunds"), "refund_order", {"order_id": "4521"})
    """
    request = _tool_request(envelope, tool, arguments, timeout_s)
    return _tool_result(tool, run_flow(retry_flow(request)))


async def async_proxy_call_with(
    envelope: Envelope, tool: str, arguments: Mapping[str, Any] | None = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """`proxy_call_with` for async code."""
    request = _tool_request(envelope, tool, arguments, timeout_s)
    return _tool_result(tool, await async_run_flow(retry_flow(request)))


def _tool_request(
    envelope: Envelope, tool: str, arguments: Mapping[str, Any] | None, timeout_s: float
) -> HttpRequest:
    if not tool:
        raise ValueError("a tool call needs the tool's name")
    body = encode_json(dict(arguments or {}), f"the arguments of {tool}")
    return proxy_request(envelope, f"tools/{quote(tool, safe='')}", body, timeout_s)


def proxy_request(envelope: Envelope, path: str, body: bytes, timeout_s: float) -> HttpRequest:
    """A request with one idempotency key for all tries, so that a call is carried out once."""
    headers = envelope.call_headers() | {
        "Content-Type": "application/json",
        "Accept": "application/json",
        HEADER_IDEMPOTENCY_KEY: os.urandom(16).hex(),
    }
    url = f"{envelope.odyssey_proxy_url.rstrip('/')}/{path}"
    return HttpRequest("POST", url, headers, body, timeout_s)


def encode_json(value: Any, what: str) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"{what} cannot be written as JSON: {error}") from error


# -- the flow of tries, and who drives it


def retry_flow(
    request: HttpRequest, *, most: int = MAX_TRIES, chance: Callable[[], float] | None = None
) -> RetryFlow:
    """The tries of one call without I/O: yields what to send or how long to wait; returns the outcome."""
    tries = 0
    while True:
        outcome = yield Send(request)
        assert outcome is not None, "the driver answers a Send with what came of it"
        tries += 1
        if tries >= most:
            return outcome
        wait_s = wait_before_next(tries, _read_attempt(outcome), (chance or _random_fraction)())
        if wait_s is None:
            return outcome
        yield Wait(wait_s)


def run_flow(tries: RetryFlow) -> Outcome:
    import time

    answer: Outcome | None = None
    while True:
        try:
            step = tries.send(answer)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        if isinstance(step, Wait):
            time.sleep(step.seconds)
            answer = None
        else:
            answer = _send(step.request)


async def async_run_flow(tries: RetryFlow) -> Outcome:
    import asyncio

    answer: Outcome | None = None
    while True:
        try:
            step = tries.send(answer)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
            answer = None
        else:
            answer = await _async_send(step.request)


def _send(request: HttpRequest) -> Outcome:
    try:
        return exchange(request)
    except ExchangeFailed as failed:
        return failed


async def _async_send(request: HttpRequest) -> Outcome:
    if is_in_process(request.url):  # it does not wait for anything, and so keeps the order of the calls
        return _send(request)
    import asyncio
    from contextvars import copy_context

    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_call_executor.executor(), copy_context().run, _send, request)


#: A pool of its own: handlers that wait for these calls may fill the loop's default pool.
_call_executor = LazyThreadPool(MAX_AT_ONCE, "odyssey-call")


def _random_fraction() -> float:
    return int.from_bytes(os.urandom(4), "big") / 2**32  # not the agent's own generator: it may be seeded


# -- reading what came


def _read_attempt(outcome: Outcome) -> Attempt:
    if isinstance(outcome, ExchangeFailed):
        return Attempt(None, is_final=outcome.is_final)
    body = decode_json(outcome)
    is_from_tool = is_tool_reply(body)
    return Attempt(
        outcome.status,
        is_from_tool=is_from_tool,
        is_injected=is_from_tool and body.get("source") == Source.INJECTED,
        is_retryable=outcome.status >= 400 and isinstance(body, dict) and body.get("retryable") is True,
        retry_after_s=_parse_seconds(outcome.headers.get("retry-after")),
    )


def is_tool_reply(body: Any) -> bool:
    return isinstance(body, dict) and {"tool_name", "response", "source"} <= body.keys()


def decode_json(reply: HttpReply) -> Any:
    try:
        return json.loads(reply.body)
    except ValueError:
        return None


def _parse_seconds(text: str | None) -> float | None:
    """The seconds of a Retry-After header. The platform never sends its other form, a date."""
    try:
        return max(0.0, float(text)) if text is not None else None
    except ValueError:
        return None


def _tool_result(tool: str, outcome: Outcome) -> Any:
    reply = require_reply(outcome, f"{tool} was not answered")
    body = decode_json(reply)
    if not is_tool_reply(body):
        raise unexpected_reply(f"{tool} was not answered", reply)
    if reply.status >= 400:
        raise ToolFailed(
            str(body["tool_name"]), status=reply.status, response=body["response"], source=str(body["source"])
        )
    return body["response"]


def require_reply(outcome: Outcome, what: str) -> HttpReply:
    if isinstance(outcome, ExchangeFailed):
        raise ProxyUnavailable(f"{what}: {outcome}") from outcome
    return outcome


def unexpected_reply(what: str, reply: HttpReply) -> ProxyUnavailable:
    """The exception for a reply that is not the expected one."""
    body = decode_json(reply)
    error = body.get("error") if isinstance(body, dict) else None
    text = error.get("message") if isinstance(error, dict) else None
    if text is None:
        body_text = reply.body[:MOST_SHOWN].decode(errors="replace")
        text = f"{body_text!r} is not a reply of the proxy; is odyssey_proxy_url right?"
    is_transient = reply.status in (429, 502, 503, 504)
    kind = ProxyUnavailable if is_transient else ProxyRefused
    return kind(f"{what}: HTTP {reply.status}: {text}", status=reply.status)
