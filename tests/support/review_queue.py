"""The review queue as a test reads and decides it."""

from typing import Any

import pytest

from support.desk import House, Org, answered, every_item
from support.stored_matrix import RIGHT, WRONG, StoredMatrix, ended_matrix, scenario

Row = dict[str, Any]

BASE = "/api/v1/eval/reviews"

#: One cell far off, one as it should be.
SHIFTED = {None: [RIGHT, RIGHT], "time_pressure": [WRONG, WRONG], "sycophancy": [RIGHT, RIGHT]}


async def queue(org: Org, **query: Any) -> list[Row]:
    return await every_item(org.client, BASE, **query)


async def act(org: Org, review_id: str, verb: str, status: int | None = None, **body: Any) -> Row:
    done: Row = answered(await org.client.post(f"{BASE}/{review_id}/{verb}", json=body), status)
    return done


async def read(org: Org, review_id: str, **query: Any) -> Row:
    found: Row = answered(await org.client.get(f"{BASE}/{review_id}", params=query))
    return found


async def no_audit(org: Org, **settings: Any) -> None:
    answered(await org.client.put(f"{BASE}/settings", json={"audit_share": 0} | settings))


@pytest.fixture
async def flagged(house: House, org: Org) -> StoredMatrix:
    await no_audit(org)
    return await ended_matrix(house, org, await scenario(house, org), SHIFTED)


async def undecided_run(org: Org, **task: Any) -> int:
    """One whose verdict the judge leaves open."""
    run = await org.run(**task)
    answered(await run.finish(final_response="I looked into it."))
    return run.id
