"""What calls look up in a large world is built before them; what they find is the same."""

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.language import parse_plan
from pipelines.core.simulation.large_worlds import LARGE, prepare
from pipelines.core.simulation.run_plan import run
from pipelines.core.simulation.simulator import Moment

MOMENT = Moment(seed="seed", call_number=1, now="2026-11-15T10:30:00Z")
FIND = {"find": {"as": "x", "in": "order", "where": "x.user == 'u-7'", "optional": True}}
PLANS = {
    "by a field": [FIND, {"return": "x.user"}],
    "in a loop": [{"for": "i", "in": "range(2)", "do": [{"if": "i", "then": [FIND]}]}, {"return": "1"}],
    "by an id in another spelling": [
        {"find": {"as": "x", "in": "order", "id": "'O 17'"}},
        {"return": "x.user"},
    ],
    "the next id": [{"return": "new_id('order')"}],
}


def world(count):
    return World.from_initial_state({"order": {f"o-{n}": {"user": f"u-{n}"} for n in range(count)}})


@pytest.mark.parametrize("steps", PLANS.values(), ids=PLANS)
def test_a_call_builds_nothing_in_a_world_that_was_prepared(steps):
    plan = parse_plan(steps, origin="authored")
    ready, bare = world(LARGE), world(LARGE)
    prepare(ready, [plan.steps])
    built = set(ready.derived), set(ready._loose_ids)
    reply = run(plan, {}, Ledger(ready), MOMENT)
    assert (set(ready.derived), set(ready._loose_ids)) == built
    assert reply == run(plan, {}, Ledger(bare), MOMENT)


def test_nothing_is_built_beforehand_for_an_ordinary_world():
    small = world(100)
    prepare(small, [parse_plan(PLANS["by a field"], origin="authored").steps])
    assert (small.derived, small._loose_ids) == ({}, {})
