"""The OpenAI Agents SDK: handoffs, agents as tools, hosted tools, and what stays of an author's settings."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from agents import (
    Agent,
    AgentHooks,
    FunctionTool,
    Handoff,
    OpenAIResponsesModel,
    RunConfig,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.tracing import set_trace_processors
from agents.tracing.processor_interface import TracingProcessor
from dispatches import OpenRun
from openai import AsyncOpenAI
from openai_model import PlayedModel, get_order, refund_order, said, support_agent
from played_models import Played, Say, Use, asks, greets, refunds
from pydantic import BaseModel

from pipelines.odyssey.adapters.openai_agents import dump_tools_schema, proxied, run, uncovered_tools
from pipelines.odyssey.shared_loop import run_on_shared_loop
from support.server_process import Api


def specialist(**changes: Any) -> Agent[Any]:
    return support_agent(
        Played(refunds), **({"name": "refunds", "tools": [refund_order, get_order]} | changes)
    )


def test_a_handoff_takes_its_actor_and_its_tools_along(api: Api):
    refunder = specialist()
    triage = support_agent(
        Played(lambda heard: Use("transfer_to_refunds", {})), name="Triage desk", tools=[get_order]
    )
    triage.handoffs = [refunder]
    refunder.handoffs = [triage]  # in a circle, as teams of agents are
    schema = dump_tools_schema(triage)
    assert sorted(tool["name"] for tool in schema) == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(triage, opened.envelope())
    assert reply["final_response"] == "I have refunded order 4521."
    assert {row["actor_id"] for row in opened.trace("tool_call")} == {"Triage_desk/refunds"}
    (handed,) = opened.trace("handoff")
    assert handed["payload"] == {"from_actor": "Triage_desk", "to_actor": "Triage_desk/refunds"}
    assert handed["actor_id"] == "Triage_desk"
    prompts = [row["actor_id"] for row in opened.trace("system_prompt")]
    assert prompts == ["Triage_desk", "Triage_desk/refunds"]
    assert opened.finish(reply)["soft_warnings"] == []


def test_what_an_author_does_on_a_handoff_still_happens(api: Api):
    noticed: list[str] = []
    refunder = specialist()

    class Reason(BaseModel):
        why: str

    async def note(_context: Any, given: Reason) -> None:
        noticed.append(given.why)

    to_refunds = handoff(refunder, on_handoff=note, input_type=Reason, tool_name_override="give_to_refunds")
    triage = support_agent(
        Played(lambda heard: Use("give_to_refunds", {"why": "money"})), name="triage", handoffs=[to_refunds]
    )
    opened = OpenRun(api, dump_tools_schema(triage))
    assert run(triage, opened.envelope())["final_response"] == "I have refunded order 4521."
    assert noticed == ["money"]
    (handed,) = opened.trace("handoff")
    assert handed["payload"] == {"from_actor": "triage", "to_actor": "triage/refunds"}
    assert {row["actor_id"] for row in opened.trace("tool_call")} == {"triage/refunds"}


def test_the_tools_behind_a_handoff_made_by_hand_are_proxied_and_it_is_named(api: Api):
    async def choose(_context: Any, _arguments: str) -> Agent[Any]:
        return specialist()

    by_hand = Handoff(
        tool_name="to_someone",
        tool_description="Hand over.",
        input_json_schema={"type": "object", "properties": {}},
        on_invoke_handoff=choose,
        agent_name="someone",
        strict_json_schema=False,
    )
    triage = support_agent(Played(lambda heard: Use("to_someone", {})), name="triage", handoffs=[by_hand])
    assert uncovered_tools(triage) == ["to_someone"]
    opened = OpenRun(api, dump_tools_schema(triage))
    assert run(triage, opened.envelope())["final_response"] == "I have refunded order 4521."
    assert {row["actor_id"] for row in opened.trace("tool_call")} == {"triage/refunds"}
    (handed,) = opened.trace("handoff")
    assert handed["payload"]["to_actor"] == "triage/refunds"


def test_an_agent_used_as_a_tool_acts_under_the_one_that_asks_it(api: Api):
    asking = asks("ask_refunds", {"input": "Refund order #4521."})
    shouted = specialist().as_tool("ask_refunds", "Ask for a refund.", custom_output_extractor=_shout)
    supervisor = support_agent(Played(asking), name="supervisor", tools=[get_order, shouted])
    schema = dump_tools_schema(supervisor)
    assert sorted(tool["name"] for tool in schema) == ["get_order", "refund_order"]
    opened = OpenRun(api, schema)
    reply = run(supervisor, opened.envelope())
    assert reply["final_response"] == "My colleague says: I HAVE REFUNDED ORDER 4521."
    assert [row["actor_id"] for row in opened.trace("tool_call")] == ["supervisor/refunds"] * 2
    (handed,) = opened.trace("handoff")
    assert handed["payload"]["to_actor"] == "supervisor/refunds"
    (final,) = opened.trace("subagent_final")
    assert final["payload"]["text"] == "I have refunded order 4521."
    assert final["actor_id"] == "supervisor/refunds"
    assert [row["actor_id"] for row in opened.trace("assistant_message")] == ["supervisor"]
    assert reply["metadata"]["total_input_tokens"] == 5 * 11, "both agents' tokens"
    assert opened.finish(reply)["soft_warnings"] == []


async def _shout(result: Any) -> str:
    return str(result.final_output).upper()


def test_hosted_tools_are_said_to_be_live(api: Api, caplog: pytest.LogCaptureFixture):
    agent = support_agent(Played(greets), tools=[get_order, WebSearchTool()])
    assert uncovered_tools(agent) == ["web_search"]
    schema = dump_tools_schema(agent)
    assert [tool["name"] for tool in schema] == ["get_order"]
    opened = OpenRun(api, schema)
    reply = run(agent, opened.envelope("Hello."))
    assert reply["metadata"]["uncovered_tools"] == ["web_search"]
    (told,) = opened.trace("custom")
    assert told["payload"] == {"uncovered_tools": ["web_search"]}
    assert "web_search" in caplog.text


def test_the_copy_keeps_names_schemas_and_descriptions_and_the_original_its_body():
    agent = support_agent(Played(refunds))
    copied = proxied(agent)
    for before, after in zip(agent.tools, copied.tools, strict=True):
        assert isinstance(before, FunctionTool)
        assert isinstance(after, FunctionTool)
        assert (before.name, before.description) == (after.name, after.description)
        assert before.params_json_schema == after.params_json_schema
        assert before.on_invoke_tool is not after.on_invoke_tool
    assert agent.tools == [get_order, refund_order]
    assert (agent.hooks, agent.instructions) == (None, "You are a support agent.")


def test_two_tools_of_one_name_and_different_schemas_are_refused_by_name():
    @function_tool(name_override="get_order")
    def other(number: int) -> str:
        """Get an order by its number."""
        return ""

    team = support_agent(Played(refunds), handoffs=[specialist(tools=[other])])
    with pytest.raises(ValueError, match="get_order"):
        dump_tools_schema(team)


def test_nulls_that_a_strict_schema_asks_for_do_not_reach_the_backend(api: Api):
    def strictly(heard: Any) -> Any:
        results = [each for each in heard if each.role == "tool"]
        return Say("Done.") if results else Use("refund_order", {"order_id": "4521", "reason": None})

    agent = support_agent(Played(strictly))
    schema = dump_tools_schema(agent)
    assert schema[1]["input_schema"]["required"] == ["order_id"]
    opened = OpenRun(api, schema)
    run(agent, opened.envelope())
    (call,) = opened.trace("tool_call")
    assert call["arguments"] == {"order_id": "4521"}


def test_arguments_that_are_no_json_are_told_to_the_model(api: Api):
    class Careless(PlayedModel):
        async def get_response(self, *given: Any, **more: Any) -> Any:
            response = await super().get_response(*given, **more)
            for item in response.output:
                if item.type == "function_call":
                    item.arguments = "[4521"
            return response

    def decide(heard: Any) -> Any:
        results = [each for each in heard if each.role == "tool"]
        return Say(results[0].text) if results else Use("get_order", {})

    agent = support_agent(Played(decide), model=Careless(Played(decide)))
    opened = OpenRun(api, dump_tools_schema(agent))
    reply = run(agent, opened.envelope())
    assert "invalid_arguments" in reply["final_response"]
    assert opened.trace("tool_call") == []


def test_the_authors_hooks_are_called_too(api: Api):
    seen: list[str] = []

    class Mine(AgentHooks[Any]):
        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: object) -> None:
            seen.append(f"{tool.name}: {json.loads(str(result))['status']}")

    agent = support_agent(Played(refunds), hooks=Mine())
    run(agent, OpenRun(api, dump_tools_schema(agent)).envelope())
    assert seen == ["get_order: shipped", "refund_order: refunded"]


def test_a_structured_output_is_the_final_response_as_json(api: Api):
    class Decision(BaseModel):
        refund: bool

    agent = support_agent(Played(lambda heard: Say('{"refund": true}')), output_type=Decision)
    reply = run(agent, OpenRun(api, dump_tools_schema(agent)).envelope())
    assert json.loads(reply["final_response"]) == {"refund": True}


def test_a_call_that_waits_for_approval_ends_the_run_and_says_so(api: Api):
    @function_tool(needs_approval=True, name_override="get_order")
    def guarded(order_id: str) -> str:
        """Get an order by its id."""
        return ""

    agent = support_agent(Played(refunds), tools=[guarded])
    opened = OpenRun(api, dump_tools_schema(agent))
    reply = run(agent, opened.envelope())
    assert reply["final_response"].startswith("(stopped: get_order waits for an approval")
    assert opened.trace("tool_call") == []


def test_the_sdks_own_tracing_is_off_unless_it_is_asked_for(api: Api):
    traced: list[str] = []

    class Watching(TracingProcessor):
        def on_trace_start(self, trace: Any) -> None:
            traced.append(trace.name)

        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def on_span_end(self, span: Any) -> None: ...
        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    set_trace_processors([Watching()])
    try:
        agent = support_agent(Played(greets))
        opened = OpenRun(api, dump_tools_schema(agent))
        run(agent, opened.envelope())
        assert traced == []
        run(agent, opened.envelope(), run_config=RunConfig(workflow_name="mine"))
        assert traced == ["mine"]
    finally:
        set_trace_processors([])


def test_instructions_may_be_a_function_and_get_the_authors_context(api: Api):
    model = Played(greets)

    async def instructions(context: Any, agent: Agent[Any]) -> str:
        return f"{agent.name} speaks {context.context['language']}."

    agent = support_agent(model, instructions=instructions)
    opened = OpenRun(api, dump_tools_schema(agent))
    run(agent, opened.envelope(system_prompt_addition="Be brief."), context={"language": "French"})
    assert model.system_prompts == ["Support speaks French.\n\nBe brief."]


def test_a_clients_connections_outlive_a_run(api: Api):
    """The SDK shares one client in a process, whose connections belong to the loop they were opened on."""
    connections: list[Any] = []

    class Endpoint(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            connections.append(self.connection)
            output = said(Say("Hello.")).model_dump()
            answer = {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": [output]}
            answer |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *rest: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    serving.start()
    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{server.server_port}", api_key="none", max_retries=0)
    try:
        agent = support_agent(Played(greets), model=OpenAIResponsesModel("m", client))
        opened = OpenRun(api, dump_tools_schema(agent))
        replies = [run(agent, opened.envelope("Hello."))["final_response"] for _ in range(3)]
        assert replies == ["Hello."] * 3
        assert len({id(each) for each in connections}) == 1
    finally:
        run_on_shared_loop(client.close)
        server.shutdown()
        server.server_close()
        serving.join()


def test_an_agent_may_be_run_from_within_another_run(api: Api):
    inner = support_agent(Played(refunds))

    def nested(context: Any, agent: Agent[Any]) -> str:
        return run(inner, opened.envelope())["final_response"]

    model = Played(greets)
    outer = support_agent(model, instructions=nested)
    opened = OpenRun(api, dump_tools_schema(inner))
    run(outer, opened.envelope("Hello."))
    assert model.system_prompts == ["I have refunded order 4521."]
