"""Limits that an operator sets are those in force, and what is past one is told how to go on."""

from pathlib import Path

import pytest

from support.desk import TASK, answered, open_house

pytestmark = pytest.mark.anyio
SCENARIO = {
    "user_instruction": "Mend it.",
    "workspace_seed": {"type": "files", "files": {"a.py": "x = 1\n"}},
    "scorers": [{"name": "paths", "type": "allowed_paths", "paths": ["*.py"]}],
}


async def test_a_batch_has_no_more_runs_than_are_allowed(tmp_path: Path) -> None:
    async with open_house(tmp_path, batch_runs=5) as house:
        agent = await house.owner.agent()
        dataset = await house.owner.dataset(TASK, TASK, agent_id=agent["id"])
        body = {"agent_id": agent["id"], "dataset_id": dataset["id"], "repeats": 3}
        told = (await house.owner.client.post("/api/runs", json=body)).json()["error"]
        assert told["details"] == [
            {
                "path": "/repeats",
                "message": "these are 6 runs; a batch has at most 5",
                "hint": "start several, or raise PIPELINES_BATCH_RUNS",
            }
        ]
        answered(await house.owner.client.post("/api/runs", json=body | {"repeats": 2}), 202)


async def test_an_org_has_no_more_coding_scenarios_than_are_allowed(tmp_path: Path) -> None:
    async with open_house(tmp_path, coding_scenarios=2) as house:
        other = await house.another_org()
        for org in (house.owner, other):  # each has its own
            for name in ("first", "second"):
                answered(await org.client.post("/api/coding-scenarios", json=SCENARIO | {"name": name}), 201)
        told = await house.owner.client.post("/api/coding-scenarios", json=SCENARIO | {"name": "third"})
        assert told.status_code == 422
        assert "raise PIPELINES_CODING_SCENARIOS" in told.text


async def test_memory_and_time_are_as_they_were_set(tmp_path: Path) -> None:
    async with open_house(tmp_path, judging_s=9, live_runs_mb=32, cassettes_mb=7) as house:
        platform = house.platform
        assert platform.limits.judging_s == 9
        assert platform.live_runs._most_bytes == 32 * 1024 * 1024
        assert platform.cassettes._most_held == 7 * 1024 * 1024
