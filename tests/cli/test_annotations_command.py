"""`pipelines ls` and `show` print what people wrote on runs, and find runs by it."""

import pytest
from test_results_commands import Look, fits, words_of
from test_run_command import registered

from support.played_agents import refunds
from support.server_process import REFUND_TASK, Api


@pytest.fixture
def look(api: Api, tmp_path) -> Look:
    return Look(api, tmp_path)


def test_runs_are_listed_by_label_and_shown_with_their_comments(look: Look, api: Api) -> None:
    with registered(api, refunds) as (_, agent_id):
        dataset = api.dataset(REFUND_TASK, agent_id=int(agent_id))
        batch_id = api.batch_of(int(agent_id), dataset["id"], repeats=2)
        api.ended(batch_id)
    first, second = sorted(run["id"] for run in api.runs(batch_id))
    api.post(f"/api/runs/{first}/annotations", {"label": "money"}, 201)
    api.post(f"/api/runs/{second}/annotations", {"comment": "Ask Bo.", "step": 1, "by": "ann"}, 201)
    batch = ("ls", "runs", "--batch", str(batch_id))
    assert [run["id"] for run in look.json(*batch, "--label", "money")] == [first]
    assert [run["id"] for run in look.json(*batch, "--commented")] == [second]
    listed = look(*batch)
    assert fits(listed)
    assert "labels: money" in words_of(listed)
    assert "1 comment" in words_of(listed)
    assert "ann on step 1: Ask Bo." in words_of(look("show", str(second)))
    assert "[money]" in words_of(look("show", str(first)))
    assert "filters runs" in look("ls", "batches", "--label", "money", code=2)
