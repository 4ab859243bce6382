"""HTTP requests with the standard library only: connection pool, proxies of the environment, TLS.

A URL of the scheme `inprocess:` is answered by a function of this process instead (see `testing`).
"""

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

if TYPE_CHECKING:  # imported where it is used: it takes longer to load than all of this package
    import ssl
    from http.client import HTTPConnection

CONNECT_TIMEOUT_S = 10.0
MAX_REPLY_BYTES = 16 * 1024 * 1024  # a tool's reply is at most 1 MiB; this only stops what never ends
MAX_IDLE = 16  # connections kept to one host
IN_PROCESS = "inprocess"


class HttpRequest(NamedTuple):
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout_s: float


class HttpReply(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class ExchangeFailed(Exception):
    """No complete answer: no connection, a broken one, or a timeout. `is_final`: a retry would not help."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


#: In-process answerers by the host part of their URL.
answerers: dict[str, Callable[[HttpRequest], HttpReply]] = {}


def is_in_process(url: str) -> bool:
    return url.startswith(f"{IN_PROCESS}:")


def exchange(request: HttpRequest, *, keep: bool = True) -> HttpReply:
    """Send and read the whole reply. With `keep` the connection is used again, and a kept one that has gone
    stale is replaced at once: so only for requests that may arrive twice."""
    parts = urlsplit(request.url)
    if parts.scheme == IN_PROCESS:
        answer = answerers.get(parts.netloc)
        if answer is None:
            raise ExchangeFailed("this in-process run has ended", is_final=True)
        return answer(request)
    try:
        route = _find_route(parts)
    except ValueError as error:
        message = f"{request.url!r} is not an http or https URL: {error}"
        raise ExchangeFailed(message, is_final=True) from None
    kept = _pool.acquire(route) if keep else None
    if kept is not None:
        try:
            return _send_request(kept, route, request, keep)
        except ExchangeFailed as failed:
            if failed.is_final:
                raise
    return _send_request(
        _open_connection(route, min(CONNECT_TIMEOUT_S, request.timeout_s)), route, request, keep
    )


class _Route(NamedTuple):
    """The host to connect to, and the proxy on the way."""

    scheme: str
    host: str
    port: int
    via: str | None  # a proxy's URL

    @property
    def is_forwarded(self) -> bool:
        """The proxy reads the request itself, rather than passing bytes on."""
        return self.via is not None and self.scheme == "http"


def _find_route(parts: SplitResult) -> _Route:
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it needs a scheme and a host")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return _Route(parts.scheme, parts.hostname, port, _forward_proxy(parts.scheme, parts.hostname))


def _forward_proxy(scheme: str, host: str) -> str | None:
    """The proxy from HTTP_PROXY and its like; None for this machine, which a proxy cannot reach."""
    if host == "localhost" or host == "::1" or host.startswith("127."):
        return None
    from urllib.request import getproxies, proxy_bypass

    via = getproxies().get(scheme)
    if not via or proxy_bypass(host):
        return None
    return via if "://" in via else f"http://{via}"


def _send_request(connection: "HTTPConnection", route: _Route, request: HttpRequest, keep: bool) -> HttpReply:
    from http.client import HTTPException

    is_whole = False
    try:
        if connection.sock is not None:
            connection.sock.settimeout(request.timeout_s)
        connection.request(request.method, _target(route, request), request.body, _headers(route, request))
        response = connection.getresponse()
        body = response.read(MAX_REPLY_BYTES + 1)
        is_small = len(body) <= MAX_REPLY_BYTES
        if is_small and response.length is None and not response.isclosed():
            is_small = not response.read(1)  # without a length the reply ends with the connection
        is_whole = is_small and response.isclosed()
        headers = {name.lower(): value for name, value in response.getheaders()}
    except TimeoutError:
        raise ExchangeFailed(f"no answer within {request.timeout_s:g} s", is_final=True) from None
    except (OSError, HTTPException) as error:
        raise ExchangeFailed(f"the connection broke: {type(error).__name__} {error}") from error
    finally:
        if is_whole and keep and not response.will_close:
            _pool.release(route, connection)
        else:
            connection.close()
    if not is_whole:
        what = "broke off" if is_small else f"is over {MAX_REPLY_BYTES} bytes"
        raise ExchangeFailed(f"the reply {what}")
    return HttpReply(response.status, headers, body)


def _target(route: _Route, request: HttpRequest) -> str:
    if route.is_forwarded:
        return request.url
    parts = urlsplit(request.url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _headers(route: _Route, request: HttpRequest) -> dict[str, str]:
    return {**request.headers, **(_proxy_authorization(route) if route.is_forwarded else {})}


def _open_connection(route: _Route, timeout_s: float) -> "HTTPConnection":
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    via = urlsplit(route.via) if route.via is not None else None
    host, port = (route.host, route.port) if via is None else (via.hostname or "", via.port or 80)
    connection: HTTPConnection
    if route.scheme == "https":
        connection = HTTPSConnection(host, port, timeout=timeout_s, context=_tls())
        if via is not None:
            connection.set_tunnel(route.host, route.port, _proxy_authorization(route))
    else:
        connection = HTTPConnection(host, port, timeout=timeout_s)
    try:
        connection.connect()
    except (OSError, HTTPException) as error:
        connection.close()
        raise ExchangeFailed(f"no connection to {host}:{port}: {error}") from error
    return connection


def _proxy_authorization(route: _Route) -> dict[str, str]:
    parts = urlsplit(route.via or "")
    if parts.username is None:
        return {}
    from base64 import b64encode

    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


_tls_context: "list[ssl.SSLContext]" = []


def _tls() -> "ssl.SSLContext":
    """One for all connections: reading the machine's certificates takes a while."""
    if not _tls_context:
        import ssl

        _tls_context.append(ssl.create_default_context())
    return _tls_context[0]


class _Pool:
    """Idle connections. A caller owns a connection until it releases it."""

    def __init__(self) -> None:
        self.clear()
        if hasattr(os, "register_at_fork"):  # a connection that two processes write to serves neither
            os.register_at_fork(after_in_child=self.clear)

    def clear(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[_Route, list[Any]] = {}

    def acquire(self, route: _Route) -> "HTTPConnection | None":
        with self._lock:
            idle = self._idle.get(route)
            return idle.pop() if idle else None

    def release(self, route: _Route, connection: "HTTPConnection") -> None:
        with self._lock:
            idle = self._idle.setdefault(route, [])
            if len(idle) < MAX_IDLE:
                idle.append(connection)
                return
        connection.close()


_pool = _Pool()
