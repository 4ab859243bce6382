"""What a sentence means by the world's own evidence, and what is told instead of guessed."""

from typing import Any

import gym
import pytest

from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment

STATE: JsonObject = {
    "member": {
        "m1": {"name": "Ada", "role": "warden", "section": "rock"},
        "m2": {"name": "Bo", "role": "climber", "section": "ice"},
        "m3": {"name": "Cy", "role": "climber", "section": "rock"},
    },
    "rope": {
        "r1": {"section": "rock", "status": "free", "kind": "static", "checked_by": "m1", "lent_to": None},
        "r2": {"section": "ice", "status": "free", "kind": "dynamic", "checked_by": "m2", "lent_to": None},
    },
    "trip": {
        "t1": {"leader_id": "m1", "starts_at": "2026-11-16T20:00:00Z", "places": 1, "member_ids": ["m1"]},
        "t2": {"leader_id": "m2", "starts_at": "2026-12-24T08:00:00Z", "places": 5, "member_ids": []},
    },
    "hold": {
        "h1": {"rope_id": "r1", "member_id": "m1", "status": "waiting"},
        "h2": {"rope_id": "r2", "member_id": "m2", "status": "over"},
    },
}  # fmt: skip
TOOLS = (
    gym.tool("lend_rope", "rope_id", "member_id", "guests?"),
    gym.tool("retire_rope", "rope_id", "member_id"),
    gym.tool("cancel_trip", "trip_id", "reason?"),
    gym.tool("join_trip", "trip_id", "member_id", "amount"),
)


def under(text: str) -> PlannedSimulator:
    world = World.from_initial_state(STATE)
    return build_simulator(gym.parse_tools_schema(list(TOOLS)), world=world, behavior=text)


def refused(simulator: PlannedSimulator, tool: str, **arguments: Any) -> bool:
    ledger = Ledger(World.from_initial_state(STATE))
    return simulator.answer(tool, arguments, ledger, Moment("s", 1, gym.NOW)).status >= 400


R1: JsonObject = {"rope_id": "r1"}
JOINS: JsonObject = {"member_id": "m3", "amount": 5}
CASES: dict[str, tuple[str, JsonObject, JsonObject]] = {
    # sentence: the tool, a call that it refuses and one that it lets through
    "A rope cannot be retired by the member who checked it.": (
        "retire_rope", {**R1, "member_id": "m1"}, {**R1, "member_id": "m2"}),
    "Whoever checked a rope must not retire it.": (
        "retire_rope", {**R1, "member_id": "m1"}, {**R1, "member_id": "m2"}),
    "Ropes are retired by wardens.": (
        "retire_rope", {**R1, "member_id": "m2"}, {**R1, "member_id": "m1"}),
    "A rope cannot be lent while another member has a waiting hold on it.": (
        "lend_rope", {**R1, "member_id": "m2"}, {**R1, "member_id": "m1"}),
    "Trips may not be cancelled within 24 hours of their start.": (
        "cancel_trip", {"trip_id": "t1"}, {"trip_id": "t2"}),
    "No one can join a trip that is full.": (
        "join_trip", {**JOINS, "trip_id": "t1"}, {**JOINS, "trip_id": "t2"}),
}  # fmt: skip


@pytest.mark.parametrize("sentence", CASES)
def test_a_sentence_is_read_by_what_the_world_holds(sentence: str) -> None:
    tool, stopped, passed = CASES[sentence]
    simulator = under(sentence)
    assert simulator.not_understood == ()
    assert refused(simulator, tool, **stopped)
    assert not refused(simulator, tool, **passed)


@pytest.mark.parametrize(
    "sentence",
    [
        "Ropes may only be retired by the rope they belong to.",
        "A member may lend at most two ropes.",  # guests are not ropes
        "Trips are cancelled by wardens.",  # nobody says who cancels
        "Nobody cancels a trip of another member.",
    ],
)
def test_what_no_evidence_settles_is_told(sentence: str) -> None:
    assert under(sentence).not_understood or under(sentence).without_effect
