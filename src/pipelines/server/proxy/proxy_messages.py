"""Reads requests and builds replies of the proxy, as functions over values.

Both paths of a tool call use them: ASGI (`proxy`) and the connection itself (`fast_proxy`).
"""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from pipelines.core.calls.tool_call import Reply
from pipelines.engine.live.live_runs import LiveRun
from pipelines.server.errors import reply_to, status_of
from pipelines.wire.errors import InvalidRunToken, MethodNotAllowed, NotFound, OdysseyError
from pipelines.wire.names import (
    HEADER_ACTOR_ID,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_RUN_TOKEN,
    HEADER_SOURCE,
    PROXY_BASE,
    Source,
)

MAX_IDEMPOTENCY_KEY = 255

_RUN_TOKEN = HEADER_RUN_TOKEN.lower().encode()
_ACTOR = HEADER_ACTOR_ID.lower().encode()
_IDEMPOTENCY = HEADER_IDEMPOTENCY_KEY.lower().encode()
_SOURCE = HEADER_SOURCE.lower().encode()

Pair = tuple[bytes, bytes]


class Target(NamedTuple):
    jti: str | None
    section: str  # tools, traces, mcp
    name: str | None


class SentHeaders(NamedTuple):
    token: bytes  # empty where there is none
    actor_id: str | None
    idempotency_key: str | None


class WireReply(NamedTuple):
    """A reply but for its content-type and length, which are the same for all."""

    status: int
    body: bytes
    source: str | None  # None: not an answer of the simulated backend at all
    more: tuple[Pair, ...] = ()


def target_of(path: str) -> Target:
    parts = path[len(PROXY_BASE) :].split("/", 4)
    if len(parts) > 3 and parts[1] == "runs":
        return Target(parts[2], parts[3], parts[4] if len(parts) > 4 else None)
    _, section, *name = parts if len(parts) > 1 else ("", "")
    return Target(None, section, "/".join(name) if name else None)


def sent_headers(pairs: Iterable[Pair]) -> SentHeaders:
    token = bearer = b""
    actor_id = idempotency_key = None
    for name, value in pairs:
        if name == b"authorization":
            if value[:7].lower() == b"bearer ":
                bearer = value[7:].strip()
        elif name == _RUN_TOKEN:
            token = value.strip()
        elif name == _ACTOR:
            actor_id = value.decode("latin-1")
        elif name == _IDEMPOTENCY and value:
            is_long = len(value) > MAX_IDEMPOTENCY_KEY
            idempotency_key = hashlib.sha256(value).hexdigest() if is_long else value.decode("latin-1")
    return SentHeaders(bearer or token, actor_id, idempotency_key)


def hash_of(token: bytes) -> str:
    return hashlib.sha256(token).hexdigest()


def check_target(target: Target, live: LiveRun, *, method: str, path: str) -> None:
    if target.jti is not None and target.jti != live.jti:
        raise InvalidRunToken("This token belongs to a different run than the one in the URL.")
    if target.section not in ("tools", "traces", "mcp") or (target.section == "mcp" and target.name):
        raise NotFound("Unknown path. The proxy has tools/{tool_name}, traces/{event_type} and mcp.")
    method_needed = "GET" if target.name is None and target.section == "tools" else "POST"
    if method != method_needed or (target.name is None and target.section == "traces"):
        raise MethodNotAllowed(f"{path[:200]} does not support {method}.")


def status_of_reply(reply: Reply) -> int:
    return reply.http_status or (status_of(type(reply.error)) if reply.error is not None else 200)


def reply_with(reply: Reply) -> WireReply:
    return WireReply(status_of_reply(reply), reply.body, reply.source)


def refuse_with(error: OdysseyError, retry_after_s: int = 1) -> WireReply:
    reply = reply_to(error, retry_after_s=retry_after_s)
    more = [
        (name.encode(), value.encode()) for name, value in reply.headers.items() if name != "content-type"
    ]
    return WireReply(reply.status, reply.body, Source.ERROR.value, tuple(more))


def source_header(source: str) -> Pair:
    return _SOURCES[source]


_SOURCES: dict[str, Pair] = {source.value: (_SOURCE, source.value.encode()) for source in Source}
