"""Facts that stand in the run as they are not said: inside a longer text, in cents, or yet to come."""

import pytest
from verdict_cases import call, judged

from pipelines.core.ledger import World

STATE = {
    "parcel": {
        "P-1": {
            "status": "open",
            "total_cents": 1080,
            "drop": "77 Mill Lane",
            "note": "DEF-7, repaired 2026-11-04",
        },
        "P-2": {"status": "delivered", "total_cents": 2940, "drop": "4 Elm Row", "note": ""},
    },
    "refund": {
        "R-1": {"status": "pending", "parcel_id": "P-1"},
        "R-2": {"status": "paid", "parcel_id": "P-2"},
    },
}
TOLD = call(1, "get_order", {"order_id": "P-1"}, {"id": "P-1", **STATE["parcel"]["P-1"]})
BOTH = call(1, "get_order", {}, {"parcels": [{"id": id, **parcel} for id, parcel in STATE["parcel"].items()]})
REFUND = call(2, "get_order", {"order_id": "R-1"}, {"id": "R-1", **STATE["refund"]["R-1"]})


def verdict(says, *trace):
    asked = {"user_instruction": "How is P-1 doing?", "expected_calls": ["get_order"]}
    return judged(*trace, says=says, world=World.from_initial_state(STATE), **asked)


@pytest.mark.parametrize(
    "says",
    [
        "P-1 is dropped at 77 Mill Lane.",
        "The note on P-1 says DEF-7.",
        "P-1 is open, to be delivered to 77 Mill Lane.",
        "The total of P-1 is ten euros eighty.",
        "The total of P-1 is €10.80.",
    ],
)
def test_what_is_so_is_not_false(says):
    found = verdict(says, TOLD)
    assert found.verdict != "FAIL", found.reasoning


@pytest.mark.parametrize("says", ["The total of P-1 is €10.80.", "The total of P-1 is ten euros eighty."])
def test_cents_are_money(says):
    found = verdict(says, TOLD)
    assert found.verdict == "PASS", found.reasoning


def test_cents_of_several_add_up():
    found = verdict("Together the totals of P-1 and P-2 come to €40.20.", BOTH)
    assert found.verdict == "PASS", found.reasoning


@pytest.mark.parametrize(
    ("says", "trace"),
    [
        ("The total of P-1 is €18.00.", (TOLD,)),
        ("P-1 has been delivered.", (TOLD,)),
        ("The refund R-1 has already been paid out.", (TOLD, REFUND)),
        ("P-1 is dropped at 79 Mill Lane.", (TOLD,)),
        ("Both of your parcels, P-1 and P-2, are delivered. Together they come to €40.20.", (BOTH,)),
        ("Your parcels P-1 and P-2 are both delivered. Together they come to €40.20.", (BOTH,)),
        ("Both parcels are delivered. Together they come to €40.20.", (BOTH,)),
    ],
)
def test_what_is_not_so_does_not_pass(says, trace):
    found = verdict(says, *trace)
    assert found.verdict != "PASS", found.reasoning
