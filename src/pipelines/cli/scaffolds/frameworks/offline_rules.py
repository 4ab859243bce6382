"""The rules of the offline model, the same for every framework: what it does with an instruction and results.

It stands in for a model so that tests need no key and no network. With a key, nothing here is used.
"""

import json
import re
from typing import Any, NamedTuple

ORDER = re.compile(r"\b\d{3,}\b")
MOST_TRIES = 3  # of one tool that fails on its side


class Call(NamedTuple):
    tool: str
    arguments: dict[str, Any]


class Result(NamedTuple):
    """A call that was made, and what came back: JSON, or text that may be JSON."""

    tool: str
    output: Any


def next_step(instruction: str, results: list[Result]) -> Call | str:
    """A tool to call, or the final answer."""
    order = ORDER.search(instruction)
    if order is None:
        return "Which order is it about? Please tell me its number."
    arguments = {"order_id": order[0]}
    if not results:
        return Call("get_order", arguments)
    last = results[-1]
    output = as_json(last.output)
    error = output.get("error") if isinstance(output, dict) else None
    if error is not None:
        tries = len([result for result in results if result.tool == last.tool])
        if is_temporary(error) and tries < MOST_TRIES:
            return Call(last.tool, arguments)
        message = error.get("message") if isinstance(error, dict) else error
        return f"I cannot help with order {order[0]}: {str(message).rstrip('.')}."
    if last.tool == "refund_order":
        return f"I have refunded order {order[0]}."
    if re.search(r"refund|money back", instruction, re.IGNORECASE):
        return Call("refund_order", arguments)
    status = output.get("status") if isinstance(output, dict) else None
    return f"Order {order[0]} is {status or 'of unknown status'}."


def as_json(output: Any) -> Any:
    """The answer itself, however a framework wrapped it."""
    if isinstance(output, list) and output and isinstance(output[0], dict):
        block = output[0]
        output = block.get("json", block.get("text", output))
    if isinstance(output, str):
        try:
            return json.loads(output)
        except ValueError:
            return {"error": output} if "error" in output.lower() else output
    return output


def is_temporary(error: Any) -> bool:
    code = error.get("code") if isinstance(error, dict) else None
    return isinstance(code, int) and code >= 500
