"""Which tools' calls are kept, so that plans can look back at them."""

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.tools.tools_schema import parse_tools_schema


@pytest.mark.parametrize("call", ["calls('refund')", "calls ('refund')", "calls\n('refund')"])
def test_a_plan_looks_back_however_its_call_is_spaced(call: str) -> None:
    steps = [{"require": f"len({call}) < 1", "else": {"status": 409, "error": "once"}}, {"return": "null"}]
    schema = {"type": "object", "properties": {}}
    tools = parse_tools_schema([{"name": "refund", "input_schema": schema, "simulation": steps}])
    assert build_simulator(tools, world=World({})).remembered_tools == {"refund"}
