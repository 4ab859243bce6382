"""What a sentence says of some calls is not done by others: its condition, and which tool is meant, count."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD: dict[str, Any] = {
    "hive": {
        "H1": {"name": "Oak", "status": "new", "frames": 8, "mite_checked": True, "site_id": "S1"},
        "H2": {"name": "Elm", "status": "resting", "frames": 6, "mite_checked": True, "site_id": "S1"},
    },
    "site": {"S1": {"name": "Meadow", "frames_left": 20}, "S2": {"name": "Hill", "frames_left": 5}},
    "keeper": {"B1": {"name": "Ida"}, "B2": {"name": "Ulf"}},
}
TEXT = {"type": "string"}


def _tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict.fromkeys(arguments, TEXT), "required": [*arguments]}
    return {"name": name, "description": description, "parameters": schema}


TOOLS = [
    _tool("assign_hive", "Assign a hive to a keeper.", "hive_id", "keeper_id"),
    _tool("change_site_name", "Change the name of a site.", "site_id", "name"),
    _tool("update_mite_record", "Change the mite record of a hive.", "hive_id", "note"),
    _tool("change_hive_name", "Change the name of a hive.", "hive_id", "name"),
    _tool("retire_hive", "Retire a hive.", "hive_id"),
]


def _after(behavior: str, tool: str, **arguments: str) -> tuple[PlannedSimulator, Ledger]:
    world = World.from_initial_state(WORLD)
    simulator = build_simulator(parse_tools_schema(TOOLS), world=world, behavior=behavior)
    ledger = Ledger(world)
    reply = simulator.answer(tool, arguments, ledger, Moment("seed", 1, "2026-01-15T10:30:00Z"))
    assert reply.status == 200, reply
    ledger.apply(reply.updates)
    return simulator, ledger


@pytest.mark.parametrize(("hive", "status"), [("H1", "active"), ("H2", "resting")])
def test_a_change_on_a_condition_is_made_on_that_condition(hive: str, status: str) -> None:
    said = "Assigning a hive whose status is new moves it to active."
    simulator, ledger = _after(said, "assign_hive", hive_id=hive, keeper_id="B1")
    is_told = bool(simulator.not_understood)
    assert is_told or ledger.get("hive", hive)["status"] == status  # type: ignore[index]


def test_the_tool_of_which_every_word_is_said_is_meant() -> None:
    said = "Changing the mite record of a hive sets mite_checked back to false."
    simulator, ledger = _after(said, "change_hive_name", hive_id="H1", name="Ash")
    assert ledger.get("hive", "H1")["mite_checked"] is True  # type: ignore[index]
    _, ledger = _after(said, "update_mite_record", hive_id="H1", note="none")
    assert simulator.not_understood or ledger.get("hive", "H1")["mite_checked"] is False  # type: ignore[index]


def test_what_goes_back_to_a_number_does_not_become_it() -> None:
    said = "When a hive is retired, its frames go back to the site's frames left."
    _, ledger = _after(said, "retire_hive", hive_id="H1")
    assert ledger.get("hive", "H1")["frames"] == 8  # type: ignore[index]
