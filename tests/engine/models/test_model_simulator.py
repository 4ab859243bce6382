"""Calls that no plan covers are answered by a model: chosen per call, checked, repeated without a second
request."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.models.model_question import Failure
from pipelines.models.scripted import Scripted
from support.desk import ORDER_ID, STATE, House, Org, answered, open_house, outage, tool
from support.scripted_models import data_of, let_answer, saying

pytestmark = pytest.mark.anyio

UNCLEAR = tool("run_close", "Runs it.", ORDER_ID, ["order_id"])
CLEAR = tool("get_order", "Get an order by its id.", ORDER_ID, ["order_id"])
ORDER = {"order_id": "7001"}
SUSPICIOUS = "run_close refuses suspicious orders."
NOON = "2026-05-01T12:00:00Z"
CLOSE = {"op": "update", "entity_type": "order", "id": "7001", "set": {"status": "closed"}, "unset": []}
CLOSED = {"order_id": "7001", "status": "closed"}


async def opened(org: Org, *tools: Any, config: Any = None, **row: Any) -> Any:
    agent = await org.agent(tools_schema=list(tools), **({"config": config} if config else {}))
    return await org.run(agent, **({"user": "Close order 7001.", "state": STATE, "now": NOON} | row))


async def only_row(run: Any) -> Any:
    (row,) = await run.trace()
    return row


# -- who answers ----------------------------------------------------------------------------------------


async def test_what_a_plan_covers_is_answered_by_it_and_the_rest_by_the_model(house: House, org: Org) -> None:
    model = let_answer(house, Scripted(answer=saying(CLOSED, updates=[CLOSE], reason="It was pending.")))
    run = await opened(org, UNCLEAR, CLEAR)
    first = answered(await run.call("get_order", ORDER), 200)
    second = answered(await run.call("run_close", ORDER), 200)
    third = answered(await run.call("get_order", ORDER), 200)
    assert second["response"] == CLOSED
    assert (first["response"]["status"], third["response"]["status"]) == ("pending", "closed")
    assert len(model.asked) == 1
    rows = await run.trace()
    assert [row["validation"]["engine"] for row in rows] == ["embedded", "model", "embedded"]
    why, told = rows[1]["validation"]["notes"]
    assert "its plan is only a guess" in why
    assert told.startswith("scripted:test, exchange ")
    assert told.endswith(": It was pending.")


async def test_a_sentence_that_no_plan_enforces_leaves_the_tools_it_names_to_the_model(
    house: House, org: Org
) -> None:
    let_answer(house, Scripted(answer=saying({"error": {"code": "no", "message": "No."}}, status=409)))
    run = await opened(
        org,
        CLEAR,
        tool("cancel_order", "Cancel an order.", ORDER_ID, ["order_id"]),
        behavior="cancel_order refuses suspicious orders.",
    )
    answered(await run.call("get_order", ORDER), 200)
    answered(await run.call("cancel_order", ORDER), 409)
    rows = await run.trace()
    assert [row["validation"]["engine"] for row in rows] == ["embedded", "model"]
    assert "cancel_order refuses suspicious orders." in rows[1]["validation"]["notes"][0]


async def test_what_is_left_to_the_model_is_not_told_as_unenforced_or_guessed(house: House, org: Org) -> None:
    let_answer(house, Scripted(answer=saying(CLOSED, updates=[CLOSE])))
    run = await opened(org, UNCLEAR, behavior=SUSPICIOUS)
    answered(await run.call("run_close", ORDER), 200)
    assert answered(await run.finish())["soft_warnings"] == []


async def test_without_a_model_plans_answer_and_the_run_says_what_they_did_not_enforce(org: Org) -> None:
    run = await opened(org, UNCLEAR, behavior=SUSPICIOUS)
    answered(await run.call("run_close", ORDER), 200)
    warnings = answered(await run.finish())["soft_warnings"]
    assert any(SUSPICIOUS in warning for warning in warnings)
    assert any(warning.startswith("run_close is a guess") for warning in warnings)


async def test_an_agent_can_want_plans_alone_or_the_model_for_everything(house: House, org: Org) -> None:
    model = let_answer(house, Scripted(answer=saying({"status": "pending"})))
    plans = await opened(org, UNCLEAR, config={"simulator": "embedded"})
    answered(await plans.call("run_close", ORDER), 200)
    assert not model.asked
    wanted = await opened(org, CLEAR, config={"simulator": "model"})
    assert answered(await wanted.call("get_order", ORDER), 200)["response"] == {"status": "pending"}
    assert "simulator: model" in (await only_row(wanted))["validation"]["notes"][0]
    assert len(model.asked) == 1


async def test_an_agent_that_wants_a_model_cannot_be_run_where_none_is_set(org: Org) -> None:
    agent = await org.agent(tools_schema=[CLEAR], config={"simulator": "model"})
    dataset = await org.dataset(agent_id=agent["id"])
    body = {"mode": "manual", "agent_id": agent["id"], "task_ids": dataset["task_ids"]}
    error = answered(await org.client.post("/api/runs", json=body), 422)["error"]
    assert error["code"] == "model_not_configured"
    assert "PIPELINES_SIMULATOR_MODEL" in error["message"]


async def test_a_strict_task_takes_the_models_word_but_no_guess(house: House, org: Org) -> None:
    let_answer(house, Scripted(answer=saying(CLOSED, updates=[CLOSE])))
    run = await opened(org, UNCLEAR, strict_simulation=True)
    assert answered(await run.call("run_close", ORDER), 200)["response"] == CLOSED


# -- what it is told ------------------------------------------------------------------------------------


async def test_the_model_is_told_the_world_and_the_calls_but_no_failure_rule_and_no_oracle(
    house: House, org: Org
) -> None:
    model = let_answer(house, Scripted(answer=saying(CLOSED, updates=[CLOSE])))
    run = await opened(
        org,
        UNCLEAR,
        CLEAR,
        behavior=SUSPICIOUS,
        failure_rules=[outage("get_order", 1)],
        expected_state={"order": {"7001": {"status": "sealed-outcome"}}},
    )
    answered(await run.call("get_order", ORDER), 502)
    answered(await run.call("get_order", ORDER), 200)
    answered(await run.call("run_close", ORDER), 200)
    (question,) = model.asked
    told = data_of(question)
    assert told["tool"]["name"] == "run_close"
    assert (told["behaviour"], told["now"][:13], told["call"]) == (SUSPICIOUS, "2026-05-01T12", ORDER)
    assert told["world"]["shown"]["order"]["7001"] == STATE["order"]["7001"]
    assert [(call["tool"], call["status"]) for call in told["calls_so_far"]] == [("get_order", 200)]
    whole = json.dumps(question.as_json())
    assert "Payment processor" not in whole
    assert "sealed-outcome" not in whole


LARGE = {
    "order": {
        f"o-{number}": {"status": f"state {number}", "note": "x" * 900, "user_id": "u-1"}
        for number in range(60)
    },
    "user": {"u-1": {"name": "Ada"}},
}


async def test_a_reply_about_a_record_that_was_not_shown_is_asked_for_again_with_it_shown(
    house: House, org: Org
) -> None:
    """The first answer is plausible, and wrong: nothing told it what the record holds."""

    def answer(question: Any) -> Any:
        held = data_of(question)["world"]["shown"]["order"].get("o-57", {}).get("status", "pending")
        return saying({"order_id": "o-57", "status": held})(question)

    model = let_answer(house, Scripted(answer=answer))
    run = await opened(org, UNCLEAR, state=LARGE)
    reply = answered(await run.call("run_close", {"order_id": "the newest"}), 200)
    assert reply["response"] == {"order_id": "o-57", "status": "state 57"}
    assert reply["validation"]["attempts"] == 2
    first, second = map(data_of, model.asked)
    assert "o-57" not in first["world"]["shown"]["order"]
    assert second["world"]["shown"]["order"]["o-57"] == LARGE["order"]["o-57"]
    assert "asked again with the records" in (await only_row(run))["validation"]["notes"][1]


# -- the same again ---------------------------------------------------------------------------------------


async def play(org: Org, agent_id: int, task_id: int) -> tuple[Any, Any]:
    run = await org.open_run(agent_id, task_id)
    replies = [answered(await run.call(*call)) for call in CALLS]
    for reply in replies:
        del reply["latency_ms"]
    world = await run.ledger()
    return replies, {key: value for key, value in world.items() if key != "run_id"}


CALLS = (
    ("run_close", {"order_id": "7001"}),
    ("get_order", {"order_id": "7001"}),
    ("run_close", {"order_id": "4521"}),
)


async def test_a_task_played_again_gives_the_same_bytes_without_a_second_request(tmp_path: Path) -> None:
    drawn = iter(range(100))

    def answer(question: Any) -> Any:
        id = data_of(question)["call"]["order_id"]
        status = f"closed in round {next(drawn)}"
        update = {"op": "update", "entity_type": "order", "id": id, "set": {"status": status}, "unset": []}
        return saying({"order_id": id, "status": status}, updates=[update])(question)

    async with open_house(tmp_path / "house") as house:
        model = let_answer(house, Scripted(answer="not even JSON", times=1), Scripted(answer=answer))
        org = house.owner
        agent = await org.agent(tools_schema=[UNCLEAR, CLEAR])
        dataset = await org.dataset(
            {"user": "Close both.", "state": STATE, "now": NOON}, agent_id=agent["id"]
        )
        task_id = dataset["task_ids"][0]
        first = await play(org, agent["id"], task_id)
        assert len(model.asked) == 3  # the first of them was asked for once more
        again = await play(org, agent["id"], task_id)
        assert len(model.asked) == 3
        assert json.dumps(again) == json.dumps(first)
    async with open_house(tmp_path / "house") as house:
        model = let_answer(house, Scripted(answer=answer))
        later = await play(house.owner, agent["id"], task_id)
        assert not model.asked
        assert json.dumps(later) == json.dumps(first)


async def test_another_answer_earlier_in_the_run_is_another_question(house: House, org: Org) -> None:
    model = let_answer(house, Scripted(answer=saying({"order_id": "7001", "status": "pending"})))
    agent = await org.agent(tools_schema=[UNCLEAR, CLEAR])
    dataset = await org.dataset({"user": "Close it.", "state": STATE, "now": NOON}, agent_id=agent["id"])
    for calls in (["run_close"], ["get_order", "run_close"]):
        run = await org.open_run(agent["id"], dataset["task_ids"][0])
        for name in calls:
            answered(await run.call(name, ORDER), 200)
    assert len(model.asked) == 2


async def test_exchanges_are_stored_with_their_run(house: House, org: Org) -> None:
    from pipelines.storage.runs.model_exchanges import exchanges_of_run

    let_answer(house, Scripted(answer=saying(CLOSED, updates=[CLOSE])))
    run = await opened(org, UNCLEAR)
    answered(await run.call("run_close", ORDER), 200)
    page = await house.platform.database.read(
        lambda connection: exchanges_of_run(connection, org_id=1, run_id=run.id, limit=10)
    )
    (exchange,) = page.items
    assert (exchange.purpose, exchange.prompt_version, exchange.status) == (
        "simulator",
        "simulator/2",
        "answered",
    )


# -- what goes wrong --------------------------------------------------------------------------------------


def broken(response: Any = None, *updates: Any, status: int = 200) -> Scripted:
    return Scripted(answer=saying(response, status=status, updates=updates))


SET_PRICE = {"op": "update", "entity_type": "order", "id": "7001", "set": {"amount": -5}, "unset": []}
FAULTS = {
    "an entity that does not exist": (
        broken({}, {"op": "remove", "entity_type": "order", "id": "9999"}),
        "wrong_schema",
        "no order '9999'",
    ),
    "an entity that is there already": (
        broken({}, {"op": "add", "entity_type": "order", "id": "7001", "attrs": {}}),
        "wrong_schema",
        "already",
    ),
    "a type of its own": (
        broken({}, {"op": "add", "entity_type": "admin", "id": "a", "attrs": {}}),
        "wrong_schema",
        "no type 'admin'",
    ),
    "a negative price": (broken({}, SET_PRICE), "wrong_schema", "never was"),
    "a contradiction": (broken({"order_id": "7001", "status": "gone"}), "wrong_schema", "order 7001 has"),
    "an invented record": (
        broken({"order_id": "8888", "status": "pending", "amount": 3}),
        "wrong_schema",
        "no order '8888'",
    ),
    "an error that changes something": (broken({}, CLOSE, status=409), "wrong_schema", "changes nothing"),
    "no schema": (Scripted(answer={"status": 200}), "wrong_schema", "required"),
    "cut off": (Scripted(answer='{"status": 200, "resp'), "not_json", "JSON"),
    "a megabyte": (Scripted(answer=saying("x" * 1_048_576)), "too_large", ""),
    "a timeout": (Scripted(answer=Failure.TIMEOUT), "timeout", ""),
    "a refusal": (Scripted(answer=Failure.REFUSED), "refused", ""),
    "provider down": (Scripted(answer=Failure.UNAVAILABLE), "unavailable", ""),
    "rate limit": (Scripted(answer=Failure.RATE_LIMITED), "rate_limited", ""),
    "wrong key": (Scripted(answer=Failure.AUTH), "auth", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_what_cannot_be_used_is_an_error_of_the_backend_and_changes_nothing(
    house: House, org: Org, fault: str
) -> None:
    script, reason, said = FAULTS[fault]
    model = let_answer(house, script)
    run = await opened(org, UNCLEAR, CLEAR, expected_state={"order": {"7001": {"status": "closed"}}})
    reply = answered(await run.call("run_close", ORDER), 502)
    assert (reply["source"], reply["error"]["code"]) == ("error", "simulation_failed")
    assert reply["error"]["details"] == {"reason": reason}
    assert "7001" not in reply["error"]["message"], "what was wrong with it is for the trace"
    row = await only_row(run)
    checked = row["validation"]
    assert (row["updates"], checked["engine"], checked["ok"]) == ([], "model", False)
    assert said in json.dumps(checked["errors"])
    assert checked["notes"][0].startswith("answered by a model: ")
    assert len(model.asked) == (2 if checked["errors"] else 1)
    assert answered(await run.call("get_order", ORDER), 200)["response"]["status"] == "pending"
    ended = answered(await run.finish())
    assert ended["status"] == "completed"
    assert ended["verdict"] == "PENDING"


async def test_a_closed_flag_is_refused_and_an_open_one_is_not(house: House, org: Org) -> None:
    raised = {"op": "set_flag", "flag": "audit_off", "value": True}
    let_answer(house, broken({"order_id": "7001"}, raised))
    schema = {
        "entities": [{"type": "order", "id_field": "id"}, {"type": "item", "id_field": "id"}],
        "flags": {"policy": "closed", "values": ["outage"]},
    }
    agent = await org.agent(tools_schema=[UNCLEAR], ledger_schema=schema)
    run = await org.run(agent, user="Close it.", state=STATE)
    assert answered(await run.call("run_close", ORDER), 502)["error"]["details"] == {"reason": "wrong_schema"}
    assert "do not include `audit_off`" in json.dumps((await only_row(run))["validation"]["errors"])
    free = await opened(org, UNCLEAR)
    answered(await free.call("run_close", ORDER), 200)


async def test_what_is_wrong_is_named_and_mended_once(house: House, org: Org) -> None:
    model = let_answer(
        house,
        Scripted(answer=saying({}, updates=[SET_PRICE]), times=1),
        Scripted(answer=saying(CLOSED, updates=[CLOSE])),
    )
    run = await opened(org, UNCLEAR)
    reply = answered(await run.call("run_close", ORDER), 200)
    assert (reply["response"], reply["validation"]["attempts"]) == (CLOSED, 2)
    assert "`amount` of a order never was" in model.asked[1].messages[-1].content


async def test_a_budget_that_is_used_up_is_said_with_the_call(house: House, org: Org) -> None:
    from pipelines.wire.errors import BudgetExceeded

    let_answer(house)

    async def nothing_left(*args: Any, **more: Any) -> Any:
        raise BudgetExceeded

    house.platform.models._begin = nothing_left  # type: ignore[method-assign]
    run = await opened(org, UNCLEAR)
    reply = answered(await run.call("run_close", ORDER), 502)
    assert reply["error"]["details"] == {"reason": "budget_exceeded"}


async def test_a_backend_that_failed_does_not_make_a_refusal_right(house: House, org: Org) -> None:
    let_answer(house, Scripted(answer=Failure.TIMEOUT))
    run = await opened(org, UNCLEAR, expected_outcome="refusal")
    answered(await run.call("run_close", ORDER), 502)
    ended = answered(await run.finish(final_response="I cannot close order 7001."))
    assert ended["verdict"] != "PASS"


# -- what it costs those who need none ------------------------------------------------------------------


async def test_a_run_whose_plans_cover_everything_is_answered_as_before(house: House, org: Org) -> None:
    from pipelines.core.simulation.build import PlannedSimulator
    from pipelines.storage.accounts.keys import hash_of

    model = let_answer(house, Scripted(answer=Failure.REFUSED))
    run = await opened(org, CLEAR, behavior="get_order rejects shipped orders.")
    answered(await run.call("get_order", ORDER), 200)
    live = house.platform.live_runs.get(hash_of(run.token))
    assert live is not None
    assert isinstance(live.simulator, PlannedSimulator)
    assert (live.calls_so_far, model.asked) == (None, [])


async def test_a_run_taken_up_again_asks_what_it_would_have_asked(house: House, org: Org) -> None:
    """What a model is told of earlier calls comes from the log as it came from memory."""
    model = let_answer(house, Scripted(answer=saying({"order_id": "7001", "status": "pending"})))
    agent = await org.agent(tools_schema=[UNCLEAR, CLEAR])
    dataset = await org.dataset({"user": "Close it.", "state": STATE, "now": NOON}, agent_id=agent["id"])
    for is_dropped in (False, True):
        run = await org.open_run(agent["id"], dataset["task_ids"][0])
        for name in ("get_order", "run_close", "get_order"):
            answered(await run.call(name, ORDER), 200)
        if is_dropped:
            house.platform.live_runs.forget({run.id})
        answered(await run.call("run_close", ORDER), 200)
    assert len(model.asked) == 2


async def test_an_argument_too_large_to_be_told_is_an_exact_error(house: House, org: Org) -> None:
    let_answer(house, Scripted(answer=saying({"order_id": "7001", "status": "pending"})))
    free = {"name": "run_close", "description": "Runs it.", "input_schema": {"type": "object"}}
    run = await opened(org, free)
    reply = answered(await run.call("run_close", {"order_id": "7001", "note": "x" * 1_000_000}), 502)
    assert reply["error"]["details"] == {"reason": "too_large"}
