"""Sentences read from what the world has: phrases compose, and what is not there leaves a sentence unread."""

from typing import Any

import pytest

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools_schema import parse_tools_schema

STATE: dict[str, Any] = {
    "diver": {
        "d1": {"name": "Ines", "level": "open_water", "age": 34, "banned": False, "debt": 0},
        "d2": {"name": "Ugo", "level": "beginner", "age": 15, "banned": False, "debt": 80},
        "d3": {"name": "Mia", "level": "master", "age": 50, "banned": True, "debt": 0},
    },
    "boat": {
        "b1": {"name": "Nemo", "status": "in_service", "seats_left": 4, "captain_id": "d3"},
        "b2": {"name": "Dory", "status": "in_repair", "seats_left": 0, "captain_id": "d1"},
    },
    "dive": {
        "v1": {"diver_id": "d1", "boat_id": "b1", "status": "planned", "starts_at": "2026-05-02T08:00:00Z"},
        "v2": {"diver_id": "d2", "boat_id": "b1", "status": "done", "starts_at": "2026-04-02T08:00:00Z"},
        "v3": {"diver_id": "d2", "boat_id": "b2", "status": "planned", "starts_at": "2026-05-20T08:00:00Z"},
    },
}
NOW = "2026-05-01T12:00:00Z"


def tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    properties = {one.rstrip("?"): {"type": "string"} for one in arguments}
    required = [one for one in arguments if not one.endswith("?")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = parse_tools_schema(
    [
        tool("book_dive", "Put a diver on a boat trip", "diver_id", "boat_id", "starts_at"),
        tool("cancel_dive", "Call off a dive", "dive_id", "reason?"),
        tool("list_dives", "List dives", "diver_id?", "status?"),
        tool("rent_dive_lamp", "Hand out a lamp", "diver_id"),
    ]
)
BOOK, CANCEL, LAMP = "book_dive", "cancel_dive", "rent_dive_lamp"
AT = {"starts_at": "2026-06-01T08:00:00Z"}
ONE, YOUNG, BANNED = ({"diver_id": id, "boat_id": "b1", **AT} for id in ("d1", "d2", "d3"))
REPAIR = {"diver_id": "d1", "boat_id": "b2", **AT}
SOON, OVER, LATER = ({"dive_id": id} for id in ("v1", "v2", "v3"))


def under(text: str) -> PlannedSimulator:
    return build_simulator(TOOLS, world=World.from_initial_state(STATE), behavior=text)


def status(simulator: PlannedSimulator, name: str, arguments: dict[str, Any]) -> int:
    ledger = Ledger(World.from_initial_state(STATE))
    return simulator.answer(name, arguments, ledger, Moment("s", 1, NOW)).status


#: A sentence, a call that it refuses, and one that it lets through.
READ: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Banned divers cannot book dives.": (BOOK, BANNED, ONE),
    "Divers who are banned may not be booked on a dive.": (BOOK, BANNED, ONE),
    "Nobody under 18 can be booked on a boat.": (BOOK, YOUNG, ONE),
    "Divers under 18 may not book a dive.": (BOOK, YOUNG, ONE),
    "Only divers with no debt may book dives.": (BOOK, YOUNG, ONE),
    "A dive can't be booked on a boat that is in repair.": (BOOK, REPAIR, ONE),
    "Dives may be booked only on boats whose status is in_service.": (BOOK, REPAIR, ONE),
    "A boat which has no seats left takes no bookings.": (BOOK, REPAIR, ONE),
    "Dives can be cancelled up to 48 hours before they start.": (CANCEL, SOON, LATER),
    "A dive cannot be cancelled less than 48 hours before it starts.": (CANCEL, SOON, LATER),
    "Cancellation is possible until 48 hours before the start.": (CANCEL, SOON, LATER),
    "Dives on boats in repair can't be cancelled.": (CANCEL, LATER, SOON),
    "Dives of divers under 18 can't be called off.": (CANCEL, LATER, SOON),
    # records that hold a thing's id
    "A diver with two or more dives cannot book another dive.": (BOOK, YOUNG, ONE),
    "Divers who have no planned dives may not book dives.": (BOOK, BANNED, ONE),
    # what only tools are named after
    "Dive lamps cannot be rented by banned divers.": (LAMP, BANNED, ONE),
    "Banned divers are denied rent_dive_lamp.": (LAMP, BANNED, ONE),
    # two deeds under one denial
    "Banned divers may neither book dives nor rent dive lamps.": (LAMP, BANNED, ONE),
    # windows
    "Cancellation ends 48 hours before the start.": (CANCEL, SOON, LATER),
    # an answer that only repeats what was broken
    "Dives can be cancelled until 48 hours before they start; cancelling one after that gives 409 late.": (
        CANCEL, SOON, LATER,
    ),
    "cancel_dive needs a reason; leaving it out gives 400 no_reason.": (
        CANCEL, SOON, {**SOON, "reason": "ill"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("sentence", READ)
def test_phrases_compose(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == ()
    name, refused, passed = READ[sentence]
    assert (status(simulator, name, refused) >= 400, status(simulator, name, passed)) == (True, 200)


@pytest.mark.parametrize(
    "sentence",
    [
        "Sleepy divers cannot book dives.",
        "Banned divers cannot book dives on sunny days.",
        "Dives on purple boats can't be cancelled.",
        "Divers with more than 20 logged descents may book any boat.",
        "Banned divers cannot hire wetsuits.",
        "Dives can be cancelled up to 48 hours before the briefing.",
        "A diver with two or more whistles cannot book another dive.",
        "Night lamps cannot be rented by banned divers.",
        "Dives can be cancelled until 48 hours before they start; sleepy ones give 409 late.",
    ],
)
def test_a_word_that_stands_for_nothing_here_leaves_the_sentence_unread(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == (sentence,)
    assert status(simulator, BOOK, BANNED) == status(simulator, CANCEL, LATER) == 200


def test_what_everybody_else_may_do_goes_with_the_rule_before() -> None:
    assert under("Banned divers cannot book dives. Everyone else may book.").not_understood == ()


def test_an_exception_in_a_sentence_of_its_own_is_reported() -> None:
    exception = "Master divers may always book dives."
    assert under(f"Banned divers cannot book dives. {exception}").not_understood == (exception,)
