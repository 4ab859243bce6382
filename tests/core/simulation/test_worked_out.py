"""What a description tells how to work out is answered from the records, or left open; never half of it."""

from typing import Any

import pytest

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools_schema import parse_tools_schema

NOW = Moment(seed="worked out", call_number=1, now="2026-01-15T10:30:00Z")
WORLD: JsonObject = {
    "berth": {
        "B1": {"pier": "north", "metres": 12, "nightly_rate": 30.0, "status": "free"},
        "B2": {"pier": "north", "metres": 8, "nightly_rate": 20.0, "status": "taken"},
        "B3": {"pier": "south", "metres": 15, "nightly_rate": 45.0, "status": "closed"},
    },
    "boat": {
        "X1": {"name": "Gull", "owner": "P1", "metres": 9, "insured_until": "2026-06-30"},
        "X2": {"name": "Tern", "owner": "P2", "metres": 14, "insured_until": "2025-12-31"},
    },
    "skipper": {
        "P1": {"name": "Ada", "email": "ada@example.org", "owes": 12.5},
        "P2": {"name": "Bo", "email": "bo@example.org", "owes": 0.0},
    },
    "visit": {
        "V1": {
            "boat": "X1",
            "berth": "B2",
            "from": "2026-01-10",
            "to": "2026-01-20",
            "price": 200.0,
            "paid": 50.0,
        },
        "V2": {
            "boat": "X1",
            "berth": "B1",
            "from": "2025-07-01",
            "to": "2025-07-03",
            "price": 60.0,
            "paid": 60.0,
        },
    },
    "trip": {
        "T1": {"title": "Sunset", "places": 3, "boats": ["X1", "X2"], "fee": 15.0},
        "T2": {"title": "Race", "places": 1, "boats": ["X2"], "fee": 40.0},
    },
}

TEXT, NUMBER, WHOLE, FLAG = ({"type": kind} for kind in ("string", "number", "integer", "boolean"))


def simulator(
    name: str, description: str, arguments: JsonObject, output: JsonObject | None
) -> PlannedSimulator:
    schema: JsonObject = {"type": "object", "properties": arguments, "required": [*arguments]}
    tool: dict[str, Any] = {"name": name, "description": description, "parameters": schema}
    if output is not None:
        tool["output_schema"] = {"type": "object", "properties": output}
    # A few plain tools beside it say what the types are called.
    others = [
        {
            "name": f"get_{noun}",
            "description": f"One {noun}.",
            "parameters": {"type": "object", "properties": {f"{noun}_id": TEXT}, "required": [f"{noun}_id"]},
        }
        for noun in WORLD
    ]
    return build_simulator(parse_tools_schema([tool, *others]), world=World.from_initial_state(WORLD))


def answered(
    name: str, description: str, arguments: JsonObject, output: JsonObject | None, given: JsonObject
) -> Json:
    ledger = Ledger(World.from_initial_state(WORLD))
    return simulator(name, description, arguments, output).answer(name, given, ledger, NOW).response


#: name, description, arguments, output, what is given, what is answered
NUMBERS = {
    "a product": (
        *("quote_stay", "nightly rate x nights", {"berth_id": TEXT, "nights": WHOLE}, {"cost": NUMBER}),
        *({"berth_id": "B1", "nights": 3}, {"cost": 90.0}),
    ),
    "a product and a cap": (
        *("quote_day", "Metres times 2, at most the nightly rate.", {"berth_id": TEXT}, {"cost": NUMBER}),
        *({"berth_id": "B2"}, {"cost": 16}),
    ),
    "a difference": (
        *("visit_rest", "price minus what has been paid", {"visit_id": TEXT}, {"due": NUMBER}),
        *({"visit_id": "V1"}, {"due": 150.0}),
    ),
    "room that is left": (
        *("free_places", "Places of a trip that are not taken yet.", {"trip_id": TEXT}, {"left": WHOLE}),
        *({"trip_id": "T1"}, {"left": 1}),
    ),
    "how many refer to it": (
        *("visit_count", "Number of visits of a boat", {"boat_id": TEXT}, {"visits": WHOLE}),
        *({"boat_id": "X1"}, {"visits": 2}),
    ),
    "less how many refer to it": (
        *("rest", "Its metres minus the visits there.", {"berth_id": TEXT}, {"rest": NUMBER}),
        *({"berth_id": "B1"}, {"rest": 11}),
    ),
    "how many are in a state, and in all": (
        *(
            "pier_use",
            "Taken berths and berths in total on a pier",
            {"pier": TEXT},
            {"taken": WHOLE, "total": WHOLE},
        ),
        *({"pier": "north"}, {"taken": 1, "total": 2}),
    ),
    "a sum over what refers to it": (
        *(
            "boat_debt",
            "Total of price minus paid over all visits of a boat",
            {"boat_id": TEXT},
            {"debt": NUMBER},
        ),
        *({"boat_id": "X1"}, {"debt": 150.0}),
    ),
    "a number of the record that it refers to": (
        *("owner_debt", "", {"boat_id": TEXT}, {"owner_owes": NUMBER}),
        *({"boat_id": "X1"}, {"owner_owes": 12.5}),
    ),
}
TRUTHS = {
    "two states": (
        "may_moor",
        "Only if the berth is free and the pier is north.",
        {"berth_id": TEXT},
        "B1",
        True,
    ),
    "a state that is not": (
        "may_moor",
        "A berth that is not closed may be used.",
        {"berth_id": TEXT},
        "B3",
        False,
    ),
    "nothing owed": ("may_leave", "A skipper who owes nothing may leave.", {"skipper_id": TEXT}, "P1", False),
    "a day": ("is_insured", "true if the insurance is valid", {"boat_id": TEXT}, "X2", False),
    "full": ("is_full", "", {"trip_id": TEXT}, "T2", True),
}


@pytest.mark.parametrize("case", NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_worked_out_of_what_the_words_name(case):
    name, description, arguments, output, given, expected = case
    reply = answered(name, description, arguments, output, given)
    assert isinstance(reply, dict)
    assert {key: reply.get(key) for key in expected} == expected


@pytest.mark.parametrize("case", TRUTHS.values(), ids=TRUTHS)
def test_a_condition_holds_or_not(case):
    name, description, arguments, id, expected = case
    assert answered(name, description, arguments, {"answer": FLAG}, {next(iter(arguments)): id}) == {
        "answer": expected
    }


OPEN = {
    "an operand that nothing names": ("toll", "metres x harbour dues", {"berth_id": TEXT}, {"toll": NUMBER}),
    "a condition of which one part is not in the world": (
        *(
            "may_moor",
            "Only if the berth is free and the tide is high.",
            {"berth_id": TEXT},
            {"answer": FLAG},
        ),
    ),
}


@pytest.mark.parametrize("case", OPEN.values(), ids=OPEN)
def test_what_cannot_be_found_whole_is_left_open_and_is_a_guess(case):
    name, description, arguments, output = case
    plan = simulator(name, description, arguments, output).plans[name]
    assert plan.confidence < 0.5
    assert any("left out" in note for note in plan.notes)


def test_the_plan_says_what_it_worked_out():
    tools = simulator(
        "quote_stay", "nightly rate x nights", {"berth_id": TEXT, "nights": WHOLE}, {"cost": NUMBER}
    )
    assert any("berth.nightly_rate * args.nights" in note for note in tools.plans["quote_stay"].notes)


@pytest.mark.parametrize(
    ("name", "description", "given", "ids"),
    [
        ("trips_of_boat", "trips a boat takes part in", {"boat_id": "X1"}, ["T1"]),
        ("long_boats", "boats longer than the given metres", {"metres": 10}, ["X2"]),
        ("latest_visits", "Visits of a boat, latest first", {"boat_id": "X1"}, ["V1", "V2"]),
    ],
    ids=["by an id in a list", "held against what is given", "in the order told"],
)
def test_lists(name, description, given, ids):
    arguments: JsonObject = {key: NUMBER if isinstance(value, int) else TEXT for key, value in given.items()}
    reply = answered(name, description, arguments, None, given)
    assert isinstance(reply, list)
    assert [one.get("id") for one in reply if isinstance(one, dict)] == ids


CHANGES = {
    "an id goes into a list": (
        *("join_trip", "Puts a boat on a trip", {"trip_id": "T1", "boat_id": "X1"}, 409),
    ),
    "a full list takes no more": (
        *("join_trip", "Puts a boat on a trip", {"trip_id": "T2", "boat_id": "X1"}, 409),
    ),
    "an id leaves a list": (
        *(
            "leave_trip",
            "Takes a boat off a trip",
            {"trip_id": "T1", "boat_id": "X1"},
            ("trip", "T1", "boats", ["X2"]),
        ),
    ),
    "what is paid grows": (
        *(
            "pay_visit",
            "Payment for a visit",
            {"visit_id": "V1", "amount": 20},
            ("visit", "V1", "paid", 70.0),
        ),
    ),
    "an object in another state is refused": (
        *("close_berth", "Closes a free berth.", {"berth_id": "B2"}, 409),
    ),
}


@pytest.mark.parametrize("case", CHANGES.values(), ids=CHANGES)
def test_changes_by_what_the_records_keep(case):
    name, description, given, expected = case
    arguments: JsonObject = {key: NUMBER if isinstance(value, int) else TEXT for key, value in given.items()}
    ledger = Ledger(World.from_initial_state(WORLD))
    reply = simulator(name, description, arguments, None).answer(name, given, ledger, NOW)
    if isinstance(expected, int):
        assert (reply.status, reply.updates) == (expected, ())
        return
    ledger.apply(reply.updates)
    kind, id, field, value = expected
    assert ledger.as_state()[kind][id][field] == value


def test_name_and_description_that_disagree_on_the_direction_change_nothing():
    tools = simulator("remove_boat", "Adds a boat to a trip.", {"trip_id": TEXT, "boat_id": TEXT}, None)
    ledger = Ledger(World.from_initial_state(WORLD))
    reply = tools.answer("remove_boat", {"trip_id": "T1", "boat_id": "X2"}, ledger, NOW)
    ledger.apply(reply.updates)
    assert ledger.as_state()["trip"]["T1"]["boats"] == ["X1", "X2"]
