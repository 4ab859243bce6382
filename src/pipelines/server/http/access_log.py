"""Logs one line per request: method, path, status, duration, run. Logs no headers, bodies or queries, because
they may contain tokens."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

LOGGER = "pipelines.access"
FIELDS = "access"  # under which a record has what its line says, for those who write JSON
#: Where the proxy leaves the id of the run whose token was sent, in the scope.
RUN = "pipelines.run"
MAX_PATH = 500  # a path may be as long as a head
_RUN_PATH = re.compile(r"/api/runs/([0-9]{1,19})(?:/|$)")

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger(LOGGER)


def request(method: str, path: str, status: int | None, started: float, run_id: int | None) -> None:
    """`status` is None if no response was sent: the client disconnected, or the task declares a fault."""
    duration_ms = round((time.perf_counter() - started) * 1000, 3)
    # A path is percent-decoded: a line break in it would begin a line of its own.
    path_text = path[:MAX_PATH].encode("unicode_escape").decode("ascii")
    run = f" run {run_id}" if run_id is not None else ""
    fields = {
        "method": method,
        "path": path[:MAX_PATH],
        "status": status,
        "duration_ms": duration_ms,
        "run_id": run_id,
    }
    log.info("%s %s %s %s ms%s", method, path_text, status or "-", duration_ms, run, extra={FIELDS: fields})


def logged(answer: Answer) -> Answer:
    """Wraps an ASGI application and logs each request after its response."""

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await answer(scope, receive, send)
            return
        started = time.perf_counter()
        status: int | None = None

        async def send_and_note_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await answer(scope, receive, send_and_note_status)
        finally:
            request(scope["method"], scope["path"], status, started, _run_of(scope))

    return answered


def _run_of(scope: Scope) -> int | None:
    run_id: int | None = scope.get(RUN)
    if run_id is None and (found := _RUN_PATH.match(scope["path"])):
        run_id = int(found[1])
    return run_id
