"""The one place that knows which HTTP status an error has."""

import logging
from typing import NamedTuple

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

log = logging.getLogger(__name__)

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
GONE = 499  # as proxies log a client that hung up


class ErrorReply(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


def status_of(kind: type[OdysseyError]) -> int:
    """Of the class itself, or of the nearest one it belongs to."""
    return next(STATUS[base] for base in kind.__mro__ if base in STATUS)


def reply_to(
    error: OdysseyError, *, retry_after_s: int = RETRY_AFTER_S, has_detail: bool = False
) -> ErrorReply:
    """`has_detail`: the message stands in `detail` too, where clients of /api/v1 look for it."""
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
    """FastAPI's own findings about path and query, in our shape."""
    problems = [
        Problem(path=pointer(str(part) for part in found["loc"]), message=str(found["msg"]).lower())
        for found in error.errors()
    ]
    return from_refusal(Refused(problems, "the request"))


def from_http(error: HTTPException, request: Request) -> OdysseyError:
    if error.status_code == 405:
        return errors.MethodNotAllowed(f"{request.url.path} does not take {request.method}.")
    if error.status_code == 404:
        return errors.NotFound(f"There is nothing at {request.url.path}; see /docs for what there is.")
    return errors.BadRequest(str(error.detail))


def install(app: FastAPI) -> None:
    """Every way a request can go wrong, answered in one shape."""

    def answer(error: OdysseyError, request: Request) -> Response:
        reply = reply_to(error, has_detail=request.url.path.startswith(API_V1))
        return Response(reply.body, reply.status, reply.headers)

    async def on_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, OdysseyError)
        return answer(error, request)

    async def on_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return answer(from_refusal(error), request)

    async def on_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return answer(from_validation(error), request)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        response = answer(from_http(error, request), request)
        response.headers.update(error.headers or {})
        return response

    async def on_gone(request: Request, error: Exception) -> Response:
        return Response(
            status_code=GONE
        )  # goes nowhere: whoever asked has hung up, which is no fault of ours

    async def on_fault(request: Request, error: Exception) -> Response:
        return answer(
            errors.InternalError(), request
        )  # Starlette raises it again behind us, so the server logs it

    app.add_exception_handler(OdysseyError, on_ours)
    app.add_exception_handler(Refused, on_refused)
    app.add_exception_handler(RequestValidationError, on_validation)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(ClientDisconnect, on_gone)
    app.add_exception_handler(Exception, on_fault)
