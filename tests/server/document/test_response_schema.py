"""The schema that agents' authors read is the one that their replies are held against."""

import pytest

from pipelines.core.agents.agent_response_schema import RESPONSE_SCHEMA
from support.desk import House, answered

pytestmark = pytest.mark.anyio


async def test_the_schema_of_a_reply_is_there_for_everyone(house: House):
    assert answered(await house.stranger.get("/schemas/agent-response.json"), 200) == RESPONSE_SCHEMA
