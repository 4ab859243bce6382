"""The endpoint in all its forms, behind real servers: auth, ping, parse, handle, in that order."""

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from scripted_proxy import TOKEN as RUN_TOKEN
from scripted_proxy import envelope_of
from starlette.applications import Starlette

from pipelines.odyssey import (
    Envelope,
    current,
    dispatch_asgi,
    dispatch_wsgi,
    register_dispatch_route,
)

AGENT_TOKEN = "tökén-of-the-agent"  # not ASCII: compared as bytes
AUTH = {"Authorization": f"Bearer {AGENT_TOKEN}".encode()}
DISPATCH = envelope_of("http://127.0.0.1:9/proxy", task_input={"order_id": "4521"})


@contextmanager
def asgi_server(app: Any) -> Iterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def wsgi_server(app: Any) -> Iterator[str]:
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIServer

    class Threaded(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    with make_server("127.0.0.1", 0, app, server_class=Threaded, handler_class=_Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def fastapi_app(handler: Any, **options: Any) -> Any:
    app = FastAPI()
    register_dispatch_route(app, handler, **options)
    return app


def starlette_app(handler: Any, **options: Any) -> Any:
    app = Starlette()
    register_dispatch_route(app, **options)(handler)
    return app


FORMS = {
    "fastapi": (fastapi_app, asgi_server),
    "starlette": (starlette_app, asgi_server),
    "asgi": (dispatch_asgi, asgi_server),
    "wsgi": (dispatch_wsgi, wsgi_server),
}
Served = Callable[..., Any]


@pytest.fixture(params=FORMS, autouse=False)
def served(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Served:
    """A handler behind a real server of each form: `with served(handler) as client`."""
    monkeypatch.setenv("AGENT_TOKEN", AGENT_TOKEN)
    made, server = FORMS[request.param]

    @contextmanager
    def serve(handler: Any, **options: Any) -> Iterator[httpx2.Client]:
        with (
            server(made(handler, **options)) as url,
            httpx2.Client(base_url=url, timeout=30) as client,
        ):
            yield client

    return serve


def dispatch(client: httpx2.Client, envelope: Envelope = DISPATCH) -> httpx2.Response:
    return client.post("/dispatch", json=envelope.body(), headers={**envelope.headers(), **AUTH})


def never(envelope: Envelope) -> str:
    raise AssertionError("the handler must not be reached")


NOT_ALLOWED = {
    "none": {},
    "wrong": {"Authorization": "Bearer another"},
    "longer": {"Authorization": f"Bearer {AGENT_TOKEN}x".encode()},
    "another scheme": {"Authorization": f"Basic {AGENT_TOKEN}".encode()},
    "bare": {"Authorization": AGENT_TOKEN.encode()},
    "no ASCII": {"Authorization": "Bearer ü".encode()},
    "empty": {"Authorization": "Bearer"},
}


def test_auth_comes_before_ping_body_and_dispatch(served: Served) -> None:
    with served(never) as client:
        for name, headers in NOT_ALLOWED.items():
            for content in (b'{"ping": true}', b"not JSON", b"", json.dumps(DISPATCH.body()).encode()):
                response = client.post("/dispatch", content=content, headers=headers)
                assert response.status_code == 401, name
                assert response.json() == {"detail": "missing or invalid bearer token"}
                assert response.headers["www-authenticate"] == "Bearer"


def test_a_ping_is_answered_before_anything_is_parsed(served: Served) -> None:
    with served(never) as client:
        response = client.post("/dispatch", json={"ping": True}, headers=AUTH)
    assert (response.status_code, response.json()) == (200, {"ok": True})


def test_the_scheme_is_written_as_one_likes(served: Served) -> None:
    headers = {"Authorization": f"bearer  {AGENT_TOKEN}".encode()}
    with served(never) as client:
        assert client.post("/dispatch", json={"ping": True}, headers=headers).status_code == 200


NO_DISPATCHES = {
    b"not JSON": "the body is not JSON",
    b"": "the body is not JSON",
    b"\xff\xfe{": "the body is not JSON",
    b"[" * 100_000: "the body is not JSON",
    b"[1]": "the body is not a JSON object",
    b'{"ping": 1}': "the dispatch has no readable run_id",
    b'{"ping": true, "more": 1}': "the dispatch has no readable run_id",
    b"{}": "no readable run_id, no readable task_id, no odyssey_proxy_url, no X-Pipelines-Run-Token",
}


def test_what_is_no_dispatch_is_told_with_all_that_is_missing(served: Served) -> None:
    with served(never) as client:
        for content, words in NO_DISPATCHES.items():
            response = client.post("/dispatch", content=content, headers=AUTH)
            assert response.status_code == 400, content[:50]
            assert words in response.json()["detail"]


def test_a_body_without_end_is_refused(served: Served) -> None:
    with served(never, max_body_bytes=1000) as client:
        response = client.post("/dispatch", content=b" " * 1001, headers=AUTH)
    assert response.status_code == 413


def test_other_methods_are_not_taken(served: Served) -> None:
    with served(never) as client:
        assert client.get("/dispatch").status_code == 405


def test_other_paths_are_not_taken(served: Served) -> None:
    with served(never) as client:
        assert client.post("/elsewhere", json={"ping": True}, headers=AUTH).status_code == 404


def test_the_path_may_be_another(served: Served) -> None:
    with served(never, path="/agents/refund") as client:
        assert client.post("/agents/refund", json={"ping": True}, headers=AUTH).status_code == 200
        assert client.post("/dispatch", json={"ping": True}, headers=AUTH).status_code == 404


def test_no_token_is_asked_for_where_it_is_said_so(served: Served) -> None:
    with served(never, agent_token_env=None) as client:
        assert client.post("/dispatch", json={"ping": True}).status_code == 200


# -- the handler


def sync_handler(envelope: Envelope) -> str:
    assert current() == envelope
    return f"{envelope.user_instruction} {envelope.task_input['order_id']}"


async def async_handler(envelope: Envelope) -> str:
    return sync_handler(envelope)


class Agent:
    async def __call__(self, envelope: Envelope) -> str:
        return sync_handler(envelope)


HANDLERS = {
    "sync": sync_handler,
    "async": async_handler,
    "an object": Agent(),
    "a method": Agent().__call__,
    "a function that returns a coroutine": lambda envelope: async_handler(envelope),
}


def test_a_handler_of_any_kind_gets_the_dispatch_with_its_envelope_bound(served: Served) -> None:
    for handler in HANDLERS.values():
        with served(handler) as client:
            response = dispatch(client)
            assert (response.status_code, response.json()) == (
                200,
                {"final_response": "Refund order 4521. 4521"},
            )


def test_headers_stand_in_for_what_an_edge_took_out(served: Served) -> None:
    body = {"input": DISPATCH.body()["input"]}
    with served(sync_handler) as client:
        response = client.post("/dispatch", json=body, headers={**DISPATCH.headers(), **AUTH})
    assert response.status_code == 200


RICH = {
    "final_response": "Done.",
    "messages": [{"role": "assistant", "content": "Dönè."}],
    "metadata": {"model": "m"},
}


def test_messages_and_metadata_are_passed_on(served: Served) -> None:
    with served(lambda envelope: RICH) as client:
        assert dispatch(client).json() == RICH


def breaks(envelope: Envelope) -> str:
    raise ValueError(f"no such order; token {envelope.run_token}, {os.environ['AGENT_TOKEN']}")


async def breaks_later(envelope: Envelope) -> str:
    return breaks(envelope)


def exits(envelope: Envelope) -> str:
    raise SystemExit(3)


RAISING = ("raises", "raises in a coroutine", "stops iterating", "exits")
BREAKING: dict[str, tuple[Any, str]] = {
    "raises": (breaks, "ValueError: no such order; token [hidden], [hidden]"),
    "raises in a coroutine": (breaks_later, "ValueError: no such order; token [hidden], [hidden]"),
    "stops iterating": (lambda envelope: next(iter(())), "StopIteration: "),
    "exits": (exits, "SystemExit: 3"),
    "no answer": (lambda envelope: None, "the handler returned NoneType: return a string, or"),
    "an empty answer": (lambda envelope: " \n", "the agent gave no final_response"),
    "an answer without words": (lambda envelope: {"messages": []}, "the agent gave no final_response"),
    "words that are none": (lambda envelope: {"final_response": 3}, "the agent gave no final_response"),
    "no JSON": (lambda envelope: RICH | {"metadata": {1, 2}}, "cannot be written as JSON"),
    "not a number": (lambda envelope: RICH | {"metadata": float("inf")}, "cannot be written as JSON"),
}


def test_a_handler_that_fails_is_a_500_that_says_how(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with served(lambda envelope: BREAKING[envelope.user_instruction][0](envelope)) as client:
        for name, (_, words) in BREAKING.items():
            caplog.clear()
            with caplog.at_level(logging.ERROR, "pipelines.odyssey"):
                response = dispatch(client, replace(DISPATCH, user_instruction=name))
            assert response.status_code == 500, name
            assert words in response.json()["detail"]
            (record,) = caplog.records
            assert "run 17" in record.getMessage()
            assert ("Traceback" in record.getMessage()) == (name in RAISING)
            for secret in (RUN_TOKEN, AGENT_TOKEN):
                assert secret not in response.json()["detail"] + record.getMessage()


def test_runs_at_once_do_not_mix(served: Served) -> None:
    """Each run waits inside its handler for all others, then looks at whose envelope is bound."""
    together = threading.Barrier(6, timeout=30)

    def handler(envelope: Envelope) -> str:
        together.wait()
        return f"{current().run_id} {envelope.run_id} {current().run_token}"

    answers: dict[int, Any] = {}

    def run(client: httpx2.Client, number: int) -> None:
        envelope = envelope_of("http://127.0.0.1:9", run_id=number)
        answers[number] = dispatch(client, envelope).json()

    with served(handler) as client:
        threads = [threading.Thread(target=run, args=[client, number]) for number in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == {n: {"final_response": f"{n} {n} {RUN_TOKEN}"} for n in range(1, 7)}


# -- registering


@pytest.mark.parametrize("value", [None, "", "  "])
@pytest.mark.parametrize("form", FORMS)
def test_a_token_that_is_not_set_is_told_at_the_start(
    form: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENT_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("AGENT_TOKEN", value)
    with pytest.raises(RuntimeError, match="AGENT_TOKEN is not set"):
        FORMS[form][0](never)


def test_the_decorator_gives_the_function_back() -> None:
    app = FastAPI()

    @register_dispatch_route(app, agent_token_env=None)
    def handler(envelope: Envelope) -> str:
        return "still a function"

    assert handler(DISPATCH) == "still a function"


def test_an_app_that_is_none_is_told() -> None:
    with pytest.raises(TypeError, match="use dispatch_asgi or dispatch_wsgi"):
        register_dispatch_route(object(), never, agent_token_env=None)


def test_an_asgi_app_can_be_mounted() -> None:
    app = Starlette()
    app.mount("/agents", dispatch_asgi(never, path="/refund", agent_token_env=None))
    with asgi_server(app) as url:
        assert httpx2.post(f"{url}/agents/refund", json={"ping": True}).status_code == 200
        assert httpx2.post(f"{url}/agents/other", json={"ping": True}).status_code == 404
