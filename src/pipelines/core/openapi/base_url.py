"""Where an HTTP service is: the URL before the paths of its document."""

import re
from urllib.parse import urlsplit

from pipelines.core.text.url_host import host_complaint

_PATH = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*")


def base_url_complaint(url: str) -> str | None:
    """What is wrong with a base URL, as the rest of a sentence; None if nothing is."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https") or not url.isascii() or not url.isprintable() or " " in url:
        return "must start with http:// or https://, without spaces or characters outside ASCII"
    if port == 0:
        return "has port 0"
    if "@" in parts.netloc:
        return "has a user name; give credentials as the endpoint's auth"
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        return "has a query or a fragment, which a base URL must not have"
    if _PATH.fullmatch(parts.path) is None or {".", ".."} & set(
        parts.path.lower().replace("%2e", ".").split("/")
    ):
        return "has a path with a part `.` or `..`, or with invalid characters"
    return host_complaint(parts)


def base_path(url: str) -> str:
    """What stands before each path of the document: `/v1` of `https://api.example/v1/`."""
    return urlsplit(url).path.rstrip("/")
