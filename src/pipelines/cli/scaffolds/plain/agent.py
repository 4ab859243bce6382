"""An agent without a framework: replace `next_step` by your model, keep the rest."""

import re
from typing import Any, NamedTuple

from pipelines.odyssey import Envelope, ToolFailed, proxy_call

ORDER = re.compile(r"\b\d{3,}\b")
MOST_TRIES = 3  # of one tool that fails on its side


class Step(NamedTuple):
    """A tool to call, and what it answered once it was called."""

    tool: str
    arguments: dict[str, Any]
    status: int = 0
    answer: Any = None


def answer(envelope: Envelope) -> dict[str, Any]:
    """One dispatch: ask what to do next until it is an answer."""
    taken: list[Step] = []
    step = next_step(envelope.user_instruction, taken)
    while isinstance(step, Step):
        taken.append(call(step))
        step = next_step(envelope.user_instruction, taken)
    return {"final_response": step}


def call(step: Step) -> Step:
    """Every tool goes to the run's proxy. What a tool refuses is for the agent to see, not to hide."""
    try:
        return step._replace(status=200, answer=proxy_call(step.tool, step.arguments))
    except ToolFailed as failed:
        return step._replace(status=failed.status, answer=failed.response)


def next_step(instruction: str, taken: list[Step]) -> Step | str:
    """The agent's mind: a tool to call, or the final answer.

    The system prompt of a model goes here as `envelope.system_prompt("You are …")`: evals may add to it.
    """
    order = ORDER.search(instruction)
    if order is None:
        return "Which order is it about? Please tell me its number."
    if not taken:
        return Step("get_order", {"order_id": order[0]})
    last = taken[-1]
    if last.status >= 500 and len([step for step in taken if step.tool == last.tool]) < MOST_TRIES:
        return Step(last.tool, last.arguments)
    if last.status >= 400:
        return f"I cannot help with order {order[0]}: {reason(last.answer)}."
    if last.tool == "refund_order":
        return f"I have refunded order {order[0]}."
    if re.search(r"refund|money back", instruction, re.IGNORECASE):
        return Step("refund_order", {"order_id": order[0]})
    return f"Order {order[0]} is {last.answer.get('status', 'of unknown status')}."


def reason(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message") if isinstance(error, dict) else answer).rstrip(".")
