"""A model of Strands that needs no key: `offline_rules` decides."""

import json
from collections.abc import AsyncGenerator
from typing import Any

from offline_rules import Call, Result, next_step
from strands.models import Model


class OfflineModel(Model):
    def update_config(self, **config: Any) -> None:
        """Nothing to configure."""

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "offline"}

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[dict[str, Any], None]:
        raise NotImplementedError("the offline model has no structured output")

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
        instruction, results = read(messages)
        step = next_step(instruction, results)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(step, Call):
            use = {"name": step.tool, "toolUseId": f"tool_{len(results)}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(step.arguments)}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(step, Call) else "end_turn"}}


def read(messages: Any) -> tuple[str, list[Result]]:
    """What the user said last, and what the tools have answered since."""
    instruction = ""
    names: dict[str, str] = {}
    results: list[Result] = []
    for message in messages:
        for block in message["content"]:
            if "text" in block and message["role"] == "user":
                instruction, results = block["text"], []
            elif "toolUse" in block:
                names[block["toolUse"]["toolUseId"]] = block["toolUse"]["name"]
            elif "toolResult" in block:
                result = block["toolResult"]
                results.append(Result(names[result["toolUseId"]], result["content"]))
    return instruction, results
