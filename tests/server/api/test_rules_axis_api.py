"""Typed rules over HTTP: of an agent, of its tasks, and what is told when they no longer fit each other."""

import csv
import io
import json

import pytest

from pipelines.core.simulation.build import PlannedSimulator
from pipelines.storage.agents.agents import agent_by_id
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs.runs import run_by_id
from support.desk import AGENT, STATE, TASK, TOOLS, House, Org, Row, answered, refused
from support.loop_lag import MOST_LAG_S, least_lag

pytestmark = pytest.mark.anyio

SHIPPED: Row = {
    "name": "shipped-only",
    "form": "require",
    "tools": ["refund_order"],
    "expression": "order.status == 'shipped'",
    "message": "only shipped orders",
}
ONCE: Row = {"name": "once", "form": "limit_calls", "tools": ["refund_order"], "count": 1, "per": "order"}
REASON = "- form: require\n  tools: [refund_order]\n  expression: args.reason != null\n"
READ_REASON: Row = {"form": "require", "tools": ["refund_order"], "expression": "args.reason != null"}


async def upload_csv(org: Org, agent_id: int, *cells: str) -> Row:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["user", "state", "expected_outcome", "expected_calls", "rules"])
    calls = json.dumps({"must": [{"tool": "refund_order"}]})
    table.writerows([TASK["user"], json.dumps(STATE), "completion", calls, cell] for cell in cells)
    sent = await org.client.post(
        "/api/datasets",
        files={"file": ("tasks.csv", text.getvalue().encode())},
        data={"name": "tasks", "agent_id": str(agent_id)},
    )
    made: Row = answered(sent)
    return made


async def test_a_task_adds_to_the_rules_of_its_agent_and_switches_one_off(org: Org, house: House) -> None:
    agent = await org.agent(rules=[SHIPPED, ONCE])
    assert agent["rules"] == [SHIPPED, ONCE]
    uploaded = await upload_csv(org, agent["id"], f"{REASON}- off: once\n", "")
    assert uploaded["warnings"] == []
    first, second = uploaded["task_ids"]
    seed = answered(await org.client.get(f"/api/tasks/{first}"))["odyssey_seed"]
    assert seed["rules"] == [READ_REASON, {"off": "once"}]
    assert "rules" not in answered(await org.client.get(f"/api/tasks/{second}"))["odyssey_seed"]

    shared = house.platform.live_runs._shared  # what answers the calls of a run is not shown anywhere
    for task_id, names in ((first, ["shipped-only", None]), (second, ["shipped-only", "once"])):
        opened = await org.open_run(agent["id"], task_id)

        def simulator_of(connection: Connection, run_id: int = opened.id) -> PlannedSimulator:
            run = run_by_id(connection, org_id=org.id, run_id=run_id)
            assert run is not None
            return shared.simulator(connection, run)

        simulator = await house.platform.database.read(simulator_of)
        assert [rule.name for rule in simulator.typed_rules] == names

    exported = answered(await org.client.get(f"/api/datasets/{uploaded['id']}/export?format=json"))
    assert [row.get("rules") for row in exported["rows"]] == [seed["rules"], None]


async def test_rules_are_part_of_what_names_a_dataset(org: Org) -> None:
    agent_id = (await org.agent())["id"]
    hashes = [(await upload_csv(org, agent_id, cell))["content_hash"] for cell in ("", REASON, REASON)]
    assert hashes[0] != hashes[1] == hashes[2]


async def test_a_cell_that_does_not_fit_world_or_agent_is_taken_with_a_warning(org: Org) -> None:
    agent = await org.agent(rules=[SHIPPED])
    uploaded = await upload_csv(org, agent["id"], REASON.replace("reason", "reasn") + "- off: shiped-only\n")
    assert [(one["row"], one["column"], one["path"], one["message"]) for one in uploaded["warnings"]] == [
        (2, "rules", "/rules/1", "the agent has no rule called `shiped-only`, so nothing is switched off"),
        (2, "rules", "/rules/0", "rule 1: `refund_order` takes no argument `reasn`"),
    ]


async def test_a_large_file_is_read_aside_with_the_same_words(org: Org) -> None:
    agent = await org.agent(rules=[SHIPPED])
    many = json.dumps([{**READ_REASON, "message": f"no. {at} " + "x" * 200} for at in range(9_999)])
    cell = json.dumps([*json.loads(many), {"off": "shiped-only"}])
    uploaded = await upload_csv(org, agent["id"], cell)
    first, *others = [one["message"] for one in uploaded["warnings"]]
    assert first == "the agent has no rule called `shiped-only`, so nothing is switched off"
    assert len(others) == 21, "twenty that find no place in the plan, and how many more"
    assert all(one.endswith("would be too large with it)") for one in others[:-1])
    assert others[-1].endswith("more rules are not enforced")


async def test_put_replaces_the_rules_and_null_takes_them_away(org: Org) -> None:
    agent = await org.agent(rules=[SHIPPED])
    path = f"/api/agents/{agent['id']}"
    renamed = answered(await org.client.put(path, json={"name": "Other"}))
    assert renamed["rules"] == [SHIPPED]
    assert answered(await org.client.put(path, json={"rules": [SHIPPED]}))["version"] == renamed["version"]
    assert answered(await org.client.put(path, json={"rules": [ONCE]}))["rules"] == [ONCE]
    gone = answered(await org.client.put(path, json={"rules": None}))
    assert "rules" not in gone
    assert answered(await org.client.get(path, params={"version": 1}))["rules"] == [SHIPPED]


async def test_rules_that_cannot_be_read_or_name_no_tool_are_refused(org: Org) -> None:
    rules = [{"form": "requires", "tools": ["x"]}, SHIPPED | {"tools": ["refund_ordr"]}, {"off": "x"}]
    details = refused(
        await org.client.post("/api/agents", json=AGENT | {"rules": rules}), 422, "invalid_request"
    )["details"]
    assert {one["path"] for one in details} >= {"/rules/0/form", "/rules/1/tools", "/rules/2"}
    agent = await org.agent(rules=[SHIPPED])
    without = [tool for tool in TOOLS if tool["name"] != "refund_order"]
    error = refused(
        await org.client.put(f"/api/agents/{agent['id']}", json={"tools_schema": without}),
        422,
        "invalid_request",
    )
    assert [one["path"] for one in error["details"]] == ["/rules/0/tools"]


def without_argument(tools: list[Row], name: str, argument: str) -> list[Row]:
    changed: list[Row] = json.loads(json.dumps(tools))
    for tool in changed:
        if tool["name"] == name:
            del tool["input_schema"]["properties"][argument]
    return changed


async def test_an_argument_that_rules_name_and_a_version_no_longer_has_is_told(org: Org) -> None:
    agent = await org.agent(rules=[READ_REASON])
    assert "warnings" not in agent
    path = f"/api/agents/{agent['id']}"
    tools = without_argument(TOOLS, "refund_order", "reason")
    changed = answered(await org.client.put(path, json={"tools_schema": tools}))
    assert changed["warnings"] == [
        {
            "path": "/rules/0",
            "message": "rule 1: `refund_order` takes no argument `reason`",
            "hint": "there is `order_id`",
        }
    ]
    made = answered(
        await org.client.post("/api/agents", json=AGENT | {"rules": [READ_REASON], "tools_schema": tools})
    )
    assert made["warnings"] == changed["warnings"]
    assert "warnings" not in answered(await org.client.get(path))


async def test_a_tool_or_argument_that_rules_of_its_datasets_name_is_told(org: Org) -> None:
    agent = await org.agent()
    uploaded = await upload_csv(org, agent["id"], REASON, f"- off: x\n{REASON}", "")
    first, second, _ = uploaded["task_ids"]
    path = f"/api/agents/{agent['id']}"
    tools = without_argument(TOOLS, "refund_order", "reason")
    changed = answered(await org.client.put(path, json={"tools_schema": tools}))
    said = "rule {}: `refund_order` takes no argument `reason`"
    assert [(one["path"], one["message"]) for one in changed["warnings"]] == [
        (f"task {first}, /rules/0", said.format(1)),
        (f"task {second}, /rules/1", said.format(2)),
    ]
    assert "warnings" not in answered(await org.client.put(path, json={"name": "Renamed"}))
    without = [tool for tool in TOOLS if tool["name"] != "refund_order"]
    gone = answered(await org.client.put(path, json={"tools_schema": without}))
    assert {one["message"] for one in gone["warnings"]} == {
        "rule 1: there is no tool `refund_order`",
        "rule 2: there is no tool `refund_order`",
    }
    assert "warnings" not in answered(await org.client.put(path, json={"tools_schema": TOOLS}))


async def test_a_version_from_before_there_were_rules_loads_unchanged(org: Org, house: House) -> None:
    made = await org.agent()
    agent = await house.platform.database.read(
        lambda connection: agent_by_id(connection, org_id=org.id, agent_id=made["id"])
    )
    assert agent is not None
    assert '"rules"' not in agent.definition_text
    assert agent.definition.rules == ()


async def test_ten_thousand_rules_leave_the_loop_free(org: Org) -> None:
    """Of a task, of an agent, and of both when a run is opened and its page is read."""
    message = {"message": "no " + "x" * 100}
    many = [
        READ_REASON | {"name": f"r{at}", "expression": f"order.amount > {at}"} | message
        for at in range(10_000)
    ]
    agent, lag_s = await least_lag(lambda: org.agent(rules=many))
    assert lag_s < MOST_LAG_S
    row = TASK | {"rules": [one | {"name": f"own-{at}"} for at, one in enumerate(many)]}
    uploaded, lag_s = await least_lag(lambda: org.dataset(row, agent_id=agent["id"]))
    assert lag_s < MOST_LAG_S
    _, lag_s = await least_lag(lambda: org.open_run(agent["id"], uploaded["task_ids"][0]))
    assert lag_s < MOST_LAG_S
