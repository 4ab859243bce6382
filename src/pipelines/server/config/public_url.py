"""What is wrong with a `PIPELINES_PUBLIC_URL`, and what to write instead: told at start, not by every run."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from pipelines.core.text.problems import Problem

VARIABLE = "PIPELINES_PUBLIC_URL"
EXAMPLE = "https://odyssey.example.com"
SCHEMES = ("http", "https")


def problem_of(url: str) -> Problem | None:
    """None where agents could call it, with a path behind it."""
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
        return f"is no URL: {error}"
    if parts.scheme not in SCHEMES or not url.lower().startswith(f"{parts.scheme}://"):
        return "must start with http:// or https://"
    if not parts.hostname or port == 0:
        return "must name a host" if not parts.hostname else "must name a port that can be called"
    if "@" in parts.netloc:
        return "must have no user name or password: agents get it as it is"
    if "?" in url or "#" in url:
        return "must end before any query or fragment: the path of a run follows it"
    return "must name a host that agents can call" if _is_everywhere(parts.hostname) else None


def _is_everywhere(host: str) -> bool:
    """An address to listen on, at which nobody is reached."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _better(url: str) -> str | None:
    """The same, as far as it can be used; None where nothing is sure to be meant."""
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
