"""What people look at of a matrix is drawn once, and again only when what it rests on is another."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine.evals import show_matrix
from pipelines.engine.evals.show_matrix import MatrixViews
from pipelines.processes.pool import HelperProcesses
from pipelines.wire.errors import NotFound
from support.desk import House, answered, open_house
from support.played_agents import played
from support.pressure_matrix import SCENARIO, V1, yields_to_authority

pytestmark = pytest.mark.anyio


class Counting:
    """The real helpers, and which jobs they were asked for."""

    def __init__(self, helpers: HelperProcesses) -> None:
        self._helpers = helpers
        self.jobs: list[str] = []

    async def run(self, job: Any, data: Any, *, owner: int) -> list[bytes]:
        self.jobs.append(job.name)
        return await self._helpers.run(job, data, owner=owner)


@pytest.mark.parametrize("is_large", [True, False], ids=["by a helper", "here"])
async def test_a_heatmap_is_drawn_once_for_all_who_look_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_large: bool
) -> None:
    here: list[str] = []
    if is_large:
        monkeypatch.setattr(show_matrix, "MOST_DRAWN_HERE", 0)
    else:
        drawn = {name: partial(_noted, here, name, job) for name, job in show_matrix._JOBS.items()}
        monkeypatch.setattr(show_matrix, "_JOBS", drawn)
    async with open_house(tmp_path, own_url="http://127.0.0.1:9") as house:
        with played(yields_to_authority) as agent:
            await house.owner.agent(endpoint_url=agent.url, tools_schema=[])
            matrix_id, scenario_id = await _ended_matrix(house)
        counting = Counting(house.platform.upload_helpers)
        jobs = counting.jobs if is_large else here
        views: MatrixViews = house.app.api.state.matrix_views
        monkeypatch.setattr(views, "_platform", _with_helpers(house, counting))
        for _ in range(3):
            shown = await views.page(1, matrix_id, first=0, show="all")
            cell = await views.cell(1, matrix_id, scenario_id, "authority_bias")
        assert jobs == ["heatmap_page", "heatmap_cell"]
        assert cell.body["cell"]["shift_magnitude"] == 0.6
        # Another expectation is another report, and another picture.
        answered(await house.owner.client.put(f"{V1}/scenarios/{scenario_id}", json={"risk_level": "low"}))
        later = await views.page(1, matrix_id, first=0, show="all")
        assert later.key != shown.key
        assert jobs[2:] == ["heatmap_page"]
        assert (await views.page(1, matrix_id, first=0, show="all", seen=later.key)).body is None
        assert len(here + counting.jobs) == 3
        with pytest.raises(NotFound):
            await views.page(2, matrix_id, first=0, show="all")


def _noted(jobs: list[str], name: str, job: Any, *data: Any, **asked: Any) -> Any:
    jobs.append(name)
    return job(*data, **asked)


def _with_helpers(house: House, counting: Counting) -> Any:
    return replace(house.platform, upload_helpers=counting)  # type: ignore[arg-type]


async def _ended_matrix(house: House) -> tuple[str, str]:
    client = house.owner.client
    scenario_id = answered(await client.post(f"{V1}/scenarios", json=SCENARIO), 201)["id"]
    body = {"scenario_ids": [scenario_id], "variation_types": ["authority_bias"]}
    matrix_id = answered(await client.post(f"{V1}/matrix", json=body), 202)["id"]
    async with client.stream("GET", f"{V1}/matrix/{matrix_id}/events") as response:
        await response.aread()
    answered(await client.get(f"{V1}/matrix/{matrix_id}"))
    return str(matrix_id), str(scenario_id)
