"""The same work in inspect-ai: a sample with three tool calls to a mock model, scored and logged.

Run by bench/runs.py in an environment that has inspect-ai; prints samples a second as JSON.
"""

import json
import sys
import tempfile
import time
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import Tool, tool

ORDER = {"status": "shipped", "shipped_at": "2026-04-01", "amount": 79.5}
CALLS = ("get_order", "refund_order", "get_order")


@tool
def get_order() -> Tool:
    async def execute(order_id: str) -> str:
        """Get an order.

        Args:
            order_id: Which one.
        """
        return json.dumps(ORDER)

    return execute


@tool
def refund_order() -> Tool:
    async def execute(order_id: str) -> str:
        """Refund an order.

        Args:
            order_id: Which one.
        """
        return json.dumps(ORDER | {"status": "refunded"})

    return execute


def answer(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
    done = sum(isinstance(message, ChatMessageTool) for message in messages)
    if done < len(CALLS):
        output = ModelOutput.for_tool_call("mockllm/model", CALLS[done], {"order_id": "4521"})
    else:
        output = ModelOutput.from_content("mockllm/model", "I have refunded order 4521.")
    # Given here, tokens need not be counted, for which inspect-ai would fetch an encoding.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def main() -> None:
    samples = int(sys.argv[1])
    task = Task(
        dataset=[Sample(input="Refund order 4521.", target="refunded") for _ in range(samples)],
        solver=[use_tools(get_order(), refund_order()), generate()],
        scorer=includes(),
    )
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        logs = eval(
            task,
            model=get_model("mockllm/model", custom_outputs=answer),
            log_dir=directory,
            display="none",
            max_samples=32,
            max_connections=32,
        )
        took = time.perf_counter() - started
    assert logs[0].status == "success", logs[0].error
    print(json.dumps({"samples_per_s": samples / took, "seconds": took}))


if __name__ == "__main__":
    main()
