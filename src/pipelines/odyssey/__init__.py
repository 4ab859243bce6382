"""The SDK for agents under test.

It takes the platform's POST (`register_dispatch_route`, `dispatch_asgi`, `dispatch_wsgi`) as an `Envelope`,
sends tool calls to the run's proxy (`proxy_call`) and reports (`post_trace_event`). It needs the standard
library only, and works when `pipelines/__init__.py`, `pipelines/wire` and `pipelines/odyssey` are copied into
another project.
"""

from ..wire.envelope import BadEnvelope, Envelope
from .calls import async_proxy_call, async_proxy_call_with, proxy_call, proxy_call_with
from .context import current, current_or_none, set_current
from .errors import ApiFailed, CallFailed, NoCurrentEnvelope, ProxyRefused, ProxyUnavailable, ToolFailed
from .events import (
    async_post_handoff,
    async_post_trace_event,
    async_try_post_trace_event,
    post_handoff,
    post_trace_event,
    try_post_trace_event,
)
from .routes import dispatch_asgi, dispatch_wsgi, register_dispatch_route
from .threads import run_async_in_thread

__all__ = [
    "ApiFailed",
    "BadEnvelope",
    "CallFailed",
    "Envelope",
    "NoCurrentEnvelope",
    "ProxyRefused",
    "ProxyUnavailable",
    "ToolFailed",
    "async_post_handoff",
    "async_post_trace_event",
    "async_proxy_call",
    "async_proxy_call_with",
    "async_try_post_trace_event",
    "current",
    "current_or_none",
    "dispatch_asgi",
    "dispatch_wsgi",
    "post_handoff",
    "post_trace_event",
    "proxy_call",
    "proxy_call_with",
    "register_dispatch_route",
    "run_async_in_thread",
    "set_current",
    "try_post_trace_event",
]
