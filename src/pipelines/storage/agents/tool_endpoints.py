"""Tool endpoints of an org, and the tools that were found on each.

What is large of a config (a spec, source) is a text of its own: `endpoint_by_id` and `endpoint_by_name` do
not read it, `whole_config` does. A call needs only the endpoint and `found_tool`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Annotated, Any, NamedTuple

from pipelines.core.endpoints.endpoint_drift import StoredTool
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.tools.live_tools import DiscoveredTool
from pipelines.core.tools.passthrough_binding import ENDPOINT_TYPES
from pipelines.storage.database.connection import Connection, Row, in_list, insert_many, insert_row, some_of
from pipelines.storage.database.paging import Filter, Page, page_of
from pipelines.storage.database.records import Mapper, Stored, first_column, json_text
from pipelines.storage.tasks.texts import SLICE_ROWS, text_of
from pipelines.wire.records import Flat, Hidden, Moment, Record, Schema, one_of

MAX_PAGE_CHARACTERS = 4 * 1024 * 1024  # of the tools in a page
_SIZE = "LENGTH(body) + COALESCE(LENGTH(found), 0)"
_COUNTED = (
    "(SELECT e.*, (SELECT COUNT(*) FROM endpoint_tools t WHERE t.endpoint_id = e.endpoint_id) AS tools,"
    " (SELECT COUNT(*) FROM endpoint_tools t WHERE t.endpoint_id = e.endpoint_id AND t.drift IS NOT NULL)"
    " AS drifted FROM tool_endpoints e) AS counted"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolEndpoint(Record, component=""):
    """A tool endpoint."""

    id: Annotated[
        str, Stored(column="endpoint_id"), Schema(format="uuid"), "what `endpoint_id` of a binding names"
    ]
    org_id: Hidden[int]
    name: str
    type: Annotated[str, one_of(ENDPOINT_TYPES)]
    config: Annotated[JsonObject, "without a spec, source, files or zip"]
    content_hash: Annotated[str | None, "of what is left out of `config`; null: nothing is"] = None
    auth: JsonObject | None
    version: Annotated[int, "up with every change of config, auth or accepted tools"]
    discovered_at: Annotated[Moment | None, "when its tools were last seen"]
    discovery_error: Annotated[str | None, "why they were not, the last time"] = None
    discovery_notes: Annotated[tuple[str, ...], "what could not be made a tool, or got another name"] = ()
    created_at: Moment
    updated_at: Moment


class EndpointHead(NamedTuple):
    id: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CountedEndpoint(Record, component="ToolEndpoint"):
    """A tool endpoint."""

    endpoint: Flat[ToolEndpoint]
    tools: Annotated[int, "how many are accepted"]
    drifted: Annotated[int, "how many of these have changed or gone since"]


_ENDPOINT = Mapper(ToolEndpoint)
_COUNTED_COLUMNS = f"{_ENDPOINT.columns}, tools, drifted"


def add_endpoint(connection: Connection, endpoint: ToolEndpoint) -> bool:
    """False where its name is taken."""
    row = _ENDPOINT.row(endpoint) | {"discovered_at": None, "discovery_error": None, "discovery_notes": []}
    return (
        insert_row(connection, "tool_endpoints", row, "ON CONFLICT (org_id, name) DO NOTHING").rowcount == 1
    )


def change_endpoint(connection: Connection, endpoint: ToolEndpoint) -> None:
    """Name, config, auth and version as they are now."""
    connection.execute(
        "UPDATE tool_endpoints SET name = ?, config = ?, content_hash = ?, auth = ?, version = ?,"
        " updated_at = ? WHERE endpoint_id = ?",
        (
            *(endpoint.name, json_text(endpoint.config), endpoint.content_hash, json_text(endpoint.auth)),
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
    statement = f"SELECT {_ENDPOINT.columns} FROM tool_endpoints WHERE endpoint_id = ? AND org_id = ?"
    return _ENDPOINT.one(connection, statement, (endpoint_id, org_id))


def endpoint_by_name(connection: Connection, org_id: int, name: str) -> ToolEndpoint | None:
    statement = f"SELECT {_ENDPOINT.columns} FROM tool_endpoints WHERE org_id = ? AND name = ?"
    return _ENDPOINT.one(connection, statement, (org_id, name))


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
        columns=f"{_COUNTED_COLUMNS}, id",
    )
    return Page([_counted(row) for row in rows.items], rows.last_id)


def counted_endpoint(connection: Connection, org_id: int, endpoint_id: str) -> CountedEndpoint | None:
    row = connection.execute(
        f"SELECT {_COUNTED_COLUMNS} FROM {_COUNTED} WHERE endpoint_id = ? AND org_id = ?",
        (endpoint_id, org_id),
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
    for some in some_of(names, SLICE_ROWS):
        for row in connection.execute(
            f"SELECT * FROM endpoint_tools WHERE endpoint_id = ? AND name IN {in_list(some)}",
            (endpoint_id, *some),
        ):
            found[row["name"]] = _tool(row)
    return found


def tool_names(connection: Connection, endpoint_id: str) -> frozenset[str]:
    statement = "SELECT name FROM endpoint_tools WHERE endpoint_id = ?"
    return frozenset(first_column(connection, statement, (endpoint_id,)))


def tools_of_endpoint(
    connection: Connection, endpoint_id: str, *, is_drifted: bool = False, limit: int, after_id: int | None
) -> Page[StoredTool]:
    """In the order in which they were found; with `is_drifted` only those that are otherwise by now. A page
    ends early at MAX_PAGE_CHARACTERS."""
    columns: dict[str, Any] = {
        "filters": [Filter("endpoint_id", endpoint_id)],
        "before_id": after_id,
        "newest_first": False,
        "where": "drift IS NOT NULL" if is_drifted else None,
    }
    sizes = page_of(connection, "endpoint_tools", limit=limit, columns=f"id, {_SIZE} AS size", **columns)
    within = takewhile(
        lambda size: size <= MAX_PAGE_CHARACTERS, accumulate(row["size"] for row in sizes.items)
    )
    fitting = max(sum(1 for _ in within), 1)
    rows = page_of(connection, "endpoint_tools", limit=fitting, **columns)
    return Page([_tool(row) for row in rows.items], rows.last_id)


def store_tools(connection: Connection, endpoint_id: str, tools: Sequence[StoredTool]) -> None:
    """New ones, and what some that are there have become."""
    rows = [
        {
            "endpoint_id": endpoint_id,
            "name": tool.accepted.name,
            "fingerprint": tool.accepted.fingerprint,
            "body": tool.accepted.as_json(),
            "drift": tool.drift,
            "found": tool.found.as_json() if tool.found is not None else None,
        }
        for tool in tools
    ]
    insert_many(
        connection,
        "endpoint_tools",
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
        (now, json_text([*notes]), 1 if is_changed else 0, now, endpoint_id),
    )


def fail_discovery(connection: Connection, endpoint_id: str, *, error: str) -> None:
    """The tools stay as they were."""
    connection.execute(
        "UPDATE tool_endpoints SET discovery_error = ? WHERE endpoint_id = ?", (error, endpoint_id)
    )


def _counted(row: Row) -> CountedEndpoint:
    endpoint = _ENDPOINT.read(row[: len(_ENDPOINT.written)])
    return CountedEndpoint(endpoint, int(row["tools"]), int(row["drifted"]))


def _tool(row: Row) -> StoredTool:
    found = DiscoveredTool.from_stored(loads_own(row["found"])) if row["found"] is not None else None
    return StoredTool(DiscoveredTool.from_stored(loads_own(row["body"])), row["drift"], found)
