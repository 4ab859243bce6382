"""The finder sees one org."""

import pytest

from pipelines.storage.lists.finder import find
from support.desk import House

pytestmark = pytest.mark.anyio


async def test_nothing_of_another_org_is_found(house: House) -> None:
    agent = await house.owner.agent(name="Only ours")
    await house.owner.dataset(agent_id=agent["id"])
    await house.owner.run(agent)
    other = await house.another_org()
    for asked in ("1", "ours", "tasks", "refund order"):
        own = await house.platform.database.read(lambda c, asked=asked: find(c, house.owner.id, asked))
        theirs = await house.platform.database.read(lambda c, asked=asked: find(c, other.id, asked))
        assert own, asked
        assert theirs == [], asked
