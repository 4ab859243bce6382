"""The tool loop over Anthropic's Messages API: errors marked, sub-agents, server tools, odd ends."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anthropic_api
import pytest
from anthropic import beta_tool
from anthropic_api import TOOLS, Studio, client_of, played_api
from dispatches import OpenRun
from played_models import Played, Say, Use, asks, greets, refunds

from pipelines.odyssey import Envelope
from pipelines.odyssey.adapters.anthropic import dump_tools_schema, uncovered_tools
from support.desk import outage
from support.server_process import REFUND_TASK, Api

WEB_SEARCH = {"type": "web_search_20250305", "name": "web_search"}
ASK = {
    "name": "ask_refunds",
    "description": "Ask the refund desk.",
    "input_schema": {
        "type": "object",
        "properties": {"request": {"type": "string"}},
        "required": ["request"],
    },
}


@pytest.fixture
def studio_on() -> Iterator[Callable[[Played], Studio]]:
    with ExitStack() as stack:

        def make(model: Played) -> Studio:
            url = stack.enter_context(played_api(model))
            return Studio(url, stack.enter_context(client_of(url)))

        yield make


def test_a_failed_tool_is_marked_as_an_error(api: Api, studio_on: Callable[[Played], Studio]):
    model = Played(refunds)
    row = REFUND_TASK | {"failure_rules": [outage("refund_order", n=1)]}
    studio_on(model).run(OpenRun(api, TOOLS, row).envelope())
    results = [each for each in model.heard[-1] if each.role == "tool"]
    assert [each.is_error for each in results] == [False, True, False]
    assert "Payment processor unavailable" in results[1].text


def test_a_sub_agent_acts_under_the_one_that_asks_it(api: Api, studio_on: Callable[[Played], Studio]):
    refunder = studio_on(Played(refunds))
    supervisor = studio_on(Played(asks("ask_refunds", {"request": "Refund order #4521."})))

    def ask_refunds(arguments: dict[str, Any], envelope: Envelope) -> dict[str, Any]:
        return refunder.run(dataclasses.replace(envelope, user_instruction=arguments["request"]))

    tools = [TOOLS[0], ASK]
    assert [tool["name"] for tool in dump_tools_schema(tools, subagents=["ask_refunds"])] == ["get_order"]
    opened = OpenRun(api, dump_tools_schema(TOOLS))
    reply = supervisor.run(
        opened.envelope().for_actor("supervisor"), tools=tools, subagents={"ask_refunds": ask_refunds}
    )
    assert reply["final_response"] == "My colleague says: I have refunded order 4521."
    path = "supervisor/ask_refunds"
    assert [row["actor_id"] for row in opened.trace("tool_call")] == [path] * 2
    (handed,) = opened.trace("handoff")
    assert handed["payload"] == {"from_actor": "supervisor", "to_actor": path}
    assert [row["actor_id"] for row in opened.trace("subagent_message")] == [path]
    assert [row["actor_id"] for row in opened.trace("subagent_final")] == [path]
    assert reply["metadata"]["total_input_tokens"] == 5 * 11, "both agents' tokens"
    assert opened.finish(reply)["soft_warnings"] == []


def test_a_sub_agent_is_asked_what_it_is_asked_and_not_what_the_user_said(
    api: Api, studio_on: Callable[[Played], Studio]
):
    asked: list[Envelope] = []

    def ask_refunds(arguments: dict[str, Any], envelope: Envelope) -> str:
        asked.append(envelope)
        return "done"

    said = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}]
    conversation = [*said, {"role": "user", "content": "Refund it."}]
    supervisor = studio_on(Played(asks("ask_refunds", {"request": "Refund order #4521."})))
    opened = OpenRun(api, dump_tools_schema(TOOLS))
    supervisor.run(
        dataclasses.replace(opened.envelope(), messages=conversation, session_id="s1"),
        tools=[TOOLS[0], ASK],
        subagents={"ask_refunds": ask_refunds},
    )
    assert [(each.messages, each.session_id) for each in asked] == [(None, None)]


def test_server_tools_are_said_to_be_live(api: Api, studio_on: Callable[[Played], Studio]):
    tools = [*TOOLS, WEB_SEARCH]
    assert uncovered_tools(tools) == ["web_search"]
    assert [tool["name"] for tool in dump_tools_schema(tools)] == ["get_order", "refund_order"]
    opened = OpenRun(api, dump_tools_schema(tools))
    reply = studio_on(Played(greets)).run(opened.envelope("Hello."), tools=tools)
    assert reply["metadata"]["uncovered_tools"] == ["web_search"]
    assert [row["payload"] for row in opened.trace("custom")] == [{"uncovered_tools": ["web_search"]}]


def test_beta_tools_are_taken_as_they_are(api: Api, studio_on: Callable[[Played], Studio]):
    @beta_tool
    def get_order(order_id: str) -> str:
        """Get an order by its id."""
        raise AssertionError("the body of a tool under test never runs")

    @beta_tool
    def refund_order(order_id: str) -> str:
        """Refund an order. The order status will be changed to 'refunded'."""
        raise AssertionError("the body of a tool under test never runs")

    tools = [get_order, refund_order]
    opened = OpenRun(api, dump_tools_schema(tools))
    reply = studio_on(Played(refunds)).run(opened.envelope(), tools=tools)
    assert opened.finish(reply)["verdict"] == "PASS"


def test_something_that_is_no_tool_is_named():
    with pytest.raises(TypeError, match="42 is not a tool"):
        dump_tools_schema([42])


def test_system_blocks_keep_their_marks_and_get_the_addition_as_one_more(
    api: Api, studio_on: Callable[[Played], Studio], monkeypatch: pytest.MonkeyPatch
):
    requests: list[dict[str, Any]] = []
    answer = anthropic_api.answer
    monkeypatch.setattr(
        anthropic_api, "answer", lambda played, request: requests.append(request) or answer(played, request)
    )
    marked = {"type": "text", "text": "You are a support agent.", "cache_control": {"type": "ephemeral"}}
    envelope = OpenRun(api, TOOLS).envelope(system_prompt_addition="Be brief.")
    studio_on(Played(greets)).run(envelope, system=[marked], stop_sequences=["END"])
    (request,) = requests
    assert request["system"] == [marked, {"type": "text", "text": "Be brief."}]
    assert request["stop_sequences"] == ["END"]
    assert request["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("stop_reason", "final"), [("max_tokens", "Half a sen"), ("refusal", "(stopped: refusal)")]
)
def test_an_odd_end_is_an_end(
    api: Api,
    studio_on: Callable[[Played], Studio],
    monkeypatch: pytest.MonkeyPatch,
    stop_reason: str,
    final: str,
):
    answer = anthropic_api.answer
    words = "Half a sen" if stop_reason == "max_tokens" else ""
    monkeypatch.setattr(anthropic_api, "answer", lambda *given: answer(*given) | {"stop_reason": stop_reason})
    opened = OpenRun(api, TOOLS)
    reply = studio_on(Played(lambda heard: Say(words))).run(opened.envelope())
    assert reply["final_response"] == final


def test_a_turn_that_the_provider_pauses_goes_on(
    api: Api, studio_on: Callable[[Played], Studio], monkeypatch: pytest.MonkeyPatch
):
    reasons = iter(["pause_turn", "end_turn"])
    answer = anthropic_api.answer
    monkeypatch.setattr(
        anthropic_api, "answer", lambda *given: answer(*given) | {"stop_reason": next(reasons)}
    )
    model = Played(greets)
    reply = studio_on(model).run(OpenRun(api, TOOLS).envelope("Hello."))
    assert len(model.heard) == 2
    assert reply["final_response"].startswith("I have heard 2 things")


def test_several_calls_of_one_answer_are_made_in_order_and_answered_together(
    api: Api, studio_on: Callable[[Played], Studio], monkeypatch: pytest.MonkeyPatch
):
    def twice(heard: Any) -> Any:
        return Say("Both done.") if len(heard) > 1 else Use("get_order", {"order_id": "4521"})

    answer = anthropic_api.answer

    def doubled(*given: Any) -> dict[str, Any]:
        message = answer(*given)
        if message["stop_reason"] == "tool_use":
            second = {
                "type": "tool_use",
                "id": "toolu_second",
                "name": "get_order",
                "input": {"order_id": "7001"},
            }
            message["content"].append(second)
        return message

    monkeypatch.setattr(anthropic_api, "answer", doubled)
    model = Played(twice)
    opened = OpenRun(api, TOOLS)
    reply = studio_on(model).run(opened.envelope())
    assert [row["arguments"]["order_id"] for row in opened.trace("tool_call")] == ["4521", "7001"]
    assert [each.role for each in model.heard[1]] == ["user", "tool", "tool"]
    assert opened.finish(reply)["soft_warnings"] == []
