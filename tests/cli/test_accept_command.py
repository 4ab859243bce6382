"""`pipelines accept`, over a real server and agents on sockets: the oracle of a right run judges the next."""

import pytest
from test_results_commands import UNDECIDED, Look, fits, words_of
from test_run_command import registered

from support.played_agents import does_nothing, refunds
from support.server_process import Api

Row = dict[str, object]


@pytest.fixture
def look(api: Api, tmp_path) -> Look:
    return Look(api, tmp_path)


def pending_run(api: Api, said: str) -> tuple[int, int]:
    """The dataset, and its one run: done as asked, and no oracle says so."""
    with registered(api, refunds) as (_, agent_id):
        dataset = api.dataset(UNDECIDED | {"user": said}, agent_id=int(agent_id))
        batch_id = api.batch_of(int(agent_id), dataset["id"])
        api.ended(batch_id)
    run = api.only_run(batch_id)
    assert (run["verdict"], run["judgement"]["pending_reason"]) == ("PENDING", "no_oracle")
    return dataset["id"], run["id"]


def test_a_pending_run_is_accepted_and_an_agent_that_does_nothing_then_fails(look: Look, api: Api) -> None:
    dataset_id, run_id = pending_run(api, "Refund order #4521, now.")
    out = look("accept", str(run_id), "--yes", "--note", "as the policy says")
    assert fits(out)
    assert '"order.4521.status": "refunded"' in words_of(out)
    assert f"run {run_id} is now PASS" in words_of(out)
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "PASS"
    with registered(api, does_nothing) as (_, agent_id):
        batch_id = api.batch_of(int(agent_id), dataset_id)
        api.ended(batch_id)
    assert api.only_run(batch_id)["verdict"] == "FAIL"
    with registered(api, refunds) as (_, agent_id):
        batch_id = api.batch_of(int(agent_id), dataset_id)
        api.ended(batch_id)
    assert api.only_run(batch_id)["verdict"] == "PASS"


def test_where_nobody_can_be_asked_it_is_only_shown(look: Look, api: Api) -> None:
    _, run_id = pending_run(api, "Refund order #4521, please.")
    assert "verdict by it PASS" in words_of(look("accept", str(run_id)))
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "PENDING"
    assert look.json("accept", str(run_id))["axes"]["expected_state"] == {"order.4521.status": "refunded"}
    assert api.get(f"/api/runs/{run_id}/oracle")["oracle_version"] == 1


def test_what_cannot_be_accepted_says_why(look: Look) -> None:
    assert "There is no run 999999" in look("accept", "999999", "--yes", code=2)
