"""Decides which requests the fast path takes, and reads their heads."""

import re
from typing import Any, NamedTuple

from pipelines.server.proxy.proxy_messages import Pair, Target, hash_of, sent_headers, target_of
from pipelines.wire.names import HEADER_IDEMPOTENCY_KEY, PROXY_BASE

MAX_LEAN_BODY = 64 * 1024  # kept without a pause in reading, as uvicorn does; larger ones are ASGI's
MAX_HEADS = 16  # remembered for each connection: an agent has some tools, and arguments of some lengths
MAX_KEPT_HEAD = 2048
#: A plain path: nothing to decode and no query.
_PLAIN_PATH = re.compile(rb"%b/[A-Za-z0-9_\-./]+" % re.escape(PROXY_BASE.encode()))
#: An idempotency key of letters and digits only, on its own line.
_KEY_LINE = re.compile(rb"(?i)\r\n%b: ([a-z0-9]+)(?=\r\n)" % HEADER_IDEMPOTENCY_KEY.lower().encode())
_NOT_LEAN = frozenset({b"expect", b"upgrade", b"transfer-encoding"})


class LeanRequest(NamedTuple):
    """The parsed head of a request. Equal bytes have equal contents."""

    tool_name: str
    target: Target
    path: str
    token_hash: str
    actor_id: str | None
    idempotency_key: str | None
    body_size: int


class HeadReader:
    """Reads the heads of one connection; path and token are usually those of the previous request."""

    __slots__ = ("_path", "_target", "_token", "_token_hash", "_url")

    def __init__(self) -> None:
        self._url, self._path, self._target = b"", "", target_of("")
        self._token, self._token_hash = b"", hash_of(b"")

    def read(self, parser: Any, url: bytes, pairs: list[Pair]) -> LeanRequest | None:
        """The request; None if it is not an ordinary tool call. `parser` is httptools', at the end of the
        head."""
        headers = dict(pairs)
        if (
            parser.get_method() != b"POST"
            or parser.get_http_version() != "1.1"
            or not parser.should_keep_alive()
            or parser.should_upgrade()
            or not _NOT_LEAN.isdisjoint(headers)
        ):
            return None
        size = int(headers.get(b"content-length", -1))  # httptools has seen to it that it is a number
        if not 0 <= size <= MAX_LEAN_BODY or not self._is_plain(url):
            return None
        target = self._target
        if target.section != "tools" or target.name is None:
            return None
        sent = sent_headers(pairs)
        if sent.token != self._token:
            self._token, self._token_hash = sent.token, hash_of(sent.token)
        return LeanRequest(
            target.name,
            target,
            self._path,
            self._token_hash,
            sent.actor_id,
            sent.idempotency_key,
            size,
        )

    def _is_plain(self, url: bytes) -> bool:
        if url == self._url:
            return True
        if _PLAIN_PATH.fullmatch(url) is None:
            return False
        self._url, self._path = url, url.decode("ascii")
        self._target = target_of(self._path)
        return True


class KnownHeads:
    """Heads that httptools has parsed on one connection, so that equal bytes need not be parsed again.

    The idempotency key differs in every call. A head that differs only in its key, with as many letters and
    digits, is known as well.
    """

    __slots__ = ("_by_head", "_by_rest", "_count")

    def __init__(self) -> None:
        self._by_head: dict[bytes, LeanRequest] = {}
        #: By the position of the key in the head, then by the head without the key.
        self._by_rest: dict[tuple[int, int], dict[bytes, LeanRequest]] = {}
        self._count = 0

    def find(self, head: bytes) -> tuple[LeanRequest, str | None] | None:
        """The known request of a head, with its idempotency key."""
        request = self._by_head.get(head)
        if request is not None:
            return request, None
        for (start, end), by_rest in self._by_rest.items():
            key = head[start:end]
            request = by_rest.get(head[:start] + head[end:]) if key.isalnum() else None
            if request is not None:
                return request, key.decode("ascii")
        return None

    def add(self, data: bytes, request: LeanRequest) -> None:
        """Remembers a head. `data` begins with a message and `request` is its parsed head; the data must end
        with that head or its body."""
        end = data.find(b"\r\n\r\n") + 4
        is_first = len(data) in (end, end + request.body_size) and data.startswith(b"POST ")
        if not is_first or end > MAX_KEPT_HEAD:
            return
        if self._count >= MAX_HEADS:
            self._by_head.clear()
            self._by_rest.clear()
            self._count = 0
        self._count += 1
        if request.idempotency_key is None:
            self._by_head[data[:end]] = request
        else:
            self._add_keyed(data[:end], request, request.idempotency_key)

    def _add_keyed(self, head: bytes, request: LeanRequest, key: str) -> None:
        lines = list(_KEY_LINE.finditer(head))
        if len(lines) == 1 and lines[0][1].decode("ascii") == key:
            start, end = lines[0].span(1)
            self._by_rest.setdefault((start, end), {})[head[:start] + head[end:]] = request
