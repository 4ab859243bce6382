"""Which spellings of a host are taken: those that every program reads alike.

curl decodes `%2e`, reads `0x7f.1` as an address and drops a last dot; Python does not, or elsewhere. A host
that one of them reads and the other resolves could be judged here and reached there.
"""

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import SplitResult

_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_\-.]*[a-z0-9_])?", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE | re.ASCII)
LONGEST_LABEL = 63
LONGEST_NAME = 253


def host_complaint(parts: SplitResult) -> str | None:
    """What is wrong with the host of a URL, as the rest of a sentence about that URL; None if nothing is.

    >>> from urllib.parse import urlsplit
    >>> host_complaint(urlsplit("https://127%2e0%2e0%2e1/a"))
    'names a host with characters that no host name has'
    """
    host = parts.hostname or ""
    if not host:
        return "names no host"
    if "[" in parts.netloc or ":" in host:
        return None if _is_address(IPv6Address, host) else "names a host that is no IPv6 address"
    if _NAME.fullmatch(host) is None:
        return "names a host with characters that no host name has"
    labels = host.split(".")
    if len(host) > LONGEST_NAME or not all(0 < len(label) <= LONGEST_LABEL for label in labels):
        return "names a host with a part that is empty or too long"
    if _NUMBER.fullmatch(labels[-1]) and not _is_address(IPv4Address, host):
        return "names a host that is almost an IPv4 address; write it as four decimal numbers"
    return None


def _is_address(kind: type[IPv4Address] | type[IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except AddressValueError:
        return False
    return "%" not in text  # the name of a network card of ours
