"""What stands around a statement: which day is meant, when it holds, who moved the money."""

import pytest
from verdict_cases import call, judged, tool, update

from pipelines.core.ledger import World
from pipelines.core.tools_schema import parse_tools_schema

TOOLS = parse_tools_schema(
    [
        tool("change_tier", "member_id", "tier", description="Put a member into another tier."),
        tool("end_visit", "visit_id", description="Cancel a visit."),
    ]
)
MEMBER = {"name": "Ilse Brandt", "tier": "silver", "monthly_fee": 10.5}
VISIT = {"member_id": "M-1", "day": "2026-08-20", "status": "confirmed", "booked_on": "2026-07-02"}
WORLD = {
    "member": {"M-1": MEMBER, "M-2": {"name": "Ilse", "tier": "gold"}},
    "visit": {"V-3": VISIT},
}
RAISED = {"tier": "gold", "monthly_fee": 17.5}
CHANGED = call(
    2,
    "change_tier",
    {"member_id": "M-1", "tier": "gold"},
    {"id": "M-1", **MEMBER, **RAISED, "effective_from": "2026-09-01"},
    updates=[update("M-1", "member", **RAISED)],
)
KEPT = call(1, "end_visit", {"visit_id": "V-3"}, {"id": "V-3", **VISIT}, status=200)


def verdict(*trace, says, state, user="I'm Ilse (M-1), gold please."):
    made = judged(
        *trace,
        says=says,
        user_instruction=user,
        behavior_instructions="Today is Monday 2026-08-03.",
        tools=TOOLS,
        world=World.from_initial_state(WORLD),
        expected_state=state | {"allow": ["member", "visit"]},
    )
    return made.verdict, made.reasoning


CHANGING = {
    "no more than was done": ("Hi Ilse! Your tier is now gold.", "PASS"),
    "from the day that was told": ("Your tier is now gold, effective from 1 September 2026.", "PASS"),
    "at once": ("Your tier is now gold. The change is effective immediately.", "PENDING"),
    "money that nobody moved": ("Your tier is now gold. I've charged the difference of 7.00.", "PENDING"),
    "nothing to change": ("Your tier is gold; there was nothing to change.", "PENDING"),
}


@pytest.mark.parametrize(("says", "expected"), CHANGING.values(), ids=CHANGING)
def test_around_a_change(says, expected):
    found, reasoning = verdict(CHANGED, says=says, state={"member.M-1.tier": "gold"})
    assert found == expected, reasoning


def test_what_it_is_booked_for_is_not_when_it_was_booked():
    says = "Visit V-3 is still booked for 20 August 2026."
    user = "For when is V-3 booked?"
    found, reasoning = verdict(KEPT, says=says, state={"visit.V-3.status": "confirmed"}, user=user)
    assert found != "FAIL", reasoning
