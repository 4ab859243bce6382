"""Checks `PIPELINES_PUBLIC_URL` at start, and suggests a correction."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from pipelines.core.text.problems import Problem

VARIABLE = "PIPELINES_PUBLIC_URL"
EXAMPLE = "https://odyssey.example.com"
SCHEMES = ("http", "https")


def problem_of(url: str) -> Problem | None:
    """The problem of a URL; None if agents can call it with a path appended."""
    message = _complaint(url)
    if message is None:
        return None
    return Problem(path=VARIABLE, message=message, hint=f"write {_better(url) or EXAMPLE}")


def _complaint(url: str) -> str | None:
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "must be plain ASCII without spaces or backslashes"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in SCHEMES or not url.lower().startswith(f"{parts.scheme}://"):
        return "must start with http:// or https://"
    if not parts.hostname or port == 0:
        return "must name a host" if not parts.hostname else "must have a valid port"
    if "@" in parts.netloc:
        return "must not contain a user name or password, because agents receive the URL"
    if "?" in url or "#" in url:
        return "must not have a query or fragment, because the path of a run is appended"
    return "must name a host that agents can call" if _is_everywhere(parts.hostname) else None


def _is_everywhere(host: str) -> bool:
    """Whether this is an address to listen on (such as 0.0.0.0), which clients cannot call."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _better(url: str) -> str | None:
    """A corrected URL; None if the intended one is unclear."""
    try:
        parts = urlsplit(url)
        if not parts.netloc:  # host:port reads as a scheme, too
            is_web = parts.scheme in SCHEMES
            rest = url.partition(":")[2] if is_web else url
            parts = urlsplit(f"{parts.scheme if is_web else 'https'}://{rest.lstrip('/')}")
        scheme = parts.scheme if parts.scheme in SCHEMES else "https"
        better = SplitResult(scheme, parts.netloc.rpartition("@")[2], parts.path, "", "").geturl()
    except ValueError:
        return None
    return better if _complaint(better) is None else None
