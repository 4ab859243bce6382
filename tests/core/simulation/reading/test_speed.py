"""Reading a toolset for the first time: at most 5 ms a tool, on any machine that runs the tests."""

import json
import time
from pathlib import Path

import pytest

from pipelines.core.ledger import World
from pipelines.core.simulation.reading.assemble import read_plan, survey_for
from pipelines.core.tools_schema import parse_tools_schema

BLIND = Path(__file__).parents[3] / "blind"
MOST_S = 0.005  # a tool: measured 0.0013
DECLARED = ("name", "description", "parameters", "output_schema")


@pytest.mark.parametrize("name", ["tools_tenth", "tools_eleventh"])
def test_a_tool_is_read_in_five_milliseconds(name: str) -> None:
    for path in sorted((BLIND / name).glob("*.json")):
        body = json.loads(path.read_text())
        declared = [{key: tool[key] for key in DECLARED if key in tool} for tool in body["tools"]]
        tools, world = parse_tools_schema(declared), World.from_initial_state(body["world"])
        took = []
        for _ in range(3):  # the best of three: another process may have had the machine
            began = time.process_time()
            known = survey_for(tools, world=world)
            for tool in tools:
                read_plan(tool, tools=tools, world=world, known=known)
            took.append(time.process_time() - began)
        assert min(took) <= MOST_S * len(tools), path.stem
