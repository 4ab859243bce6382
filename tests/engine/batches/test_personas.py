"""Conversations whose user a model plays, over real sockets: its words, its end, its faults."""

from typing import Any

import httpx2
import pytest

from pipelines.cli.output.conversation import conversation_lines
from support.played_agents import Dispatch, PlayedAgent, played
from support.server_process import REFUND_TASK, Api, eventually

ADA = "Ada is in a hurry.\nOnly when asked: the order number is 4521"
PERSONA = REFUND_TASK | {
    "user": "Hello, I want my money back.",
    "behavior": "refund_order only succeeds when the order's status is shipped.",
    "turn_mode": "model_as_user",
    "user_simulator_persona": ADA,
}


def serves(dispatch: Dispatch) -> None:
    """Asks for the number, then whether it may, then does it."""
    if "4521" in dispatch.said:
        dispatch.answer("Shall I refund order 4521?")
    elif "Yes" in dispatch.said:
        dispatch.call("refund_order", {"order_id": "4521"})
        dispatch.answer("I have refunded order 4521.")
    else:
        dispatch.answer("What is your order number?")


def talk(api: Api, agent: PlayedAgent, row: Any) -> dict[str, Any]:
    batch_id = api.start_batch(agent.url, row)
    assert api.ended(batch_id)["status"] == "completed"
    return api.only_run(batch_id)


def test_a_persona_answers_until_its_matter_is_settled(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA)
        said = [dispatch.said for dispatch in agent.dispatches]
    assert said == [PERSONA["user"], "It is order 4521.", "Yes, please refund it."]
    assert (run["status"], run["verdict"]) == ("completed", "PASS")
    told = run["conversation"]
    assert (told["played_by"], told["ended_by"], told["reason"]) == ("persona", "user", "it is done")
    assert [turn["facts_used"] for turn in told["turns"]] == [["F2"], [], []]
    assert [turn["stop_ignored"] for turn in told["turns"]] == [False, True, False], "it was asked to confirm"
    assert run["messages"][-1] == {"role": "user", "content": "Thanks, bye."}
    assert run["final_response"] == "I have refunded order 4521."


def test_the_command_line_shows_what_was_said_what_it_rests_on_and_what_ended_it(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA | {"user": "Aloha, I want my money back."})
    *said, ended, who = conversation_lines(run, 400)
    assert said == [
        "user: Aloha, I want my money back.",
        "agent: What is your order number?",
        "user: It is order 4521.  [based on F2]",
        "agent: Shall I refund order 4521?",
        "user: Yes, please refund it.  [tried to leave while the agent waited]",
        "agent: I have refunded order 4521.",
        "user: Thanks, bye.",
    ]
    assert ended == "ended: the user had nothing more to say (it is done)"
    assert "user/1" in who


def test_where_a_model_is_set_no_note_says_that_one_is_missing(api: Api):
    agent_id = api.agent("https://agents.example.com/")["id"]
    assert api.dataset(PERSONA, agent_id=agent_id)["notes"] == []


def test_the_same_conversation_again_asks_nobody(api: Api):
    with played(serves) as agent:
        row = PERSONA | {"user": "Good day, I want my money back."}
        batch_id = api.start_batch(agent.url, row, repeats=2, concurrency=1)
        api.ended(batch_id)
        first, second = sorted(api.runs(batch_id), key=lambda run: run["id"])
    asked = [api.get(f"/api/runs/{run['id']}/exchanges")["items"] for run in (first, second)]
    assert [each["status"] for each in asked[0]] == ["answered"] * 3
    assert [each["status"] for each in asked[1]] == ["replayed"] * 3


def test_the_user_is_shown_nothing_of_the_backend(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA | {"user": "Hi, I want my money back now."})
    exchange = api.get(f"/api/runs/{run['id']}/exchanges")["items"][-1]
    request = str(api.get(f"/api/model-exchanges/{exchange['id']}")["request"])
    assert "money back now" in request
    for hidden in ("only succeeds", "shipped", "expected_state", "refund_order", "initial_state"):
        assert hidden not in request


def test_made_up_twice_is_the_users_fault_and_counts_for_nobody(api: Api):
    with played(serves) as agent:
        batch_id = api.start_batch(agent.url, PERSONA | {"user_simulator_persona": "Bob"})
        batch = api.ended(batch_id)
        run = api.only_run(batch_id)
    assert (run["status"], run["error_class"]) == ("failed", "simulator_fault")
    assert run["error_json"]["faults"] == ["made_up"]
    assert "9999" in run["error_json"]["detail"]
    assert run["verdict"] == "NOT_APPLICABLE"
    assert batch["summary"]["judged"] == 0
    assert [one["id"] for one in api.runs(batch_id, needs_review="true")] == [run["id"]]
    assert run["messages"][-1]["content"] == "What is your order number?", "what was said is kept"


def test_one_fault_is_mended_by_asking_again(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA | {"user_simulator_persona": "Cleo", "max_turns": 2})
        assert agent.dispatches[1].said == "I do not have it."
    assert run["conversation"]["turns"][0]["attempts"] == 2
    assert run["conversation"]["ended_by"] == "max_turns"


@pytest.mark.parametrize("memory_mode", ["replay", "stateful"])
def test_the_keyword_in_the_users_words_ends_it_and_whose_it_was_is_told(api: Api, memory_mode: str):
    row = PERSONA | {"user_simulator_persona": "Dan", "termination_keyword": "goodbye"}
    with played(serves) as agent:
        run = talk(api, agent, row | {"memory_mode": memory_mode})
        assert len(agent.dispatches) == 1
    assert run["conversation"]["ended_by"] == "user_keyword"
    assert run["messages"][-1]["content"] == "Never mind, GOODBYE."


def test_a_model_that_does_not_answer_is_no_fault_of_the_agent(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA | {"user_simulator_persona": "Eve"})
    assert (run["error_class"], run["error_json"]["faults"]) == ("simulator_fault", ["timeout"])
    assert run["verdict"] == "NOT_APPLICABLE"


def test_a_budget_that_ends_between_two_messages_ends_the_batch_and_is_no_fault_of_ours(api: Api):
    """The first answer uses it up; the next one is not asked for, and what was done by then stays."""
    with played(serves) as agent:
        row = PERSONA | {"user": "Hey, I want my money back."}
        batch_id = api.start_batch(agent.url, row, repeats=2, concurrency=1, max_model_tokens=1)
        batch = api.ended(batch_id)
        unended = {"pending", "running"}
        eventually(lambda: not unended & api.by_status(batch_id).keys(), "its runs have ended")
        runs = api.runs(batch_id)
        assert sum(dispatch.run_id == runs[0]["id"] for dispatch in agent.dispatches) == 2
    assert batch["status"] == "budget_exceeded"
    assert [(run["status"], run["error_class"]) for run in runs] == [("cancelled", "budget_exceeded")] * 2
    assert {run["verdict"] for run in runs} == {None}
    with httpx2.Client(base_url=api.url) as browser:
        browser.post("/sign-in", data={"key": api.key})
        page = browser.get(f"/runs/{runs[0]['id']}").text
    assert "The run was cancelled, so there is no answer to judge" in page
    assert "No tool was called" not in page, "nobody can say whether it would have"


@pytest.mark.parametrize("memory_mode", ["replay", "stateful"])
def test_a_persona_talks_in_either_memory_mode(api: Api, memory_mode: str):
    row = PERSONA | {"user": f"Hello, {memory_mode}: I want my money back.", "memory_mode": memory_mode}
    with played(serves) as agent:
        run = talk(api, agent, row)
        told = [dispatch.body["input"] for dispatch in agent.dispatches]
    assert run["verdict"] == "PASS"
    if memory_mode == "stateful":
        assert all("messages" not in each for each in told)
        assert len({each["session_id"] for each in told}) == 1
        assert told[0]["session_id"]
    else:
        assert [len(each["messages"]) for each in told] == [1, 3, 5]
        assert told[1]["messages"][-1] == {"role": "user", "content": "It is order 4521."}
    assert [message["role"] for message in run["messages"]] == ["user", "assistant"] * 3 + ["user"]


def test_the_agents_word_ends_a_personas_conversation_too(api: Api):
    row = PERSONA | {"user": "Hoi, I want my money back.", "termination_keyword": "order number"}
    with played(serves) as agent:
        run = talk(api, agent, row)
        assert len(agent.dispatches) == 1
    assert run["conversation"]["ended_by"] == "agent_keyword"


def test_a_constraint_is_tracked_over_what_the_agent_tells_a_persona(api: Api):
    check = {"responses": {"$contains": "sorry"}}
    constraint = {"id": "polite", "description": "Is sorry once.", "check": check}
    with played(serves) as agent:
        row = PERSONA | {"user": "Servus, I want my money back.", "tracked_constraints": [constraint]}
        run = talk(api, agent, row)
    assert (run["verdict"], run["failure_mode"]) == ("FAIL", "constraint_violated")


def test_the_page_of_the_run_shows_what_was_said_beside_what_the_person_knows(api: Api):
    with played(serves) as agent:
        run = talk(api, agent, PERSONA | {"user": "Good evening, I want my money back."})
    with httpx2.Client(base_url=api.url) as browser:
        browser.post("/sign-in", data={"key": api.key})
        page = browser.get(f"/runs/{run['id']}").text
    assert "the user had nothing more to say" in page
    assert "only if asked" in page
    assert "based on F2" in page
    assert "tried to leave while the agent waited" in page
