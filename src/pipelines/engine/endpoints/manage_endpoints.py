"""Tool endpoints of an org: registered, changed, deleted, and asked for their tools."""

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from uuid import uuid4

from pipelines.core.endpoints.endpoint_config import CONFIG_FIELDS
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.tools.live_tools import LiveCallFailed
from pipelines.engine.endpoints.check_endpoint import WHAT, check_endpoint, name_taken
from pipelines.engine.endpoints.discover_endpoint import Discovered, discover
from pipelines.engine.platform import Platform
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.endpoint_bindings import agents_bound_to
from pipelines.storage.agents.tool_endpoints import CountedEndpoint, ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import texts
from pipelines.storage.tasks.texts import Text
from pipelines.wire.errors import Conflict, EndpointBound, NotFound
from pipelines.wire.records import Flat, Record


async def create_endpoint(platform: Platform, org_id: int, body: JsonObject) -> CountedEndpoint:
    """Stored, then asked for its tools. Where that fails it is there without tools, and says why."""
    body = _without_own_org(body, org_id)
    definition, content = await check_endpoint(platform, org_id, body)
    now = platform.now()
    endpoint = ToolEndpoint(
        id=str(uuid4()),
        org_id=org_id,
        name=definition.name,
        type=definition.type,
        config=definition.split_config().small,
        content_hash=content.hash if content is not None else None,
        auth=definition.auth,
        version=1,
        discovered_at=None,
        created_at=now,
        updated_at=now,
    )
    await _store_content(platform, content)
    await platform.database.write(partial(_add, endpoint=endpoint))
    # Why it failed is kept at the endpoint, which is answered with; where somebody was faster, theirs stands.
    with suppress(LiveCallFailed, Conflict):
        await discover(platform, endpoint, accept=False)
    return await find_counted(platform, org_id, endpoint.id)


def _without_own_org(body: JsonObject, org_id: int) -> JsonObject:
    """A request may name the org that it means: the key's."""
    named = body.get("org_id", org_id)
    if named != org_id or isinstance(named, bool):
        problem = Problem(
            path="/org_id",
            message="is not the org of this API key",
            hint="leave it out, or use a key of that org",
        )
        raise Refused([problem], WHAT)
    return {key: value for key, value in body.items() if key != "org_id"}


def _add(connection: Connection, endpoint: ToolEndpoint) -> None:
    if not tool_endpoints.add_endpoint(connection, endpoint):
        raise Refused([name_taken(endpoint.name)], WHAT)
    _keep_content(connection, endpoint)


async def change_endpoint(
    platform: Platform, org_id: int, endpoint_id: str, body: JsonObject
) -> CountedEndpoint:
    """`name`, `config` and `auth` are replaced where they are given; tools that change by it are drift."""
    before = await find_endpoint(platform, org_id, endpoint_id)
    definition, content = await check_endpoint(platform, org_id, await _merge(platform, before, body), before)
    await _store_content(platform, content)
    changed = replace(
        before,
        name=definition.name,
        config=definition.split_config().small,
        content_hash=content.hash if content is not None else None,
        auth=definition.auth,
        updated_at=platform.now(),
    )
    is_other = _changeable_fields(replace(changed, name=before.name)) != _changeable_fields(before)
    stored = await platform.database.write(
        partial(_change, before=before, changed=changed, is_other=is_other)
    )
    if is_other:
        with suppress(LiveCallFailed, Conflict):
            await discover(platform, stored, accept=False)
    return await find_counted(platform, org_id, endpoint_id)


def _change(
    connection: Connection, before: ToolEndpoint, changed: ToolEndpoint, *, is_other: bool
) -> ToolEndpoint:
    held = tool_endpoints.hold_endpoint(connection, before.org_id, before.id)
    now = tool_endpoints.endpoint_by_id(connection, before.org_id, before.id) if held else None
    if now is None:
        raise NotFound(f"There is no tool endpoint {before.id}.")
    if _changeable_fields(now) != _changeable_fields(before):  # what was not given would be taken back
        raise Conflict(f"Tool endpoint `{now.name}` was changed meanwhile; look at it, and change it again.")
    if changed.name != now.name:
        if tool_endpoints.endpoint_by_name(connection, before.org_id, changed.name) is not None:
            raise Refused([name_taken(changed.name)], WHAT)
        _refuse_bound(connection, now, "renamed", by_name_only=True)
    stored = replace(changed, version=now.version + (1 if is_other else 0))
    tool_endpoints.change_endpoint(connection, stored)
    _release_content(connection, now, stored.updated_at)
    _keep_content(connection, stored)  # may be the same
    return stored


def _changeable_fields(endpoint: ToolEndpoint) -> tuple[object, ...]:
    """All of it that a request can change."""
    return endpoint.name, endpoint.config, endpoint.content_hash, endpoint.auth


async def delete_endpoint(platform: Platform, org_id: int, endpoint_id: str) -> None:
    """409 with the agents that bind it, where there are any."""
    await find_endpoint(platform, org_id, endpoint_id)

    def delete(connection: Connection) -> None:
        held = tool_endpoints.hold_endpoint(connection, org_id, endpoint_id)
        endpoint = tool_endpoints.endpoint_by_id(connection, org_id, endpoint_id) if held else None
        if endpoint is None:
            raise NotFound(f"There is no tool endpoint {endpoint_id}.")
        _refuse_bound(connection, endpoint, "deleted")
        tool_endpoints.delete_endpoint(connection, endpoint_id)
        _release_content(connection, endpoint, now)

    now = platform.now()
    await platform.database.write(delete)


def _refuse_bound(
    connection: Connection, endpoint: ToolEndpoint, done: str, *, by_name_only: bool = False
) -> None:
    bound = agents_bound_to(connection, endpoint.id, by_name_only=by_name_only)
    if not bound:
        return
    first = ", ".join(f"`{agent.name[:80]}` ({agent.id})" for agent in bound[:5])
    more = f" and {len(bound) - 5} more" if len(bound) > 5 else ""
    how = "by its name " if by_name_only else ""
    raise EndpointBound(
        f"Tool endpoint `{endpoint.name}` cannot be {done}: {first}{more} bind tools to it {how}— bind them"
        " elsewhere, or to the sandbox, first.",
        details={"agents": [{"id": agent.id, "name": agent.name} for agent in bound]},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointDiscovery(Record):
    """A tool endpoint, and what a discovery changed."""

    endpoint: Flat[CountedEndpoint]
    discovered: Flat[Discovered]


async def discover_tools(
    platform: Platform, org_id: int, endpoint_id: str, body: JsonObject
) -> EndpointDiscovery:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("accept",))
    accept = body.get("accept", False)
    if not isinstance(accept, bool):
        fields.refuse("accept", "must be true or false")
    if problems:
        raise Refused(problems, "the request")
    endpoint = await find_endpoint(platform, org_id, endpoint_id)
    discovered = await discover(platform, endpoint, accept=accept is True)
    found = await find_counted(platform, org_id, endpoint_id)
    return EndpointDiscovery(endpoint=found, discovered=discovered)


async def find_endpoint(platform: Platform, org_id: int, endpoint_id: str) -> ToolEndpoint:
    return (await find_counted(platform, org_id, endpoint_id)).endpoint


async def find_counted(platform: Platform, org_id: int, endpoint_id: str) -> CountedEndpoint:
    found = None
    if "\0" not in endpoint_id:  # Postgres takes none
        found = await platform.database.read(
            lambda connection: tool_endpoints.counted_endpoint(connection, org_id, endpoint_id)
        )
    if found is None:
        raise NotFound(f"There is no tool endpoint {endpoint_id[:80]}.")
    return found


async def _merge(platform: Platform, before: ToolEndpoint, body: JsonObject) -> JsonObject:
    """What is not given stays; a config is replaced whole."""
    kept: JsonObject = {"name": before.name, "type": before.type, "auth": before.auth}
    if "config" not in body and not body.keys() & set(CONFIG_FIELDS):
        kept["config"] = await platform.database.read(
            lambda connection: tool_endpoints.whole_config(connection, before)
        )
    return kept | body


async def _store_content(platform: Platform, content: Text | None) -> None:
    """Part by part, so that nobody waits long; what is there already costs nothing."""
    if content is None:
        return
    if await platform.database.read(partial(texts.missing_texts, hashes=[content.hash])):
        now = platform.now()
        for parts in texts.slices_of([content]):
            await platform.database.write_part(partial(texts.add_parts, parts=parts, now=now))


def _keep_content(connection: Connection, endpoint: ToolEndpoint) -> None:
    if endpoint.content_hash is not None:
        texts.keep_texts(connection, [endpoint.content_hash])


def _release_content(connection: Connection, endpoint: ToolEndpoint, now: str) -> None:
    """Removed at a later start, unless another endpoint has the same."""
    if endpoint.content_hash is not None:
        texts.let_go_of_texts(connection, [endpoint.content_hash], now=now)
