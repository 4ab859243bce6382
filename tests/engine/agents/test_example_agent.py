"""The example of an empty installation: its tasks, and an agent that is uploaded or to be started."""

import pytest

from pipelines.engine.agents.example_agent import make_example
from pipelines.wire.errors import CodeModeUnavailable
from support.desk import House, answered

pytestmark = pytest.mark.anyio


async def test_where_code_cannot_be_isolated_the_agent_is_one_to_be_started(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable() -> None:
        raise CodeModeUnavailable("no isolation here")

    monkeypatch.setattr(house.platform.code_mode, "opened", unavailable)
    made = await make_example(house.platform, house.owner.id)
    agent = answered(await house.owner.client.get(f"/api/agents/{made.agent.id}"))
    assert agent["mode"] == "external_http"
    assert agent["has_auth_header_value"]
    assert (made.dataset.agent_id, made.dataset.task_count) == (made.agent.id, 5)


async def test_an_example_is_made_anew_each_time(house: House) -> None:
    first = await make_example(house.platform, house.owner.id)
    second = await make_example(house.platform, house.owner.id)
    assert first.agent.id != second.agent.id
    assert second.dataset.agent_id == second.agent.id
