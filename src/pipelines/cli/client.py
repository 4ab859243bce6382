"""The server as commands use it: its API key is found, and its errors become messages."""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
import typer

from pipelines.cli.files import stop
from pipelines.core.results.gate import ExitCode
from pipelines.core.text.problems import said_of

KEY_FILE = Path(".pipelines/api-key")
TOO_MANY = 429
JOB_LOOK_S = 20.0  # how long the server may wait for the end of a job before it tells how far it is
TIMEOUT_S = 120.0  # uploads of large datasets are checked whole before they are answered


def uses_proxies(url: str) -> bool:
    """Whether HTTP_PROXY and its like apply. Not on loopback: a proxy cannot reach this machine."""
    host = urlsplit(url).hostname or ""
    return not (host in ("localhost", "::1") or host.startswith("127."))


class Server:
    """The server's API as values. Any answer but a success ends the command with the server's own message.

    It connects with the first request: a command that turns out to need no server needs no key either.
    """

    def __init__(self, url: str, api_key: str | None) -> None:
        self.url = url
        self._api_key = api_key

    @cached_property
    def _client(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.url,
            headers={"X-API-Key": self._api_key or _key_from_file()},
            timeout=TIMEOUT_S,
            trust_env=uses_proxies(self.url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        if "_client" in vars(self):  # it was used
            self._client.close()

    def get(self, path: str, **query: Any) -> Any:
        return self._call("GET", path, params={k: v for k, v in query.items() if v is not None})

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return (
            self._call("POST", path, json=body, **options)
            if body is not None
            else self._call("POST", path, **options)
        )

    def refusal_or_answer(self, path: str, body: Any, **options: Any) -> tuple[str | None, Any]:
        """POST; returns the server's message if it refuses the request, else the answer."""
        response = self._request("POST", path, json=body, fine=(404, 409, 413, 422), **options)
        if not response.is_error:
            return None, response.json()
        return "\n".join(_error_lines(response.json()["error"])), None

    def wait_for(self, job: Any) -> Any:
        """The answer of a question to the server's model, however long it takes, with its progress."""
        reported = None
        while job["status"] == "running":
            if job["total"] and reported != (reported := (job["done"], job["total"])):
                typer.echo(f"The model is asked: {job['done']} of {job['total']} done.", err=True)
            job = self.get(f"/api/author-jobs/{job['id']}", wait_s=JOB_LOOK_S)
        if job["error"] is not None:
            stop("\n".join(_error_lines(job["error"])), ExitCode.COULD_NOT_RUN)
        return job["answer"]

    def put(self, path: str, body: Any, **options: Any) -> Any:
        return self._call("PUT", path, json=body, **options)

    def put_zip(self, path: str, raw: bytes) -> Any:
        return self._call("PUT", path, content=raw, headers={"Content-Type": "application/zip"})

    def put_lines(self, path: str, raw: bytes) -> Any:
        return self._call("PUT", path, content=raw, headers={"Content-Type": "application/x-ndjson"})

    def put_json(self, path: str, raw: bytes) -> Any:
        """PUT a JSON text unchanged."""
        return self._call("PUT", path, content=raw, headers={"Content-Type": "application/json"})

    def delete(self, path: str) -> Any:
        return self._call("DELETE", path)

    def text(self, path: str, **query: Any) -> str:
        """GET an answer that is not JSON, such as a page."""
        return str(self._request("GET", path, params=query).text)

    def find(self, path: str) -> Any:
        """GET, or None for a 404."""
        response = self._request("GET", path, fine=(404,))
        return None if response.status_code == 404 else response.json()

    def try_post(self, path: str) -> bool:
        """POST; returns whether it succeeded. A refusal does not end the command."""
        try:
            return self._client.post(path).is_success
        except httpx2.HTTPError:
            return False

    def every(self, path: str, **query: Any) -> list[Any]:
        """All items of a list, page by page."""
        items: list[Any] = []
        cursor = None
        while True:
            page = self.get(path, limit=500, cursor=cursor, **query)
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return items

    def events(self, path: str) -> Iterator[Any]:
        """The server-sent events of a path, until the stream ends."""
        try:
            with self._client.stream("GET", path, timeout=None) as response:
                if response.is_error:
                    response.read()
                    _stop_with_error(path, response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx2.HTTPError as error:
            stop(f"{self.url} does not answer any more ({error}).")

    def _call(self, method: str, path: str, **options: Any) -> Any:
        response = self._request(method, path, **options)
        return response.json() if response.content else None

    def _request(
        self, method: str, path: str, *, fine: tuple[int, ...] = (), **options: Any
    ) -> httpx2.Response:
        try:
            response = self._client.request(method, path, **options)
        except httpx2.ReadTimeout:
            stop(
                f"{path}: no answer within {TIMEOUT_S:.0f} s. The server may still be at work on it.",
                ExitCode.COULD_NOT_RUN,
            )
        except httpx2.HTTPError as error:
            stop(
                f"{self.url} does not answer ({error}). Is `pipelines up` running? See --url.",
                ExitCode.COULD_NOT_RUN,
            )
        if response.is_error and response.status_code not in fine:
            _stop_with_error(path, response)
        return response


def _stop_with_error(path: str, response: httpx2.Response) -> None:
    # A refusal is about what was asked; anything else kept the server from doing it.
    is_refusal = response.is_client_error and response.status_code != TOO_MANY
    code = ExitCode.USAGE if is_refusal else ExitCode.COULD_NOT_RUN
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        stop(f"{path}: {response.status_code} {response.text[:300]}", code)
    stop("\n".join(_error_lines(error)), code)


def _error_lines(error: Any) -> list[str]:
    found = error.get("details")
    details = found if isinstance(found, list) else []  # an object is for programs: the message says it too
    lines = [error["message"].split("; the first: ")[0] if details else error["message"]]  # all are below
    for detail in details[:50]:
        if isinstance(detail, dict):
            hint = f" ({detail['hint']})" if detail.get("hint") else ""
            text = said_of(str(detail.get("path") or ""), str(detail.get("message")))
            lines.append(f"  {text}{hint}")
    return lines


def _key_from_file() -> str:
    try:
        return KEY_FILE.read_text().strip()
    except OSError:
        stop(f"No API key: pass --api-key, set PIPELINES_API_KEY, or run where {KEY_FILE} is.")
