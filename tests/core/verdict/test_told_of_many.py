"""What an answer says of a list, of what is used up, of a field that it names, of deeds and terms that nobody
knows; and a refusal's own cause. Of a trade that is in no set: a boarding kennel."""

import pytest
from verdict_cases import call, judged, refused, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        tool("list_dogs", description="All dogs."),
        tool("get_dog", "dog_id", description="Read a dog."),
        tool("book_run", "dog_id", "run_id", description="Book a run for a dog."),
    ]
)
DOGS = {
    "D-1": {"name": "Bella", "weight_kg": 31, "status": "boarding", "daily_rate": 24.0, "chipped": True},
    "D-2": {"name": "Tuck", "weight_kg": 9, "status": "boarding", "daily_rate": 18.0, "chipped": False},
    "D-3": {"name": "Otto", "weight_kg": 44, "status": "collected", "daily_rate": 27.5, "chipped": True},
}
RUNS = {"R-1": {"name": "Meadow run", "places": 4, "places_free": 1, "price": 12.5}}
LISTED = call(1, "list_dogs", {}, {"dogs": [{"id": id, **dog} for id, dog in DOGS.items()]})


def kennel(*trace, asks, says, **axes):
    world = World.from_initial_state({"dog": DOGS, "run": RUNS})
    return judged(*trace, says=says, user_instruction=asks, tools=TOOLS, world=world, **axes)


OF_LISTS = {
    "a count": ("Two dogs are boarding: Bella and Tuck.", "PASS"),
    "another count": ("Three dogs are boarding at the moment.", "FAIL"),
    "other members": ("Two dogs are boarding: Bella and Otto.", "FAIL"),
    "a flag that is not set": ("One dog is not chipped.", "PASS"),
    "the first by a measure": ("Otto is the heaviest of the dogs at 44 kg.", "PASS"),
    "another as the first": ("The heaviest of the dogs is Tuck at 9 kg.", "FAIL"),
    "the first of those that are meant": ("The heaviest boarding dog is Bella, with 31 kg.", "PASS"),
    "by a measure that nobody told": ("The friendliest of the dogs is Bella.", "PENDING"),
}


@pytest.mark.parametrize(("says", "verdict"), OF_LISTS.values(), ids=OF_LISTS)
def test_what_is_said_of_a_list_is_held_against_all_of_it(says, verdict):
    made = kennel(LISTED, asks="How many dogs are boarding, and which is the heaviest?", says=says)
    assert made.verdict == verdict, made.reasoning


BOOKED = call(
    1,
    "book_run",
    {"dog_id": "D-2", "run_id": "R-1"},
    {"run": {"id": "R-1", **RUNS["R-1"], "places_free": 0}, "surcharge": 3.5},
    updates=[update("R-1", "run", places_free=0)],
)
OF_DEEDS = {
    "what is used up": ("Tuck is booked on R-1. No places are left.", "PASS"),
    "the last of it": ("Tuck is booked on R-1. That was the last place.", "PASS"),
    "a field right beside its number": ("Tuck is booked on R-1. The surcharge was 5.00.", "FAIL"),
    "its own number": ("Tuck is booked on R-1. The surcharge was 3.50.", "PASS"),
    "a message that no call sent": ("Tuck is booked on R-1. I've texted the handler.", "FAIL"),
    "a message that somebody will get": (
        "Tuck is booked on R-1. You'll get a reminder by email.",
        "PENDING",
    ),
    "a term that nobody told": ("Tuck is booked on R-1. It will be ready within 2 hours.", "PENDING"),
    "a wish": ("Tuck is booked on R-1. Happy tails!", "PASS"),
    "a supposition and what follows": (
        "Tuck is booked on R-1. If it rains, I can look for another one.",
        "PASS",
    ),
}


@pytest.mark.parametrize(("says", "verdict"), OF_DEEDS.values(), ids=OF_DEEDS)
def test_what_goes_with_a_deed_is_looked_up(says, verdict):
    made = kennel(BOOKED, asks="Book Tuck on R-1.", says=says, expected_state={"run.R-1.places_free": 0})
    assert made.verdict == verdict, made.reasoning


CAUSES = {
    "the backend's": ("I couldn't book R-1, because Otto has been collected.", "PASS"),
    "another": ("I couldn't book R-1, because his vaccination has expired.", "FAIL"),
    "another behind a colon": ("I couldn't book R-1 for Otto: another dog is in there.", "FAIL"),
    "the backend's with a rule": (
        "Otto was collected, so I couldn't book him in. Dogs that aren't here can't have a run.",
        "PASS",
    ),
    "a deed beside it": (
        "I couldn't book R-1, because Otto has been collected. I've put him on the waiting list.",
        "PENDING",
    ),
    "a deed beside it that is none": (
        "I couldn't book R-1, because Otto has been collected. I've reserved another run.",
        "FAIL",
    ),
}


@pytest.mark.parametrize(("says", "verdict"), CAUSES.values(), ids=CAUSES)
def test_a_cause_is_compared_with_that_of_the_refusal(says, verdict):
    refusal = refused(1, "book_run", "not_here", "D-3 was collected", id="D-3")
    made = kennel(
        refusal,
        asks="Book R-1 for Otto.",
        says=says,
        expected_outcome="refusal",
        expected_state={"dog.D-3.status": "collected"},
    )
    assert made.verdict == verdict, made.reasoning
