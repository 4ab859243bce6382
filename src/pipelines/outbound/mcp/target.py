"""Where an MCP server is, and what may be used to get there."""

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from httpx2 import URL, InvalidURL

from pipelines.core.code.held_commands import Command, OpenPipes
from pipelines.core.text.json_text import JsonObject
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.outbound.address_guard import AddressPolicy, Resolver, system_resolver

_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110, 5.1


@dataclass(frozen=True, kw_only=True, slots=True)
class McpTarget:
    urls: Sequence[str] = ()  # tried in this order
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # the caller's credentials
    command: Command | None = None  # in place of URLs
    policy: AddressPolicy = field(default_factory=AddressPolicy)
    resolver: Resolver = system_resolver
    tls: ssl.SSLContext | None = None
    open_pipes: OpenPipes | None = None  # None: no processes here

    def check(self) -> None:
        """Raises HopFailed for what cannot be tried at all."""
        if self.command is not None and self.open_pipes is None:
            raise LiveCallFailed(
                "this server starts no MCP servers (PIPELINES_MCP_STDIO is not set):"
                " start it yourself, with HTTP, and register its url"
            )
        if self.command is None and not self.urls:
            raise LiveCallFailed("the endpoint's config has neither a url nor a command")
        for url in self.urls:
            try:
                is_usable = URL(url).scheme in ("http", "https") and bool(URL(url).host)
            except InvalidURL:
                is_usable = False
            if not is_usable:
                raise LiveCallFailed("the endpoint's url must start with http:// or https:// and name a host")
        if any(not _is_sendable(name, value) for name, value in self.headers.items()):
            # Found here, because the HTTP library would quote the value in its log.
            raise LiveCallFailed("the endpoint's credential cannot be sent as a header: check its value")


def urls_of(url: str) -> tuple[str, ...]:
    """A URL of the transport that came before streamable HTTP ends in /sse; many such servers have both."""
    path, mark, query = url.partition("?")
    if path.rstrip("/").endswith("/sse"):
        return url, path.rstrip("/").removesuffix("sse") + "mcp" + mark + query
    return (url,)


def command_of(config: JsonObject, variables: Mapping[str, str], org_id: int) -> Command | None:
    command, arguments = config.get("command"), config.get("args")
    if not isinstance(command, str):
        return None
    rest = [str(each) for each in arguments] if isinstance(arguments, list) else []
    return Command(argv=(command, *rest), variables=variables, org_id=org_id)


def _is_sendable(name: str, value: str) -> bool:
    return (
        _HEADER_NAME.fullmatch(name) is not None
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
    )
