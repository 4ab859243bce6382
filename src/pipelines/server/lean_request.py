"""Which requests the lean way takes, and what their heads say."""

import re
from typing import Any, NamedTuple

from pipelines.server.proxy_messages import Pair, Target, hash_of, sent_headers, target_of
from pipelines.wire.names import PROXY_BASE

MAX_LEAN_BODY = 64 * 1024  # kept without a pause in reading, as uvicorn does; larger ones are ASGI's
#: A path that means what it says: nothing to decode, no query.
_PLAIN_PATH = re.compile(rb"%b/[A-Za-z0-9_\-./]+" % re.escape(PROXY_BASE.encode()))
_NOT_LEAN = frozenset({b"expect", b"upgrade", b"transfer-encoding"})


class LeanRequest(NamedTuple):
    """What a head says; the same bytes always say the same."""

    tool_name: str
    target: Target
    path: str
    token_hash: str
    actor_id: str | None
    idempotency_key: str | None
    body_size: int


class HeadReader:
    """Reads the heads of one connection: its path and its token are mostly those of the last one."""

    __slots__ = ("_path", "_target", "_token", "_token_hash", "_url")

    def __init__(self) -> None:
        self._url, self._path, self._target = b"", "", target_of("")
        self._token, self._token_hash = b"", hash_of(b"")

    def read(self, parser: Any, url: bytes, pairs: list[Pair]) -> LeanRequest | None:
        """None for whatever is not the usual tool call. `parser` is httptools', at the end of the head."""
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
