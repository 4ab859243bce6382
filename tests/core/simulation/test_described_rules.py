"""What a tool's own description says of calls that fail: it is enforced, or the plan says that it is not."""

from typing import Any, NamedTuple

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.description_rules import MOST_READ
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools.tools_schema import parse_tools_schema

WORLD: dict[str, Any] = {
    "kiln": {
        "K1": {"name": "Big Red", "status": "idle", "capacity": 40, "booked": 12, "archived": False},
        "K2": {"name": "Raku", "status": "firing", "capacity": 10, "booked": 10, "archived": False},
        "K3": {"name": "Test", "status": "broken", "capacity": 5, "booked": 0, "archived": True},
    },
    "member": {
        "M1": {"name": "Ada", "status": "active", "credits": 30, "fees_due": 0},
        "M2": {"name": "Bo", "status": "suspended", "credits": 8, "fees_due": 0},
        "M3": {"name": "Cy", "status": "active", "credits": 2, "fees_due": 15},
    },
    "firing": {
        "F1": {"kiln_id": "K1", "member_id": "M1", "status": "planned", "date": "2026-02-03", "pieces": 4},
        "F2": {"kiln_id": "K2", "member_id": "M2", "status": "running", "date": "2026-01-15", "pieces": 10},
        "F3": {"kiln_id": "K1", "member_id": "M3", "status": "done", "date": "2026-01-02", "pieces": 3},
        "F4": {"kiln_id": "K1", "member_id": "M1", "status": "cancelled", "date": "2026-01-09", "pieces": 3},
    },
}
TEXT, NUMBER = {"type": "string"}, {"type": "number"}


class Case(NamedTuple):
    tool: str
    parameters: dict[str, Any]
    description: str
    good: dict[str, Any]
    bad: dict[str, Any]
    status: int | None = None


ON_FIRING, ON_KILN = {"firing_id": TEXT}, {"kiln_id": TEXT}
BOOKING = {"kiln_id": TEXT, "member_id": TEXT, "date": TEXT, "pieces": NUMBER}
BOOKED = {"kiln_id": "K1", "member_id": "M1", "date": "2026-03-01", "pieces": 2}
#: Written before anything read a description for what it refuses.
CASES = {
    "fails if": Case(
        "cancel_firing", ON_FIRING, "Cancel a firing. Fails if the firing is running.",
        {"firing_id": "F1"}, {"firing_id": "F2"},
    ),
    "only such can be": Case(
        "cancel_firing", ON_FIRING, "Cancels a firing. Only planned firings can be cancelled.",
        {"firing_id": "F1"}, {"firing_id": "F3"},
    ),
    "if it is, it cannot": Case(
        "cancel_firing", ON_FIRING,
        "Cancel a firing. If the firing is already running or done, it cannot be cancelled.",
        {"firing_id": "F1"}, {"firing_id": "F3"},
    ),
    "with a status": Case(
        "cancel_firing", ON_FIRING, "Cancel a firing. Returns 409 if the firing is done.",
        {"firing_id": "F1"}, {"firing_id": "F3"}, 409,
    ),
    "only works for": Case(
        "cancel_firing", ON_FIRING, "Cancel a firing. Only works for planned firings.",
        {"firing_id": "F1"}, {"firing_id": "F2"},
    ),
    "a positive number": Case(
        "book_firing", BOOKING, "Books a firing. `pieces` must be at least 1.",
        BOOKED, BOOKED | {"pieces": 0},
    ),
    "a number of another record": Case(
        "book_firing", BOOKING, "Books a firing. The pieces must not exceed the kiln's capacity.",
        BOOKED, BOOKED | {"pieces": 41},
    ),
    "in parentheses": Case(
        "cancel_firing", ON_FIRING, "Cancel a firing (only planned firings can be cancelled).",
        {"firing_id": "F1"}, {"firing_id": "F3"},
    ),
}  # fmt: skip


def _simulator(tool: str, parameters: dict[str, Any], description: str) -> PlannedSimulator:
    schema = {"type": "object", "properties": parameters, "required": [*parameters]}
    declared = [{"name": tool, "description": description, "parameters": schema}]
    return build_simulator(parse_tools_schema(declared), world=World.from_initial_state(WORLD))


def _answer(simulator: PlannedSimulator, tool: str, arguments: dict[str, Any]) -> SimulatedReply:
    ledger = Ledger(World.from_initial_state(WORLD))
    return simulator.answer(tool, arguments, ledger, Moment("seed", 1, "2026-01-15T10:30:00Z"))


@pytest.mark.parametrize("name", CASES)
def test_a_description_says_what_is_refused(name: str) -> None:
    case = CASES[name]
    simulator = _simulator(case.tool, case.parameters, case.description)
    assert _answer(simulator, case.tool, case.good).status == 200
    refused = _answer(simulator, case.tool, case.bad)
    assert refused.status >= 400
    assert not refused.updates
    assert case.status in (None, refused.status)


@pytest.mark.parametrize(
    "said",
    [
        "Fails if the moon is in the seventh house.",
        "Only trusted potters can be served.",
        "Must not be called on rainy days.",
    ],
)
def test_a_restriction_that_finds_no_place_is_told(said: str) -> None:
    simulator = _simulator("cancel_firing", ON_FIRING, f"Cancel a firing. {said}")
    assert _answer(simulator, "cancel_firing", {"firing_id": "F1"}).status == 200
    assert any(said.rstrip(".") in note for note in simulator.plans["cancel_firing"].doubts)


@pytest.mark.parametrize(
    "said",
    [
        "Returns the firing.",
        "The agent must ask the user for confirmation first.",
        "You should only call this after the member has agreed.",
        "Does not refund anything.",
    ],
)
def test_what_restricts_no_call_is_not_told(said: str) -> None:
    plain = _simulator("cancel_firing", ON_FIRING, "Cancel a firing.").plans["cancel_firing"]
    more = _simulator("cancel_firing", ON_FIRING, f"Cancel a firing. {said}").plans["cancel_firing"]
    assert more.doubts == plain.doubts


@pytest.mark.parametrize("said", ["Reject a firing.", "Approve or reject a firing.", "Fails a firing."])
def test_what_the_tool_does_restricts_nothing(said: str) -> None:
    plan = _simulator("reject_firing", ON_FIRING, said).plans["reject_firing"]
    assert not any("not enforced" in note for note in plan.notes)


def test_a_rule_of_the_description_is_named_in_the_plan() -> None:
    case = CASES["only such can be"]
    plan = _simulator(case.tool, case.parameters, case.description).plans[case.tool]
    assert any("Only planned firings can be cancelled" in note for note in plan.notes)
    assert not plan.is_guess


def test_it_refuses_no_call_where_the_world_would_let_none_through() -> None:
    said = "Cancel a firing. Only approved firings can be cancelled."
    simulator = _simulator("cancel_firing", ON_FIRING, said)
    assert _answer(simulator, "cancel_firing", {"firing_id": "F1"}).status == 200
    assert any("Only approved firings" in note for note in simulator.plans["cancel_firing"].doubts)


def test_a_noun_of_the_object_is_no_switch_of_it() -> None:
    people = {f"E-{n}": {"name": f"N{n}", "iban": f"NL{n}", "bank_verified": n > 1} for n in range(1, 4)}
    schema = {
        "type": "object",
        "properties": {"employee_id": TEXT, "iban": TEXT},
        "required": ["employee_id"],
    }
    said = "Change the bank account of an employee."
    declared = [{"name": "update_bank_details", "description": said, "parameters": schema}]
    seeded = World.from_initial_state({"employee": people})
    simulator = build_simulator(parse_tools_schema(declared), world=seeded)
    moment = Moment("seed", 1, "2026-01-15T10:30:00Z")
    given = {"employee_id": "E-1", "iban": "NL9"}
    reply = simulator.answer("update_bank_details", given, Ledger(seeded), moment)
    assert reply.status == 200, reply


def test_of_very_many_restrictions_the_rest_is_told() -> None:
    said = "; ".join(f"must not be number {n}" for n in range(100))
    plan = _simulator("cancel_firing", ON_FIRING, f"Cancel a firing; {said}").plans["cancel_firing"]
    told = [note for note in plan.doubts if "is not enforced" in note]
    assert len(told) == MOST_READ + 1
    assert "and what follows" in told[-1]


def test_what_is_not_read_for_want_of_time_is_told() -> None:
    case = CASES["only such can be"]
    schema = {"type": "object", "properties": case.parameters, "required": [*case.parameters]}
    declared = [{"name": case.tool, "description": case.description, "parameters": schema}]
    world = World.from_initial_state(WORLD)
    simulator = build_simulator(parse_tools_schema(declared), world=world, may_read=lambda: False)
    assert any("is not enforced" in note for note in simulator.plans[case.tool].doubts)
