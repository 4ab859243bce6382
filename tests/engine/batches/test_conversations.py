"""Scripted conversations: what is sent each turn, when they end, one world and one verdict for all of it."""

from typing import Any

import pytest

from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import REFUND_TASK, Api

SCRIPTED = REFUND_TASK | {
    "user": "Hello, I have a question about order 4521.",
    "turn_mode": "model_as_user",
    "simulator_mode": "scripted",
    "scripted_user_turns": ["Please refund it.", "Thank you."],
}


def serves(dispatch: Dispatch) -> None:
    """An agent that answers turn by turn."""
    if "refund" in dispatch.said:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.")
    else:
        dispatch.answer(f"Noted: {dispatch.said}")


def talk(api: Api, agent: PlayedAgent, row: Any) -> dict[str, Any]:
    batch_id = api.start_batch(agent.url, row)
    assert api.ended(batch_id)["status"] == "completed"
    return api.only_run(batch_id)


def test_replay_sends_all_that_was_said_with_the_new_message_last(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, SCRIPTED)
        inputs = [dispatch.body["input"] for dispatch in agent.dispatches]
    turns = [SCRIPTED["user"], *SCRIPTED["scripted_user_turns"]]
    assert [each["user_instruction"] for each in inputs] == turns
    assert all("session_id" not in each for each in inputs)
    assert [len(each["messages"]) for each in inputs] == [1, 3, 5]
    for each, said in zip(inputs, turns, strict=True):
        assert each["messages"][-1] == {"role": "user", "content": said}
    assert inputs[2]["messages"][:-1] == [
        {"role": "user", "content": turns[0]},
        {"role": "assistant", "content": f"Noted: {turns[0]}"},
        {"role": "user", "content": turns[1]},
        {"role": "assistant", "content": "I have refunded order 4521."},
    ]
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    assert run["final_response"] == "Noted: Thank you."
    assert [message["role"] for message in run["messages"]] == ["user", "assistant"] * 3


def test_what_the_last_turn_returns_as_data_is_the_answer(api: Api):
    def returns(dispatch: Dispatch) -> None:
        dispatch.answer("Noted.", metadata={"answer": {"turn": dispatch.said}})

    with played(returns) as agent:
        row = SCRIPTED | {"expected_state": None, "expected_answer": {"turn": "Thank you."}}
        run = talk(api, agent, row)
    told = [one for one in run["judgement"]["findings"] if one["check"] == "expected_answer"]
    assert [one["says"] for one in told] == ['The answer gives turn as expected in its data: "Thank you.".']


def test_replay_keeps_the_calls_an_agent_tells_of(api: Api):
    call = {"id": "c1", "name": "refund_order", "arguments": {"order_id": "4521"}}

    def richly(dispatch: Dispatch) -> None:
        said = f"Noted: {dispatch.said}"
        told = [
            *dispatch.body["input"]["messages"],  # some agents send the whole back
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
            {"role": "assistant", "content": said},
        ]
        dispatch.answer(said, messages=told)

    with played(richly) as agent:
        talk(api, agent, SCRIPTED | {"scripted_user_turns": ["And now?"]})
        second = agent.dispatches[1].body["input"]["messages"]
    roles = [message["role"] for message in second]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert second[1]["tool_calls"] == [call]


def test_stateful_sends_only_the_new_message_under_one_session(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, SCRIPTED | {"memory_mode": "stateful"})
        inputs = [dispatch.body["input"] for dispatch in agent.dispatches]
    assert all("messages" not in each for each in inputs)
    assert len({each["session_id"] for each in inputs}) == 1
    assert inputs[0]["session_id"]
    assert (run["status"], run["verdict"]) == ("completed", "PASS")


def test_two_sessions_have_two_names(api: Api):
    with played(serves) as agent:
        row = SCRIPTED | {"memory_mode": "stateful"}
        api.ended(api.start_batch(agent.url, row, row))
        sessions = {(d.run_id, d.body["input"]["session_id"]) for d in agent.dispatches}
    assert len(sessions) == len({session for _, session in sessions}) == 2


def test_a_session_has_one_token_one_world_and_one_log(api: Api):
    def looks_each_turn(dispatch: Dispatch) -> None:
        found.append(dispatch.call("get_order", {"order_id": "4521"}).body["response"]["status"])
        serves(dispatch)

    found: list[str] = []
    with played(looks_each_turn) as agent:
        run = talk(api, agent, SCRIPTED)
        assert len({dispatch.token for dispatch in agent.dispatches}) == 1
        assert {dispatch.run_id for dispatch in agent.dispatches} == {run["id"]}
    assert found == ["shipped", "shipped", "refunded"]
    assert [row["sequence"] for row in api.trace(run["id"])] == [1, 2, 3, 4]


@pytest.mark.parametrize(("most", "turns"), [(1, 1), (2, 2), (3, 3), (50, 3)])
def test_a_conversation_has_at_most_max_turns(api: Api, most: int, turns: int):
    with played(serves) as agent:
        talk(api, agent, SCRIPTED | {"max_turns": most})
        assert len(agent.dispatches) == turns


def test_the_termination_keyword_ends_it_in_any_case(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, SCRIPTED | {"termination_keyword": "REFUNDED order"})
        assert len(agent.dispatches) == 2
    assert run["final_response"] == "I have refunded order 4521."


def test_a_turn_that_fails_ends_the_conversation(api: Api):
    def breaks(dispatch: Dispatch) -> None:
        if "refund" in dispatch.said:
            dispatch.answer_with(500, b"out of memory")
        else:
            serves(dispatch)

    with played(breaks) as agent:
        run = talk(api, agent, SCRIPTED)
        assert len(agent.dispatches) == 2
    assert (run["status"], run["error_class"]) == ("failed", "agent_5xx")
    assert run["verdict"] == "NOT_APPLICABLE"
    assert [message["role"] for message in run["messages"]] == ["user", "assistant", "user"]


def test_a_constraint_is_tracked_over_all_turns(api: Api):
    constraint = {
        "id": "no_thanks",
        "description": "Never echoes the greeting.",
        "check": {"responses": {"$not": {"$contains": "Hello"}}},
    }
    with played(serves) as agent:
        run = talk(api, agent, SCRIPTED | {"tracked_constraints": [constraint]})
    assert (run["verdict"], run["failure_mode"]) == ("FAIL", "constraint_violated")
    assert api.post(f"/api/runs/{run['id']}/judge")["judgement"] == run["judgement"]


def test_judging_anew_reads_words_in_parts(api: Api):
    """Some frameworks send content as a list of parts; what was said is the same."""
    constraint = {"id": "greets", "description": "Greets.", "check": {"responses": {"$contains": "Noted"}}}

    def in_parts(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        said = f"Noted: {dispatch.said}" if "Please" not in dispatch.said else "I have refunded order 4521."
        dispatch.answer(said, messages=[{"role": "assistant", "content": [{"type": "text", "text": said}]}])

    with played(in_parts) as agent:
        run = talk(api, agent, SCRIPTED | {"tracked_constraints": [constraint]})
    assert run["failure_mode"] == "constraint_violated"
    assert api.post(f"/api/runs/{run['id']}/judge")["judgement"] == run["judgement"]


def test_warnings_of_later_turns_name_their_turn(api: Api):
    def messily(dispatch: Dispatch) -> None:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.", metadata=3)

    with played(messily) as agent:
        run = talk(api, agent, SCRIPTED | {"scripted_user_turns": ["And?"]})
    dropped = [each for each in run["soft_warnings"] if "metadata was dropped" in each]
    assert [warning.split(":")[0] for warning in dropped] == ["metadata was dropped", "turn 2"]
