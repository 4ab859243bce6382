"""`allow_hosts` of a code endpoint: which hosts its functions may reach, and at which ports.

    api.example.com          ports 443 and 80
    api.example.com:8443     that port alone
    *.example.com            every name below example.com, not example.com itself

Names are compared, never addresses: where a name leads is judged when it is connected to (`outbound`).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from pipelines.core.text.problems import Problem
from pipelines.core.text.url_host import host_complaint

USUAL_PORTS = (443, 80)
MOST_HOSTS = 100
_PORT = re.compile(r"[1-9][0-9]{0,4}", re.ASCII)
_NAME = re.compile(r"[a-z0-9_.-]+", re.ASCII)
_ADDRESS = re.compile(r"[0-9.]+|.*:.*:.*|0x.*", re.ASCII)
_INSTEAD = "write a host name, as api.example.com, api.example.com:8443 or *.example.com"


class AllowedHost(NamedTuple):
    name: str  # in small letters; of a wildcard what follows the `*`
    is_wildcard: bool
    ports: tuple[int, ...]

    def covers(self, host: str, port: int) -> bool:
        if port not in self.ports:
            return False
        return (
            host.endswith(self.name) and len(host) > len(self.name) if self.is_wildcard else host == self.name
        )


def read_allow_hosts(texts: Iterable[str], place: str, problems: list[Problem]) -> tuple[AllowedHost, ...]:
    """Every entry; what is wrong with one is added to `problems`."""
    found: list[AllowedHost] = []
    for index, text in enumerate(texts):
        allowed = _read(text)
        if isinstance(allowed, AllowedHost):
            found.append(allowed)
        else:
            quoted = text[:120]
            problems.append(Problem(path=f"{place}/{index}", message=f"`{quoted}` {allowed}", hint=_INSTEAD))
    if len(found) > MOST_HOSTS:
        problems.append(Problem(path=place, message=f"names more than {MOST_HOSTS} hosts"))
    return tuple(found)


def normalize_host(name: str) -> str | None:
    """A host as a program asked for it, in the form that is compared; None where no host name is spelled so,
    an address included."""
    host = name.lower().removesuffix(".")
    return host if host and _complaint(host) is None else None


def is_allowed(hosts: Iterable[AllowedHost], host: str, port: int) -> bool:
    return any(allowed.covers(host, port) for allowed in hosts)


def _read(text: str) -> AllowedHost | str:
    """The entry, or what is wrong with it."""
    if "//" in text:
        return "is a URL; give only the host"
    if "/" in text:
        return "has a path; give only the host"
    name, colon, port = (
        text.strip().lower().rpartition(":") if text.count(":") == 1 else (text.lower(), "", "")
    )
    if colon and (_PORT.fullmatch(port) is None or int(port) > 65_535):
        return "has an invalid port"
    name = name.strip().removesuffix(".")
    is_wildcard = name.startswith("*.")
    bare = name.removeprefix("*.")
    if "*" in bare:
        return "has a * that is not its whole first label"
    if is_wildcard and "." not in bare:
        return "would allow a whole top-level domain"
    complaint = _complaint(bare)
    if complaint is not None:
        return complaint
    ports = (int(port),) if colon else USUAL_PORTS
    return AllowedHost(f".{bare}" if is_wildcard else bare, is_wildcard, ports)


def _complaint(host: str) -> str | None:
    if _ADDRESS.fullmatch(host):
        return "is an IP address; hosts are allowed by name"
    if not host.isascii():
        return "is not ASCII; write its punycode form, xn--…"
    if not host:
        return "has no host"
    if _NAME.fullmatch(host) is None:
        return "has characters that are not allowed in a host name"
    return host_complaint(urlsplit(f"https://{host}/"))
