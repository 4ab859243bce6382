"""Tool endpoints of an org, and the tools that were found on each.

What is large of a config (a spec, source) is a text of its own: `endpoint_by_id` and `endpoint_by_name` do
not read it, `whole_config` does. A call needs only the endpoint and `found_tool`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

from pipelines.core.endpoints.endpoint_drift import StoredTool
from pipelines.core.text.json_text import JsonObject, dumps, loads_own
from pipelines.core.text.stored import stored_list
from pipelines.core.tools.live_tools import DiscoveredTool
from pipelines.storage.database.connection import Connection, Row, in_list, insert_many
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.tasks.texts import SLICE_ROWS, text_of

MAX_PAGE_CHARACTERS = 4 * 1024 * 1024  # of the tools in a page
_SIZE = "LENGTH(body) + COALESCE(LENGTH(found), 0)"
_COUNTED = (
    "(SELECT e.*, (SELECT COUNT(*) FROM endpoint_tools t WHERE t.endpoint_id = e.endpoint_id) AS tools,"
    " (SELECT COUNT(*) FROM endpoint_tools t WHERE t.endpoint_id = e.endpoint_id AND t.drift IS NOT NULL)"
    " AS drifted FROM tool_endpoints e) AS counted"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEndpoint:
    id: str  # a UUID
    org_id: int
    name: str
    type: str
    config: JsonObject  # without what is large of it: see `whole_config`
    content_hash: str | None = None  # the text that has what is large
    auth: JsonObject | None
    version: int  # up with every change of config, auth or accepted tools
    discovered_at: str | None  # when its tools were last seen
    discovery_error: str | None = None  # why the last attempt found nothing
    discovery_notes: tuple[str, ...] = ()
    created_at: str
    updated_at: str

    def as_json(self) -> JsonObject:
        return {
            "id": self.id,
            "name": self.name,
            "type": self.type,
            "config": self.config,
            "content_hash": self.content_hash,
            "auth": self.auth,
            "version": self.version,
            "discovered_at": self.discovered_at,
            "discovery_error": self.discovery_error,
            "discovery_notes": [*self.discovery_notes],
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }


class EndpointHead(NamedTuple):
    id: str
    name: str
    type: str


class CountedEndpoint(NamedTuple):
    endpoint: ToolEndpoint
    tools: int  # accepted ones
    drifted: int  # of these, changed or gone since

    def as_json(self) -> JsonObject:
        return self.endpoint.as_json() | {"tools": self.tools, "drifted": self.drifted}


def add_endpoint(connection: Connection, endpoint: ToolEndpoint) -> bool:
    """False where its name is taken."""
    added = connection.execute(
        "INSERT INTO tool_endpoints (endpoint_id, org_id, name, type, config, content_hash, auth, version,"
        " discovery_notes, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '[]', ?, ?)"
        " ON CONFLICT (org_id, name) DO NOTHING",
        (
            *(endpoint.id, endpoint.org_id, endpoint.name, endpoint.type, _text(endpoint.config)),
            *(endpoint.content_hash, _text(endpoint.auth), endpoint.version),
            *(endpoint.created_at, endpoint.updated_at),
        ),
    )
    return added.rowcount == 1


def change_endpoint(connection: Connection, endpoint: ToolEndpoint) -> None:
    """Name, config, auth and version as they are now."""
    connection.execute(
        "UPDATE tool_endpoints SET name = ?, config = ?, content_hash = ?, auth = ?, version = ?,"
        " updated_at = ? WHERE endpoint_id = ?",
        (
            *(endpoint.name, _text(endpoint.config), endpoint.content_hash, _text(endpoint.auth)),
            *(endpoint.version, endpoint.updated_at, endpoint.id),
        ),
    )


def hold_endpoint(
    connection: Connection, org_id: int, endpoint_id: str, *, version: int | None = None
) -> bool:
    """Whether it is there, in this version where one is given, and stays as it is for others until this
    transaction ends."""
    held = connection.execute(
        "UPDATE tool_endpoints SET version = version WHERE endpoint_id = ? AND org_id = ?"
        " AND version = COALESCE(?, version)",
        (endpoint_id, org_id, version),
    )
    return held.rowcount == 1


def delete_endpoint(connection: Connection, endpoint_id: str) -> None:
    """With its tools. Whoever asks has seen that no agent binds it but deleted ones."""
    connection.execute("DELETE FROM endpoint_bindings WHERE endpoint_id = ?", (endpoint_id,))
    connection.execute("DELETE FROM endpoint_tools WHERE endpoint_id = ?", (endpoint_id,))
    connection.execute("DELETE FROM tool_endpoints WHERE endpoint_id = ?", (endpoint_id,))


def endpoint_by_id(connection: Connection, org_id: int, endpoint_id: str) -> ToolEndpoint | None:
    row = connection.execute(
        "SELECT * FROM tool_endpoints WHERE endpoint_id = ? AND org_id = ?", (endpoint_id, org_id)
    ).fetchone()
    return _endpoint(row) if row else None


def endpoint_by_name(connection: Connection, org_id: int, name: str) -> ToolEndpoint | None:
    row = connection.execute(
        "SELECT * FROM tool_endpoints WHERE org_id = ? AND name = ?", (org_id, name)
    ).fetchone()
    return _endpoint(row) if row else None


def whole_config(connection: Connection, endpoint: ToolEndpoint) -> JsonObject:
    """With what is large of it: what an endpoint is made of."""
    if endpoint.content_hash is None:
        return endpoint.config
    content = loads_own(text_of(connection, endpoint.content_hash))
    assert isinstance(content, dict)
    return endpoint.config | content


def endpoints_of_org(
    connection: Connection, org_id: int, *, name: str | None = None, limit: int, before_id: int | None
) -> Page[CountedEndpoint]:
    """Newest first; with `name` only the one of this name."""
    rows = page_of(
        connection,
        _COUNTED,
        filters=[Filter("org_id", org_id), Filter("name", name)],
        limit=limit,
        before_id=before_id,
    )
    return Page([_counted(row) for row in rows.items], rows.last_id)


def counted_endpoint(connection: Connection, org_id: int, endpoint_id: str) -> CountedEndpoint | None:
    row = connection.execute(
        f"SELECT * FROM {_COUNTED} WHERE endpoint_id = ? AND org_id = ?", (endpoint_id, org_id)
    ).fetchone()
    return _counted(row) if row else None


def endpoint_heads(connection: Connection, org_id: int) -> list[EndpointHead]:
    """All of an org."""
    rows = connection.execute(
        "SELECT endpoint_id, name, type FROM tool_endpoints WHERE org_id = ? ORDER BY id", (org_id,)
    )
    return [EndpointHead(*row) for row in rows]


def found_tool(connection: Connection, endpoint_id: str, name: str) -> DiscoveredTool | None:
    """The tool as it was accepted."""
    row = connection.execute(
        "SELECT body FROM endpoint_tools WHERE endpoint_id = ? AND name = ?", (endpoint_id, name)
    ).fetchone()
    return DiscoveredTool.from_stored(loads_own(row[0])) if row else None


def tools_by_name(connection: Connection, endpoint_id: str, names: Sequence[str]) -> dict[str, StoredTool]:
    """Those of some names that are there."""
    found: dict[str, StoredTool] = {}
    for start in range(0, len(names), SLICE_ROWS):
        some = names[start : start + SLICE_ROWS]
        for row in connection.execute(
            f"SELECT * FROM endpoint_tools WHERE endpoint_id = ? AND name IN {in_list(some)}",
            (endpoint_id, *some),
        ):
            found[row["name"]] = _tool(row)
    return found


def tool_names(connection: Connection, endpoint_id: str) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM endpoint_tools WHERE endpoint_id = ?", (endpoint_id,))
    return frozenset(row[0] for row in rows)


def tools_of_endpoint(
    connection: Connection, endpoint_id: str, *, is_drifted: bool = False, limit: int, after_id: int | None
) -> Page[StoredTool]:
    """In the order in which they were found; with `is_drifted` only those that are otherwise by now. A page
    ends early at MAX_PAGE_CHARACTERS."""
    asked: dict[str, Any] = {
        "filters": [Filter("endpoint_id", endpoint_id)],
        "before_id": after_id,
        "newest_first": False,
        "where": "drift IS NOT NULL" if is_drifted else None,
    }
    sizes = page_of(connection, "endpoint_tools", limit=limit, columns=f"id, {_SIZE} AS size", **asked)
    within = takewhile(
        lambda size: size <= MAX_PAGE_CHARACTERS, accumulate(row["size"] for row in sizes.items)
    )
    fitting = max(sum(1 for _ in within), 1)
    rows = page_of(connection, "endpoint_tools", limit=fitting, **asked)
    return Page([_tool(row) for row in rows.items], rows.last_id)


def store_tools(connection: Connection, endpoint_id: str, tools: Sequence[StoredTool]) -> None:
    """New ones, and what some that are there have become."""
    rows = [
        (
            *(endpoint_id, tool.accepted.name, tool.accepted.fingerprint, _text(tool.accepted.as_json())),
            *(tool.drift, _text(tool.found.as_json()) if tool.found is not None else None),
        )
        for tool in tools
    ]
    insert_many(
        connection,
        "INSERT INTO endpoint_tools (endpoint_id, name, fingerprint, body, drift, found) VALUES",
        rows,
        "ON CONFLICT (endpoint_id, name) DO UPDATE SET fingerprint = excluded.fingerprint,"
        " body = excluded.body, drift = excluded.drift, found = excluded.found",
    )


def remove_tools(connection: Connection, endpoint_id: str, names: Sequence[str]) -> None:
    connection.execute(
        f"DELETE FROM endpoint_tools WHERE endpoint_id = ? AND name IN {in_list(names)}",
        (endpoint_id, *names),
    )


def end_discovery(
    connection: Connection, endpoint_id: str, *, notes: Sequence[str], is_changed: bool, now: str
) -> None:
    """All tools found are stored; `is_changed`: what is accepted is not what it was."""
    connection.execute(
        "UPDATE tool_endpoints SET discovered_at = ?, discovery_error = NULL, discovery_notes = ?,"
        " version = version + ?, updated_at = ? WHERE endpoint_id = ?",
        (now, _text([*notes]), 1 if is_changed else 0, now, endpoint_id),
    )


def fail_discovery(connection: Connection, endpoint_id: str, *, error: str) -> None:
    """The tools stay as they were."""
    connection.execute(
        "UPDATE tool_endpoints SET discovery_error = ? WHERE endpoint_id = ?", (error, endpoint_id)
    )


def _text(value: object) -> str | None:
    return dumps(value).decode() if value is not None else None


def _endpoint(row: Row) -> ToolEndpoint:
    config, auth = loads_own(row["config"]), loads_own(row["auth"]) if row["auth"] is not None else None
    assert isinstance(config, dict)
    return ToolEndpoint(
        id=row["endpoint_id"],
        org_id=row["org_id"],
        name=row["name"],
        type=row["type"],
        config=config,
        content_hash=row["content_hash"],
        auth=auth if isinstance(auth, dict) else None,
        version=row["version"],
        discovered_at=row["discovered_at"],
        discovery_error=row["discovery_error"],
        discovery_notes=tuple(stored_list(loads_own(row["discovery_notes"]))),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _counted(row: Row) -> CountedEndpoint:
    return CountedEndpoint(_endpoint(row), int(row["tools"]), int(row["drifted"]))


def _tool(row: Row) -> StoredTool:
    found = DiscoveredTool.from_stored(loads_own(row["found"])) if row["found"] is not None else None
    return StoredTool(DiscoveredTool.from_stored(loads_own(row["body"])), row["drift"], found)
