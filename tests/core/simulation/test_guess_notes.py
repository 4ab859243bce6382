"""Whatever a plan takes for granted that nobody wrote down stands in its notes."""

from typing import Any

import pytest

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools_schema import parse_tools_schema

NOW = Moment(seed="notes", call_number=1, now="2026-01-15T10:30:00Z")
WORLD = {
    "owner": {"ow-1": {"name": "Ines"}, "ow-2": {"name": "Gordon"}},
    "pet": {"pt-1": {"name": "Mochi", "owner_id": "ow-1"}, "pt-2": {"name": "Bruno", "owner_id": "ow-2"}},
    "cage": {
        "K1": {"patient_id": None, "status": "free"},
        "K2": {"patient_id": "pt-2", "status": "occupied"},
    },
    "visit": {"vs-1": {"pet_id": "pt-1", "reason": "limping", "room": "2"}},
}


def tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    properties = {one: {"type": "string"} for one in arguments}
    schema = {"type": "object", "properties": properties, "required": [*arguments]}
    return {"name": name, "description": description, "parameters": schema}


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (tool("notify_owner", "Notifies an owner.", "owner_id", "message"), "nothing is kept of it"),
        (
            tool("rehome", "Move a pet to a new owner.", "pet_id", "new_owner_id"),
            "one that is not there is refused",
        ),
        (tool("detach_cage", "Detach a cage.", "cage_id"), "`status` and `patient_id` go together"),
        (
            tool("onboard", "Take on a new case.", "pet_id", "reason", "room"),
            "only such records have all of",
        ),
    ],
    ids=["told", "refers", "together", "taken for"],
)
def test_a_guess_stands_in_the_notes_of_its_plan(declared: dict[str, Any], told: str) -> None:
    simulator = build_simulator(parse_tools_schema([declared]), world=World.from_initial_state(WORLD))
    assert [note for note in simulator.plan_of(declared["name"]).notes if told in note]


def test_what_goes_together_in_the_seeded_records_does_so_after_a_change() -> None:
    world = World.from_initial_state(WORLD)
    admit = tool("admit", "Put a pet into a cage.", "patient_id", "cage_id")
    free = tool("detach_cage", "Detach a cage.", "cage_id")
    simulator = build_simulator(parse_tools_schema([admit, free]), world=world)
    ledger = Ledger(world)
    for name, arguments in (
        ("admit", {"patient_id": "pt-1", "cage_id": "K1"}),
        ("detach_cage", {"cage_id": "K2"}),
    ):
        ledger.apply(simulator.answer(name, arguments, ledger, NOW).updates)
    cages = ledger.as_state()["cage"]
    assert cages["K1"] == {"patient_id": "pt-1", "status": "occupied"}
    assert cages["K2"] == {"patient_id": None, "status": "free"}
