"""Large replies of agents are read by a helper process: the loop would stand still meanwhile."""

import json
from typing import Any

import pytest

from pipelines.core.agents.agent_reply import AgentReply, BadReply
from pipelines.outbound.agent_client import READ_ASIDE_BYTES, read_reply
from pipelines.processes.pool import HelperProcesses, Job, TookTooMuch

pytestmark = pytest.mark.anyio


class Busy(HelperProcesses):
    """Whose processes have no time for anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def run(self, job: Job, raw: Any, *, owner: int) -> Any:
        self.asked.append(job.name)
        raise TookTooMuch("time", "10 s")


async def test_what_is_large_is_never_read_here(anyio_backend: str) -> None:
    helpers = Busy()
    small, large = (json.dumps({"final_response": "x" * size}).encode() for size in (10, READ_ASIDE_BYTES))
    read = await read_reply(helpers, small, "application/json", owner=1)
    assert isinstance(read, AgentReply)
    assert helpers.asked == []
    unread = await read_reply(helpers, large, "application/json", owner=1)
    assert isinstance(unread, BadReply)
    assert "more than 10 s" in unread.detail
    assert helpers.asked == ["agent_reply"]
