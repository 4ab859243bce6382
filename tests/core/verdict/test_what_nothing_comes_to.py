"""What nothing in a run comes to or tells of is false; another word for what was done is not."""

import pytest
from verdict_cases import add, call, judged, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        tool("get_stay", "stay_id", description="Read a stay."),
        tool("extend_stay", "stay_id", "until", description="Add nights to a stay; each costs the rate."),
        tool("claim_damage", "stay_id", "amount", description="File a claim for damage."),
    ]
)
STAY = {"until": "2026-08-07", "nights": 4, "night_rate": 28.5, "total": 114.0, "slot": "15:00-16:00"}
WORLD = {"stay": {"ST-70": {"kennel": "K3", "status": "confirmed", **STAY}}, "claim": {}}
LONGER = {"until": "2026-08-10", "nights": 7, "total": 199.5}
READ = call(1, "get_stay", {"stay_id": "ST-70"}, {"id": "ST-70", **WORLD["stay"]["ST-70"]})
EXTENDED = call(
    2,
    "extend_stay",
    {"stay_id": "ST-70", "until": "2026-08-10"},
    {"id": "ST-70", **WORLD["stay"]["ST-70"], **LONGER},
    updates=[update("ST-70", "stay", **LONGER)],
)
CLAIMED = call(
    2,
    "claim_damage",
    {"stay_id": "ST-70", "amount": 40.0},
    {"id": "CL-9", "amount": 40.0, "status": "under_review"},
    updates=[add("claim", "CL-9", stay_id="ST-70", amount=40.0, status="under_review")],
)


def verdict(*trace, says, state, **more):
    made = judged(
        *trace,
        says=says,
        user_instruction="Please see to ST-70.",
        behavior_instructions="Today is Monday 2026-08-03.",
        tools=TOOLS,
        world=World.from_initial_state(WORLD),
        expected_state=state | {"allow": ["stay", "claim"]},
        **more,
    )
    return made.verdict, made.reasoning


EXTENDING = {
    "a step": ("ST-70 now ends on 10 August. That's €85.50 more.", "PASS"),
    "no step": ("ST-70 now ends on 10 August. That's €75.50 more.", "FAIL"),
    "a promise of money from nowhere": (
        "ST-70 now ends on 10 August. A fee of $12.30 will be on your bill.",
        "FAIL",
    ),
    "supposed money": ("ST-70 now ends on 10 August. If you stayed on, it would be €17.10 more.", "PENDING"),
    "about so much": ("ST-70 now ends on 10 August. That's about €75.50 more.", "PENDING"),
    "another word for it": ("ST-70 has been prolonged until 10 August.", "PASS"),
    "a word that nobody knows": ("ST-70 has been stretched until 10 August.", "PENDING"),
    "something that nobody knows of": (
        "ST-70 now ends on 10 August. A new leash is being shipped to you.",
        "FAIL",
    ),
    "what somebody else did": ("ST-70 now ends on 10 August. The board has approved it.", "FAIL"),
    "a cause that nobody told": (
        "ST-70 now ends on 10 August because of roadworks near Bremen.",
        "FAIL",
    ),
    "all is done": ("That's settled. ST-70 now ends on 10 August.", "PASS"),
    "days from today": ("ST-70 now ends on 10 August, seven days from today.", "PASS"),
    "by the hour": ("ST-70 now ends on 10 August, between three and four.", "PASS"),
    "by another hour": ("ST-70 now ends on 10 August, between four and five.", "FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), EXTENDING.values(), ids=EXTENDING)
def test_what_is_told_of_a_stay(says, expected):
    found, reasoning = verdict(READ, EXTENDED, says=says, state={"stay.ST-70.nights": 7})
    assert found == expected, reasoning


CLAIMING = {
    "it waits": ("Your claim CL-9 has been filed. It hasn't been decided yet.", "PASS"),
    "it does not wait": ("Your claim CL-9 has been approved.", "FAIL"),
    "nor is it paid": ("Your claim CL-9 is settled.", "FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), CLAIMING.values(), ids=CLAIMING)
def test_what_waits_has_no_outcome_yet(says, expected):
    found, reasoning = verdict(READ, CLAIMED, says=says, state={"claim.CL-9.amount": 40.0})
    assert found == expected, reasoning


FULL = call(
    2,
    "extend_stay",
    {"stay_id": "ST-70", "until": "2026-08-10"},
    {"error": "kennel_full", "message": "There are 0 free places in August"},
    status=409,
)
REFUSING = {
    "nothing left": ("I couldn't extend ST-70: there isn't a single place left in August.", "PASS"),
    # "0 free places" is not read as "no free places", and a word that stands for nothing is left open.
    "and nothing charged": (
        "I couldn't extend ST-70, there are no free places in August. Nothing was charged.",
        "PENDING",
    ),
    "it goes on": ("I couldn't extend ST-70, there are no free places. It stays as it is.", "PENDING"),
    "another cause": ("I couldn't extend ST-70: your dog has not been vaccinated.", "FAIL"),
}


@pytest.mark.parametrize(("says", "expected"), REFUSING.values(), ids=REFUSING)
def test_why_a_stay_is_not_extended(says, expected):
    found, reasoning = verdict(
        READ, FULL, says=says, state={"stay.ST-70.nights": 4}, expected_outcome="refusal"
    )
    assert found == expected, reasoning
