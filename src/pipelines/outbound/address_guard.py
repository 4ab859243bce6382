"""Which addresses the platform may connect to on behalf of its users.

A name is resolved once, each of its addresses is judged, and the connection goes to one that was judged:
there is no second lookup that could answer otherwise. Names are never judged by their spelling. TLS still
verifies the name, because only the network connection is made by address.
"""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from httpcore2 import (
    SOCKET_OPTION,
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
#: The addresses of a host name, as text.
Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]

#: Where clouds keep the credentials of the machine, beside the link-local ones: refused under every policy.
METADATA_NETWORKS: tuple[Network, ...] = tuple(
    map(
        ip_network,
        (
            "100.100.100.200/32",  # Alibaba
            "168.63.129.16/32",  # Azure's wire server: a public address that each machine sees as its host
            "192.0.0.192/32",  # Oracle
            "fd00:ec2::/32",  # AWS: metadata, DNS, time, pod identity
            "fd00:42::42/128",  # Scaleway
            "fd20:ce::254/128",  # Google
        ),
    )
)
# `ipaddress` calls these global: 6to4 relays (withdrawn in RFC 7526), site-local, documentation.
_NOT_GLOBAL = tuple(map(ip_network, ("192.88.99.0/24", "fec0::/10", "3fff::/20")))
_NAT64 = IPv6Network("64:ff9b::/96")


ALLOWED_BY = "PIPELINES_ALLOW_PRIVATE_ENDPOINTS=yes lets a server call its own machine and network"
NEVER_ALLOWED = "no setting allows this address: name the address of the service itself"


class AddressRefused(ConnectError):
    """The policy does not let the platform connect there. The message names the host, not its address."""

    def __init__(self, message: str, *, is_final: bool) -> None:
        super().__init__(message)
        self.is_final = is_final  # under every policy

    @property
    def hint(self) -> str:
        return NEVER_ALLOWED if self.is_final else ALLOWED_BY


@dataclass(frozen=True, kw_only=True, slots=True)
class AddressPolicy:
    #: Loopback and private networks too: for a platform that runs on its user's own machine or network.
    allow_private: bool = False

    def refusal(self, text: str) -> str | None:
        """Why an address may not be connected to ("a private address"); None when it may."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return "no IP address"
        return next(filter(None, map(self._judge, _all_forms(address))), None)

    def _judge(self, address: Address) -> str | None:
        if address.is_link_local or _is_in(address, METADATA_NETWORKS):
            return "a link-local or metadata address"
        if address.is_multicast:
            return "a multicast address"
        if address.is_loopback or address.is_unspecified:  # connecting to 0.0.0.0 reaches this machine
            return None if self.allow_private else "a loopback address"
        if address.is_reserved:
            return "a reserved address"
        if not address.is_global or _is_in(address, _NOT_GLOBAL):
            return None if self.allow_private else "a private or reserved address"
        return None


def _all_forms(address: Address) -> Iterator[Address]:
    """The address, and each IPv4 address that it is a wrapping of: packets may end up there."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address in _NAT64:  # also only a spelling: in an IPv6-only network every IPv4 host has it
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    else:
        yield address
        yield from filter(None, (address.sixtofour, *(address.teredo or ())))


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


async def system_resolver(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


class GuardedBackend(AsyncNetworkBackend):
    """The network below an HTTP client: the only place where a connection is made."""

    def __init__(self, policy: AddressPolicy, resolver: Resolver = system_resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._network = AnyIOBackend()

    async def allowed_addresses(self, host: str, port: int) -> list[str]:
        """The host's addresses. AddressRefused if the policy is against one of them, ConnectError if none."""
        try:
            addresses = [str(ip_address(host))]
        except ValueError:
            addresses = await self._resolve(host, port)
        for address in addresses:
            # One public address among private ones is how a name is made to look harmless.
            if refusal := self._policy.refusal(address):
                is_final = AddressPolicy(allow_private=True).refusal(address) is not None
                message = (
                    f"{host} is {refusal}, which this server {'never calls' if is_final else 'does not call'}"
                )
                raise AddressRefused(message, is_final=is_final)
        return addresses

    async def _resolve(self, host: str, port: int) -> list[str]:
        try:
            addresses = list(await self._resolver(host, port))
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that is empty or too long
            raise ConnectError(f"the name {host} cannot be resolved") from error
        if not addresses:
            raise ConnectError(f"the name {host} has no address")
        return addresses

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the signature is httpcore's)
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """To the first address that answers. Nothing is sent yet, so trying the next one repeats nothing."""
        ends = None if timeout is None else time.monotonic() + timeout
        try:
            async with asyncio.timeout(timeout):
                addresses = await self.allowed_addresses(host, port)
        except TimeoutError:
            raise ConnectTimeout(f"the name {host} was not resolved in time") from None
        failure: Exception = ConnectTimeout(f"no address of {host} answered in time")
        for index, address in enumerate(addresses):
            # Each gets its share of what is left: one that swallows packets must not take it all.
            share = None if ends is None else max(0.0, ends - time.monotonic()) / (len(addresses) - index)
            try:
                return await self._network.connect_tcp(address, port, share, local_address, socket_options)
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 (the signature is httpcore's)
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        raise AddressRefused(
            "a Unix socket cannot be the address of an agent or tool endpoint", is_final=True
        )

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
