"""An agent's endpoint in three forms: a route of a FastAPI or Starlette app, an ASGI app, a WSGI app.

Each reads the request and writes the answer; what is answered is `handler`'s.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, TypeAlias, overload

from ..wire.envelope import Envelope
from .handler import (
    MAX_BODY_BYTES,
    TOO_LARGE,
    WRONG_METHOD,
    WRONG_PATH,
    Answer,
    Dispatcher,
    Handler,
    error_answer,
    required_token,
)

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
StartResponse: TypeAlias = Callable[..., Any]
WsgiApp: TypeAlias = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]

PATH = "/dispatch"
TOKEN_ENV = "AGENT_TOKEN"


@overload
def register_dispatch_route(
    app: Any,
    handler: Handler,
    *,
    path: str = ...,
    agent_token_env: str | None = ...,
    max_body_bytes: int = ...,
) -> Handler: ...
@overload
def register_dispatch_route(
    app: Any, *, path: str = ..., agent_token_env: str | None = ..., max_body_bytes: int = ...
) -> Callable[[Handler], Handler]: ...
def register_dispatch_route(
    app: Any,
    handler: Handler | None = None,
    *,
    path: str = PATH,
    agent_token_env: str | None = TOKEN_ENV,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> Handler | Callable[[Handler], Handler]:
    """Let a FastAPI or Starlette app take dispatches: `POST /dispatch`.

        app = FastAPI()

        @register_dispatch_route(app)
        async def dispatch(envelope: Envelope) -> str:
            return await my_agent(envelope.user_instruction)

    The handler, sync or async, gets the Envelope and returns the final response: a string, or a dict with
    `final_response` and, for a richer trace, `messages` and `metadata`. While it works, `proxy_call` and its
    like belong to this run; a sync handler works in a thread of its own.

    First the caller must send the bearer token that the environment variable `agent_token_env` holds; then
    a ping is answered; then the dispatch is read (a 400 says what is missing). When the handler raises, the
    answer is a 500 with the exception's type and message, and the traceback is logged. A variable that is not
    set is an error now; `agent_token_env=None` asks for no token, for agents that only this machine reaches.
    """
    if handler is None:
        return lambda given: register_dispatch_route(
            app, given, path=path, agent_token_env=agent_token_env, max_body_bytes=max_body_bytes
        )
    if not hasattr(app, "add_route"):
        raise TypeError(
            f"{type(app).__name__} is not a FastAPI or Starlette app; for other servers use dispatch_asgi or"
            f" dispatch_wsgi"
        )
    dispatcher = Dispatcher(
        handler=handler, token=required_token(agent_token_env), max_body_bytes=max_body_bytes
    )
    app.add_route(path, _AsgiEndpoint(dispatcher, None), methods=["POST"], include_in_schema=False)
    return handler


def dispatch_asgi(
    handler: Handler,
    *,
    path: str | None = PATH,
    agent_token_env: str | None = TOKEN_ENV,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> AsgiApp:
    """An ASGI app that takes dispatches, for any ASGI server and without a framework.

        app = dispatch_asgi(my_agent)        # uvicorn my_module:app

    As `register_dispatch_route`; `path=None` takes them at every path, for mounting it somewhere.
    """
    dispatcher = Dispatcher(
        handler=handler, token=required_token(agent_token_env), max_body_bytes=max_body_bytes
    )
    return _AsgiEndpoint(dispatcher, path)


def dispatch_wsgi(
    handler: Handler,
    *,
    path: str | None = PATH,
    agent_token_env: str | None = TOKEN_ENV,
    max_body_bytes: int = MAX_BODY_BYTES,
) -> WsgiApp:
    """A WSGI app that takes dispatches, for gunicorn, Flask's and Django's servers and their like.

        app = dispatch_wsgi(my_agent)        # gunicorn --threads 8 my_module:app

    As `register_dispatch_route`. Give the server as many threads as runs should go at once.
    """
    dispatcher = Dispatcher(
        handler=handler, token=required_token(agent_token_env), max_body_bytes=max_body_bytes
    )

    def app(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        answer = _wsgi_answer(dispatcher, path, environ)
        length = ("Content-Length", str(len(answer.body)))
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        start_response(status, [("Content-Type", "application/json"), length, *answer.headers])
        return [answer.body]

    return app


# -- ASGI


class _AsgiEndpoint:
    """A class, because Starlette would call a function with a Request."""

    def __init__(self, dispatcher: Dispatcher, path: str | None) -> None:
        self._dispatcher = dispatcher
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _run_lifespan(receive, send)
        elif scope["type"] == "http":
            answer = await self._answer(scope, receive)
            if answer is not None:
                await _send_answer(send, answer)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | None:
        """None if the caller hung up before the request was complete."""
        misplaced = _check_route(self._path, _asgi_path(scope), scope["method"])
        if misplaced is not None:
            return misplaced
        raw = {name.lower(): value for name, value in scope["headers"]}
        not_allowed = self._dispatcher.check_authorization(raw.get(b"authorization"))
        if not_allowed is not None:
            return not_allowed
        body = await _read_body(receive, self._dispatcher.max_body_bytes)
        if not isinstance(body, bytes):
            return body
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw.items()}
        read = self._dispatcher.read(body, headers)
        return await self._dispatcher.async_handle(read) if isinstance(read, Envelope) else read


def _check_route(expected: str | None, path: str, method: str) -> Answer | None:
    if expected is not None and path.rstrip("/") != expected.rstrip("/"):
        return WRONG_PATH
    return WRONG_METHOD if method != "POST" else None


def _asgi_path(scope: Scope) -> str:
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


async def _read_body(receive: Receive, limit: int) -> bytes | Answer | None:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(part)
        if size > limit:
            return TOO_LARGE
        parts.append(part)
    return b"".join(parts)


async def _send_answer(send: Send, answer: Answer) -> None:
    own = (("content-type", "application/json"), ("content-length", str(len(answer.body))))
    headers = [(name.lower().encode(), value.encode()) for name, value in (*own, *answer.headers)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


async def _run_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return


# -- WSGI


def _wsgi_answer(dispatcher: Dispatcher, path: str | None, environ: dict[str, Any]) -> Answer:
    misplaced = _check_route(path, environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"])
    if misplaced is not None:
        return misplaced
    authorization = environ.get("HTTP_AUTHORIZATION")
    not_allowed = dispatcher.check_authorization(
        authorization.encode("latin-1") if authorization is not None else None
    )
    if not_allowed is not None:
        return not_allowed
    body = _wsgi_body(environ, dispatcher.max_body_bytes)
    if isinstance(body, Answer):
        return body
    read = dispatcher.read(body, _wsgi_headers(environ))
    return dispatcher.handle(read) if isinstance(read, Envelope) else read


def _wsgi_body(environ: dict[str, Any], limit: int) -> bytes | Answer:
    """Without Content-Length the body is read only if the server marks its end."""
    declared = environ.get("CONTENT_LENGTH") or ""
    if declared:
        if not (declared.isascii() and declared.isdigit()):
            return error_answer(400, "the Content-Length is not a number")
        length = int(declared)
    else:
        length = limit + 1 if environ.get("wsgi.input_terminated") else 0
    if declared and length > limit:
        return TOO_LARGE
    body: bytes = environ["wsgi.input"].read(length)
    return TOO_LARGE if len(body) > limit else body


def _wsgi_headers(environ: dict[str, Any]) -> dict[str, str]:
    return {
        name.removeprefix("HTTP_").replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
