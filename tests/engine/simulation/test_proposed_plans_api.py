"""Plans that a model writes for tools that lack one: tried, measured, shown; applied only by a person."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.models.model_question import Failure, Purpose
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.simulation import propose_plans
from pipelines.models.recorded import read_cassette
from pipelines.models.scripted import Scripted
from support.desk import ORDER_ID, STATE, House, Org, answered, refused, tool
from support.plan_answers import answer_of, parts_of, told_of, with_examples, writing
from support.scripted_models import OneModel, let_answer

pytestmark = pytest.mark.anyio

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLEAR = tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"])
STEPS = [
    {"find": {"as": "order", "in": "order", "id": "args.order_id"}},
    {"require": "order.status == 'pending'", "else": {"status": 409, "error": "not_pending"}},
    {"set": {"order.status": "'closed'"}},
    {"return": {"order_id": "order.id", "status": "order.status"}},
]
CLOSES = {"tool": "run_close", "arguments": {"order_id": "7001"}, "outcome": "allowed"}
REFUSES = {"tool": "run_close", "arguments": {"order_id": "4521"}, "outcome": "refused", "status": 409}
CLOSE = with_examples(STEPS, CLOSES, REFUSES)
WRONG = with_examples(
    [{"find": {"as": "order", "in": "order", "id": "args.order"}}, {"return": "ordr"}], CLOSES, REFUSES
)


def shut(number: str, status: str = "shut") -> Any:
    """A recorded call of run_close."""
    change = {"op": "update", "entity_type": "order", "id": number, "set": {"status": status}, "unset": []}
    return {
        "tool": "run_close",
        "args": {"order_id": number},
        "status": "ok",
        "response": {"order_id": number, "status": status},
        "updates": [change],
    }


ORDERS = {"order": {str(number): {"status": "pending", "amount": number} for number in range(1, 9)}}
RECORDING = {
    "state": ORDERS,
    "tasks": [{"task": "t-1", "calls": [shut(number) for number in ORDERS["order"]]}],
}
SHUTS = [step if "set" not in step else {"set": {"order.status": "'shut'"}} for step in STEPS]


async def made(org: Org) -> tuple[Any, int]:
    agent = await org.agent(tools_schema=[UNCLEAR, CLEAR])
    dataset = await org.dataset({"user": "Close it.", "state": STATE}, agent_id=agent["id"])
    return agent, dataset["task_ids"][0]


async def ended(org: Org, agent: Any, **body: Any) -> Any:
    job = answered(await org.client.post(f"/api/agents/{agent['id']}/plans/propose", json=body), 202)
    return answered(await org.client.get(f"/api/author-jobs/{job['id']}", params={"wait_s": 20}))


async def proposed(org: Org, agent: Any, **body: Any) -> Any:
    job = await ended(org, agent, **body)
    assert job["status"] == "done", job
    return job["answer"]


async def test_a_plan_is_proposed_for_what_is_a_guess_and_applied_by_nobody(house: House, org: Org) -> None:
    model = let_answer(house, writing(answer_of(run_close=CLOSE)), purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["tool"], item["plan"], item["rounds"], item["is_usable"]) == ("run_close", STEPS, 1, True)
    assert [one["problem"] for one in item["examples"]] == [None, None]
    assert item["measured"] | {"before": 0} == {"basis": "examples", "calls": 2, "before": 0, "after": 2}
    assert item["choice"] == "proposed"
    assert any(line.startswith("+") and "closed" in line for line in item["difference"])
    assert len(model.asked) == 1
    after = answered(await org.client.get(f"/api/agents/{agent['id']}"))
    assert after["version"] == agent["version"]


async def test_each_reading_has_its_time_in_the_thread_that_reads(
    house: House, org: Org, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first reading and those of each try: made anew where the text is read, not on the loop."""
    made_by: list[str] = []

    def noted(most_s: float) -> Callable[[], bool]:
        made_by.append(threading.current_thread().name.split("_")[0])
        return has_time(most_s)

    monkeypatch.setattr(propose_plans, "has_time", noted)
    model = writing(answer_of(run_close=WRONG), answer_of(run_close=CLOSE))
    let_answer(house, model, purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id, behavior="Orders are closed once."))["items"]
    assert item["is_usable"]
    assert len(made_by) >= 2
    assert set(made_by) == {"plans"}


async def test_a_failed_check_goes_back_once_with_the_reason(house: House, org: Org) -> None:
    script = writing(answer_of(run_close=WRONG), answer_of(run_close=CLOSE))
    model = let_answer(house, script, purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["rounds"], item["is_usable"], item["plan"]) == (2, True, STEPS)
    (reasons,) = parts_of(model.asked[1])
    assert "ordr" in str(reasons["run_close"])

    other = await org.agent(tools_schema=[UNCLEAR, CLEAR], name="Another")
    stubborn = let_answer(house, writing(answer_of(run_close=WRONG)), purpose=Purpose.AUTHOR)
    (item,) = (await proposed(org, other, tools=["run_close"]))["items"]
    assert (item["rounds"], item["is_usable"], item["text"]) == (2, False, None)
    assert (item["choice"], item["measured"]["after"]) == ("current", None)
    assert item["problems"]
    assert len(stubborn.asked) == 2


async def test_a_plan_that_refuses_every_record_of_the_world_is_no_reason_to_ask_again(
    house: House, org: Org
) -> None:
    """Its own examples say when it succeeds. Nobody knows what a call with invented arguments should do."""
    token = {"order_id": {"type": "string"}, "token": {"type": "string"}}
    guarded = tool("run_close", "Runs it.", token, ["order_id", "token"])
    steps = [{"require": "args.token == 'let-me'", "else": {"status": 403, "error": "no_token"}}, *STEPS]
    examples = [
        CLOSES | {"arguments": {"order_id": "7001", "token": "let-me"}},
        REFUSES | {"arguments": {"order_id": "7001", "token": "x"}, "status": 403, "error": "no_token"},
    ]
    answer = answer_of(run_close=with_examples(steps, *examples))
    model = let_answer(house, writing(answer), purpose=Purpose.AUTHOR)
    agent = await org.agent(tools_schema=[guarded])
    dataset = await org.dataset({"user": "Close it.", "state": STATE}, agent_id=agent["id"])
    (item,) = (await proposed(org, agent, task_id=dataset["task_ids"][0]))["items"]
    assert (item["rounds"], item["is_usable"], item["plan"]) == (1, True, steps)
    assert len(model.asked) == 1


async def test_an_example_that_comes_out_otherwise_is_a_failed_check(house: House, org: Org) -> None:
    lenient = with_examples([step for step in STEPS if "require" not in step], CLOSES, REFUSES)
    model = let_answer(
        house, writing(answer_of(run_close=lenient), answer_of(run_close=CLOSE)), purpose=Purpose.AUTHOR
    )
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["rounds"], item["plan"]) == (2, STEPS)
    (reasons,) = parts_of(model.asked[1])
    assert "expected refused, but the call is allowed" in str(reasons["run_close"])


async def test_a_plan_without_example_calls_is_sent_back_unless_calls_were_recorded(
    house: House, org: Org
) -> None:
    let_answer(house, writing(answer_of(run_close=STEPS), answer_of(run_close=CLOSE)), purpose=Purpose.AUTHOR)
    agent, task_id = await made(org)
    (item,) = (await proposed(org, agent, task_id=task_id))["items"]
    assert (item["rounds"], item["is_usable"]) == (2, True)
    let_answer(house, writing(answer_of(run_close=SHUTS)), purpose=Purpose.AUTHOR)
    (item,) = (await proposed(org, agent, recording=RECORDING))["items"]
    assert (item["rounds"], item["is_usable"], item["examples"]) == (1, True, [])


async def test_a_recording_measures_on_calls_that_the_model_was_not_shown(house: House, org: Org) -> None:
    script = writing(answer_of(run_close=CLOSE), answer_of(run_close=SHUTS))
    model = let_answer(house, script, purpose=Purpose.AUTHOR)
    agent, _ = await made(org)
    (item,) = (await proposed(org, agent, recording=RECORDING))["items"]
    assert (item["rounds"], item["plan"], item["choice"]) == (2, SHUTS, "proposed")
    assert item["measured"] == {"basis": "held_out", "calls": 3, "before": 0, "after": 3}
    assert item["not_explained"] == []
    told = told_of(model.asked[0], "run_close")
    shown = {one["arguments"]["order_id"] for one in told["recorded_calls"]}
    assert len(shown) == 5
    assert told["calls_recorded"] == 8
    assert told["recorded_calls"][0]["before"]["order"]["1"] == ORDERS["order"]["1"]
    (reasons,) = parts_of(model.asked[1])
    assert "shut" in str(reasons["run_close"])
    hidden = ORDERS["order"].keys() - shown
    assert not any(f"call {number} " in str(reasons) for number in hidden), "held out of the reasons, too"


async def test_what_a_plan_does_not_explain_is_listed_and_the_better_plan_is_chosen(
    house: House, org: Org
) -> None:
    odd = {"state": ORDERS, "tasks": [{"task": "t-1", "calls": [*RECORDING["tasks"][0]["calls"], shut("9")]}]}
    let_answer(house, writing(answer_of(run_close=SHUTS)), purpose=Purpose.AUTHOR)
    agent, _ = await made(org)
    (item,) = (await proposed(org, agent, recording=odd))["items"]
    (line,) = item["not_explained"]
    assert line.startswith('task t-1, call 9 with {"order_id":"9"}: ')
    assert item["choice"] == "proposed"
    let_answer(house, writing(answer_of(run_close=CLOSE)), purpose=Purpose.AUTHOR)
    other = await org.agent(tools_schema=[UNCLEAR | {"simulation": SHUTS}], name="Another")
    (item,) = (await proposed(org, other, recording=odd))["items"]
    assert (item["choice"], item["measured"]["before"], item["measured"]["after"]) == ("current", 3, 0)


async def test_a_recording_decides_which_tools_are_asked_for(house: House, org: Org) -> None:
    """A plan that explains all calls is no guess, and one that is sure of itself may be wrong."""
    read = {
        "tool": "get_order",
        "args": {"order_id": "1"},
        "status": "ok",
        "response": {"id": "1", "state": "new"},
        "updates": [],
    }
    tasks = [{"task": "t-1", "calls": [shut("2"), read]}]
    explained = await org.agent(tools_schema=[UNCLEAR | {"simulation": SHUTS}, CLEAR])
    model = let_answer(
        house,
        writing(answer_of(get_order=[{"return": "{'id': args.order_id, 'state': 'new'}"}])),
        purpose=Purpose.AUTHOR,
    )
    found = await proposed(org, explained, recording={"state": ORDERS, "tasks": tasks})
    assert [one["tool"] for one in found["items"]] == ["get_order"]
    assert found["items"][0]["measured"] == {"basis": "shown", "calls": 1, "before": 0, "after": 1}
    assert len(model.asked) == 1


async def test_guesses_are_those_of_the_world_that_is_given(house: House, org: Org) -> None:
    """Without a world nobody knows what `get_info` is about. In a world with loans it is clear."""
    loans = tool("get_info", "Info.", {"loan_id": {"type": "string"}}, ["loan_id"])
    agent = await org.agent(tools_schema=[loans])
    let_answer(house, Scripted(answer=Failure.UNAVAILABLE), purpose=Purpose.AUTHOR)
    state = {"loan": {"l-1": {"amount": 3}, "l-2": {"amount": 4}}}
    found = await proposed(org, agent, recording={"state": state, "tasks": []})
    assert found["items"] == []
    plans = answered(await org.client.get(f"/api/agents/{agent['id']}/plans"))
    assert plans["items"][0]["is_guess"], "without a world it is a guess"


async def test_the_same_conversation_is_answered_by_a_recorded_model(
    house: House, org: Org, tmp_path: Path
) -> None:
    """Every question is the same byte for byte: the first, what is sent back, and those of later turns."""
    tools = [tool(f"run_close_{number}", "Runs it.", ORDER_ID, ["order_id"]) for number in range(6)]
    names = [one["name"] for one in tools]
    broken = [{"return": "ordr"}]
    right = {
        name: with_examples(STEPS, *[one | {"tool": name} for one in (CLOSES, REFUSES)]) for name in names
    }
    answers = [
        answer_of(**{**{name: right[name] for name in names[:4]}, names[0]: broken}),
        answer_of(**{names[0]: right[names[0]]}),
        answer_of(**{name: right[name] for name in names[4:]}),
    ]
    world: Any = {"recording": {"state": STATE, "tasks": []}, "tools": names}
    model = let_answer(house, writing(*answers), purpose=Purpose.AUTHOR)
    first = await proposed(org, await org.agent(tools_schema=tools), **world)
    assert [one["rounds"] for one in first["items"]] == [2, 1, 1, 1, 1, 1]
    lines = [
        {"purpose": "author", "model": "real", "request": question.as_json(), "answer": json.dumps(answer)}
        for question, answer in zip(model.asked, answers, strict=True)
    ]
    cassette = tmp_path / "answers.jsonl"
    cassette.write_text("\n".join(map(json.dumps, lines)))
    other = await house.another_org()
    house.platform.models._clients = OneModel(read_cassette(cassette))
    again = await proposed(other, await other.agent(tools_schema=tools), **world)
    assert [one["plan"] for one in again["items"]] == [one["plan"] for one in first["items"]]


async def test_where_tasks_have_states_of_their_own_the_model_is_told_of_every_type(
    house: House, org: Org
) -> None:
    model = let_answer(house, writing(answer_of(run_close=SHUTS)), purpose=Purpose.AUTHOR)
    agent, _ = await made(org)
    tasks = [
        {"task": "t-1", "state": {"order": ORDERS["order"]}, "calls": [shut("1")]},
        {"task": "t-2", "state": {"ticket": {"k-1": {"open": True}}}, "calls": []},
    ]
    (item,) = (await proposed(org, agent, recording={"state": {}, "tasks": tasks}))["items"]
    setting, _ = parts_of(model.asked[0])
    assert {"order", "ticket"} <= setting["world"].keys()
    assert item["choice"] == "proposed"


async def test_accepting_makes_a_version_whose_runs_have_the_plan(house: House, org: Org) -> None:
    agent, task_id = await made(org)
    path = f"/api/agents/{agent['id']}/plans/accept"
    after = answered(await org.client.post(path, json={"plans": {"run_close": STEPS}}), 200)
    assert after["version"] == agent["version"] + 1
    run = await org.open_run(agent["id"], task_id)
    assert answered(await run.call("run_close", {"order_id": "7001"}), 200)["response"]["status"] == "closed"
    refused(
        await org.client.post(path, json={"plans": {"run_close": WRONG["steps"]}}), 422, "invalid_request"
    )
    refused(await org.client.post(path, json={"plans": {"gone": STEPS}}), 422, "invalid_request")
    refused(await org.client.post(path, json={"plans": {}}), 422, "invalid_request")


async def test_what_cannot_be_asked_for_is_refused(house: House, org: Org) -> None:
    agent, _ = await made(org)
    path = f"/api/agents/{agent['id']}/plans/propose"
    refused(await org.client.post(path, json={}), 422, "model_not_configured")
    let_answer(house, writing(answer_of(run_close=CLOSE)), purpose=Purpose.AUTHOR)
    misshapen = {"state": {"order": 3}, "tasks": []}
    for body in (
        {"tools": ["gone"]},
        {"recording": 3},
        {"recording": {"tasks": [7]}},
        {"recording": misshapen},
        {"recording": {"tasks": [{"state": misshapen["state"], "calls": []}]}},
        {"x": 1},
    ):
        refused(await org.client.post(path, json=body), 422, "invalid_request")
    refused(await org.client.post(path, json={"task_id": 999}), 404, "not_found")
    other = await house.another_org()
    refused(await other.client.post(path, json={}), 404, "not_found")
