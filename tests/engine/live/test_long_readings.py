"""One org's reading takes as long as it likes: uploads and runs of another org end meanwhile."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.simulation.reading import tool_reading
from support.desk import AGENT, TASK, Org, Row, open_house

pytestmark = [pytest.mark.unit, pytest.mark.anyio]

PATIENCE_S = 60.0  # only whoever waits for the held reading takes so long


class Gate:
    """Holds the first reading of a tool."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.reached, self.opened = threading.Event(), threading.Event()

    def subject_of(self, name: Any, *rest: Any) -> Any:
        if not self.reached.is_set():
            self.reached.set()
            self.opened.wait(PATIENCE_S)
        return self._inner(name, *rest)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(tool_reading.subject_of)
    monkeypatch.setattr(tool_reading, "subject_of", gate.subject_of)
    yield gate
    gate.opened.set()


async def test_a_held_reading_of_one_org_delays_no_upload_and_no_run_of_another(tmp_path: Path, gate: Gate):
    task = TASK | {"behavior": "A shipped order cannot be cancelled."}
    guessed = [{k: v for k, v in tool.items() if k != "simulation"} for tool in AGENT["tools_schema"]]
    async with open_house(tmp_path / "house") as house:
        other = await house.another_org()
        upload = asyncio.create_task(_upload(house.owner, guessed, task))
        assert await asyncio.to_thread(gate.reached.wait, PATIENCE_S)
        try:
            async with asyncio.timeout(PATIENCE_S / 2):
                quick = await other.agent(tools_schema=guessed)
                dataset = await other.dataset(task, agent_id=quick["id"])
                run = await other.open_run(quick["id"], dataset["task_ids"][0])
                assert (await run.call("get_order", {"order_id": "7001"})).status_code == 200
            assert not upload.done()
        finally:
            gate.opened.set()
        assert (await upload)["id"]


async def _upload(org: Org, tools: list[Row], task: Row) -> Row:
    agent = await org.agent(name="slow", tools_schema=tools)
    return await org.dataset(task, agent_id=agent["id"])
