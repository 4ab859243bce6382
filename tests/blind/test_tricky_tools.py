"""Names that look like the other side (tricky_tools.yaml): what only reads never writes, plain changes do."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tool_scores import writes

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.tools.tools_schema import parse_tools_schema

TRADES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("tricky_tools.yaml").read_text())


def declared(tool: list[Any]) -> dict[str, Any]:
    name, description, parameters = tool
    split = [parameter.partition(":") for parameter in parameters]
    properties = {name: {"type": kind or "string"} for name, _, kind in split}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    return {"name": name, "description": description, "parameters": schema}


def simulator_of(trade: dict[str, Any], world: dict[str, Any] | None = None) -> PlannedSimulator:
    tools = [declared(tool) for tool in (*trade["reads"], *trade["writes"])]
    return build_simulator(parse_tools_schema(tools), world=World.from_initial_state(world or trade["world"]))


def that_write(simulator: PlannedSimulator, tools: list[list[Any]]) -> set[str]:
    return {name for name, *_ in tools if writes(simulator.plans[name])}


@pytest.mark.parametrize("trade", TRADES, ids=lambda trade: trade["trade"])
def test_a_read_that_looks_like_a_change_does_not_write(trade):
    assert that_write(simulator_of(trade), trade["reads"]) == set()


@pytest.mark.parametrize("trade", TRADES, ids=lambda trade: trade["trade"])
def test_nor_under_other_labels(trade):
    labels = dict(
        zip(trade["world"], ("aufnel", "britox", "cadmun", "dovrel", "espith", "fulgar"), strict=False)
    )
    other = {labels[kind]: of for kind, of in trade["world"].items()}
    assert that_write(simulator_of(trade, other), trade["reads"]) == set()


@pytest.mark.parametrize("trade", TRADES, ids=lambda trade: trade["trade"])
def test_a_plain_change_writes(trade):
    plain = {name for name, *_ in trade["writes"]}
    assert plain - that_write(simulator_of(trade), trade["writes"]) == set()
