"""Tool endpoints at rest: whose they are, what was found on them, and which agents bind them."""

from uuid import uuid4

import pytest

from pipelines.core.endpoints.endpoint_drift import CHANGED, GONE, StoredTool
from pipelines.core.tools.live_tools import DiscoveredTool
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.agents import tool_endpoints
from pipelines.storage.agents.agents import add_agent, delete_agent
from pipelines.storage.agents.endpoint_bindings import Binding, agents_bound_to, set_bindings
from pipelines.storage.agents.tool_endpoints import ToolEndpoint
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.tasks.texts import add_parts, named, slices_of

pytestmark = pytest.mark.anyio
NOW, LATER = "2026-05-01T12:00:00.000000Z", "2026-05-01T13:00:00.000000Z"


@pytest.fixture
async def database(database: Database) -> Database:
    await database.write(lambda connection: [add_org(connection, name, NOW) for name in ("one", "two")])
    return database


def endpoint(name: str = "orders-api", org_id: int = 1, **changes: object) -> ToolEndpoint:
    known = {
        "id": str(uuid4()),
        "org_id": org_id,
        "name": name,
        "type": "http_openapi",
        "config": {"base_url": "https://orders.example.com"},
        "auth": None,
        "version": 1,
        "discovered_at": None,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return ToolEndpoint(**(known | changes))  # type: ignore[arg-type]


def tool(name: str, description: str = "") -> DiscoveredTool:
    return DiscoveredTool(
        name=name, description=description, input_schema={"type": "object"}, call={"method": "GET"}
    )


async def test_an_endpoint_is_found_by_id_and_name_in_its_own_org_alone(database: Database) -> None:
    made = endpoint(auth={"type": "bearer", "credential": "ORDERS_KEY"})
    await database.write(lambda connection: tool_endpoints.add_endpoint(connection, made))

    def look(connection: Connection) -> None:
        assert tool_endpoints.endpoint_by_id(connection, 1, made.id) == made
        assert tool_endpoints.endpoint_by_name(connection, 1, "orders-api") == made
        assert tool_endpoints.endpoint_by_id(connection, 2, made.id) is None
        assert tool_endpoints.endpoint_by_name(connection, 2, "orders-api") is None
        assert tool_endpoints.counted_endpoint(connection, 2, made.id) is None
        assert tool_endpoints.endpoint_heads(connection, 2) == []
        assert not tool_endpoints.hold_endpoint(connection, 2, made.id)
        assert tool_endpoints.hold_endpoint(connection, 1, made.id)
        assert tool_endpoints.hold_endpoint(connection, 1, made.id, version=1)
        assert not tool_endpoints.hold_endpoint(connection, 1, made.id, version=2)

    await database.write(look)


async def test_what_is_large_of_a_config_is_read_only_where_it_is_asked_for(database: Database) -> None:
    text = named(b'{"spec":"openapi: 3.1.0"}')
    made = endpoint(content_hash=text.hash)
    for parts in slices_of([text]):
        await database.write_part(lambda connection, parts=parts: add_parts(connection, parts, now=NOW))
    await database.write(lambda connection: tool_endpoints.add_endpoint(connection, made))

    def look(connection: Connection) -> None:
        found = tool_endpoints.endpoint_by_id(connection, 1, made.id)
        assert found is not None
        assert "spec" not in found.config
        assert tool_endpoints.whole_config(connection, found) == {
            "base_url": "https://orders.example.com",
            "spec": "openapi: 3.1.0",
        }

    await database.read(look)


async def test_tools_are_stored_changed_listed_and_removed(database: Database) -> None:
    made = endpoint()
    await database.write(lambda connection: tool_endpoints.add_endpoint(connection, made))
    before, after, gone = tool("get_order"), tool("get_order", "By id."), tool("ping")

    def change(connection: Connection) -> None:
        tool_endpoints.store_tools(connection, made.id, [StoredTool(before), StoredTool(gone)])
        tool_endpoints.store_tools(
            connection, made.id, [StoredTool(before, CHANGED, after), StoredTool(gone, GONE)]
        )
        assert tool_endpoints.found_tool(connection, made.id, "get_order") == before
        assert tool_endpoints.found_tool(connection, made.id, "none") is None
        drifted = tool_endpoints.tools_of_endpoint(
            connection, made.id, is_drifted=True, limit=1, after_id=None
        )
        assert drifted.items == [StoredTool(before, CHANGED, after)]
        assert drifted.last_id is not None
        counted = tool_endpoints.counted_endpoint(connection, 1, made.id)
        assert counted is not None
        assert (counted.tools, counted.drifted) == (2, 2)
        page = tool_endpoints.endpoints_of_org(connection, 1, name="orders-api", limit=5, before_id=None)
        assert page.items == [counted]
        assert tool_endpoints.endpoints_of_org(connection, 2, limit=5, before_id=None).items == []
        tool_endpoints.store_tools(connection, made.id, [StoredTool(after)])
        tool_endpoints.remove_tools(connection, made.id, ["ping"])
        assert tool_endpoints.tool_names(connection, made.id) == {"get_order"}
        assert tool_endpoints.tools_by_name(connection, made.id, ["get_order", "ping"]) == {
            "get_order": StoredTool(after)
        }

    await database.write(change)


@pytest.mark.parametrize(("is_changed", "version"), [(True, 2), (False, 1)])
async def test_a_discovery_raises_the_version_where_what_is_accepted_changed(
    database: Database, is_changed: bool, version: int
) -> None:
    made = endpoint()

    def change(connection: Connection) -> ToolEndpoint | None:
        tool_endpoints.add_endpoint(connection, made)
        tool_endpoints.fail_discovery(connection, made.id, error="nobody is there")
        tool_endpoints.end_discovery(
            connection, made.id, notes=["`a b` became `a_b`"], is_changed=is_changed, now=LATER
        )
        return tool_endpoints.endpoint_by_id(connection, 1, made.id)

    found = await database.write(change)
    assert found is not None
    assert (found.version, found.discovered_at, found.discovery_error) == (version, LATER, None)
    assert found.discovery_notes == ("`a b` became `a_b`",)


def stored_bindings(connection: Connection, agent_id: int) -> list[Binding]:
    rows = connection.execute(
        f"SELECT {', '.join(Binding._fields)} FROM endpoint_bindings WHERE agent_id = ?", (agent_id,)
    )
    return [Binding(*row[:3], bool(row[3])) for row in rows]


async def test_bindings_are_those_of_agents_that_are_there(database: Database) -> None:
    made = endpoint()

    def change(connection: Connection) -> None:
        tool_endpoints.add_endpoint(connection, made)
        first, second = (
            add_agent(connection, org_id=1, name=name, status="published", now=NOW) for name in "ab"
        )
        bound = Binding("get_order", made.id, "getOrder", is_by_name=True)
        set_bindings(connection, first, [bound])
        set_bindings(connection, second, [bound._replace(is_by_name=False)])
        assert stored_bindings(connection, first) == [bound]
        assert [agent.id for agent in agents_bound_to(connection, made.id)] == [first, second]
        assert [agent.id for agent in agents_bound_to(connection, made.id, by_name_only=True)] == [first]
        set_bindings(connection, first, [])
        delete_agent(connection, org_id=1, agent_id=second, now=LATER)
        assert agents_bound_to(connection, made.id) == []
        tool_endpoints.delete_endpoint(connection, made.id)
        assert stored_bindings(connection, second) == []

    await database.write(change)
