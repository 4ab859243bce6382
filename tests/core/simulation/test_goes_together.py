"""What goes together in all seeded records goes together after a change; lines inside records are rows."""

from typing import Any

import pytest

from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools_schema import parse_tools_schema

WORLD: JsonObject = {
    "trips": {
        "T1": {"title": "Fjord", "places": 3, "places_taken": 2},
        "T2": {"title": "Glacier", "places": 1, "places_taken": 1},
        "T3": {"title": "Dunes", "places": 5, "places_taken": 0},
    },
    "bookings": {
        "B1": {"trip_id": "T1", "guest": "Ann", "status": "confirmed"},
        "B2": {"trip_id": "T1", "guest": "Bo", "status": "confirmed"},
        "B3": {"trip_id": "T2", "guest": "Cy", "status": "confirmed"},
        "B4": {"trip_id": "T3", "guest": "Di", "status": "cancelled"},
    },
    "bills": {
        "I1": {"booking_id": "B1", "total": 80, "amount_paid": 80, "status": "paid"},
        "I2": {"booking_id": "B2", "total": 80, "amount_paid": 30, "status": "part_paid"},
        "I3": {"booking_id": "B3", "total": 60, "amount_paid": 0, "status": "open"},
    },
    "boots": {
        "P1": {"size": 41, "lent_to": "B1", "status": "out"},
        "P2": {"size": 43, "lent_to": None, "status": "in"},
        "P3": {"size": 39, "lent_to": None, "status": "in"},
    },
    "snacks": {"bar": {"price": 2.5, "stock": 40}, "tea": {"price": 1.0, "stock": 0}},
    "packs": {
        "K1": {"trip_id": "T1", "items": [{"snack_id": "bar", "qty": 4}, {"snack_id": "tea", "qty": 2}]},
        "K2": {"trip_id": "T2", "items": []},
    },
    "passes": {
        "GOLD": {"valid_from": "2026-01-01", "valid_until": "2026-06-30", "uses": 4, "max_uses": 5},
        "OLD": {"valid_from": "2025-01-01", "valid_until": "2025-12-31", "uses": 0, "max_uses": 5},
        "USED": {"valid_from": "2026-01-01", "valid_until": "2026-12-31", "uses": 2, "max_uses": 2},
    },
}


def tool(name: str, description: str, out: JsonObject | None = None, **given: str) -> dict[str, Any]:
    properties = {one: {"type": kind} for one, kind in given.items()}
    body: dict[str, Any] = {"name": name, "description": description}
    body["parameters"] = {"type": "object", "properties": properties, "required": [*properties]}
    return body | ({"output_schema": {"type": "object", "properties": out}} if out else {})


TOOLS = [
    tool("book_trip", "Book a trip for a guest.", trip_id="string", guest="string"),
    tool("cancel_booking", "Cancel a booking.", booking_id="string"),
    tool("get_bill", "Get a bill.", bill_id="string"),
    tool("pay_bill", "Take a payment for a bill.", bill_id="string", amount="number"),
    tool("lend_boots", "Lend a pair of boots to a booking.", boots_id="string", booking_id="string"),
    tool("return_boots", "Take a pair of boots back.", boots_id="string"),
    tool("add_snack", "Add a snack to a pack.", pack_id="string", snack_id="string", qty="integer"),
    tool("drop_snack", "Take a snack off a pack.", pack_id="string", snack_id="string"),
    tool("pack_price", "Price of a pack: quantity times price, summed up over its items.",
         {"price": {"type": "number"}}, pack_id="string"),
    tool("snacks_in_pack", "The snacks of a pack.", pack_id="string"),
    tool("is_pass_good", "Check that a pass is valid on a date and has uses left.",
         {"good": {"type": "boolean"}}, code="string", date="string"),
]  # fmt: skip


@pytest.fixture(scope="module")
def simulator() -> PlannedSimulator:
    return build_simulator(parse_tools_schema(TOOLS), world=World.from_initial_state(WORLD))


def called(simulator: PlannedSimulator, name: str, **given: Any) -> tuple[SimulatedReply, JsonObject]:
    ledger = Ledger(simulator.world)
    moment = Moment(seed="together", call_number=1, now="2026-02-01T10:00:00Z")
    reply = simulator.answer(name, given, ledger, moment)
    ledger.apply(reply.updates)
    return reply, ledger.as_state()


CHANGES: list[tuple[str, str, JsonObject, str, Any]] = [
    ("what counts moves", "book_trip", {"trip_id": "T1", "guest": "Ed"}, "trips.T1.places_taken", 3),
    ("and back", "cancel_booking", {"booking_id": "B3"}, "trips.T2.places_taken", 0),
    ("all is paid", "pay_bill", {"bill_id": "I2", "amount": 50}, "bills.I2.status", "paid"),
    ("some is paid", "pay_bill", {"bill_id": "I3", "amount": 10}, "bills.I3.status", "part_paid"),
    ("who has it", "lend_boots", {"boots_id": "P2", "booking_id": "B2"}, "boots.P2.lent_to", "B2"),
    ("and its state", "lend_boots", {"boots_id": "P2", "booking_id": "B2"}, "boots.P2.status", "out"),
    ("nobody has it", "return_boots", {"boots_id": "P1"}, "boots.P1.lent_to", None),
    ("as the others", "return_boots", {"boots_id": "P1"}, "boots.P1.status", "in"),
    (
        "a new line",
        "add_snack",
        {"pack_id": "K2", "snack_id": "tea", "qty": 3},
        "packs.K2.items",
        [{"snack_id": "tea", "qty": 3}],
    ),
    (
        "more of a line",
        "add_snack",
        {"pack_id": "K1", "snack_id": "tea", "qty": 3},
        "packs.K1.items",
        [{"snack_id": "bar", "qty": 4}, {"snack_id": "tea", "qty": 5}],
    ),
    (
        "a line less",
        "drop_snack",
        {"pack_id": "K1", "snack_id": "tea"},
        "packs.K1.items",
        [{"snack_id": "bar", "qty": 4}],
    ),
    ("and no stock", "add_snack", {"pack_id": "K2", "snack_id": "bar", "qty": 3}, "snacks.bar.stock", 40),
]


@pytest.mark.parametrize(("name", "given", "place", "value"), [one[1:] for one in CHANGES], ids=str)
def test_what_goes_together_changes_together(simulator, name, given, place, value):
    reply, after = called(simulator, name, **given)
    found: Any = after
    for part in place.split("."):
        found = found[part]
    assert (reply.status, found) == (200, value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("book_trip", {"trip_id": "T2", "guest": "Ed"}),
        ("lend_boots", {"boots_id": "P1", "booking_id": "B2"}),
        ("drop_snack", {"pack_id": "K2", "snack_id": "tea"}),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(simulator, name, given):
    reply, after = called(simulator, name, **given)
    assert reply.status >= 400
    assert after == WORLD


def test_each_is_a_note_of_the_plan(simulator):
    assert any("places_taken" in note for note in simulator.plans["book_trip"].notes)
    assert any("exactly where" in note for note in simulator.plans["pay_bill"].notes)
    assert any("packs" in note or "pack.items" in note for note in simulator.plans["add_snack"].notes)


@pytest.mark.parametrize(("pack", "price"), [("K1", 12.0), ("K2", 0)])
def test_lines_are_added_up_with_what_they_refer_to(simulator, pack, price):
    assert called(simulator, "pack_price", pack_id=pack)[0].response == {"price": price}


def test_what_lines_refer_to_is_listed(simulator):
    reply, _ = called(simulator, "snacks_in_pack", pack_id="K1")
    assert [one["id"] for one in reply.response] == ["bar", "tea"]


@pytest.mark.parametrize(("code", "is_good"), [("GOLD", True), ("OLD", False), ("USED", False)])
def test_whether_something_is_so_is_worked_out(simulator, code, is_good):
    reply, _ = called(simulator, "is_pass_good", code=code, date="2026-03-01")
    assert reply.response == {"good": is_good}
