"""Runs over HTTP: opening one by hand, ending it, and reading what happened."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from support.desk import STATE, TASK, DrivenRun, House, Org, Row, answered, every_item, outage, refused, tool

pytestmark = pytest.mark.anyio
ORDER = {"order_id": "4521"}
CLOCK = tool("what_time", "Tells the time.", {}, [], simulation=[{"return": "now"}])


async def test_an_opened_run_says_how_to_reach_it_and_only_then(org: Org) -> None:
    agent = await org.agent()
    dataset = await org.dataset(TASK | {"failure_rules": [outage("refund_order", n=1)]})
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    opened = run.opened
    assert opened["status"] == "running"
    assert opened["mode"] == "manual"
    assert opened["odyssey_proxy_url"].endswith(f"/api/odyssey-proxy/runs/{run.jti}")
    assert len(run.token) >= 32
    read = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert read["odyssey_seed"]["user_instruction"] == TASK["user"]
    assert read["odyssey_seed"]["failure_rules"] == [outage("refund_order", n=1)]
    assert read["odyssey_seed"]["initial_state"] == TASK["state"]
    assert read["counts"] == {"tool_calls": 0, "by_source": {}, "validation_failures": 0, "regenerated": 0}
    assert run.token not in str(read) + str(answered(await org.client.get("/api/runs")))


async def test_the_token_is_stored_only_as_its_hash(house: House, run: DrivenRun) -> None:
    answered(await run.call("get_order", ORDER))
    for path in house.settings.data_dir.iterdir():
        assert run.token.encode() not in path.read_bytes(), path.name


BAD_RUNS: dict[str, Row] = {
    "no mode": {"mode": None},
    "another mode": {"mode": "auto"},
    "no task": {"task_ids": []},
    "two tasks": {"task_ids": [1, 1]},
    "a task that is no id": {"task_ids": ["1"]},
    "a task that is true": {"task_ids": [True]},
    "tasks that are no list": {"task_ids": 1},
    "a fraction": {"task_ids": [1.5]},
    "zero": {"task_ids": [0]},
    "an agent that is no id": {"agent_id": "1"},
    "an agent that is true": {"agent_id": True},
    "a large agent": {"agent_id": 2**63},
    "a huge agent": {"agent_id": 2**64 + 1},
    "an unknown field": {"colour": "red"},
    "a time that is none": {"now": "today"},
    "a time that is no text": {"now": 5},
    "a week date": {"now": "2026-W01-1"},
    "a time before time": {"now": "0001-01-01T00:00:00+10:00"},
    "the last second there is": {"now": "9999-12-31T23:59:59Z"},
}


@pytest.mark.parametrize("case", BAD_RUNS)
async def test_a_run_that_cannot_be_opened_says_why(org: Org, case: str) -> None:
    agent = await org.agent()
    dataset = await org.dataset()
    body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]} | BAD_RUNS[case]
    error = refused(await org.client.post("/api/runs", json=body), 422, "invalid_request")
    assert error["details"]
    assert answered(await org.client.get("/api/runs"))["items"] == []


async def test_an_unknown_field_says_what_may_have_been_meant(org: Org) -> None:
    """Wherever it is sent: each of these bodies is read by the same reader."""
    opened = await org.run()
    for path, body, field, meant in (
        ("/api/runs", {"mode": "manual"}, "agentid", "agent_id"),
        ("/api/runs", {}, "repeat", "repeats"),
        ("/api/keys", {}, "nmae", "name"),
        ("/api/datasets", {}, "row", "rows"),
        (f"/api/runs/{opened.id}/finish", {}, "finalResponse", "final_response"),
    ):
        error = refused(await org.client.post(path, json=body | {field: 1}), 422, "invalid_request")
        assert error["details"][0] == {
            "path": f"/{field}",
            "message": f"unknown field `{field}`",
            "hint": f"did you mean `{meant}`?",
        }


@pytest.mark.parametrize(
    ("now", "simulated"),
    [
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00.000000Z"),
        ("2026-05-01T12:00:00+02:00", "2026-05-01T10:00:00.000000Z"),
        ("2026-05-01", "2026-05-01T00:00:00.000000Z"),
    ],
)
async def test_the_worlds_time_can_be_chosen(org: Org, now: str, simulated: str) -> None:
    agent, dataset = await org.agent(), await org.dataset()
    run = await org.open_run(agent["id"], dataset["task_ids"][0], now=now)
    assert run.opened["simulated_now"] == simulated
    answered(await run.call("get_order", ORDER))


async def test_without_another_the_worlds_time_is_the_runs_own_start(org: Org) -> None:
    """An old dataset has no old today."""
    agent, dataset = await org.agent(), await org.dataset()
    task = answered(await org.client.get(f"/api/tasks/{dataset['task_ids'][0]}"))
    runs = [await org.open_run(agent["id"], task["id"]) for _ in range(2)]
    for run in runs:
        assert run.opened["simulated_now"] == run.opened["started_at"] > task["created_at"]
    assert runs[0].opened["simulated_now"] < runs[1].opened["simulated_now"]


async def test_a_task_says_what_time_it_is_in_its_world_and_who_opens_a_run_may_say_another(org: Org) -> None:
    agent = await org.agent(tools_schema=[CLOCK])
    dataset = await org.dataset(TASK | {"now": "2026-05-01T23:59:57+02:00"})
    own = await org.open_run(agent["id"], dataset["task_ids"][0])
    other = await org.open_run(agent["id"], dataset["task_ids"][0], now="2027-01-01")
    assert own.opened["simulated_now"] == "2026-05-01T21:59:57.000000Z"
    assert other.opened["simulated_now"] == "2027-01-01T00:00:00.000000Z"
    assert answered(await own.call("what_time", {}))["response"] == "2026-05-01T21:59:58Z"


async def test_a_runs_time_goes_on_where_it_was_however_often_it_is_read_and_judged(
    house: House, org: Org
) -> None:
    agent = await org.agent(tools_schema=[CLOCK])
    dataset = await org.dataset()
    run = await org.open_run(agent["id"], dataset["task_ids"][0])
    first = answered(await run.call("what_time", {}))["response"]
    house.platform.live_runs.forget({run.id})
    second = answered(await run.call("what_time", {}))["response"]
    began = datetime.fromisoformat(run.opened["started_at"]).replace(microsecond=0)
    assert [datetime.fromisoformat(said) - began for said in (first, second)] == [
        timedelta(seconds=1),
        timedelta(seconds=2),
    ]
    answered(await run.finish())
    again = answered(await org.client.post(f"/api/runs/{run.id}/judge"))
    assert again["simulated_now"] == run.opened["simulated_now"]


@pytest.mark.parametrize("now", ["2026-12-31T23:59:58Z", "0001-01-01T00:00:00Z", "9990-01-01T00:00:00Z"])
async def test_calls_go_on_past_midnight_and_at_the_edges_of_time(org: Org, now: str) -> None:
    agent, dataset = await org.agent(), await org.dataset()
    run = await org.open_run(agent["id"], dataset["task_ids"][0], now=now)
    for _ in range(4):
        answered(await run.call("get_order", ORDER), 200)


async def test_a_finished_run_keeps_the_agents_last_word(org: Org, run: DrivenRun) -> None:
    answered(await run.call("get_order", ORDER))
    messages = [
        {"role": "user", "content": "Refund order #4521..."},
        {"role": "assistant", "content": "The refund of $79.50 has been issued."},
    ]
    reply = await run.finish(
        final_response="The refund of $79.50 has been issued.",
        messages=messages,
        metadata={"model": "claude-sonnet-4-5", "total_input_tokens": 1842},
    )
    done = answered(reply, 200)
    assert done["status"] == "completed"
    assert done["final_response"] == "The refund of $79.50 has been issued."
    assert done["messages"] == messages
    assert done["metadata"]["total_input_tokens"] == 1842
    assert done["ended_at"] >= done["started_at"]
    read = answered(await org.client.get(f"/api/runs/{run.id}"))
    assert read["status"] == "completed"
    assert read["counts"]["tool_calls"] == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"final_response": ""}, {"final_response": " "}, {"final_response": 7}, {"final_response": None}],
)
async def test_a_run_without_a_last_word_does_not_end(org: Org, run: DrivenRun, body: Row) -> None:
    reply = await org.client.post(f"/api/runs/{run.id}/finish", json=body)
    refused(reply, 422, "invalid_request")
    answered(await run.call("get_order", ORDER))


@pytest.mark.parametrize(
    ("more", "warnings"),
    [
        ({"messages": "text"}, 1),
        ({"messages": [1]}, 1),
        ({"metadata": []}, 1),
        ({"messages": {}, "metadata": "x"}, 2),
        ({"messages": [], "metadata": {}}, 0),
    ],
)
async def test_malformed_extras_are_dropped_with_a_soft_warning(
    run: DrivenRun, more: Row, warnings: int
) -> None:
    answered(await run.call("get_order", ORDER))
    done = answered(await run.finish(**more))
    assert len(done["soft_warnings"]) == warnings
    if warnings == 2:
        assert done["messages"] is done["metadata"] is None


async def test_a_long_last_word_is_cut_with_a_warning(run: DrivenRun) -> None:
    answered(await run.call("get_order", ORDER))
    done = answered(await run.finish(final_response="x" * 50_001))
    assert len(done["final_response"]) == 50_000
    assert len(done["soft_warnings"]) == 1


async def test_a_run_ends_once(org: Org, run: DrivenRun) -> None:
    ends = [run.finish(), org.client.post(f"/api/runs/{run.id}/cancel"), run.finish()]
    replies = await asyncio.gather(*ends)
    assert sorted(reply.status_code for reply in replies) == [200, 409, 409]
    for reply in replies:
        if reply.status_code == 409:
            refused(reply, 409, "run_not_active")
    refused(await org.client.post(f"/api/runs/{run.id}/cancel"), 409, "run_not_active")


async def test_a_cancelled_run_has_no_last_word(org: Org, run: DrivenRun) -> None:
    done = answered(await org.client.post(f"/api/runs/{run.id}/cancel"))
    assert (done["status"], done["final_response"]) == ("cancelled", None)


async def test_a_call_that_was_under_way_when_the_run_ended_is_whole(org: Org, run: DrivenRun) -> None:
    """Whatever the order they meet in: a call is answered and in the log, or refused and in the log."""
    note = {"order_id": "7001", "text": "x"}
    calls = [run.call("add_note", note) for _ in range(10)]
    replies = await asyncio.gather(*calls[:5], run.finish(), *calls[5:])
    rows = await run.trace()
    assert [row["sequence"] for row in rows] == list(range(1, 11))
    accepted = [
        reply for reply in replies if reply.request.url.path.endswith("add_note") and reply.is_success
    ]
    notes = (await run.ledger())["state"]["order"]["7001"].get("notes", [])
    assert len(notes) == len(accepted) == sum(row["source"] == "odyssey" for row in rows)


async def test_the_ledger_can_be_read_at_every_step(run: DrivenRun) -> None:
    answered(await run.call("refund_order", ORDER))
    answered(await run.event("thinking", {}))
    answered(await run.call("raise_flag", {"flag": "vip"}))
    statuses = [(await run.ledger(step))["state"]["order"]["4521"]["status"] for step in range(4)]
    assert statuses == ["shipped", "refunded", "refunded", "refunded"]
    assert [(await run.ledger(step))["flags"] for step in range(4)] == [[], [], [], ["vip"]]
    assert (await run.ledger())["step"] == 3
    assert (await run.ledger(0))["state"] == STATE
    for step in (4, 2**63 - 1):
        reply = await run.client.get(f"/api/runs/{run.id}/ledger", params={"step": step})
        refused(reply, 422, "invalid_request")


async def test_flags_of_the_seed_are_set_from_the_start(org: Org) -> None:
    run = await org.run(state=STATE | {"flags": {"vip": True, "late": False}})
    assert (await run.ledger())["flags"] == ["vip"]


async def test_the_trace_is_paged_without_loss_while_calls_go_on(run: DrivenRun) -> None:
    for _ in range(5):
        answered(await run.call("get_order", ORDER))
    seen: list[int] = []
    cursor = None
    while True:
        query: Row = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = answered(await run.client.get(f"/api/runs/{run.id}/trace", params=query))
        seen += [row["sequence"] for row in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        if len(seen) < 6:
            answered(await run.call("get_order", ORDER))
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) >= 7


async def test_lists_filter_by_what_a_run_belongs_to(org: Org) -> None:
    agent, other = await org.agent(), await org.agent()
    dataset, second = await org.dataset(TASK, TASK), await org.dataset()
    runs = {
        "a": await org.open_run(agent["id"], dataset["task_ids"][0]),
        "b": await org.open_run(agent["id"], dataset["task_ids"][1]),
        "c": await org.open_run(other["id"], dataset["task_ids"][0]),
        "d": await org.open_run(other["id"], second["task_ids"][0]),
    }
    answered(await runs["d"].finish())
    name_of = {run.id: name for name, run in runs.items()}

    async def named(**query: Any) -> str:
        items = await every_item(org.client, "/api/runs", limit=1, **query)
        return "".join(name_of[item["id"]] for item in items)

    assert await named() == "dcba"
    assert await named(agent_id=agent["id"]) == "ba"
    assert await named(dataset_id=dataset["id"]) == "cba"
    assert await named(task_id=dataset["task_ids"][0]) == "ca"
    assert await named(status="completed") == "d"
    assert await named(status="running", agent_id=other["id"]) == "c"
    assert await named(mode="manual") == "dcba"
    assert await named(mode="auto") == ""
    for query in ({"status": "gone"}, {"agent_id": "x"}, {"limit": 0}, {"limit": 501}):
        refused(await org.client.get("/api/runs", params=query), 422, "invalid_request")


async def test_a_list_shows_every_run_once_while_new_ones_are_opened(org: Org) -> None:
    agent, dataset = await org.agent(), await org.dataset()

    async def open_one() -> int:
        return (await org.open_run(agent["id"], dataset["task_ids"][0])).id

    before = [await open_one() for _ in range(7)]
    seen: list[int] = []
    cursor = None
    while True:
        query: Row = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = answered(await org.client.get("/api/runs", params=query))
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        await open_one()
    assert seen == before[::-1]


BAD_CURSORS = [
    "",
    "x",
    "!!!",
    "ä",
    "9" * 100,
    "LTE",
    "MS41",
    "8J-YgA",
    "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5",
]
LONG_NUMBER = "OTk5" * 2000  # base64 of 6,000 nines: past what int() reads
PAGED = ["/api/runs", "/api/agents", "/api/datasets", "/api/keys", "/api/batches", "/api/runs/1/trace"]


@pytest.mark.parametrize("path", PAGED)
async def test_a_made_up_cursor_is_refused(org: Org, run: DrivenRun, path: str) -> None:
    for cursor in [*BAD_CURSORS, LONG_NUMBER, "MXw" + LONG_NUMBER]:
        refused(await org.client.get(path, params={"cursor": cursor}), 400, "invalid_cursor")


async def test_a_run_without_a_call_is_warned_of(run: DrivenRun) -> None:
    (warning,) = answered(await run.finish())["soft_warnings"]
    assert "odyssey_proxy_url" in warning
