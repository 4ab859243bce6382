"""POST /api/runs/import: recorded runs stored, judged, and refused with every problem at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine.batches import import_runs, store_recorded
from pipelines.storage.runs import recorded_runs
from pipelines.storage.tasks import texts
from support.desk import STATE, House, Org, Row, answered, every_item, open_house, refused
from support.private_postgres import Cluster

pytestmark = pytest.mark.anyio

ASKED = "Refund order #4521."
TASK: Row = {
    "id": "refund",
    "user": ASKED,
    "state": STATE,
    "expected_state": {"order.4521.status": "refunded"},
}
REFUNDED: Row = STATE | {"order": STATE["order"] | {"4521": STATE["order"]["4521"] | {"status": "refunded"}}}
CALL = {"id": "c1", "name": "refund_order", "arguments": {"order_id": "4521"}}
MESSAGES: list[Row] = [
    {"role": "system", "content": "You are the refund desk."},
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": "One moment.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "refunded"}'},
    {"role": "assistant", "content": "I refunded order 4521."},
]


async def imported(org: Org, *runs: Any, status: int = 201, **more: Any) -> Row:
    body = {"runs": list(runs)} | more
    if "agent_id" not in body:
        body["agent_id"] = (await org.agent())["id"]
    found: Row = answered(await org.client.post("/api/runs/import", json=body), status)
    return found


async def problems(org: Org, body: Any) -> list[Row]:
    error = refused(await org.client.post("/api/runs/import", json=body), 422, "invalid_request")
    return list(error["details"])


async def test_runs_are_stored_as_a_batch_and_judged_by_their_tasks(org: Org) -> None:
    agent = await org.agent()
    dataset = await org.dataset(TASK, agent_id=agent["id"])
    told = await imported(
        org,
        {"messages": MESSAGES, "state_after": REFUNDED, "task": "refund"},
        {"messages": MESSAGES, "state_after": STATE, "task": 1},
        {"messages": MESSAGES},
        agent_id=agent["id"],
        dataset_id=dataset["id"],
        label="build 7",
    )
    assert told["recognised"] == "3 runs of OpenAI-style messages"
    assert told["dataset_id"] == dataset["id"]
    assert [(run["verdict"], run["repeat_number"]) for run in told["runs"]] == [
        ("PASS", 1),
        ("FAIL", 2),
        ("PENDING", 3),
    ]
    batch = answered(await org.client.get(f"/api/batches/{told['batch_id']}"))
    assert (batch["status"], batch["repeats"]) == ("completed", 3)
    assert batch["counts"]["by_verdict"] == {"PASS": 1, "FAIL": 1, "PENDING": 1}
    first = answered(await org.client.get(f"/api/runs/{told['runs'][0]['run_id']}"))
    assert (first["mode"], first["status"], first["final_response"]) == (
        "recorded",
        "completed",
        "I refunded order 4521.",
    )
    assert first["metadata"]["recording"]["label"] == "build 7"
    assert [message["role"] for message in first["messages"]] == [message["role"] for message in MESSAGES]


async def test_the_trace_tells_the_system_prompt_and_each_call_with_what_it_changed(org: Org) -> None:
    told = await imported(org, {"messages": MESSAGES, "state_after": REFUNDED}, tasks=[TASK])
    run_id = told["runs"][0]["run_id"]
    prompt, call = await every_item(org.client, f"/api/runs/{run_id}/trace")
    assert (prompt["kind"], prompt["payload"]) == ("system_prompt", {"text": "You are the refund desk."})
    assert (call["tool_name"], call["source"], call["http_status"]) == ("refund_order", "passthrough", 200)
    assert call["updates"][0]["set"] == {"status": "refunded"}
    ledger = answered(await org.client.get(f"/api/runs/{run_id}/ledger"))
    assert ledger["state"]["order"]["4521"]["status"] == "refunded"


async def test_a_state_before_is_the_world_of_the_run(org: Org) -> None:
    other = {"order": {"4521": {"status": "lost"}}}
    run = {
        "messages": MESSAGES,
        "state_before": other,
        "state_after": {"order": {"4521": {"status": "refunded"}}},
    }
    told = await imported(org, run, tasks=[TASK])
    (found,) = told["runs"]
    assert found["verdict"] == "PASS", found
    start = answered(await org.client.get(f"/api/runs/{found['run_id']}/ledger", params={"step": 0}))
    assert start["state"] == other


async def test_without_tasks_what_was_asked_is_the_task_and_nothing_is_decided(org: Org) -> None:
    told = await imported(org, {"messages": MESSAGES}, MESSAGES)
    assert [run["verdict"] for run in told["runs"]] == ["PENDING", "PENDING"]
    assert len({run["task_id"] for run in told["runs"]}) == 1
    task = answered(await org.client.get(f"/api/tasks/{told['runs'][0]['task_id']}"))
    assert task["odyssey_seed"] == {"user_instruction": ASKED}


async def test_the_same_import_twice_uses_its_tasks_again(org: Org) -> None:
    agent_id = (await org.agent())["id"]
    first = await imported(org, {"messages": MESSAGES}, agent_id=agent_id, tasks=[TASK])
    second = await imported(org, {"messages": MESSAGES}, agent_id=agent_id, tasks=[TASK])
    assert first["dataset_id"] == second["dataset_id"]
    assert first["batch_id"] != second["batch_id"]


async def test_a_conversation_is_judged_and_judged_anew_by_all_its_turns(org: Org) -> None:
    talk = [
        *MESSAGES[1:],
        {"role": "user", "content": "And which order was that?"},
        {"role": "assistant", "content": "Order 4521."},
    ]
    constraint = {
        "id": "said",
        "description": "says it once",
        "check": {"responses": {"$contains": "4521"}},
    }
    task = TASK | {"tracked_constraints": [constraint]}
    told = await imported(org, {"messages": talk, "state_after": REFUNDED}, tasks=[task])
    (run,) = told["runs"]
    assert run["verdict"] == "PASS", run
    again = answered(await org.client.post(f"/api/runs/{run['run_id']}/judge"))
    assert again["verdict"] == "PASS"
    assert (again["messages"][-2]["content"], again["final_response"]) == (
        "And which order was that?",
        "Order 4521.",
    )


async def test_a_run_without_a_state_stays_open_when_it_is_judged_anew(org: Org) -> None:
    (run,) = (await imported(org, {"messages": MESSAGES}, tasks=[TASK]))["runs"]
    again = answered(await org.client.post(f"/api/runs/{run['run_id']}/judge"))
    assert again["verdict"] == "PENDING"
    assert "has no state" in again["judgement"]["reasoning"]


# -- what is exported comes back


@pytest.mark.parametrize("way", ["refunds", "does nothing", "claims"])
async def test_an_exported_run_has_the_same_verdict_when_it_is_imported(org: Org, way: str) -> None:
    run = await org.run(**TASK, failure_rules=[])
    await run.event("system_prompt", {"text": "You refund."})
    await run.call("get_order", {"order_id": "4521"})
    if way == "refunds":
        await run.call("refund_order", {"order_id": "4521"})
    await run.call("no_such_tool", {})
    said = "I looked at order 4521." if way == "does nothing" else "I refunded order 4521."
    live = answered(await run.finish(final_response=said))
    whole = answered(await org.client.get(f"/api/runs/{run.id}/export"))
    own = await imported(org, whole, agent_id=live["agent_id"])
    by_dataset = await imported(org, whole, agent_id=live["agent_id"], dataset_id=live["dataset_id"])
    for told in (own, by_dataset):
        assert told["recognised"] == "1 run of exported runs of Odyssey"
        found = answered(await org.client.get(f"/api/runs/{told['runs'][0]['run_id']}"))
        assert (found["verdict"], found["failure_mode"]) == (live["verdict"], live["failure_mode"])
        assert found["judgement"]["reasoning"] == live["judgement"]["reasoning"]
    again = answered(await org.client.get(f"/api/runs/{own['runs'][0]['run_id']}/export"))
    assert [row["updates"] for row in again["trace"]] == [row["updates"] for row in whole["trace"]]
    (third,) = (await imported(org, again, agent_id=live["agent_id"]))["runs"]
    assert third["verdict"] == live["verdict"]


async def test_our_own_trajectory_comes_back_without_its_state(org: Org) -> None:
    run = await org.run(**TASK)
    await run.call("refund_order", {"order_id": "4521"})
    live = answered(await run.finish(final_response="I refunded order 4521."))
    assert live["verdict"] == "PASS"
    whole = answered(await org.client.get(f"/api/runs/{run.id}/export", params={"format": "atif"}))
    dataset = {"agent_id": live["agent_id"], "dataset_id": live["dataset_id"]}
    (found,) = (await imported(org, whole, **dataset))["runs"]
    assert found["verdict"] == "PENDING"
    (found,) = (await imported(org, whole | {"state_after": REFUNDED}, **dataset))["runs"]
    assert found["verdict"] == "PASS"


async def test_an_imported_run_without_a_state_is_no_better_known_after_an_export(org: Org) -> None:
    told = await imported(org, {"messages": MESSAGES}, tasks=[TASK])
    whole = answered(await org.client.get(f"/api/runs/{told['runs'][0]['run_id']}/export"))
    (again,) = (await imported(org, whole, dataset_id=told["dataset_id"]))["runs"]
    assert again["verdict"] == "PENDING"


# -- what is refused


async def test_all_problems_of_runs_and_tasks_are_told_at_once(org: Org) -> None:
    agent_id = (await org.agent())["id"]
    body = {
        "agent_id": agent_id,
        "tasks": [{"user": "", "state": STATE}],
        "runs": [
            {"messages": MESSAGES, "state_after": []},
            {"log": []},
            [MESSAGES[1], MESSAGES[3]],
        ],
        "labels": "x",
    }
    paths = [problem["path"] for problem in await problems(org, body)]
    assert paths[:4] == ["/labels", "/runs/0/state_after", "/runs/1", "/runs/2/1/tool_call_id"]
    assert len(paths) == 5
    assert paths[4].startswith("/tasks, ")
    assert await every_item(org.client, "/api/batches") == []
    assert await every_item(org.client, "/api/datasets") == []


async def test_a_run_of_no_known_task_is_refused_and_nothing_is_stored(org: Org) -> None:
    body = {
        "agent_id": (await org.agent())["id"],
        "tasks": [TASK],
        "runs": [{"messages": MESSAGES, "task": "refnd"}, {"messages": MESSAGES, "task": 9}],
    }
    found = await problems(org, body)
    assert [problem["path"] for problem in found] == ["/runs/0/task", "/runs/1/task"]
    assert found[0]["hint"] == "did you mean `refund`?"
    assert await every_item(org.client, "/api/datasets") == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"runs": []}, ""),
        ({"runs": {}}, "/runs"),
        ({"runs": [MESSAGES], "format": "atf"}, "/format"),
        ({"runs": [MESSAGES], "dataset_id": 1, "tasks": []}, "/tasks"),
        ({"runs": [MESSAGES] * 5_001}, ""),
    ],
    ids=["no runs", "no list", "no such format", "two sets of tasks", "too many"],
)
async def test_a_wrong_request_says_where(org: Org, body: Row, path: str) -> None:
    agent_id = (await org.agent())["id"]
    assert path in [problem["path"] for problem in await problems(org, {"agent_id": agent_id} | body)]


async def test_an_agent_or_a_dataset_that_is_not_there_is_404(org: Org) -> None:
    post = org.client.post
    refused(await post("/api/runs/import", json={"agent_id": 9, "runs": [MESSAGES]}), 404, "not_found")
    body = {"agent_id": (await org.agent())["id"], "dataset_id": 9, "runs": [MESSAGES]}
    refused(await post("/api/runs/import", json=body), 404, "not_found")


async def test_a_body_that_is_cut_off_is_no_json(org: Org) -> None:
    raw = json.dumps({"agent_id": 1, "runs": [MESSAGES]})[:-3]
    headers = {"content-type": "application/json"}
    response = await org.client.post("/api/runs/import", content=raw, headers=headers)
    refused(response, 400, "invalid_json")


# -- a kill in the middle


async def test_a_start_judges_what_was_stored_and_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*_: Any) -> None:
        raise RuntimeError("the power went")

    async with open_house(tmp_path / "house") as house:
        with monkeypatch.context() as patched:
            patched.setattr(import_runs, "judge_stored", killed)
            run = {"messages": MESSAGES, "state_after": REFUNDED}
            await imported(house.owner, run, tasks=[TASK], status=500)
    async with open_house(tmp_path / "house") as house:
        (batch,) = await every_item(house.owner.client, "/api/batches")
        (run,) = await every_item(house.owner.client, "/api/runs")
        assert (batch["status"], run["status"], run["verdict"]) == ("completed", "completed", "PASS")


async def test_a_start_removes_what_was_not_stored_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> bool:
        raise RuntimeError("the power went")

    async def nobody_tidies_up(*_: Any) -> None:
        pass

    other = {"order": {"4521": {"status": "lost"}}}
    async with open_house(tmp_path / "house") as house:
        with monkeypatch.context() as patched:
            patched.setattr(recorded_runs, "show_import", killed)
            patched.setattr(store_recorded, "remove_batch", nobody_tidies_up)
            run = {"messages": MESSAGES, "state_before": other}
            await imported(house.owner, run, tasks=[TASK], status=500)
        assert await every_item(house.owner.client, "/api/runs") == []
    async with open_house(tmp_path / "house") as house:
        assert await every_item(house.owner.client, "/api/batches") == []
        count = await house.platform.database.read(
            lambda connection: connection.execute("SELECT COUNT(*) FROM trace_rows").fetchone()[0]
        )
        assert count == 0


async def test_the_world_of_a_recorded_run_is_in_use(org: Org, house: House) -> None:
    other = {"order": {"4521": {"status": "lost"}}}
    told = await imported(org, {"messages": MESSAGES, "state_before": other}, tasks=[TASK])

    def in_use(connection: Any) -> set[str]:
        run = recorded_runs.recorded_run(connection, told["runs"][0]["run_id"])
        assert run is not None
        assert run.world_hash is not None
        return texts.texts_in_use(connection, [run.world_hash])

    assert len(await house.platform.database.read(in_use)) == 1


async def test_postgres_stores_them_too(tmp_path: Path, postgres: Cluster) -> None:
    text = "I refunded order 4521.\0"
    run = {"messages": [*MESSAGES[:-1], {"role": "assistant", "content": text}], "state_after": REFUNDED}
    other = {"order": {"4521": {"status": "lost"}}}
    url = postgres.new_database()
    async with open_house(tmp_path / "house", database_url=url) as house:
        told = await imported(house.owner, run, run | {"state_before": other}, tasks=[TASK])
        assert [run["verdict"] for run in told["runs"]] == ["PASS", "FAIL"], told
    async with open_house(tmp_path / "house", database_url=url) as house:
        assert len(await every_item(house.owner.client, "/api/runs")) == 2
