"""Maps errors to HTTP statuses and answers them in one JSON shape."""

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.wire import errors
from pipelines.wire.errors import OdysseyError
from pipelines.wire.names import API_V1

STATUS: dict[type[OdysseyError], int] = {
    errors.BadRequest: 400,
    errors.UnsupportedMediaType: 415,
    errors.BodyTooLarge: 413,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.MisdirectedRequest: 421,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.Invalid: 422,
    errors.RateLimited: 429,
    errors.SimulationError: 502,
    errors.AskFailed: 502,
    errors.ModelFailed: 502,
    errors.StorageUnavailable: 503,
    errors.IssuerUnavailable: 503,
    errors.InternalError: 500,
}
RETRY_AFTER_S = 1
GONE = 499  # the status that proxies log for a client that disconnected


class ErrorReply(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


def status_of(kind: type[OdysseyError]) -> int:
    """The status of the class, or of its nearest base class that has one."""
    return next(STATUS[base] for base in kind.__mro__ if base in STATUS)


def reply_to(
    error: OdysseyError, *, retry_after_s: int = RETRY_AFTER_S, has_detail: bool = False
) -> ErrorReply:
    """`has_detail`: repeat the message in `detail`, where clients of /api/v1 look for it."""
    status = status_of(type(error))
    headers = {"content-type": "application/json"}
    body: JsonObject = {"error": error.as_json()}
    if has_detail:
        body["detail"] = error.message
    if error.retryable:
        body["retryable"] = True
        headers["retry-after"] = str(retry_after_s)
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    return ErrorReply(status, orjson.dumps(body), headers)


def from_refusal(refused: Refused) -> errors.InvalidRequest:
    message = str(refused)
    first = refused.problems[0] if refused.problems else None
    if first is not None:
        message = f"{message[0].upper()}{message[1:]}; the first: {first.said()}"
    return errors.InvalidRequest(message, details=[problem.as_json() for problem in refused.problems])


def from_validation(error: RequestValidationError) -> errors.InvalidRequest:
    """FastAPI's problems with path and query, in our shape."""
    problems = [
        Problem(path=pointer(str(part) for part in found["loc"]), message=str(found["msg"]).lower())
        for found in error.errors()
    ]
    return from_refusal(Refused(problems, "the request"))


def from_http(error: HTTPException, request: Request) -> OdysseyError:
    if error.status_code == 405:
        return errors.MethodNotAllowed(f"{request.url.path} does not support {request.method}.")
    if error.status_code == 404:
        return errors.NotFound(f"There is no endpoint at {request.url.path}. See /docs for a list.")
    return errors.BadRequest(str(error.detail))


def install(app: FastAPI) -> None:
    """Installs handlers that answer every error in one shape."""

    def answer(error: OdysseyError, request: Request) -> Response:
        reply = reply_to(error, has_detail=request.url.path.startswith(API_V1))
        return Response(reply.body, reply.status, reply.headers)

    def handle(kind: type[Exception], convert: Callable[[Any, Request], OdysseyError]) -> None:
        async def handler(request: Request, error: Exception) -> Response:
            response = answer(convert(error, request), request)
            response.headers.update(getattr(error, "headers", None) or {})  # of Starlette's own errors
            return response

        app.add_exception_handler(kind, handler)

    async def on_gone(request: Request, error: Exception) -> Response:
        return Response(status_code=GONE)  # nobody receives it: the client has disconnected

    handle(OdysseyError, lambda error, request: error)
    handle(Refused, lambda error, request: from_refusal(error))
    handle(RequestValidationError, lambda error, request: from_validation(error))
    handle(HTTPException, from_http)
    app.add_exception_handler(ClientDisconnect, on_gone)
    # Starlette raises it again behind us, so the server logs it.
    handle(Exception, lambda error, request: errors.InternalError())
