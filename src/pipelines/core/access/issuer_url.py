"""Checks the URL of an issuer's keys: whoever can change them on the way can sign any token."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from pipelines.core.text.problems import Problem
from pipelines.core.text.url_host import host_complaint


def issuer_url_complaint(url: str) -> str | None:
    """What is wrong with it, as the rest of a sentence; None if nothing is."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "must be plain ASCII without spaces or backslashes"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if parts.scheme not in ("http", "https"):
        return "must start with https://"
    if "@" in parts.netloc or parts.fragment or port == 0:
        return "must have no user name, no fragment and a port that can be called"
    if complaint := host_complaint(parts):
        return complaint
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return "must start with https:// (http:// only for this machine)"
    return None


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def oidc_problems(issuer: str, audience: str) -> list[Problem]:
    """Of the settings that name an issuer."""
    found = []
    complaint = issuer_url_complaint(issuer) or ("must have no query" if "?" in issuer else None)
    if complaint:
        found.append(
            Problem(
                path="PIPELINES_OIDC_ISSUER",
                message=complaint,
                hint="write it exactly as `iss` of its tokens",
            )
        )
    if not audience:  # without it, a token for any other application of the issuer would open ours
        found.append(
            Problem(
                path="PIPELINES_OIDC_AUDIENCE",
                message="must be set where PIPELINES_OIDC_ISSUER is",
                hint="use the `aud` of its tokens for this server",
            )
        )
    return found


def client_problems(issuer: str, client_id: str, client_secret: str) -> list[Problem]:
    """Of the settings by which people sign in to pages at the issuer."""
    found = []
    if client_id and not issuer:
        message = "needs an issuer to sign in at: set PIPELINES_OIDC_ISSUER too"
        found.append(Problem(path="PIPELINES_OIDC_CLIENT_ID", message=message))
    if client_secret and not client_id:
        message = "needs a client: set PIPELINES_OIDC_CLIENT_ID too"
        found.append(Problem(path="PIPELINES_OIDC_CLIENT_SECRET", message=message))
    return found
