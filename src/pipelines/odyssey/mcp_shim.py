"""`pipelines-mcp-shim`: the tools of a run for MCP clients that start their servers themselves (stdio).

Each line on standard input is one message. It goes to `{proxy url}/mcp` as it is, and the answer is one line
on standard output: the protocol is the server's. Only the run's address and token are held here, from
`PIPELINES_ODYSSEY_PROXY_URL` and `PIPELINES_RUN_TOKEN`.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import IO, Any

from ..wire.names import ENV_PROXY_URL, ENV_RUN_TOKEN, HEADER_IDEMPOTENCY_KEY
from .calls import TIMEOUT_S, Outcome, decode_json, retry_flow, run_flow
from .transport import ExchangeFailed, HttpRequest

UNREACHABLE = -32000  # what clients take for a lost connection
_META_VERSION = "io.modelcontextprotocol/protocolVersion"


class Shim:
    """Forwards messages in the order in which they came. A slow call delays the calls after it, as in the
    run itself, but no ping and no list."""

    def __init__(self, url: str, token: str, write: Callable[[str], None]) -> None:
        self._url = f"{url.rstrip('/')}/mcp"
        self._token = token
        self._write = write
        self._session = ""
        self._calls: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        self._caller = threading.Thread(target=self._run_calls, name="odyssey-mcp-calls", daemon=True)
        self._caller.start()

    def handle_line(self, line: str) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None  # the server says what is wrong with it
        if isinstance(message, dict) and message.get("method") == "tools/call":
            self._calls.put((line, message))
        else:
            self._forward(line, message)

    def close(self) -> None:
        """Finish the calls that are queued, then end the thread."""
        self._calls.put(None)
        self._caller.join()

    def _run_calls(self) -> None:
        for line, message in iter(self._calls.get, None):
            self._forward(line, message)

    def _forward(self, line: str, message: Any) -> None:
        request = HttpRequest("POST", self._url, self._headers(message), line.encode(), TIMEOUT_S)
        outcome = run_flow(retry_flow(request))
        if not isinstance(outcome, ExchangeFailed):
            self._session = outcome.headers.get("mcp-session-id", self._session)
        answer = _client_answer(outcome, message)
        if answer is not None:
            self._write(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))

    def _headers(self, message: Any) -> Mapping[str, str]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            HEADER_IDEMPOTENCY_KEY: os.urandom(
                16
            ).hex(),  # one for all tries: what arrives twice is done once
        }
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        version = _version_of(message)
        return headers | {"MCP-Protocol-Version": version} if version else headers


def _version_of(message: Any) -> str | None:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(_META_VERSION) if isinstance(meta, dict) else None
    return version if isinstance(version, str) and version.isascii() and version.isprintable() else None


def _client_answer(outcome: Outcome, message: Any) -> Any:
    """The answer to the client; None if it expects none."""
    if not isinstance(outcome, ExchangeFailed):
        body = decode_json(outcome)
        if isinstance(body, list) or (isinstance(body, dict) and body.get("jsonrpc") == "2.0"):
            return body
    id = message.get("id") if isinstance(message, dict) else None
    if id is None:
        return None
    return {"jsonrpc": "2.0", "id": id, "error": {"code": UNREACHABLE, "message": _failure_message(outcome)}}


def _failure_message(outcome: Outcome) -> str:
    if isinstance(outcome, ExchangeFailed):
        return f"The run's proxy could not be reached: {outcome}"
    body = decode_json(outcome)
    error = body.get("error") if isinstance(body, dict) else None
    text = error.get("message") if isinstance(error, dict) else "this is not a reply of the proxy"
    return f"The run's proxy answered {outcome.status}: {text}"


def serve(source: IO[str], write: Callable[[str], None], environment: Mapping[str, str]) -> int:
    url, token = environment.get(ENV_PROXY_URL, ""), environment.get(ENV_RUN_TOKEN, "")
    missing = [name for name, value in ((ENV_PROXY_URL, url), (ENV_RUN_TOKEN, token)) if not value]
    if missing:
        print(
            f"pipelines-mcp-shim: {' and '.join(missing)} must be set: they are in the answer to"
            " `POST /api/runs` with mode manual, and in the environment of a code agent.",
            file=sys.stderr,
        )
        return 2
    shim = Shim(url, token, write)
    for line in source:
        if line.strip():
            shim.handle_line(line)
    shim.close()
    return 0


def main() -> None:
    lock = threading.Lock()

    def write(line: str) -> None:
        with lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(serve(sys.stdin, write, os.environ))
