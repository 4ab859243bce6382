"""An agent as uploaded code, in one file of standard-library Python: replace `next_step` by your model.

The platform calls `run` once for each task. Tools are POSTs to the run's proxy.
"""

import json
import re
import time
import urllib.error
import urllib.request
import uuid
from typing import Any, NamedTuple

ORDER = re.compile(r"\b\d{3,}\b")
MOST_TRIES = 3  # of one tool that fails on its side


class Step(NamedTuple):
    """A tool to call, and what it answered once it was called."""

    tool: str
    arguments: dict[str, Any]
    status: int = 0
    answer: Any = None


def run(task_input: dict[str, Any], *, proxy_url: str, run_token: str) -> dict[str, Any]:
    instruction = task_input.get("user_instruction") or ""
    taken: list[Step] = []
    step = next_step(instruction, taken)
    while isinstance(step, Step):
        status, answer = call_tool(proxy_url, run_token, step.tool, step.arguments)
        taken.append(step._replace(status=status, answer=answer))
        step = next_step(instruction, taken)
    return {"final_response": step}


def call_tool(proxy_url: str, run_token: str, tool: str, arguments: dict[str, Any]) -> tuple[int, Any]:
    """The tool's status and its own answer. Retries only what the proxy calls temporary."""
    request = urllib.request.Request(
        f"{proxy_url.rstrip('/')}/tools/{tool}",
        data=json.dumps(arguments).encode(),
        headers={
            "Authorization": f"Bearer {run_token}",
            "Content-Type": "application/json",
            "Idempotency-Key": uuid.uuid4().hex,  # one call is never done twice
        },
    )
    for attempt in range(1, 5):
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return reply.status, json.load(reply)["response"]
        except urllib.error.HTTPError as error:
            body = json.load(error)
            if body.get("retryable") is not True or attempt == 4:
                return error.code, body.get("response", body)
            wait_s = float(error.headers.get("Retry-After") or 0.5 * 2**attempt)
        time.sleep(wait_s)
    raise AssertionError("the last attempt has returned")


def next_step(instruction: str, taken: list[Step]) -> Step | str:
    """The agent's mind: a tool to call, or the final answer."""
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
