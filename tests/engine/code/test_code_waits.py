"""What a run of code must not pay for, its wait for others; and what a look at code must leave as it was."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from code_desk import code_agent, source_of

from pipelines.engine.batches.run_batch import GRACE_S
from pipelines.engine.code import run_code
from support.desk import House, open_house
from support.server_process import REFUND_TASK

pytestmark = pytest.mark.anyio
CALLED = "return str(call(proxy_url, run_token, 'get_order', order_id='4521')[0])"


async def finished_run(house: House, body: str, **changes: object) -> dict[str, object]:
    client = house.owner.client
    agent = (await client.post("/api/agents", json=code_agent(body, **changes))).json()
    dataset = await house.owner.dataset(REFUND_TASK)
    asked = {"agent_id": agent["id"], "dataset_id": dataset["id"]}
    batch_id = (await client.post("/api/runs", json=asked)).json()["batch_id"]
    async with client.stream("GET", f"/api/batches/{batch_id}/events") as events:
        async for _ in events.aiter_lines():
            pass
    (run,) = (await client.get("/api/runs", params={"batch_id": batch_id})).json()["items"]
    return run


async def test_the_token_of_a_run_lives_on_for_as_long_as_the_run_had_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_code, "SLOW_START_S", -1.0)  # any wait counts
    async with open_house(tmp_path, unsafe_code="yes") as house:
        run = await finished_run(house, CALLED)
    assert (run["status"], run["final_response"]) == ("completed", "200"), run
    lived = datetime.fromisoformat(str(run["expires_at"])) - datetime.fromisoformat(str(run["dispatched_at"]))
    assert lived > timedelta(seconds=30 + GRACE_S)


async def test_a_look_at_the_code_leaves_what_is_stored_of_it_as_it_was(tmp_path: Path) -> None:
    """The look works on links to the files that later runs will be given, whatever they are called."""
    files = {"agent.py": source_of("return 'Done.'"), "odyssey_import_check.py": "x = 1\n"}
    async with open_house(tmp_path / "house", unsafe_code="yes") as house:
        client = house.owner.client
        code = {"source": "files", "files": files}
        agent = (await client.post("/api/agents", json=code_agent("", code=code))).json()
        tested = (await client.post(f"/api/agents/{agent['id']}/test-connection")).json()
        assert tested["ok"], tested
        stored = {path.name: path.read_text() for path in (tmp_path / "house" / "code").rglob("*.py")}
    assert stored == files
