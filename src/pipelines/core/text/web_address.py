"""Addresses of services that authors write, and the headers that are sent there for them."""

import re
from urllib.parse import urlsplit

LONGEST_URL = 2_048

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}")  # RFC 9110, 5.6.2
_RESERVED_PREFIX = "x-pipelines-"
# Ours to set, or the connection's own: with one of these in an author's hands a request breaks or is misread.
_RESERVED_HEADERS = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def url_complaint(url: str) -> str | None:
    """Which addresses may be reached is decided when they are: here only whether it is an address at all."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "contains spaces or control characters"
    try:
        parts = urlsplit(url)
        has_host, _ = bool(parts.hostname), parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https"):
        return "must start with http:// or https://"
    if not has_host:
        return "names no host"
    if parts.username is not None or parts.password is not None:
        return "contains credentials; use the auth header instead"
    if "%" in parts.netloc or "\\" in parts.netloc:  # other programs read more than one host out of it
        return "names a host with characters that no host name has"
    return None


def header_complaint(name: str) -> str | None:
    """Why a header of this name is not sent for an author."""
    if _TOKEN.fullmatch(name) is None:
        return f"`{name[:80]}` is no HTTP header name"
    if name.lower().startswith(_RESERVED_PREFIX) or name.lower() in _RESERVED_HEADERS:
        return f"the header `{name}` is set by the platform"
    return None
