"""A plan depends on names, schemas, types and relations, never on how many records there are or which values
happen to coincide."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_records import other_records

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import read_plan, survey_for
from pipelines.core.tools.tools_schema import parse_tools_schema

BLIND = Path(__file__).parents[3] / "blind"
DECLARED = ("name", "description", "parameters", "output_schema")
TRADES = sorted(path for name in ("tools_tenth", "tools_eleventh") for path in (BLIND / name).glob("*.json"))
LOADS = {
    "load": {
        f"LOA-{number}": {"status": status, "weight_kg": 900 * number, "carrier_id": carrier, "lane": "A-B"}
        for number, status, carrier in ((1, "open", None), (2, "on_hold", "C-1"), (3, "booked", "C-2"))
    },
    "carrier": {
        "C-1": {"name": "Brandt Haulage", "rating": 4, "max_weight_kg": 24000},
        "C-2": {"name": "Ostrava Lines", "rating": 5, "max_weight_kg": 12000},
    },
}
LOAD_ID = {"load_id": {"type": "string"}}
LOAD_TOOLS: list[dict[str, Any]] = [
    {
        "name": "tender_load",
        "description": "Tender a load to a carrier at an agreed rate",
        "parameters": {
            "type": "object",
            "properties": LOAD_ID | {"carrier_id": {"type": "string"}, "agreed_rate": {"type": "number"}},
            "required": ["load_id", "carrier_id", "agreed_rate"],
        },
    },
    {
        "name": "hold_load",
        "description": "Put a load on hold.",
        "parameters": {"type": "object", "properties": LOAD_ID, "required": ["load_id"]},
    },
]


@cache
def trade(path: Path) -> tuple[Any, Any]:
    body = json.loads(path.read_text())
    declared = [{key: tool[key] for key in DECLARED if key in tool} for tool in body["tools"]]
    return parse_tools_schema(declared), body["world"]


def plans(tools: Any, state: Any) -> dict[str, Any]:
    world = World.from_initial_state(state)
    known = survey_for(tools, world=world)
    read = {tool.name: read_plan(tool, tools=tools, world=world, known=known) for tool in tools}
    return {name: (plan.body, plan.confidence) for name, plan in read.items()}


@pytest.mark.parametrize("path", TRADES, ids=lambda path: path.stem)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_other_records_give_the_same_plans(path: Path, seed: int) -> None:
    tools, state = trade(path)
    before, after = plans(tools, state), plans(tools, other_records(state, Random(seed)))
    assert {name for name in before if before[name] != after[name]} == set()


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_of_a_freight_desk_too(seed: int) -> None:
    tools = parse_tools_schema(LOAD_TOOLS)
    assert plans(tools, LOADS) == plans(tools, other_records(LOADS, Random(seed)))
