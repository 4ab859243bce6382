"""The SDK's own endpoints keep every rule: as a FastAPI route, as an ASGI app, as a WSGI app."""

import json
import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import pytest
import uvicorn
from fastapi import FastAPI
from wrappers import TOKEN

from pipelines.cli.agent.conformance import reply_problems
from pipelines.odyssey import (
    Envelope,
    ToolFailed,
    async_proxy_call,
    dispatch_asgi,
    dispatch_wsgi,
    proxy_call,
    register_dispatch_route,
)
from pipelines.odyssey.conformance import Options, Outcome, Wrapper, check_wrapper

TOKEN_ENV = "CONFORMANCE_AGENT_TOKEN"
Serve = Callable[[], Any]


def wanted(envelope: Envelope) -> dict[str, str] | None:
    order = re.search(r"\d{3,}", envelope.user_instruction)
    return {"order_id": order[0]} if order else None


def told(envelope: Envelope, result: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "get_order", "arguments": wanted(envelope)}
    final = f"It is {result}."
    return {
        "final_response": final,
        "messages": [
            {"role": "user", "content": envelope.user_instruction},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": json.dumps(result)},
            {"role": "assistant", "content": final},
        ],
    }


def looks_up(envelope: Envelope) -> Any:
    arguments = wanted(envelope)
    if arguments is None:
        return "Which order?"
    try:
        return told(envelope, proxy_call("get_order", arguments))
    except ToolFailed as failed:
        return told(envelope, str(failed))


async def looks_up_async(envelope: Envelope) -> Any:
    arguments = wanted(envelope)
    if arguments is None:
        return "Which order?"
    try:
        return told(envelope, await async_proxy_call("get_order", arguments))
    except ToolFailed as failed:
        return told(envelope, str(failed))


@contextmanager
def asgi_served(app: Any) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/dispatch"
    finally:
        server.should_exit = True
        thread.join()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Threads(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def wsgi_served(app: Any) -> Iterator[str]:
    server = _Threads(("127.0.0.1", 0), _Quiet)
    server.set_app(app)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/dispatch"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def fastapi_sync() -> Any:
    app = FastAPI()
    register_dispatch_route(app, looks_up, agent_token_env=TOKEN_ENV)
    return asgi_served(app)


def fastapi_async() -> Any:
    app = FastAPI()
    register_dispatch_route(app, looks_up_async, agent_token_env=TOKEN_ENV)
    return asgi_served(app)


def asgi() -> Any:
    return asgi_served(dispatch_asgi(looks_up_async, agent_token_env=TOKEN_ENV))


def wsgi() -> Any:
    return wsgi_served(dispatch_wsgi(looks_up, agent_token_env=TOKEN_ENV))


SERVED = [
    pytest.param(fastapi_sync, marks=pytest.mark.slow),
    fastapi_async,
    pytest.param(asgi, marks=pytest.mark.slow),
    wsgi,
]


@pytest.mark.parametrize("serve", SERVED, ids=lambda each: each.__name__)
def test_it_keeps_every_rule(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TOKEN_ENV, TOKEN)
    options = Options(slow_s=0.05, retry_after_s=0, reply_problems=reply_problems)
    with serve() as url:
        report = check_wrapper(Wrapper(url=url, auth_value=f"Bearer {TOKEN}", timeout_s=20), options)
    assert [finding for finding in report.findings if finding.outcome is not Outcome.PASSED] == []
