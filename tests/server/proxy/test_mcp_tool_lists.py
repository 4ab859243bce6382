"""An agent registered with the tool list of an MCP server: stored, shown, read by its hints, and called."""

from typing import Any

import pytest

from support.desk import House, Org, Row, answered, refused

pytestmark = pytest.mark.anyio
NAMES = {"type": "array", "items": {"type": "string"}}


def listed(name: str, title: str, description: str, properties: Row, reads: bool, **more: Any) -> Row:
    """A tool in the shape of an answer to `tools/list`."""
    hints = {"readOnlyHint": reads} | ({} if reads else {"destructiveHint": False, "idempotentHint": False})
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": properties,
            "required": list(properties),
        },
        "annotations": hints | more,
        "execution": {"taskSupport": "forbidden"},
        "_meta": {"example.com/group": "graph"},
    }


NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "kind": {"type": "string"}, "facts": NAMES},
    "required": ["name", "kind", "facts"],
}
GRAPH = [
    listed("read_graph", "Read Graph", "Read the whole graph", {}, reads=True),
    listed(
        "search_nodes", "Search Nodes", "Search nodes by a query", {"query": {"type": "string"}}, reads=True
    ),
    listed("open_nodes", "Open Nodes", "Open specific nodes by their names", {"names": NAMES}, reads=True),
    listed("create_node", "Create Node", "Create a new node in the graph", NODE["properties"], reads=False),
    listed(
        "delete_node",
        "Delete Node",
        "Delete a node from the graph",
        {"node_id": {"type": "string"}},
        reads=False,
        destructiveHint=True,
        idempotentHint=True,
    ),
]
STATE = {
    "node": {
        "n-1": {"name": "Ada", "kind": "person", "facts": ["She wrote a program."]},
        "n-2": {"name": "Engine", "kind": "machine", "facts": []},
    }
}


async def test_the_list_is_kept_as_tools_of_ours_with_their_annotations(org: Org) -> None:
    agent = await org.agent(tools_schema=GRAPH)
    stored = answered(await org.client.get(f"/api/agents/{agent['id']}"))["tools_schema"]
    assert [tool["name"] for tool in stored] == [tool["name"] for tool in GRAPH]
    assert stored[2] == {
        "name": "open_nodes",
        "description": "Open specific nodes by their names",
        "input_schema": GRAPH[2]["inputSchema"],
        "annotations": {"title": "Open Nodes", "readOnlyHint": True},
        "default_execution_mode": "sandbox",
    }
    again = answered(await org.client.put(f"/api/agents/{agent['id']}", json={"tools_schema": stored}))
    assert again["tools_schema"] == stored


async def test_its_plans_are_read_by_the_hints_and_say_so(org: Org) -> None:
    agent = await org.agent(tools_schema=GRAPH)
    dataset = await org.dataset({"user": "Open Ada.", "state": STATE}, agent_id=agent["id"])
    shown = answered(
        await org.client.get(f"/api/agents/{agent['id']}/plans", params={"task_id": dataset["task_ids"][0]})
    )["items"]
    hints = {item["tool"]: item["hints"] for item in shown}
    assert hints["open_nodes"] == ["the definition says it only reads (readOnlyHint)"]
    assert hints["delete_node"] == [
        "the definition says it changes something (readOnlyHint: false)",
        "the definition says it may change or delete what is there (destructiveHint)",
        "the definition says the same call again changes nothing more (idempotentHint)",
    ]
    assert [item["tool"] for item in shown if item["is_guess"]] == ["read_graph"], "no record is a graph"


async def test_a_run_calls_its_tools(org: Org) -> None:
    run = await org.run(await org.agent(tools_schema=GRAPH), user="Open Ada.", state=STATE)
    opened = answered(await run.call("open_nodes", {"names": ["Ada"]}), 200)["response"]
    assert [node["name"] for node in opened] == ["Ada"]
    assert [row["updates"] for row in await run.trace()] == [[]]
    made = {"name": "Loom", "kind": "machine", "facts": ["It weaves."]}
    answered(await run.call("create_node", made), 200)
    answered(await run.call("delete_node", {"node_id": "n-2"}), 200)
    nodes = (await run.ledger())["state"]["node"]
    assert sorted(node["name"] for node in nodes.values()) == ["Ada", "Loom"]


async def test_a_client_of_the_run_over_mcp_is_shown_the_annotations(house: House, org: Org) -> None:
    run = await org.run(await org.agent(tools_schema=GRAPH), user="Open Ada.", state=STATE)
    headers = {"Authorization": f"Bearer {run.token}", "Accept": "application/json, text/event-stream"}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    url = f"/api/odyssey-proxy/runs/{run.jti}/mcp"
    reply = answered(await house.stranger.post(url, json=asked, headers=headers), 200)
    shown = {tool["name"]: tool["annotations"] for tool in reply["result"]["tools"]}
    assert shown["read_graph"] == {"title": "Read Graph", "readOnlyHint": True}
    assert shown["delete_node"]["destructiveHint"] is True


async def test_every_mistake_of_the_list_is_told_at_once(org: Org) -> None:
    wrong = [
        GRAPH[0] | {"annotation": {}},
        GRAPH[1] | {"annotations": {"readonlyHint": True}},
        GRAPH[2] | {"parameters": {"type": "object"}},
    ]
    error = refused(
        await org.client.post(
            "/api/agents", json={"name": "x", "endpoint_url": "https://a.example", "tools_schema": wrong}
        ),
        422,
        "invalid_request",
    )
    assert [(one["path"], one["hint"]) for one in error["details"]] == [
        ("/tools_schema/0/annotation", "did you mean `annotations`?"),
        ("/tools_schema/1/annotations/readonlyHint", "did you mean `readOnlyHint`?"),
        ("/tools_schema/2/parameters", "give it once"),
    ]
