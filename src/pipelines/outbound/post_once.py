"""One POST over one fresh connection: sent at most once, answered or not, and how far it came.

Connections are not kept. On a kept one the other side may have hung up unnoticed, and then nobody can tell
whether a request that failed was seen: it could neither be sent again nor be counted as not sent. A handshake
costs far less than a run. For the same reason nothing is retried, no redirect is followed; and with no cookie
jar and no proxy from the environment, nothing of one call reaches another.
"""

import asyncio
import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from socket import gaierror
from typing import IO, Literal, TypeAlias

import httpcore2
from httpcore2 import AsyncNetworkBackend, AsyncNetworkStream
from httpx2 import URL, InvalidURL

from pipelines.outbound.address_guard import AddressRefused
from pipelines.outbound.read_answer import BrokenOff, IncomingAnswer, NotHttp, TooMuchAround

CONNECT_TIMEOUT_S = 10.0  # a host that is up answers within a round trip; the agent's own time comes after
MOST_ERROR_BYTES = 64 * 1024  # of a body that is only looked at for what went wrong
DEFAULT_PORTS = {"http": 80, "https": 443}

_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.1
_HEADER_VALUE = re.compile(r"|[!-~]|[!-~][\t -~]*[!-~]")  # ASCII without line breaks or spaces around it

#: Whether the other side may have seen the request: no byte of it was sent; some were; it answered.
Reached: TypeAlias = Literal["no", "maybe", "yes"]


class Trouble(StrEnum):
    UNSENDABLE = "unsendable"  # the URL or a header cannot be put into an HTTP request
    ADDRESS_REFUSED = "address_refused"  # the policy is against it
    ADDRESS_NEVER = "address_never"  # every policy is
    UNREACHABLE = "unreachable"  # no connection, or no TLS
    TIMEOUT = "timeout"  # connected, but not done in time
    BROKEN = "broken"  # the connection ended, or spoke something else than HTTP
    WASTEFUL = "wasteful"  # more around the content of an answer than anybody needs


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    url: str
    headers: Mapping[str, str] = field(repr=False)  # with secrets among them
    body: bytes = field(repr=False)
    timeout_s: float  # for all of it, from the lookup of the name to the last byte
    most_bytes: int  # of the answer; reading stops there
    method: Literal["POST", "GET"] = "POST"  # GET: what is published for everybody


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # lower-case names; the last of those that stand twice
    body: (
        bytes  # at most `most_bytes`, and one more byte if there was more; its beginning, if it is in a file
    )
    file: IO[bytes] | None = None  # all of a large body; whoever has the answer closes it

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, kw_only=True, slots=True)
class NoAnswer:
    trouble: Trouble
    detail: str  # for people; holds the host, never the path, a header or the body
    reached: Reached
    status: int | None = None  # when the answer began and then broke off


class Progress:
    """What is known of an exchange when it is cut short."""

    __slots__ = ("answer", "is_sending")

    def __init__(self, most_bytes: int) -> None:
        self.is_sending = False
        self.answer = IncomingAnswer(most_bytes, MOST_ERROR_BYTES)

    @property
    def status(self) -> int | None:
        return self.answer.status

    @property
    def reached(self) -> Reached:
        if self.status is not None:
            return "yes"
        return "maybe" if self.is_sending else "no"


async def post_once(post: Post, *, network: AsyncNetworkBackend, tls: ssl.SSLContext) -> Answer | NoAnswer:
    """Never raises for what the other side does; cancelling it closes the connection."""
    try:
        url = readable_url(post.url)
    except InvalidURL as error:
        return NoAnswer(trouble=Trouble.UNSENDABLE, detail=f"the URL cannot be used: {error}", reached="no")
    if any(not is_sendable(name, value) for name, value in post.headers.items()):
        # Found here, because the HTTP library would quote the value, a secret perhaps, in its log.
        detail = "a header cannot be sent: check the auth header's name and value"
        return NoAnswer(trouble=Trouble.UNSENDABLE, detail=detail, reached="no")
    progress = Progress(post.most_bytes)
    try:
        return await _post(post, url, progress, network, tls)
    except BaseException:  # also where it is cancelled
        progress.answer.close()
        raise


async def _post(
    post: Post, url: URL, progress: Progress, network: AsyncNetworkBackend, tls: ssl.SSLContext
) -> Answer | NoAnswer:
    try:
        async with asyncio.timeout(post.timeout_s):
            await _exchange(post, url, progress, network, tls)
    except (TimeoutError, httpcore2.TimeoutException):
        failure = timed_out(post.timeout_s, url, progress)
    # OSError: TLS breaks raw.
    except (httpcore2.NetworkError, OSError, NotHttp, BrokenOff, TooMuchAround) as error:
        failure = failed(url, progress, error)
    else:
        return answer_of(progress)
    # An error that was announced but not delivered whole is still that error.
    if progress.status is not None and progress.status >= 300:
        progress.answer.keep_what_came()
        return answer_of(progress)
    progress.answer.close()
    return failure


def readable_url(text: str) -> URL:
    url = URL(text)
    if url.scheme not in DEFAULT_PORTS or not url.host:
        raise InvalidURL("it must start with http:// or https:// and name a host")
    if not 0 < port_of(url) < 65_536:
        raise InvalidURL("its port must be from 1 to 65535")
    return url


def is_sendable(name: str, value: str) -> bool:
    return _HEADER_NAME.fullmatch(name) is not None and _HEADER_VALUE.fullmatch(value) is not None


def port_of(url: URL) -> int:
    return DEFAULT_PORTS[url.scheme] if url.port is None else url.port


def place(url: URL) -> str:
    """The host and port: all of a URL that is safe to show (paths and queries hold tokens)."""
    return f"{url.host}:{port_of(url)}"


async def _exchange(
    post: Post, url: URL, progress: Progress, network: AsyncNetworkBackend, tls: ssl.SSLContext
) -> None:
    host = url.raw_host.decode("ascii")
    timeout_s = min(CONNECT_TIMEOUT_S, post.timeout_s)
    plain = await network.connect_tcp(host, port_of(url), timeout=timeout_s)
    try:
        stream = plain
        if url.scheme == "https":
            stream = await plain.start_tls(tls, server_hostname=host, timeout=timeout_s)
        await _send_and_read(post, url, progress, stream)
    finally:
        await plain.aclose()


async def _send_and_read(post: Post, url: URL, progress: Progress, stream: AsyncNetworkStream) -> None:
    progress.is_sending = True
    with suppress(httpcore2.WriteError):  # it may have answered before it had read everything
        target, host = url.raw_path.decode("ascii"), url.netloc.decode("ascii")
        await stream.write(request_bytes(post.method, target, host, post.headers, post.body))
    await progress.answer.read(stream)


def request_bytes(
    method: str, target: str, host: str, headers: Mapping[str, str], body: bytes | None
) -> bytes:
    """One request; without a body, as most with GET are, it names no length."""
    head = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    head += [f"Content-Length: {len(body)}"] if body is not None else []
    return "\r\n".join([*head, "", ""]).encode("ascii") + (body or b"")


def answer_of(progress: Progress) -> Answer:
    answer = progress.answer
    assert answer.status is not None
    return Answer(status=answer.status, headers=answer.headers, body=answer.begins, file=answer.file)


def timed_out(timeout_s: float, url: URL, progress: Progress) -> NoAnswer:
    if progress.reached == "no":
        detail = f"no connection to {place(url)} within {min(CONNECT_TIMEOUT_S, timeout_s):g} s"
        return NoAnswer(trouble=Trouble.UNREACHABLE, detail=detail, reached="no")
    begun = "the answer began, but was not whole" if progress.status is not None else "there was no answer"
    detail = f"{begun} within {timeout_s:g} s"
    return NoAnswer(trouble=Trouble.TIMEOUT, detail=detail, reached=progress.reached, status=progress.status)


def failed(url: URL, progress: Progress, error: Exception) -> NoAnswer:
    if isinstance(error, AddressRefused):
        trouble = Trouble.ADDRESS_NEVER if error.is_final else Trouble.ADDRESS_REFUSED
        return NoAnswer(trouble=trouble, detail=str(error), reached="no")
    if progress.reached == "no":
        detail = f"{reason_of(error)} ({place(url)})"
        return NoAnswer(trouble=Trouble.UNREACHABLE, detail=detail, reached="no")
    if isinstance(error, TooMuchAround):
        return NoAnswer(
            trouble=Trouble.WASTEFUL, detail=str(error), reached=progress.reached, status=progress.status
        )
    if progress.status is not None:
        detail = "the connection broke while the answer was read"
    elif isinstance(error, NotHttp):
        detail = "what came back is not HTTP"
    else:
        detail = "the connection was closed before there was an answer"
    return NoAnswer(trouble=Trouble.BROKEN, detail=detail, reached=progress.reached, status=progress.status)


def reason_of(error: BaseException) -> str:
    """The words of the deepest cause: libraries wrap "Connection refused" into their own."""
    cause: BaseException | None = error
    reason = str(error)
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not valid: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"no TLS there ({(cause.reason or 'handshake failed').replace('_', ' ').lower()})"
        if isinstance(cause, gaierror):
            return "the name cannot be resolved"
        if isinstance(cause, OSError) and cause.errno:  # its own words may hold the address behind the name
            reason = os.strerror(cause.errno)
        cause = cause.__cause__ or cause.__context__  # a pool of connections drops the cause
    return reason
