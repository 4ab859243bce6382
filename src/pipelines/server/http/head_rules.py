"""Checks the head of a request before it is used: its size, and its single Host header."""

import re
from typing import NamedTuple

MAX_URL_BYTES = 16 * 1024  # longer than any of ours by far, and than clients and proxies pass on
MAX_FIELDS = 100
MAX_HEAD_BYTES = 64 * 1024  # a connection whose head has not ended holds at most this
#: A name, an IPv4 address or one of IPv6 in brackets, then a port: nothing that is more in a URL.
_HOST = re.compile(rb"(?:[A-Za-z0-9._\-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?")


class HeadProblem(NamedTuple):
    status: int
    message: str


TOO_LARGE = HeadProblem(431, f"The head is over {MAX_HEAD_BYTES // 1024} KiB.")
_TOO_MANY = HeadProblem(431, f"The head has over {MAX_FIELDS} fields.")
_LONG_URL = HeadProblem(414, f"The URL is over {MAX_URL_BYTES // 1024} KiB.")
_NO_HOST = HeadProblem(400, "The Host header is missing.")
_TWO_HOSTS = HeadProblem(400, "The request has more than one Host header.")
_BAD_HOST = HeadProblem(400, "The Host header is not a valid host.")


def head_problem(url: bytes, fields: list[tuple[bytes, bytes]], version: str) -> HeadProblem | None:
    """The problem of a head, or None; `fields` have lower-case names."""
    if len(url) > MAX_URL_BYTES:
        return _LONG_URL
    if len(fields) > MAX_FIELDS:
        return _TOO_MANY
    size, host = len(url), None
    for name, value in fields:
        size += len(name) + len(value)
        if name == b"host":
            if host is not None:
                return _TWO_HOSTS
            host = value
    if size > MAX_HEAD_BYTES:
        return TOO_LARGE
    if host is None:
        return _NO_HOST if version != "1.0" else None
    return None if _HOST.fullmatch(host) else _BAD_HOST
