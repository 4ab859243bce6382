"""A child process that never outlives its command: the user's app, or an Odyssey server.

    python -m pipelines.cli.child serve app:app PORT REPORT_FD
    python -m pipelines.cli.child up --port 0 --data-dir …

The parent holds our standard input open; when the parent ends, this process ends too. The app's state is
reported as one line of JSON on a descriptor of its own, so that it does not mix with the app's output.
"""

import asyncio
import importlib
import inspect
import json
import os
import signal
import socket
import sys
import threading
import traceback
from difflib import get_close_matches
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

GRACE_S = 2  # a run in flight is cancelled anyway


class AppNotLoaded(Exception):
    """The app cannot be loaded; the record says why."""

    def __init__(self, error: str, **place: Any) -> None:
        super().__init__(error)
        self.record = {"error": error, **place}


def end_with_parent() -> None:
    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def load_app(name: str) -> Any:
    """The object that `module:attribute` names. Raises AppNotLoaded with the line of the user's code."""
    module_name, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module_name)
    except BaseException as error:  # noqa: BLE001 - the user's module may raise anything, also SystemExit
        raise AppNotLoaded(_error_line(error), **_error_place(error)) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, [n for n in dir(found) if not n.startswith("_")], n=3)
            text = f"; did you mean {' or '.join(near)}?" if near else ""
            raise AppNotLoaded(f"{module_name} has no `{part}`{text}")
        found = getattr(found, part)
    if not callable(found):
        raise AppNotLoaded(f"`{name}` is {type(found).__name__}, not an ASGI or WSGI app")
    return found


def _error_line(error: BaseException) -> str:
    return "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]


def _error_place(error: BaseException) -> dict[str, Any]:
    """The last line of the user's own code in the traceback."""
    if isinstance(error, SyntaxError) and error.filename:
        return {"file": _relative(error.filename), "line": error.lineno, "code": (error.text or "").strip()}
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(frame.filename)]
    return {"file": _relative(own[-1].filename), "line": own[-1].lineno, "code": own[-1].line} if own else {}


def _is_own(filename: str) -> bool:
    path = Path(filename)
    return path.is_relative_to(Path.cwd()) and not {"site-packages", "dist-packages"} & set(path.parts)


def _relative(filename: str) -> str:
    return os.path.relpath(filename) if _is_own(filename) else filename


def is_wsgi(app: Any) -> bool:
    """Judged by its signature: an ASGI app is async and takes three arguments, a WSGI app takes two."""
    call = app if inspect.isfunction(app) or inspect.ismethod(app) else type(app).__call__
    if inspect.iscoroutinefunction(call):
        return False
    try:
        required = [p for p in inspect.signature(app).parameters.values() if p.default is p.empty]
    except (TypeError, ValueError):
        return False
    return len(required) == 2


def post_paths(app: Any) -> list[str]:
    """The paths where the app accepts POST, if its framework lists its routes."""
    routes = getattr(app, "routes", None) or []
    return [r.path for r in routes if "POST" in (getattr(r, "methods", None) or ()) and hasattr(r, "path")]


def serve(name: str, port: int, report_fd: int) -> None:
    with os.fdopen(report_fd, "w") as report:

        def write_report(record: dict[str, Any]) -> None:
            report.write(json.dumps(record) + "\n")
            report.flush()

        try:
            app = load_app(name)
        except AppNotLoaded as error:
            return write_report({"failed": error.record})
        listener = socket.create_server(("127.0.0.1", port), backlog=128)
        ready = {"port": listener.getsockname()[1], "post_paths": post_paths(app)}
        if is_wsgi(app):
            write_report({"ready": ready})
            return _serve_wsgi(app, listener)
        if not asyncio.run(_serve_asgi(app, listener, lambda: write_report({"ready": ready}))):
            write_report(
                {"failed": {"error": "the app did not start: its lifespan failed, see what it printed"}}
            )
    return None


async def _serve_asgi(app: Any, listener: socket.socket, on_started: Any) -> bool:
    import uvicorn

    class ReportingServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_started()

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, ws="none", timeout_graceful_shutdown=GRACE_S
    )
    server = ReportingServer(config)
    try:
        await server.serve(sockets=[listener])
    except SystemExit:  # its way to say that the app's startup failed
        return False
    return server.started


class _ThreadedServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the platform keeps the trace."""


def _serve_wsgi(app: Any, listener: socket.socket) -> None:
    host, port = listener.getsockname()
    server = _ThreadedServer((host, port), _QuietHandler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_name, server.server_port = host, port
    server.setup_environ()
    server.set_app(app)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.serve_forever()


def main() -> None:
    end_with_parent()
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    from pipelines.cli.main import app

    app()


if __name__ == "__main__":
    main()
