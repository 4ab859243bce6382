"""What holds for an agent of any framework: its tools are the proxy's, and the run tells what it did."""

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from dispatches import OpenRun, served
from played_models import MODEL, SYSTEM, THOUGHT, TOKENS_IN, TOKENS_OUT, Say, Use, greets, never_ends, refunds

from pipelines.odyssey import ProxyRefused
from support.desk import STATE, outage
from support.server_process import REFUND_TASK, Api

StudioOf = Callable[..., Any]


def test_its_tools_schema_is_registered_and_a_refund_task_passes(api: Api, studio_of: StudioOf):
    studio, model = studio_of(refunds)
    schema = studio.tools_schema()
    assert [tool["name"] for tool in schema] == ["get_order", "refund_order"]
    assert all(tool["description"] for tool in schema)
    assert schema[1]["input_schema"]["properties"].keys() == {"order_id", "reason"}
    with served(studio.run) as agent:
        batch_id = api.start_batch(agent.url, agent={"tools_schema": schema})
        api.ended(batch_id)
    run = api.only_run(batch_id)
    assert (run["status"], run["verdict"], run["error_json"]) == ("completed", "PASS", None)
    assert run["final_response"] == "I have refunded order 4521."
    assert run["soft_warnings"] == []
    calls = [row for row in api.trace(run["id"]) if row["kind"] == "tool_call"]
    assert [(call["tool_name"], call["arguments"]["order_id"]) for call in calls] == [
        ("get_order", "4521"),
        ("refund_order", "4521"),
    ]
    assert {call["actor_id"] for call in calls} == {None}, "an agent that is alone has no actor"
    assert model.tools_offered == [["get_order", "refund_order"]] * 3


def test_its_reply_is_rich(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    opened = OpenRun(api, studio.tools_schema())
    reply = studio.run(opened.envelope())
    messages = reply["messages"]
    roles = ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert [message["role"] for message in messages] == roles
    (call,) = messages[1]["tool_calls"]
    assert messages[1]["thinking"] == [{"type": "text", "text": THOUGHT}]
    assert messages[2]["tool_call_id"] == call["id"]
    assert "79.5" in messages[2]["content"]
    assert messages[5]["content"] == reply["final_response"]
    told = reply["metadata"]
    assert told.pop("agent_runtime_ms") >= 0
    assert told == {
        "model": MODEL,
        "total_input_tokens": 3 * TOKENS_IN,
        "total_output_tokens": 3 * TOKENS_OUT,
    }
    assert opened.finish(reply)["soft_warnings"] == []


def test_what_it_says_and_thinks_is_in_the_trace_as_it_happens(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    opened = OpenRun(api, studio.tools_schema())
    studio.run(opened.envelope())
    trace = opened.trace()
    told = [(row["kind"], (row["payload"] or {}).get("text")) for row in trace]
    assert told == [
        ("system_prompt", SYSTEM),
        ("thinking", THOUGHT),
        ("tool_call", None),
        ("thinking", THOUGHT),
        ("tool_call", None),
        ("thinking", THOUGHT),
        ("assistant_message", "I have refunded order 4521."),
    ]


def test_an_injected_failure_is_what_the_model_reads_and_is_not_retried_in_the_dark(
    api: Api, studio_of: StudioOf
):
    studio, model = studio_of(refunds)
    opened = OpenRun(
        api, studio.tools_schema(), REFUND_TASK | {"failure_rules": [outage("refund_order", n=1)]}
    )
    reply = studio.run(opened.envelope())
    calls = [(row["tool_name"], row["source"]) for row in opened.trace("tool_call")]
    assert calls == [("get_order", "odyssey"), ("refund_order", "injected"), ("refund_order", "odyssey")]
    failed = [each for each in model.heard[-1] if "Payment processor unavailable" in each.text]
    assert [each.role for each in failed] == ["tool"]
    assert reply["final_response"] == "I have refunded order 4521."
    assert opened.finish(reply)["verdict"] == "PASS"


def test_a_refusal_of_the_backend_reaches_the_user(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    row = REFUND_TASK | {"failure_rules": [outage("refund_order", n=1, duration=9, code=409)]}
    reply = studio.run(OpenRun(api, studio.tools_schema(), row).envelope())
    assert reply["final_response"].startswith("I could not refund order 4521")
    assert "Payment processor unavailable" in reply["final_response"]


@pytest.mark.anyio
async def test_it_runs_in_a_loop_as_well(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    opened = OpenRun(api, studio.tools_schema())
    reply = await studio.run_async(opened.envelope())
    assert reply["final_response"] == "I have refunded order 4521."
    assert len(opened.trace("tool_call")) == 2
    assert len(opened.trace("thinking")) == 3


def test_runs_at_the_same_time_do_not_mix(api: Api, studio_of: StudioOf):
    """One agent in one process, eight dispatches at once: each acts and reports in its own world."""
    studio, _ = studio_of(refunds)
    orders = [f"90{number}" for number in range(8)]
    rows = [
        {
            "user": f"Refund order #{order}.",
            "state": {"order": {order: {"status": "shipped", "amount": 10}}},
            "expected_state": {f"order.{order}.status": "refunded"},
        }
        for order in orders
    ]
    with served(studio.run) as agent:
        batch_id = api.start_batch(agent.url, *rows, agent={"tools_schema": studio.tools_schema()})
        api.ended(batch_id)
        assert agent.most_at_once > 1
    runs = api.runs(batch_id)
    assert [run["verdict"] for run in runs] == ["PASS"] * 8
    for run in runs:
        trace = api.trace(run["id"])
        said = [row["payload"]["text"] for row in trace if row["kind"] == "assistant_message"]
        (order,) = {row["arguments"]["order_id"] for row in trace if row["kind"] == "tool_call"}
        assert said == [f"I have refunded order {order}."]
        orders.remove(order)


@pytest.mark.anyio
async def test_runs_of_one_loop_do_not_mix(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    state = {"order": {order: {"status": "shipped"} for order in ("1001", "1002", "1003")}}
    opened = [OpenRun(api, studio.tools_schema(), REFUND_TASK | {"state": STATE | state}) for _ in range(3)]
    said = [f"Refund order #100{number}." for number in (1, 2, 3)]
    await asyncio.gather(
        *(studio.run_async(run.envelope(words)) for run, words in zip(opened, said, strict=True))
    )
    called = [{row["arguments"]["order_id"] for row in run.trace("tool_call")} for run in opened]
    assert called == [{"1001"}, {"1002"}, {"1003"}]


def test_what_the_dispatch_adds_stands_at_the_end_of_the_system_prompt(api: Api, studio_of: StudioOf):
    studio, model = studio_of(greets)
    opened = OpenRun(api, studio.tools_schema())
    addition = "The customer is in a hurry."
    studio.run(opened.envelope(system_prompt_addition=addition))
    studio.run(opened.envelope())
    assert model.system_prompts == [f"{SYSTEM}\n\n{addition}", SYSTEM]


HISTORY = [
    {"role": "user", "content": "Where is order #4521?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "name": "get_order", "arguments": {"order_id": "4521"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "shipped"}'},
    {"role": "assistant", "content": "It has been shipped."},
    {"role": "user", "content": "Thanks."},
]


def test_a_replayed_conversation_is_heard_whole(api: Api, studio_of: StudioOf):
    studio, model = studio_of(greets)
    opened = OpenRun(api, studio.tools_schema())
    reply = studio.run(opened.envelope("Thanks.", messages=HISTORY))
    words = [each.text for each in model.heard[0] if each.text]
    assert words == ["Where is order #4521?", '{"status": "shipped"}', "It has been shipped.", "Thanks."]
    assert reply["messages"][:5] == HISTORY
    assert len(reply["messages"]) == 6
    assert not [told for told in opened.finish(reply)["soft_warnings"] if "messages" in told]


def test_a_stateful_conversation_is_remembered_under_its_session(api: Api, studio_of: StudioOf):
    studio, model = studio_of(greets)
    opened = OpenRun(api, studio.tools_schema())
    session = f"session-{opened.id}"
    first = studio.run(opened.envelope("Hello.", session_id=session))
    studio.run(opened.envelope("Someone else.", session_id=f"{session}-other"))
    studio.run(opened.envelope("And now?", session_id=session))
    assert [each.text for each in model.heard[1]] == ["Someone else."]
    assert [each.text for each in model.heard[2]] == ["Hello.", first["final_response"], "And now?"]


def test_an_agent_that_never_ends_is_stopped_and_can_be_graded(api: Api, studio_of: StudioOf):
    studio, model = studio_of(never_ends)
    opened = OpenRun(api, studio.tools_schema())
    reply = studio.run(opened.envelope(), max_turns=3)
    assert len(model.heard) == 3
    assert len(opened.trace("tool_call")) <= 3
    assert reply["final_response"].startswith("(stopped")
    ended = opened.finish(reply)
    assert (ended["status"], ended["soft_warnings"]) == ("completed", [])


def test_an_agent_whose_proxy_is_gone_fails_instead_of_guessing(api: Api, studio_of: StudioOf):
    studio, _ = studio_of(refunds)
    envelope = dataclasses.replace(OpenRun(api, studio.tools_schema()).envelope(), run_token="wrong")
    with pytest.raises(ProxyRefused, match="401"):
        studio.run(envelope)


def test_arguments_that_the_schema_refuses_are_told_to_the_model(api: Api, studio_of: StudioOf):
    def wrongly(heard: Any) -> Any:
        results = [each for each in heard if each.role == "tool"]
        return Say(results[0].text) if results else Use("get_order", {"order": 4521})

    studio, _ = studio_of(wrongly)
    opened = OpenRun(api, studio.tools_schema())
    reply = studio.run(opened.envelope())
    assert "order_id" in reply["final_response"]
