"""From a stored tool endpoint to one that can be asked: its config whole, its credentials opened."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from pipelines.core.code.redaction import Redaction
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.tools.live_tools import EndpointValues, LiveCallFailed, LiveEndpoint
from pipelines.engine.access.manage_credentials import CredentialMissing, bind_to_host, open_credentials
from pipelines.engine.platform import Platform
from pipelines.storage.agents.tool_endpoints import ToolEndpoint, whole_config


class OpenedEndpoint(NamedTuple):
    values: EndpointValues
    redaction: Redaction  # of every credential that it was given


async def open_endpoint(platform: Platform, endpoint: ToolEndpoint) -> OpenedEndpoint:
    """Raises HopFailed where a credential is gone or unusable."""
    config = await platform.database.read(lambda connection: whole_config(connection, endpoint))
    variables = _text_by_text(config.get("env_vars"))
    named = endpoint.auth.get("credential") if endpoint.auth is not None else None
    names = [*dict.fromkeys([*variables.values(), *([str(named)] if named is not None else [])])]
    try:
        opened = await open_credentials(platform, endpoint.org_id, names)
        host = _host_of(config)
        if named is not None and host is not None:
            await bind_to_host(platform, endpoint.org_id, str(named), host)
    except CredentialMissing as error:
        raise LiveCallFailed(f"Tool endpoint `{endpoint.name}` cannot be asked: {error}.") from None
    values = EndpointValues(
        endpoint_id=endpoint.id,
        org_id=endpoint.org_id,
        version=endpoint.version,
        config=config,
        auth_headers=auth_headers(endpoint.auth, opened),
        secrets={credential: opened[credential] for credential in variables.values()},
        variables={variable: opened[credential] for variable, credential in variables.items()},
        credentials=opened,
    )
    return OpenedEndpoint(values, Redaction(opened))


def make_endpoint(platform: Platform, type: str, values: EndpointValues) -> LiveEndpoint:
    """The caller closes it. Raises HopFailed where this server cannot ask such endpoints."""
    maker = platform.endpoint_makers.get(type)
    if maker is None:
        raise LiveCallFailed(cannot_ask(type))
    return maker(values)


def cannot_ask(type: str) -> str:
    return f"This server cannot ask tool endpoints of type `{type}`."


class AskableEndpoint(NamedTuple):
    live: LiveEndpoint
    redaction: Redaction


@asynccontextmanager
async def open_once(platform: Platform, endpoint: ToolEndpoint) -> AsyncIterator[AskableEndpoint]:
    """For one question, and closed behind it. What a failure says holds no secret."""
    opened = await open_endpoint(platform, endpoint)
    live = make_endpoint(platform, endpoint.type, opened.values)
    try:
        yield AskableEndpoint(live, opened.redaction)
    except LiveCallFailed as failed:
        hide = opened.redaction.text
        raise LiveCallFailed(hide(failed.message), notes=tuple(map(hide, failed.notes))) from None
    finally:
        await live.close()


def auth_headers(auth: JsonObject | None, opened: Mapping[str, str]) -> dict[str, str]:
    """What authenticates a request. Raises HopFailed for a value that no header can have."""
    if auth is None:
        return {}
    name = str(auth["credential"])
    value = opened[name].strip()
    if not value.isascii() or not value.isprintable():
        message = f"The credential `{name}` cannot be sent: a header takes printable ASCII on one line."
        raise LiveCallFailed(message)
    if auth["type"] == "bearer":
        return {"Authorization": f"Bearer {value}"}
    return {str(auth["header"]): value}


def _host_of(config: JsonObject) -> str | None:
    """Where its auth header is sent; None for what is started here."""
    url = config.get("base_url") or config.get("url")
    return urlsplit(str(url)).hostname if url else None


def _text_by_text(value: Json) -> dict[str, str]:
    return {key: str(text) for key, text in value.items()} if isinstance(value, dict) else {}
