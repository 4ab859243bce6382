"""The management API from Python: finds the server and the key, and raises the server's error messages."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import MOST_SHOWN, ApiFailed
from .transport import ExchangeFailed, HttpReply, HttpRequest, exchange

DEFAULT_URL = "http://127.0.0.1:8420"  # where `pipelines up` listens, unless told otherwise
KEY_FILE = Path(".pipelines/api-key")  # where it leaves the first key
TIMEOUT_S = 60.0
Row = dict[str, Any]


class Api:
    """One server and one key, found like the command line finds them."""

    def __init__(self, *, api_key: str | None = None, base_url: str | None = None) -> None:
        self.url = (base_url or os.environ.get("PIPELINES_URL") or DEFAULT_URL).rstrip("/")
        self._key = api_key or os.environ.get("PIPELINES_API_KEY") or _key_from_file()

    def get(self, path: str) -> Any:
        return self._ask("GET", path)

    def post(self, path: str, body: Mapping[str, Any], *, timeout_s: float = TIMEOUT_S) -> Any:
        return self._ask("POST", path, body, timeout_s=timeout_s)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._ask("PUT", path, body)

    def _ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, timeout_s: float = TIMEOUT_S
    ) -> Any:
        headers = {"X-API-Key": self._key, "Content-Type": "application/json", "Accept": "application/json"}
        try:
            content = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise ApiFailed(f"the body for {path} cannot be written as JSON: {error}") from error
        request = HttpRequest(method, self.url + path, headers, content, timeout_s)
        try:
            reply = exchange(request, keep=False)  # a POST that arrives twice would be done twice
        except ExchangeFailed as failed:
            raise ApiFailed(f"{self.url} does not answer ({failed}). Is `pipelines up` running?") from failed
        if not 200 <= reply.status < 300:
            raise _failure(method, path, reply)
        return json.loads(reply.body) if reply.body else None


def _key_from_file() -> str:
    try:
        return KEY_FILE.read_text().strip()
    except OSError:
        raise ApiFailed(
            f"No API key: pass api_key, set PIPELINES_API_KEY, or run where {KEY_FILE} is."
        ) from None


def _failure(method: str, path: str, reply: HttpReply) -> ApiFailed:
    try:
        error = json.loads(reply.body)["error"]
        lines = [str(error["message"])]
    except (ValueError, KeyError, TypeError):
        body_text = reply.body[:MOST_SHOWN].decode(errors="replace")
        return ApiFailed(f"{method} {path}: HTTP {reply.status}: {body_text}", status=reply.status)
    details = error.get("details")
    for problem in details if isinstance(details, list) else ():
        if isinstance(problem, dict):
            hint = f" ({problem['hint']})" if problem.get("hint") else ""
            lines.append(f"  {problem.get('path') or 'the whole'}: {problem.get('message')}{hint}")
    message = "\n".join(lines)
    return ApiFailed(message, status=reply.status, code=error.get("code"), details=details)
