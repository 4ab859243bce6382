"""Rules that change nothing in the world they are for, each told with the reason; and rules much like them
that do something, of which nothing is told.
"""

from typing import Any

import pytest

from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment
from pipelines.core.tools_schema import parse_tools_schema

HIRE: JsonObject = {
    "bike": {
        "k1": {"status": "free", "price": 12, "gears": 7, "color": "red", "serviced_on": None},
        "k2": {"status": "hired", "price": 18, "gears": 7, "color": "red", "serviced_on": None},
        "k3": {"status": "broken", "price": 15, "gears": 7, "color": "red", "serviced_on": None},
    },
    "rider": {
        "r1": {"name": "Ann", "age": 30, "status": "active", "skills": ["hill", "town"]},
        "r2": {"name": "Bo", "age": 41, "status": "active", "skills": ["town"]},
    },
    "hire": {
        "h1": {"bike_id": "k2", "rider_id": "r1", "status": "open", "fee": 20, "started_at": "2026-11-10"},
        "h2": {"bike_id": "k1", "rider_id": "r2", "status": "closed", "fee": 10, "started_at": "2026-10-01"},
    },
}
TEXT: JsonObject = {"type": "string"}
WHOLE: JsonObject = {"type": "integer"}


def tool(name: str, description: str, optional: tuple[str, ...] = (), **arguments: JsonObject) -> JsonObject:
    required: list[Any] = [one for one in arguments if one not in optional]
    schema: JsonObject = {"type": "object", "properties": {**arguments}, "required": required}
    return {"name": name, "description": description, "input_schema": schema}


TOOLS = parse_tools_schema(
    [
        tool("hire_bike", "Hires a bike.", bike_id=TEXT, rider_id=TEXT, hours=WHOLE),
        tool("retire_bike", "Retires a bike.", ("reason",), bike_id=TEXT, reason=TEXT),
        tool("list_bikes", "Lists bikes.", ("status",), status=TEXT),
        tool("get_bike", "Returns a bike.", bike_id=TEXT),
        tool(
            "close_hire",
            "Closes a hire.",
            hire_id=TEXT,
            rating={"type": "integer", "minimum": 1, "maximum": 5},
        ),
        tool("refund_hire", "Refunds a hire.", hire_id=TEXT, amount={"type": "number", "maximum": 100}),
        tool("suspend_rider", "Suspends a rider.", rider_id=TEXT),
    ]
)

#: Sentence -> why it has no effect; it is enforced all the same.
WITHOUT_EFFECT = {
    "Bikes with more than 20 gears cannot be hired.": "every bike of the world passes",
    "Bikes with fewer than 7 gears cannot be hired.": "every bike of the world passes",
    "Riders under 18 cannot hire bikes.": "every rider of the world passes",
    "Hires with a fee over 1000 cannot be refunded.": "every hire of the world passes",
    "Bikes serviced within the last 30 days cannot be retired.": "every bike of the world passes",
    "refund_hire fails with 422 if the amount is more than 500.": "every value of amount passes",
    "close_hire fails with 422 if the rating is below 1.": "every value of rating passes",
    "hire_bike fails if hours is negative and hours is over 10.": "every value of hours passes",
    "refund_hire fails if the amount is more than the fee and the fee is over 1000.": (
        "every hire of the world with any amount passes"
    ),
    "retire_bike fails with 409 if the bike is free and the reason is missing and the bike is hired.": (
        "every bike of the world with any reason passes"
    ),
    "list_bikes lists red bikes first.": "every bike of the world comes first",
    "list_bikes returns only red bikes.": "it leaves no bike of the world out",
    "list_bikes returns at most 10 bikes.": "the world has no more than 3",
    "list_bikes sorts by gears.": "every bike of the world has the same gears",
    "list_bikes sorts by serviced_on.": "no bike of the world has a serviced_on",
    "retire_bike sets the color to red.": "every bike of the world has color red already",
    # Calls may bring such records about, and the seeded world has none.
    "Suspended riders cannot hire bikes.": (
        "every rider of the world passes as it is seeded, until a call changes that"
    ),
    "Bikes can only be hired while they are retired.": (
        "no bike of the world passes as it is seeded, until a call changes that"
    ),
}
#: Sentence -> why nothing gets past it; it is not enforced.
LETS_NOTHING_THROUGH = {
    "Only bikes with at least 10 gears can be hired.": "no bike of the world passes",
    "The amount must be more than 500 for refund_hire.": "no value of amount passes",
    "rating must be between 6 and 10.": "no value of rating passes",
    "hours must be more than 5 and less than 3.": "no value of hours passes",
    "get_bike returns tax = price * vat_rate.": "no bike of the world has vat_rate",
    "get_bike returns wear = price * serviced_on.": ("no bike of the world has what wear is worked out from"),
}
TELLING = [
    "Hired bikes cannot be retired.",
    "retire_bike requires a reason if the bike is free.",
    "The reason may have at most 20 characters.",
    "hours must be at most 5.",
    "refund_hire fails with 422 if the amount is more than the fee.",
    "refund_hire fails with 422 if the amount is more than 50.",
    "close_hire fails with 422 if the rating is below 2.",
    "Hires may not be refunded if they were started more than 30 days ago.",
    "A rider may have at most 2 open hires.",
    "list_bikes lists free bikes first.",
    "list_bikes returns at most 2 bikes.",
    "retire_bike sets the status to scrapped.",
]


def under(sentence: str) -> PlannedSimulator:
    return build_simulator(TOOLS, world=World.from_initial_state(HIRE), behavior=sentence)


@pytest.mark.parametrize("sentence", WITHOUT_EFFECT)
def test_a_rule_that_changes_nothing_is_told_with_the_reason(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.without_effect == (f"{sentence} ({WITHOUT_EFFECT[sentence]})",)
    assert simulator.not_understood == ()


@pytest.mark.parametrize("sentence", LETS_NOTHING_THROUGH)
def test_a_rule_that_lets_nothing_through_is_reported_and_not_applied(sentence: str) -> None:
    simulator = under(sentence)
    assert simulator.not_understood == (f"{sentence} ({LETS_NOTHING_THROUGH[sentence]})",)
    assert simulator.without_effect == ()


@pytest.mark.parametrize("sentence", TELLING)
def test_of_a_rule_that_does_something_nothing_is_told(sentence: str) -> None:
    simulator = under(sentence)
    assert (simulator.not_understood, simulator.without_effect) == ((), ())


def test_a_state_that_only_calls_bring_about_is_still_guarded() -> None:
    simulator = under("Bikes can only be hired while they are retired.")
    ledger = Ledger(World.from_initial_state(HIRE))
    call: JsonObject = {"bike_id": "k1", "rider_id": "r1", "hours": 2}
    statuses = []
    for number, (name, given) in enumerate(
        (("hire_bike", call), ("retire_bike", {"bike_id": "k1"}), ("hire_bike", call)), 1
    ):
        reply = simulator.answer(name, given, ledger, Moment("s", number, "2026-11-16T09:00:00Z"))
        ledger.apply(reply.updates)
        statuses.append(reply.status)
    assert statuses == [409, 200, 200]
