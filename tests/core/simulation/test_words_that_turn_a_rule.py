"""Sentences that were once read as another rule, since a word of theirs was passed over: each is right, or is
reported."""

from typing import Any, NamedTuple

import pytest
from test_read_by_parts import NOW, tool

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.tools_schema import parse_tools_schema

STATES = {"type": "string", "enum": ["open", "loaded", "landed", "lost"]}
STATE: dict[str, Any] = {
    "crate": {
        "c1": {"status": "open", "opened_at": "2026-04-01T08:00:00Z", "checked_by": None, "kind": "tea"},
        "c2": {"status": "loaded", "opened_at": "2026-04-03T08:00:00Z", "checked_by": "Eva", "kind": "tea"},
        "c3": {"status": "lost", "opened_at": "2026-04-02T08:00:00Z", "checked_by": "Eva", "kind": "silk"},
    },
    "seal": {"s1": {"crate_id": "c2", "colour": "red", "loaded_at": "2026-04-03T08:00:00Z", "cost": 3}},
    "sailing": {
        "v1": {"departs_at": "2026-05-02T08:00:00Z", "status": "planned"},
        "v2": {"departs_at": "2026-05-02T08:00:00Z", "status": "delayed"},
        "v3": {"departs_at": "2026-06-02T08:00:00Z", "status": "planned"},
    },
    "berth": {
        "b1": {"sailing_id": "v1", "status": "held"},
        "b2": {"sailing_id": "v2", "status": "held"},
        "b3": {"sailing_id": "v3", "status": "cancelled"},
        "b4": {"sailing_id": "v3", "status": "held"},
    },
    "booking": {"k1": {"status": "booked", "booked_at": "2026-04-01T08:00:00Z"},
                "k2": {"status": "scanned", "booked_at": "2026-04-01T09:00:00Z"}},
    "scan": {"n1": {"booking_id": "k2", "scanned_at": "2026-04-02T08:00:00Z"}},
    "owner": {"o1": {"name": "Ana", "penalties": 5, "parcel_id": "p1"}},
    "parcel": {"p1": {"owner_id": "o1", "status": "open"}, "p2": {"owner_id": "o1", "status": "lost"}},
}  # fmt: skip
TOOLS = parse_tools_schema(
    [
        tool("create_seal", "Put a seal on a crate", "crate_id", "colour", "loaded_at", "cost#"),
        tool("update_crate", "Update a crate", "crate_id", "status?", "checked_by?", status=STATES),
        tool("create_scan", "Register a scan of a booking", "booking_id", "scanned_at"),
        tool("list_crates", "List crates"),
        tool("cancel_berth", "Cancel a berth", "berth_id"),
        tool("create_parcel", "Hand in a parcel", "owner_id"),
        tool("update_parcel", "Update a parcel", "parcel_id", "status?", status=STATES),
        tool("rate_sailing", "Rate a sailing", "sailing_id", "marks", marks={"type": "number"}),
    ]
)


def under(sentence: str) -> PlannedSimulator:
    return build_simulator(TOOLS, world=World.from_initial_state(STATE), behavior=sentence)


def answered(sentence: str, name: str, arguments: dict[str, Any]) -> tuple[SimulatedReply, Ledger]:
    ledger = Ledger(World.from_initial_state(STATE))
    reply = under(sentence).answer(name, arguments, ledger, Moment("s", 1, NOW))
    ledger.apply(reply.updates)
    return reply, ledger


class Change(NamedTuple):
    sentence: str
    tool: str
    arguments: dict[str, Any]
    of: tuple[str, str, str]
    value: Any


SEALED = {"crate_id": "c1", "colour": "red", "loaded_at": "2026-05-01T08:00:00Z", "cost": 2}
SCAN, SCANNED = "Registering a scan moves its booking to scanned.", {"booking_id": "k1", "scanned_at": NOW}
FINE = "When a parcel is set to lost, 15 is added to what the owner has in penalties."


@pytest.mark.parametrize(
    "row",
    [
        Change("Creating a seal moves its crate to loaded.", "create_seal", SEALED,
               ("crate", "c1", "status"), "loaded"),
        Change(SCAN, "create_scan", SCANNED, ("booking", "k1", "status"), "scanned"),
        Change(SCAN, "create_scan", SCANNED, ("booking", "k1", "booked_at"), "2026-04-01T08:00:00Z"),
        Change(FINE, "update_parcel", {"parcel_id": "p1", "status": "lost"},
               ("owner", "o1", "penalties"), 20),
        Change(FINE, "update_parcel", {"parcel_id": "p1", "status": "landed"},
               ("owner", "o1", "penalties"), 5),
        Change(FINE, "create_parcel", {"owner_id": "o1"}, ("owner", "o1", "penalties"), 5),
        Change(f"Losing things is dear: {FINE[0].lower()}{FINE[1:]}", "update_parcel",
               {"parcel_id": "p1", "status": "lost"}, ("owner", "o1", "penalties"), 20),
    ],
)  # fmt: skip
def test_what_a_thing_is_moved_to_is_its_state(row: Change) -> None:
    assert under(row.sentence).not_understood == ()
    _, ledger = answered(row.sentence, row.tool, row.arguments)
    kind, id, name = row.of
    assert (ledger.get(kind, id) or {})[name] == row.value


class Refusal(NamedTuple):
    sentence: str
    tool: str
    refused: dict[str, Any]
    passed: list[dict[str, Any]]


BERTH = [{"berth_id": "b2"}, {"berth_id": "b4"}]


@pytest.mark.parametrize(
    "row",
    [
        Refusal("In the last 48 hours before departure berths can't be cancelled, except where the sailing "
                "is delayed.", "cancel_berth", {"berth_id": "b1"}, BERTH),
        Refusal("During the final two days before departure no berth can be cancelled unless the sailing is "
                "delayed.", "cancel_berth", {"berth_id": "b1"}, BERTH),
        Refusal("The marks of a sailing are a whole number from 1 to 10.", "rate_sailing",
                {"sailing_id": "v1", "marks": 3.5}, [{"sailing_id": "v1", "marks": 3}]),
        Refusal("marks must be a whole number between 1 and 10.", "rate_sailing",
                {"sailing_id": "v1", "marks": 3.5}, [{"sailing_id": "v1", "marks": 10}]),
    ],
)  # fmt: skip
def test_how_many_and_when_are_not_passed_over(row: Refusal) -> None:
    assert under(row.sentence).not_understood == ()
    assert answered(row.sentence, row.tool, row.refused)[0].status >= 400
    for passed in row.passed:
        assert answered(row.sentence, row.tool, passed)[0].status < 400, passed


@pytest.mark.parametrize(
    ("sentence", "order"),
    [
        ("list_crates puts the crate with the latest opened_at first.", ["c2", "c3", "c1"]),
        ("list_crates puts the crate with the earliest opened_at first.", ["c1", "c3", "c2"]),
    ],
)
def test_the_latest_of_a_field_tells_an_order(sentence: str, order: list[str]) -> None:
    reply, _ = answered(sentence, "list_crates", {})
    rows: Any = reply.response
    listed = rows if isinstance(rows, list) else next(one for one in rows.values() if isinstance(one, list))
    assert [str(one.get("id", one.get("crate_id"))) for one in listed] == order


@pytest.mark.parametrize(
    "sentence",
    [
        "The colour of a seal has to be the one that the loaded crate calls for.",
        "checked_by has to be filled in before a crate can be set to landed.",
        "checked_by has to be given before a crate can be set to landed.",
        "Taken together, the seals on one crate may not cost more than 20.",
        "In total the seals on one crate may not cost more than 20.",
        "Only from loaded can a crate move on to landed.",
    ],
)
def test_what_is_not_understood_whole_is_reported(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood or simulator.without_effect
