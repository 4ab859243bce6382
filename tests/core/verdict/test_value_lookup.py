"""Looking up an answer's values: told by the run, known some other way, or nowhere."""

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.verdict.evidence import EvidenceRow
from pipelines.core.verdict.words.known import known_values
from pipelines.core.verdict.words.lookup import unreported_values
from support.verdict_cases import call, get_order, run, update

PRICED = call(
    1,
    "get_order",
    {"order_id": "4521"},
    {
        "order_id": "4521",
        "items": [{"sku": "A-1", "price": 20.0}, {"sku": "A-2", "price": 35.5}],
        "card": "4000-1234-5678-4471",
        "minutes": 805,
        "temperature": -21.4,
        "opens": "2026-05-18T06:00:00Z",
        "note": "Locked until 2026-05-20T07:30:00Z, limit 8%.",
    },
)
CHANGED = call(2, "refund_order", {"order_id": "9001"}, {}, updates=[update("9001", amount=5)])
TOLD = [
    "It is $20.00 and 35,50 €.",
    "Both together cost 55.50.",
    "thirty-five euros and fifty cents",
    "order #4521, item a-1",
    "the card ending in 4471",
    "It is 21.4 degrees below zero.",
    "It opens on Monday, 18 May, at 6:00 am.",
    "locked until 7:30 on May 20th",
    "the two items",
    "the limit of 8 %",
    "about $36",
    "in 2026",
]


@pytest.mark.parametrize("text", TOLD)
def test_what_the_run_told(text):
    evidence = run(PRICED, CHANGED, says=text)
    assert unreported_values(evidence.responses, known_values(evidence)) == []


KNOWN = {
    "the user's own": "You asked for 77.",
    "a sum of what is said": "20 and 35.50 and 5 make 60.50.",
    "a difference": "35.50 is 15.50 more than 20.",
    "a share, rounded": "20 of 35.50 is 56.3%.",
    "a price for a year": "20.00 € a month is 240.00 € a year.",
    "a duration in parts": "It runs for 13 hours and 25 minutes.",
    "days between": "That is 2 days later.",
    "a day counted from another": "The 8 days are over on 28 May.",
    "by how much something changed": "It is $15 less now.",
}


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_what_follows_or_was_brought_in(text):
    evidence = run(PRICED, CHANGED, says=text, user_instruction="Take 77.")
    found = unreported_values(evidence.responses, known_values(evidence))
    assert all(one.is_known for one in found), found


NOWHERE = {
    "an amount": ("You get $97.50 back.", "$97.50"),
    "an id": ("It is order 4512-B.", "4512-B"),
    "a day": ("It comes on 3 August.", "3 August"),
    "a time": ("It opens at 11:45.", "11:45"),
    "a number of days": ("It takes 45 days.", "45"),
    "a wrong sum": ("20.00 and 35.50 make $56.50.", "$56.50"),
    "a number in words": ("ninety-seven dollars", "ninety-seven dollars"),
}


@pytest.mark.parametrize(("text", "phrase"), NOWHERE.values(), ids=NOWHERE)
def test_what_is_nowhere_is_named_as_it_was_written(text, phrase):
    evidence = run(PRICED, CHANGED, says=text)
    found = unreported_values(evidence.responses, known_values(evidence))
    assert [one.phrase for one in found if not one.is_known] == [phrase]


def test_the_policy_the_rules_and_the_tools_are_known():
    policy = EvidenceRow(sequence=1, kind="system_prompt", payload={"content": "Refunds take 5 to 7 days."})
    evidence = run(
        policy,
        get_order(2),
        says="It takes 5 to 7 days, costs 12 EUR and needs 3 photos.",
        behavior_instructions="A late refund costs 12 EUR.",
        rubric=(),
        tracked_constraints=(),
        user_instruction="3 photos?",
    )
    assert all(one.is_known for one in unreported_values(evidence.responses, known_values(evidence)))


def test_a_record_that_nobody_named_is_no_source():
    world = World({"order": {"1": {"amount": 20}, "2": {"amount": 777}}})
    evidence = run(says="It costs 777.", world=world, user_instruction="What does order 1 cost?")
    assert [one.phrase for one in unreported_values(evidence.responses, known_values(evidence))] == ["777"]


def test_each_value_is_named_once_with_its_first_turn():
    evidence = run(PRICED, says=("Fine.", "It is $97.50.", "I said $97.50."))
    (one,) = unreported_values(evidence.responses, known_values(evidence))
    assert (one.phrase, one.turn) == ("$97.50", 2)
