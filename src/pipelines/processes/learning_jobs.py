"""Jobs that learn plans from a recording, one tool at a time. `data` is the body of the request."""

import time
from collections.abc import Iterator
from typing import Any

from pipelines.core.text.json_text import JsonObject, dumps, loads_own


def recorded_tools(data: bytes, *, definition: JsonObject) -> Iterator[bytes]:
    """Names of the tools that the recording has calls of. Refused with every line that cannot be read."""
    yield dumps([*_workbench(data, definition).names()])


def learn_tool(data: bytes, *, definition: JsonObject, tool: str, budget_s: float) -> Iterator[bytes]:
    """What is learnt of one tool."""
    end = time.monotonic() + budget_s
    learned = _workbench(data, definition).learn_tool(tool, lambda: time.monotonic() > end)
    yield dumps(learned.as_json())


def unseen_in_recording(data: bytes, *, definition: JsonObject) -> Iterator[bytes]:
    """What the recording cannot show: tools without a call, and what it lacks as a whole."""
    learned = _workbench(data, definition).learned(())
    yield dumps({"without_calls": [*learned.without_calls], "unseen": [*learned.unseen]})


def _workbench(data: bytes, definition: JsonObject) -> Any:
    from pipelines.core.agents.agent_definition import AgentDefinition
    from pipelines.core.simulation.fidelity.recording import read_recording
    from pipelines.core.simulation.learning import Options, Workbench

    body: Any = loads_own(data)
    options = Options(refuse_contradictions=body.get("refuse_contradictions") is True)
    recording = read_recording(body["recording"].get("state") or {}, body["recording"]["tasks"])
    return Workbench(recording, AgentDefinition.from_stored(definition).tools, options)


LEARNING_JOBS = (recorded_tools, learn_tool, unseen_in_recording)
