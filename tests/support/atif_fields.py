"""Whether a trajectory keeps to the fields that ATIF publishes."""

from datetime import datetime
from typing import Any

Row = dict[str, Any]

#: Fields of ATIF 1.7 by object, those that must be there first.
PUBLISHED = {
    "trajectory": (
        {"schema_version", "agent", "steps"},
        {"session_id", "trajectory_id", "notes", "final_metrics", "continued_trajectory_ref", "extra"}
        | {"subagent_trajectories"},
    ),
    "agent": ({"name", "version"}, {"model_name", "tool_definitions", "extra"}),
    "step": (
        {"step_id", "source", "message"},
        {"timestamp", "model_name", "reasoning_effort", "reasoning_content", "tool_calls", "observation"}
        | {"metrics", "is_copied_context", "llm_call_count", "extra"},
    ),
    "tool_call": ({"tool_call_id", "function_name", "arguments"}, {"extra"}),
    "observation": ({"results"}, set()),
    "result": (set(), {"source_call_id", "content", "subagent_trajectory_ref", "extra"}),
    "metrics": (
        set(),
        {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids"}
        | {"completion_token_ids", "logprobs", "extra"},
    ),
    "final_metrics": (
        set(),
        {"total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd"}
        | {"total_steps", "extra"},
    ),
}
AGENTS_ALONE = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


def keeps_to(kind: str, value: Row) -> None:
    required, optional = PUBLISHED[kind]
    assert required <= set(value) <= required | optional, f"{kind}: {sorted(value)}"


def check_atif(whole: Row) -> None:
    keeps_to("trajectory", whole)
    keeps_to("agent", whole["agent"])
    assert all(isinstance(whole["agent"][name], str) for name in ("name", "version"))
    assert [step["step_id"] for step in whole["steps"]] == list(range(1, len(whole["steps"]) + 1))
    for step in whole["steps"]:
        check_step(step)
    keeps_to("final_metrics", whole["final_metrics"])
    assert whole["final_metrics"]["total_steps"] == len(whole["steps"])


def check_step(step: Row) -> None:
    keeps_to("step", step)
    assert step["source"] in ("system", "user", "agent")
    assert isinstance(step["message"], str)
    assert step["source"] == "agent" or not AGENTS_ALONE & set(step)
    datetime.fromisoformat(step.get("timestamp", "2026-01-01T00:00:00Z"))
    calls = step.get("tool_calls", [])
    for call in calls:
        keeps_to("tool_call", call)
        assert isinstance(call["arguments"], dict)
    if "observation" in step:
        keeps_to("observation", step["observation"])
        for result in step["observation"]["results"]:
            keeps_to("result", result)
            assert result["source_call_id"] in {call["tool_call_id"] for call in calls}
            assert isinstance(result["content"], str)
