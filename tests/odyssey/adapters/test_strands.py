"""Strands: agents as tools, a Swarm, a Graph, and what becomes of an agent that is given instead of built."""

import gc
import json
import weakref
from typing import Any

import pytest
from dispatches import OpenRun
from played_models import Played, Say, Use, asks, greets, refunds
from pydantic import BaseModel
from strands import Agent, tool
from strands.multiagent import GraphBuilder, Swarm
from strands_model import PlayedModel, get_order, refund_order, support_agent

from pipelines.odyssey.adapters.strands import dump_tools_schema, run, run_async, uncovered_tools
from support.desk import outage
from support.server_process import REFUND_TASK, Api


def test_a_failed_tool_is_marked_as_an_error(api: Api):
    model = Played(refunds)
    row = REFUND_TASK | {"failure_rules": [outage("refund_order", n=1)]}
    opened = OpenRun(api, dump_tools_schema(lambda: support_agent(model)), row)
    run(lambda: support_agent(model), opened.envelope())
    assert [each.is_error for each in model.heard[-1] if each.role == "tool"] == [False, True, False]


def test_an_agent_used_as_a_tool_acts_under_the_one_that_asks_it(api: Api):
    def build() -> Agent:
        refunder = support_agent(Played(refunds), name="refunds", description="Refunds orders.")
        asking = asks("refunds", {"input": "Refund order #4521."})
        return support_agent(Played(asking), tools=[get_order, refunder], name="supervisor")

    schema = dump_tools_schema(build)
    assert sorted(entry["name"] for entry in schema) == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(build, opened.envelope())
    assert reply["final_response"].startswith("My colleague says: I have refunded order 4521.")
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["supervisor/refunds"] * 2
    (handed,) = opened.trace("handoff")
    assert handed["payload"] == {"from_actor": "supervisor", "to_actor": "supervisor/refunds"}
    assert [row["actor_id"] for row in opened.trace("subagent_final")] == ["supervisor/refunds"]
    assert [row["actor_id"] for row in opened.trace("assistant_message")] == ["supervisor"]
    assert reply["metadata"]["total_input_tokens"] == 5 * 11, "both agents' tokens"
    assert opened.finish(reply)["soft_warnings"] == []


def swarm() -> Swarm:
    def hands_over(heard: Any) -> Any:
        if heard[-1].role == "tool":
            return Say("Handed over.")
        return Use("handoff_to_agent", {"agent_name": "refunds", "message": "Refund order #4521."})

    triage = support_agent(Played(hands_over), tools=[get_order], name="triage")
    return Swarm([triage, support_agent(Played(refunds), name="refunds")], entry_point=triage)


def test_the_agents_of_a_swarm_hand_over_to_each_other(api: Api):
    schema = dump_tools_schema(swarm)
    assert sorted(entry["name"] for entry in schema) == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(swarm, opened.envelope())
    assert reply["final_response"] == "I have refunded order 4521."
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["refunds"] * 2
    handed = [(row["payload"]["from_actor"], row["payload"]["to_actor"]) for row in opened.trace("handoff")]
    assert handed == [("triage", "refunds")]
    ended = opened.finish(reply)
    assert (ended["verdict"], ended["soft_warnings"]) == ("PASS", [])


def test_a_graph_runs_and_the_last_of_its_nodes_has_the_last_word(api: Api):
    def build() -> Any:
        builder = GraphBuilder()
        builder.add_node(support_agent(Played(lambda heard: Say("Seen.")), name="intake"), "intake")
        builder.add_node(support_agent(Played(refunds), name="refunds"), "refunds")
        builder.add_edge("intake", "refunds")
        builder.set_entry_point("intake")
        builder.set_max_node_executions(5)
        return builder.build()

    opened = OpenRun(api, dump_tools_schema(build))
    reply = run(build, opened.envelope())
    assert reply["final_response"] == "I have refunded order 4521."
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["refunds"] * 2
    assert [row["payload"]["to_actor"] for row in opened.trace("handoff")] == ["refunds"]
    assert opened.finish(reply)["soft_warnings"] == []


def test_an_agent_that_is_given_is_left_as_it_was(api: Api):
    model = Played(greets)
    agent = support_agent(model, messages=[{"role": "user", "content": [{"text": "mine"}]}])
    before = list(agent.messages)
    opened = OpenRun(api, dump_tools_schema(agent))
    for words in ("Hello.", "Hello again."):
        run(agent, opened.envelope(words, system_prompt_addition="Be brief."))
    assert [[each.text for each in call] for call in model.heard] == [["Hello."], ["Hello again."]]
    assert agent.messages == before
    assert agent.system_prompt == "You are a support agent."
    assert len(opened.trace("assistant_message")) == 2, "its hooks are there once"


@pytest.mark.anyio
async def test_an_agent_that_is_given_refuses_a_second_run_at_the_same_time(api: Api):
    refused: list[str] = []

    class Nested(PlayedModel):
        async def stream(self, *given: Any, **more: Any) -> Any:
            try:
                await run_async(agent, opened.envelope("Another."))
            except RuntimeError as error:
                refused.append(str(error))
            async for event in super().stream(*given, **more):
                yield event

    agent = Agent(model=Nested(Played(greets)), tools=[get_order], callback_handler=None)
    opened = OpenRun(api, dump_tools_schema(agent))
    reply = await run_async(agent, opened.envelope("Hello."))
    assert reply["final_response"].startswith("I have heard 1 things")
    assert len(refused) == 1
    assert "run(build_agent, envelope)" in refused[0]


def test_an_agent_built_for_a_run_is_gone_after_it(api: Api):
    built: list[weakref.ref[Agent]] = []

    def build() -> Agent:
        agent = support_agent(Played(greets))
        built.append(weakref.ref(agent))
        return agent

    opened = OpenRun(api, dump_tools_schema(build))
    run(build, opened.envelope())
    gc.collect()
    assert [each() for each in built] == [None, None]


def test_a_tool_named_local_keeps_its_body_and_is_said_to_be_live(api: Api):
    ran: list[str] = []

    @tool
    def write_note(text: str) -> str:
        """Keep a note."""
        ran.append(text)
        return "noted"

    def notes(heard: Any) -> Any:
        return Say("Done.") if heard[-1].role == "tool" else Use("write_note", {"text": "call back"})

    agent = support_agent(Played(notes), tools=[get_order, write_note])
    assert uncovered_tools(agent, local=["write_note"]) == ["write_note"]
    schema = dump_tools_schema(agent, local=["write_note"])
    assert [entry["name"] for entry in schema] == ["get_order"]
    opened = OpenRun(api, schema)
    reply = run(agent, opened.envelope(), local=["write_note"])
    assert ran == ["call back"]
    assert reply["metadata"]["uncovered_tools"] == ["write_note"]


def test_a_structured_output_is_the_final_response_as_json(api: Api):
    class Decision(BaseModel):
        refund: bool

    def decide(heard: Any) -> Any:
        return Use("Decision", {"refund": True})

    opened = OpenRun(api, dump_tools_schema(lambda: support_agent(Played(decide))))
    reply = run(lambda: support_agent(Played(decide), structured_output_model=Decision), opened.envelope())
    assert json.loads(reply["final_response"]) == {"refund": True}
    assert opened.trace("tool_call") == []


def test_something_that_is_no_agent_is_named():
    with pytest.raises(TypeError, match="str is no Strands Agent"):
        dump_tools_schema("agent")


def test_the_tools_stay_what_they_are():
    agent = support_agent(Played(refunds))
    assert agent.tool_registry.registry["get_order"] is get_order
    assert agent.tool_registry.registry["refund_order"] is refund_order
