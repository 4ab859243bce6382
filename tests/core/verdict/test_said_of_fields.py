"""What is said around a number, a state or a name tells which field it is of; the field says if it is so."""

import pytest
from verdict_cases import add, call, judged, refused, tool, update

from pipelines.core.english.idioms import plain_verbs
from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        tool("get_class", "class_id", description="Read a class."),
        tool("move_class", "class_id", "date", description="Move a class to another day."),
        tool("set_places", "class_id", "places", description="Set how many places a class has."),
        tool("book_class", "member_id", "class_id", description="Book a class."),
        tool("cancel_class", "class_id", description="Cancel a class."),
    ]
)
WORLD = {
    "class": {
        "CL-1": {
            "kind": "yoga",
            "coach": "Ines",
            "date": "2026-05-20",
            "places": 12,
            "booked": 9,
            "fee": 38.5,
        },
        "CL-2": {
            "kind": "spin",
            "coach": "Marcus",
            "date": "2026-05-22",
            "places": 20,
            "booked": 20,
            "fee": 41.0,
        },
    },
    "booking": {"B-1": {"class_id": "CL-2", "status": "confirmed"}},
}
READ = call(1, "get_class", {"class_id": "CL-1"}, {"id": "CL-1", **WORLD["class"]["CL-1"]})
OTHER = call(2, "get_class", {"class_id": "CL-2"}, {"id": "CL-2", **WORLD["class"]["CL-2"]})
WIDENED = call(
    3,
    "set_places",
    {"class_id": "CL-1", "places": 15},
    {"id": "CL-1", "places": 15},
    updates=[update("CL-1", "class", places=15)],
)
MOVED = call(
    3,
    "move_class",
    {"class_id": "CL-1", "date": "2026-05-27"},
    {"id": "CL-1", "date": "2026-05-27"},
    updates=[update("CL-1", "class", date="2026-05-27")],
)
BOOKED = call(
    3,
    "book_class",
    {"member_id": "M-1", "class_id": "CL-1"},
    {"id": "B-2", "status": "requested"},
    updates=[add("booking", "B-2", class_id="CL-1", status="requested")],
)


def verdict(*trace, says, state):
    made = judged(
        *trace,
        says=says,
        user_instruction="Please see to class CL-1.",
        tools=TOOLS,
        world=World.from_initial_state(WORLD),
        expected_state=state | {"allow": ["class", "booking"]},
    )
    return made.verdict, made.reasoning


CHANGES = {
    "by how much": ("CL-1 went from 12 to 15 places, so I added three.", "PASS"),
    "by how much, wrongly": ("CL-1 went from 12 to 15 places, so I added four.", "PENDING"),
    "the other way round": ("CL-1 went from 15 to 12 places.", "FAIL"),
    "what is left": ("CL-1 now has 15 places. That leaves 6 free.", "PASS"),
    "what was left before": ("CL-1 now has 15 places. That leaves 3 free.", "PENDING"),
    "another count of the field": ("CL-1 now has 17 places.", "FAIL"),
    "another coach": ("CL-1 with Marcus now has 15 places.", "FAIL"),
    "its own coach": ("CL-1 with Ines now has 15 places.", "PASS"),
    "the price of another": ("CL-1 now has 15 places. The fee is 41.00.", "FAIL"),
    "a deed beside it": ("CL-1 now has 15 places. I've set a reminder for you.", "PENDING"),
}


@pytest.mark.parametrize(("says", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_number_or_name_is_held_against_the_field_it_is_said_of(says, expected):
    found, reasoning = verdict(READ, OTHER, WIDENED, says=says, state={"class.CL-1.places": 15})
    assert found == expected, reasoning


SPANS = {
    "right": ("CL-1 is one week later now, on 27 May 2026.", "PASS"),
    "wrong": ("CL-1 is two weeks later now, on 27 May 2026.", "FAIL"),
    "from one day to another": ("CL-1 was moved from 20 May to 27 May 2026.", "PASS"),
    "the other way round": ("CL-1 was moved from 27 May to 20 May 2026.", "FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), SPANS.values(), ids=SPANS)
def test_a_span_is_what_lies_between_the_days(says, expected):
    found, reasoning = verdict(READ, MOVED, says=says, state={"class.CL-1.date": "2026-05-27"})
    assert found == expected, reasoning


OUTCOMES = {
    "a state of the world's own": ("Booking B-2 is confirmed.", "FAIL", "status requested, not confirmed"),
    "a deed for which there is no tool": ("Booking B-2 has been approved.", "FAIL", "approved"),
}


@pytest.mark.parametrize(("says", "expected", "told"), OUTCOMES.values(), ids=OUTCOMES)
def test_an_outcome_is_not_so_of_a_thing_whose_state_is_another(says, expected, told):
    state = {"booking.B-2.status": "requested"}
    found, reasoning = verdict(READ, BOOKED, says=says, state=state)
    assert found == expected, reasoning
    assert told in reasoning


REFUSED = refused(1, "cancel_order", "shipped", "Orders that have shipped cannot be cancelled.", id="4521")
REASONS = {
    "the reason there was": ("I can't cancel order 4521 because it has shipped.", "PASS"),
    "another cause": ("I can't cancel order 4521 because your licence has lapsed.", "FAIL"),
    "told as done": ("Order 4521 is off your account now.", "FAIL"),
    "but it can be": ("Order 4521 has shipped, so I could cancel it.", "PENDING"),
}


@pytest.mark.parametrize(("says", "expected"), REASONS.values(), ids=REASONS)
def test_a_refusal_names_the_cause_that_the_backend_had(says, expected):
    made = judged(REFUSED, says=says, user_instruction="Cancel order 4521.", expected_outcome="refusal")
    assert made.verdict == expected, made.reasoning


def test_a_turn_of_phrase_is_the_plain_verb():
    assert plain_verbs("it's been called off and 31.40 goes back to you") == (
        "it's been cancelled and 31.40 is refunded to you"
    )
    assert plain_verbs("nothing of it is an idiom") == "nothing of it is an idiom"


@pytest.mark.parametrize(
    "says",
    [
        "I added three places for 12.00 each, so CL-1 is at 15 and 36.00 more.",
        "CL-1 is at 15 places, which is 83% of the room.",
        "CL-1 will be full at 18.",
    ],
)
def test_what_may_be_reckoned_or_is_still_ahead_disproves_nothing(says):
    found, reasoning = verdict(READ, OTHER, WIDENED, says=says, state={"class.CL-1.places": 15})
    assert found != "FAIL", reasoning
