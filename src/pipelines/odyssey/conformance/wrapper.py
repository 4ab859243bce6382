"""The wrapper under test, and a POST to it, without retries."""

import ssl
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

MAX_ANSWER_BYTES = 8 * 1024 * 1024  # what the platform reads of an answer
QUOTED = 160


@dataclass(frozen=True, kw_only=True, slots=True)
class Wrapper:
    """Where the agent listens and how it is authenticated.

    >>> Wrapper(url="http://127.0.0.1:9100/dispatch", auth_value="Bearer secret").auth
    {'Authorization': 'Bearer secret'}
    """

    url: str
    auth_name: str = "Authorization"
    auth_value: str | None = None  # None: the agent is registered without an auth header
    timeout_s: float = 120.0

    @property
    def auth(self) -> dict[str, str]:
        return {} if self.auth_value is None else {self.auth_name: self.auth_value}


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_refusal(self) -> bool:
        return self.status in (401, 403)

    @property
    def description(self) -> str:
        quoted = " ".join(self.body[: QUOTED * 4].decode("utf-8", "replace").split())[:QUOTED]
        quoted_text = "".join(c if c.isprintable() else "\ufffd" for c in quoted)
        return f"answered {self.status}" + (
            f" ({quoted_text})" if quoted_text and not self.is_success else ""
        )


class NoAnswer(NamedTuple):
    description: str
    is_unreachable: bool = False

    @property
    def is_success(self) -> bool:
        return False

    @property
    def is_refusal(self) -> bool:
        return False


def url_problem(url: str) -> str | None:
    """Why no wrapper can be reached at a URL; None when it may be."""
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    return None if is_usable else f"{url!r} is not an http:// or https:// URL of an endpoint"


def post(
    wrapper: Wrapper, body: bytes, headers: dict[str, str], timeout_s: float | None = None
) -> Answer | NoAnswer:
    parts = urlsplit(wrapper.url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    patience_s = wrapper.timeout_s if timeout_s is None else min(timeout_s, wrapper.timeout_s)
    connection = kind(parts.netloc.rpartition("@")[2], timeout=patience_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.connect()
    except (OSError, ssl.SSLError) as error:
        return NoAnswer(f"cannot be reached: {error}", is_unreachable=True)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"} | headers)
        response = connection.getresponse()
        read = response.read(MAX_ANSWER_BYTES + 1)
        return Answer(response.status, read, response.getheader("Content-Type") or "")
    except TimeoutError:
        return NoAnswer(f"did not answer within {patience_s:g} s")
    except (OSError, HTTPException) as error:
        return NoAnswer(f"dropped the connection without an answer ({type(error).__name__})")
    finally:
        connection.close()
