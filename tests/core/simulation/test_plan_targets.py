"""Sentences about a winery: what its tools change, rather than how they are called, says what is meant."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools.tools_schema import parse_tools_schema

NOW = "2026-06-01T09:00:00Z"


def _tool(name: str, description: str, required: str, optional: str = "") -> dict[str, Any]:
    numbers = ("amount", "new_price")
    names = [*required.split(), *optional.split()]
    properties = {one: {"type": "number" if one in numbers else "string"} for one in names}
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = parse_tools_schema(
    [
        _tool("register_for_tasting", "Register a guest for a tour.", "guest_id tour_id"),
        _tool("cancel_registration", "Cancel a registration.", "registration_id"),
        _tool("refund_registration", "Refund money on a registration.", "registration_id amount"),
        _tool("raise_fee", "Set a new price for a tour.", "tour_id new_price"),
        _tool("list_tours", "List tours.", "", "status"),
        _tool("add_guest", "Create a guest.", "name email"),
        _tool("update_guest", "Change the email address of a guest.", "guest_id", "email"),
        _tool("reserve_room", "Reserve a room: creates a booking.", "guest_id room_id arrival departure"),
    ]
)
STATE: dict[str, Any] = {
    "guest": {
        "g1": {"name": "Ida", "email": "ida@example.org"},
        "g2": {"name": "Jon", "email": "jon@example.org"},
    },
    "tour": {"t1": {"price": 40, "status": "open"}, "t2": {"price": 55, "status": "closed"}},
    "bus": {"b1": {"seats_free": 3}, "b2": {"seats_free": 0}},
    "registration": {
        "s1": {
            "guest_id": "g1",
            "tour_id": "t1",
            "bus_id": "b1",
            "status": "confirmed",
            "total": 40,
            "amount_paid": 15,
        },
        "s2": {
            "guest_id": "g2",
            "tour_id": "t1",
            "bus_id": None,
            "status": "confirmed",
            "total": 40,
            "amount_paid": 40,
        },
    },
    "room": {"r1": {"price_per_night": 80}, "r2": {"price_per_night": 95}},
    "booking": {
        "k1": {
            "guest_id": "g1",
            "room_id": "r1",
            "arrival": "2026-07-01",
            "departure": "2026-07-04",
            "total": 240,
        },
        "k2": {
            "guest_id": "g2",
            "room_id": "r2",
            "arrival": "2026-08-01",
            "departure": "2026-08-03",
            "total": 190,
        },
    },
}
WORLD = World.from_initial_state(STATE)
JULY = {"guest_id": "g1", "room_id": "r2", "arrival": "2026-07-01", "departure": "2026-07-05"}


def _under(behavior: str) -> PlannedSimulator:
    return build_simulator(TOOLS, world=WORLD, behavior=behavior)


def _after(behavior: str, tool: str, arguments: dict[str, Any]) -> tuple[int, Ledger]:
    ledger = Ledger(WORLD)
    reply = _under(behavior).answer(tool, arguments, ledger, Moment("seed", 1, NOW))
    ledger.apply(reply.updates)
    return reply.status, ledger


REFUSALS = {
    "list_tours requires a status.": (("list_tours", {}, 422), ("list_tours", {"status": "open"}, 200)),
    "raise_fee fails when the tour is closed.": (
        ("raise_fee", {"tour_id": "t2", "new_price": 60}, 409),
        ("raise_fee", {"tour_id": "t1", "new_price": 60}, 200),
    ),
    "reserve_room fails when departure is more than 14 days after arrival.": (
        ("reserve_room", JULY | {"departure": "2026-07-16"}, 422),
        ("reserve_room", JULY | {"departure": "2026-07-15"}, 200),
    ),
    "reserve_room fails when departure is more than 2 months after arrival.": (
        ("reserve_room", JULY | {"departure": "2026-09-02"}, 422),
        ("reserve_room", JULY | {"departure": "2026-09-01"}, 200),
    ),
    "reserve_room fails with 409 when the number of bookings where the booking's guest_id matches the given "
    "guest_id and the booking's arrival is the given arrival is at least 1.": (
        ("reserve_room", JULY, 409),
        ("reserve_room", JULY | {"arrival": "2026-07-02"}, 200),
        ("reserve_room", JULY | {"guest_id": "g2"}, 200),
    ),
    "No two guests may share an email.": (
        ("add_guest", {"name": "Kai", "email": "ida@example.org"}, 409),
        ("add_guest", {"name": "Kai", "email": "kai@example.org"}, 200),
        ("update_guest", {"guest_id": "g2", "email": "ida@example.org"}, 409),
        ("update_guest", {"guest_id": "g1", "email": "ida@example.org"}, 200),
    ),
    "refund_registration fails when the given amount is more than the registration's amount_paid.": (
        ("refund_registration", {"registration_id": "s1", "amount": 16}, 409),
        ("refund_registration", {"registration_id": "s1", "amount": 15}, 200),
    ),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_is_refused(sentence: str) -> None:
    assert not _under(sentence).not_understood
    for tool, arguments, status in REFUSALS[sentence]:
        assert _after(sentence, tool, arguments)[0] == status, (tool, arguments)


def test_what_a_tool_makes_is_what_its_plan_adds() -> None:
    says = "register_for_tasting sets status to waiting."
    status, ledger = _after(says, "register_for_tasting", {"guest_id": "g1", "tour_id": "t1"})
    assert status == 200
    (made,) = [
        one for key, one in ledger.as_state()["registration"].items() if key not in STATE["registration"]
    ]
    assert made["status"] == "waiting"


@pytest.mark.parametrize(("registration", "free"), [("s1", 4), ("s2", 3)])
def test_what_refers_to_nothing_changes_nothing_there(registration: str, free: int) -> None:
    says = "Cancelling a registration increases the bus's seats_free by 1."
    status, ledger = _after(says, "cancel_registration", {"registration_id": registration})
    assert status == 200
    assert ledger.as_state()["bus"]["b1"]["seats_free"] == free
    assert ledger.as_state()["bus"]["b2"]["seats_free"] == 0


@pytest.mark.parametrize(
    "sentence",
    [
        "The total of a booking is the number of nights multiplied by the room's price per night.",
        "reserve_room fails when departure is more than 14.",
    ],
)
def test_what_would_compare_or_multiply_unlike_things_is_reported(sentence: str) -> None:
    (told,) = _under(sentence).not_understood
    assert told.startswith(sentence)
