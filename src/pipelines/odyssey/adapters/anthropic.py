"""Anthropic's Messages API: the tool loop, written once.

    import anthropic
    from pipelines.odyssey.adapters.anthropic import dump_tools_schema, run_anthropic_loop

    tools_schema = dump_tools_schema(TOOLS)     # what to register the agent with
    reply = run_anthropic_loop(                 # what a dispatch handler returns
        anthropic.Anthropic(), model="…", system="…", tools=TOOLS, envelope=envelope
    )

The howto is docs/howto/anthropic.md.
"""

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from ...wire.envelope import Envelope
from .adapter_run import (
    Event,
    MissingFramework,
    Outcome,
    as_tools_schema,
    async_call_tool,
    async_post_events,
    bind_run,
    call_tool,
    final_events,
    handoff_events,
    message_events,
    post_events,
    prompt_events,
    uncovered_events,
)
from .anthropic_blocks import as_param, blocks_of, message_of_blocks
from .conversation import Message, Reply, as_text, as_turns, tool_message

REQUIREMENT = "anthropic>=2.8,<3"

try:
    from anthropic import Anthropic, AsyncAnthropic
except ImportError as missing:
    raise MissingFramework(REQUIREMENT) from missing

#: A sub-agent: from the arguments of its tool and its own envelope to text, or to a reply of this loop.
SubAgent: TypeAlias = Callable[[dict[str, Any], Envelope], Any]


def dump_tools_schema(tools: Iterable[Any], *, subagents: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The `tools_schema` of the tools that you pass to `messages.create`, or of `@beta_tool` functions.

    Tools that Anthropic defines (`web_search`, `bash`, …) have no schema of yours and are not in it; neither
    are the tools named in `subagents`.
    """
    names = set(subagents)
    return as_tools_schema(
        tool for tool in map(as_param, tools) if "input_schema" in tool and tool["name"] not in names
    )


def uncovered_tools(tools: Iterable[Any]) -> list[str]:
    """Tools that Anthropic defines: those that run there stay live, the others the proxy does not know."""
    return [str(tool.get("name")) for tool in map(as_param, tools) if "input_schema" not in tool]


def run_anthropic_loop(
    client: Anthropic,
    *,
    model: str,
    tools: Sequence[Any],
    envelope: Envelope,
    system: str | list[dict[str, Any]] | None = None,
    max_tokens: int = 4096,
    max_turns: int = 20,
    subagents: Mapping[str, SubAgent] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """One dispatch: `{final_response, messages, metadata}`.

    The model is asked until it calls no more tools, at most `max_turns` times. Every call goes to the run's
    proxy; one that failed answers the model with the backend's own error, marked `is_error`. The system
    prompt gets what the dispatch adds to it. `options` (thinking, tool_choice, …) go to `messages.create`.

    `subagents` are tools that are agents of your own: the function named like the tool gets its arguments and
    an envelope whose actor is `…/<tool>`, and is what you would write for the agent itself:

        def ask_refunds(arguments, envelope):
            asked = dataclasses.replace(envelope, user_instruction=arguments["request"])
            return run_anthropic_loop(client, model=…, tools=REFUND_TOOLS, envelope=asked, …)
    """
    loop = _ToolLoop(envelope, model, tools, system, max_tokens, max_turns, subagents or {}, options)
    with bind_run(envelope):
        steps = loop.steps()
        outcome: Any = None
        while (step := _next_step(steps, outcome)) is not None:
            match step:
                case AskModel():
                    outcome = client.messages.create(**step.request)
                case PostEvents():
                    post_events(step.events, step.actor)
                case CallTool():
                    outcome = call_tool(step.name, step.arguments)
                case AskSubagent():
                    outcome = step.subagent(step.arguments, step.envelope)
    return loop.reply()


async def run_anthropic_loop_async(
    client: AsyncAnthropic,
    *,
    model: str,
    tools: Sequence[Any],
    envelope: Envelope,
    system: str | list[dict[str, Any]] | None = None,
    max_tokens: int = 4096,
    max_turns: int = 20,
    subagents: Mapping[str, SubAgent] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """`run_anthropic_loop` for an `AsyncAnthropic` client; sub-agents may be coroutine functions."""
    loop = _ToolLoop(envelope, model, tools, system, max_tokens, max_turns, subagents or {}, options)
    with bind_run(envelope):
        steps = loop.steps()
        outcome: Any = None
        while (step := _next_step(steps, outcome)) is not None:
            match step:
                case AskModel():
                    outcome = await client.messages.create(**step.request)
                case PostEvents():
                    await async_post_events(step.events, step.actor)
                case CallTool():
                    outcome = await async_call_tool(step.name, step.arguments)
                case AskSubagent():
                    outcome = step.subagent(step.arguments, step.envelope)
                    outcome = await outcome if inspect.isawaitable(outcome) else outcome
    return loop.reply()


# -- the loop without I/O: it says what to do next and is told what came of it


class AskModel(NamedTuple):
    request: dict[str, Any]


class PostEvents(NamedTuple):
    events: list[Event]
    actor: str | None = None  # a sub-agent of this one


class CallTool(NamedTuple):
    name: str
    arguments: dict[str, Any]


class AskSubagent(NamedTuple):
    subagent: SubAgent
    arguments: dict[str, Any]
    envelope: Envelope


Step: TypeAlias = AskModel | PostEvents | CallTool | AskSubagent
Steps: TypeAlias = Generator[Step, Any, None]


def _next_step(steps: Steps, told: Any) -> Step | None:
    try:
        return steps.send(told)
    except StopIteration:
        return None


class _ToolLoop:
    def __init__(
        self,
        envelope: Envelope,
        model: str,
        tools: Sequence[Any],
        system: str | list[dict[str, Any]] | None,
        max_tokens: int,
        max_turns: int,
        subagents: Mapping[str, SubAgent],
        options: Mapping[str, Any],
    ) -> None:
        self._envelope = envelope
        self._reply = Reply(envelope)
        self._tools = [as_param(tool) for tool in tools]
        self._system = _extend_prompt(system, envelope)
        self._request = {"model": model, "max_tokens": max_tokens, **options}
        self._max_turns = max_turns
        self._subagents = subagents
        self._is_subagent = "/" in (envelope.actor_id or "")
        self._said: list[Message] = []
        self._final = f"(stopped after {max_turns} turns)"
        self._tokens = [0, 0]
        self._model = model

    def steps(self) -> Steps:
        conversation = as_turns([*self._reply.before, self._reply.user_message], blocks_of)
        yield PostEvents(uncovered_events(uncovered_tools(self._tools)) + prompt_events(_text(self._system)))
        for _ in range(self._max_turns):
            message = yield AskModel(self._model_request(conversation))
            self._record_answer(message)
            yield PostEvents(message_events(self._said[-1], is_subagent=self._is_subagent))
            conversation.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if message.stop_reason == "pause_turn":
                continue  # a tool of the provider is not done: the same conversation goes on
            if message.stop_reason != "tool_use" or not calls:
                self._final = str(self._said[-1]["content"] or "") or f"(stopped: {message.stop_reason})"
                return
            results: list[dict[str, Any]] = []
            for block in calls:
                outcome = yield from self._run_tool(block.name, dict(block.input))
                results.append(_result(block.id, outcome))
                self._said.append(tool_message(block.id, outcome.text))
            conversation.append({"role": "user", "content": results})

    def _run_tool(self, name: str, arguments: dict[str, Any]) -> Generator[Step, Any, Outcome]:
        subagent = self._subagents.get(name)
        if subagent is None:
            outcome: Outcome = yield CallTool(name, arguments)
            return outcome
        # Another conversation: its own words, and nothing of what the user and this agent said.
        theirs = replace(self._envelope.for_actor(name), messages=None, session_id=None)
        yield PostEvents(handoff_events(self._envelope.actor_id, str(theirs.actor_id)))
        answer = yield AskSubagent(subagent, arguments, theirs)
        text = as_text(answer["final_response"] if _is_reply(answer) else answer)
        yield PostEvents(final_events(text), name)
        if _is_reply(answer):
            self._add_tokens(
                answer["metadata"].get("total_input_tokens"), answer["metadata"].get("total_output_tokens")
            )
        return Outcome(text, False)

    def _model_request(self, conversation: list[dict[str, Any]]) -> dict[str, Any]:
        optional = {"tools": self._tools, "system": self._system}
        return (
            self._request
            | {"messages": list(conversation)}
            | {key: value for key, value in optional.items() if value}
        )

    def _record_answer(self, message: Any) -> None:
        self._said.append(message_of_blocks(message.content))
        self._model = message.model
        usage = message.usage
        cached = (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)
        self._add_tokens(usage.input_tokens + cached, usage.output_tokens)

    def _add_tokens(self, input_tokens: int | None, output_tokens: int | None) -> None:
        self._tokens[0] += input_tokens or 0
        self._tokens[1] += output_tokens or 0

    def reply(self) -> dict[str, Any]:
        return self._reply.build(
            self._said,
            self._final,
            model=self._model,
            input_tokens=self._tokens[0],
            output_tokens=self._tokens[1],
            uncovered_tools=uncovered_tools(self._tools),
        )


def _is_reply(answer: Any) -> bool:
    return isinstance(answer, dict) and {"final_response", "metadata"} <= answer.keys()


def _result(call_id: str, outcome: Outcome) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call_id, "content": outcome.text}
    return result | ({"is_error": True} if outcome.is_error else {})


def _extend_prompt(system: str | list[dict[str, Any]] | None, envelope: Envelope) -> Any:
    """Blocks keep their marks (caching); what the dispatch adds is one more block."""
    if not isinstance(system, list):
        return envelope.system_prompt(system or "")
    addition = envelope.system_prompt("")
    return [*system, {"type": "text", "text": addition}] if addition else system


def _text(system: Any) -> str:
    return (
        system if isinstance(system, str) else "\n\n".join(str(block.get("text") or "") for block in system)
    )
