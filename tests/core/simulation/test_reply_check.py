"""What a reply may not say: something else than the ledger about an entity it names."""

import pytest

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.reply_check import contradictions

ORDER = {"status": "shipped", "total": 49.99, "user_id": "u-1", "items": [{"sku": "a", "price": 1}]}
WORLD = World.from_initial_state(
    {"order": {"o-1": ORDER}, "user": {"u-1": {"name": "Ann", "status": "active", "order_id": "o-1"}}}
)


@pytest.mark.parametrize(
    ("reply", "places"),
    [
        ({"order_id": "o-1", **ORDER}, []),
        ({"order_id": "o-1", "status": "shipped"}, []),
        ({"order_id": "o-1", "status": "paid"}, ["/status"]),
        ({"order_id": "o-1", "status": "shipped", "total": 50}, ["/total"]),
        ({"order_id": "o-1", "user_id": "u-1", "status": "shipped"}, []),
        ({"order_id": "o-1", "eta_days": 3, "carrier": "post", "cost": 1}, []),
        ({"orders": [{"order_id": "o-1", "status": "shipped"}, {"order_id": "o-1", "status": "x"}]}, ["/orders/1/status"]),
        ([{"order_id": "o-1", "total": 1}], ["/0/total"]),
        ({"order_id": "o-9", "status": "paid"}, []),
        ("done", []),
        (None, []),
        ({"order_id": True, "status": "x"}, []),
    ],
    ids=[
        "the whole entity",
        "a part of it",
        "another status",
        "another number",
        "an object that names two entities is about the one whose fields it has",
        "computed fields are nobody's",
        "inside a list",
        "a list as the reply",
        "an entity that is not there is not this check's matter",
        "text",
        "nothing",
        "an id that is none",
    ],
)
def test_contradictions(reply, places):
    assert [problem.path for problem in contradictions(reply, Ledger(WORLD))] == places
