"""The registration declares the tools that the agent has. If not: `python agent.py` prints them."""

import json
from pathlib import Path

from agent import tools_schema


def test_agent_json_has_the_tools_of_the_agent() -> None:
    declared = json.loads((Path(__file__).parent / "agent.json").read_text())["tools_schema"]
    assert sorted(tool["name"] for tool in declared) == sorted(tool["name"] for tool in tools_schema())
