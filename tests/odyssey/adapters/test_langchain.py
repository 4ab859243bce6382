"""LangChain and LangGraph: middleware, graphs of one's own, sub-agents behind tools and as nodes."""

import json
from typing import Annotated, Any

import pytest
from dispatches import OpenRun
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import InjectedState, tool
from langchain_model import PlayedModel, get_order, refund_order, support_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from played_models import Played, Say, Use, asks, greets, refunds
from pydantic import BaseModel

from pipelines.odyssey.adapters.langchain import (
    OdysseyMiddleware,
    dump_tools_schema,
    proxied_tools,
    run,
    subagent_tool,
    uncovered_tools,
)
from support.desk import outage
from support.server_process import REFUND_TASK, Api


def test_a_failed_tool_is_marked_as_an_error(api: Api):
    model = Played(refunds)
    agent = support_agent(model)
    row = REFUND_TASK | {"failure_rules": [outage("refund_order", n=1)]}
    run(agent, OpenRun(api, dump_tools_schema(agent), row).envelope())
    assert [each.is_error for each in model.heard[-1] if each.role == "tool"] == [False, True, False]


def own_graph(model: Played, tools: list[Any]) -> Any:
    """What people wrote before `create_agent`, and still do."""
    bound = PlayedModel(played=model).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition, {"tools": "tools", END: END})
    graph.add_edge("tools", "model")
    return graph.compile()


def test_a_graph_of_ones_own_runs_on_proxied_tools(api: Api):
    model = Played(refunds)
    tools = proxied_tools([get_order, refund_order])
    agent = own_graph(model, tools)
    assert dump_tools_schema(agent) == dump_tools_schema([get_order, refund_order])
    row = REFUND_TASK | {"failure_rules": [outage("refund_order", n=1)]}
    opened = OpenRun(api, dump_tools_schema(agent), row)
    reply = run(agent, opened.envelope())
    assert [each.is_error for each in model.heard[-1] if each.role == "tool"] == [False, True, False]
    ended = opened.finish(reply)
    assert (ended["verdict"], ended["soft_warnings"]) == ("PASS", [])


def test_an_agent_that_was_not_ported_is_refused_before_it_does_anything(api: Api):
    model = Played(refunds)
    opened = OpenRun(api, dump_tools_schema([get_order, refund_order]))
    for agent in (support_agent(model, middleware=[]), own_graph(model, [get_order, refund_order])):
        with pytest.raises(TypeError, match=r"get_order, refund_order.*OdysseyMiddleware"):
            run(agent, opened.envelope())
    with pytest.raises(TypeError, match="not a compiled graph"):
        run(model, opened.envelope())
    assert model.heard == []


def test_a_sub_agent_behind_a_tool_acts_under_the_one_that_asks_it(api: Api):
    refunder = support_agent(Played(refunds), name="refunds")
    ask = subagent_tool(refunder, name="refunds", description="Ask the refund desk.")
    supervisor = support_agent(
        Played(asks("refunds", {"request": "Refund order #4521."})), tools=[get_order, ask], name="supervisor"
    )
    schema = dump_tools_schema(supervisor)
    assert sorted(entry["name"] for entry in schema) == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(supervisor, opened.envelope())
    assert reply["final_response"] == "My colleague says: I have refunded order 4521."
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["supervisor/refunds"] * 2
    (handed,) = opened.trace("handoff")
    assert handed["payload"] == {"from_actor": "supervisor", "to_actor": "supervisor/refunds"}
    assert [row["actor_id"] for row in opened.trace("subagent_final")] == ["supervisor/refunds"]
    assert [row["actor_id"] for row in opened.trace("assistant_message")] == ["supervisor"]
    prompts = [row["actor_id"] for row in opened.trace("system_prompt")]
    assert prompts == ["supervisor", "supervisor/refunds"]
    assert reply["metadata"]["total_input_tokens"] == 5 * 11, "both agents' tokens"
    assert opened.finish(reply)["soft_warnings"] == []


def test_agents_that_are_nodes_of_a_graph_hand_over_to_each_other(api: Api):
    @tool
    def transfer_to_refunds(state: Annotated[Any, InjectedState]) -> Command[Any]:
        """Hand over to the refund desk."""
        said = [message for message in state["messages"] if message.type == "human"]
        return Command(goto="refunds", graph=Command.PARENT, update={"messages": said[-1:]})

    triage = support_agent(
        Played(lambda heard: Use("transfer_to_refunds", {})),
        tools=[transfer_to_refunds],
        name="triage",
        middleware=[OdysseyMiddleware(local=["transfer_to_refunds"])],
    )
    graph = StateGraph(MessagesState)
    graph.add_node("triage", triage, destinations=("refunds",))
    graph.add_node("refunds", support_agent(Played(refunds), name="refunds"))
    graph.add_edge(START, "triage")
    team = graph.compile(name="desk")
    schema = dump_tools_schema(team, local=["transfer_to_refunds"])
    assert [entry["name"] for entry in schema] == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(team, opened.envelope())
    assert reply["final_response"] == "I have refunded order 4521."
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["desk/refunds"] * 2
    handed = [(row["payload"]["from_actor"], row["payload"]["to_actor"]) for row in opened.trace("handoff")]
    assert handed == [("desk", "desk/triage"), ("desk/triage", "desk/refunds")]
    assert opened.finish(reply)["soft_warnings"] == []


def test_a_tool_named_local_keeps_its_body(api: Api):
    ran: list[str] = []

    @tool
    def write_note(text: str) -> str:
        """Keep a note."""
        ran.append(text)
        return "noted"

    def notes(heard: Any) -> Any:
        return Say("Done.") if heard[-1].role == "tool" else Use("write_note", {"text": "call back"})

    agent = support_agent(
        Played(notes), tools=[get_order, write_note], middleware=[OdysseyMiddleware(local=["write_note"])]
    )
    schema = dump_tools_schema(agent, local=["write_note"])
    opened = OpenRun(api, schema)
    run(agent, opened.envelope())
    assert ran == ["call back"]
    assert opened.trace("tool_call") == []


def test_tools_of_the_provider_are_said_to_be_live(api: Api):
    tools = [get_order, {"type": "web_search", "name": "web_search"}]
    assert uncovered_tools(tools) == ["web_search"]
    agent = support_agent(Played(greets), tools=tools)
    assert [entry["name"] for entry in dump_tools_schema(agent)] == ["get_order"]
    opened = OpenRun(api, dump_tools_schema(agent))
    reply = run(agent, opened.envelope("Hello."))
    assert reply["metadata"]["uncovered_tools"] == ["web_search"]
    assert [row["payload"] for row in opened.trace("custom")] == [{"uncovered_tools": ["web_search"]}]


def test_with_a_checkpointer_a_stateful_conversation_is_its_thread(api: Api):
    model = Played(greets)
    agent = support_agent(model, checkpointer=InMemorySaver())
    opened = OpenRun(api, dump_tools_schema(agent))
    for words in ("Hello.", "And now?"):
        reply = run(agent, opened.envelope(words, session_id="a thread"))
    run(agent, opened.envelope("Who is there?"))
    heard = [[each.text for each in call if each.role == "user"] for call in model.heard]
    assert heard == [["Hello."], ["Hello.", "And now?"], ["Who is there?"]]
    assert [message["role"] for message in reply["messages"]] == ["user", "assistant"] * 2


def test_proxied_tools_keep_names_schemas_and_descriptions():
    for before, after in zip(
        [get_order, refund_order], proxied_tools([get_order, refund_order]), strict=True
    ):
        assert (after.name, after.description) == (before.name, before.description)
        assert after.args.keys() == before.args.keys()
    assert dump_tools_schema(proxied_tools([refund_order])) == dump_tools_schema([refund_order])


def test_a_structured_response_is_the_final_response_as_json(api: Api):
    class Decision(BaseModel):
        refund: bool

    agent = support_agent(Played(lambda heard: Use("Decision", {"refund": True})), response_format=Decision)
    opened = OpenRun(api, dump_tools_schema([get_order]))
    reply = run(agent, opened.envelope())
    assert json.loads(reply["final_response"]) == {"refund": True}
    assert opened.trace("tool_call") == []


def test_middleware_of_the_author_sees_the_proxys_answer(api: Api):
    seen: list[str] = []

    class Watching(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            answer = handler(request)
            seen.append(answer.content)
            return answer

    agent = support_agent(Played(refunds), middleware=[Watching(), OdysseyMiddleware()])
    run(agent, OpenRun(api, dump_tools_schema(agent)).envelope())
    assert [json.loads(each)["status"] for each in seen] == ["shipped", "refunded"]
