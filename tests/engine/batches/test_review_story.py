"""Reviews from a matrix that ran to what people decided about it, over real sockets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.desk import AGENT, TASK, refused
from support.played_agents import PlayedAgent, played
from support.pressure_matrix import V1, cell_of, ended_matrix, scenario, yields_to_authority
from support.repository import TESTS
from support.server_process import Api, House, Row, eventually, house_in

REVIEWS = f"{V1}/reviews"
ACCEPTED = {"action": "proceed", "priority": "high", "include_rollback_plan": True}


@pytest.fixture
def agent() -> Iterator[PlayedAgent]:
    with played(yields_to_authority) as agent:
        yield agent


def flagged_matrix(api: Api, agent: PlayedAgent, **asked: Any) -> Row:
    """The report of a matrix of which one cell is flagged."""
    agent_id = api.agent(agent.url, tools_schema=[])["id"]
    body = {
        "scenario_ids": [scenario(api)],
        "variation_types": ["authority_bias", "sycophancy"],
        "agent_id": agent_id,
        "repeats": 2,
    }
    return ended_matrix(api, api.post(f"{V1}/matrix", body | asked, 202)["id"])


def waiting(api: Api, report: Row, **query: Any) -> list[Row]:
    """Open items about the scenario of a report."""
    (row,) = report["scenarios"]
    items: list[Row] = api.get(REVIEWS, kind="shift", scenario_id=row["id"], **query)["items"]
    return items


def decide(api: Api, review_id: str, verdict: str, **more: Any) -> Row:
    done: Row = api.post(f"{REVIEWS}/{review_id}/verdict", {"verdict": verdict} | more)
    return done


def test_a_shift_is_found_looked_at_accepted_and_taken_back(api: Api, agent: PlayedAgent) -> None:
    report = flagged_matrix(api, agent)
    matrix_id = report["matrix_id"]
    assert report["summary"]["flagged"] == 1
    (item,) = waiting(api, report)
    assert (item["variation"], item["risk_level"]) == ("authority_bias", "critical")
    assert waiting(api, report, variation="sycophancy") == []
    seen = api.get(f"{REVIEWS}/{item['id']}")
    (evidence,) = seen["evidence"]
    said = {dispatch.body["input"].get("system_prompt_addition") for dispatch in agent.dispatches}
    assert {each["text"] for each in evidence["injected"]} <= said
    assert evidence["baseline"]["observed"]["value"]["action"] == "escalate_to_owner"
    assert {run["observed"]["value"]["action"] for run in evidence["runs"]} == {"proceed"}
    api.post(f"{REVIEWS}/{item['id']}/claim", {"reviewer": "ann"})
    taken = api.client.post(f"{REVIEWS}/{item['id']}/claim", json={"reviewer": "bob"})
    assert refused(taken, 409, "review_claimed")["details"]["by"] == "ann"
    decided = decide(api, item["id"], "acceptable_shift", reviewer="ann", note="The CEO may.")
    assert decided["outcome"]["expected_behavior"] == ACCEPTED
    assert waiting(api, report) == []
    after = cell_of(api.get(f"{V1}/matrix/{matrix_id}"), "authority_bias")
    assert (after["expectation"], after["is_flagged"]) == ("directional", False)
    assert after["match_rate"]["k"] == 2
    later = flagged_matrix(api, agent, scenario_ids=[item["scenario_id"]], agent_id=item["agent_id"])
    assert cell_of(later, "authority_bias")["match_rate"]["k"] == 2
    assert (later["summary"]["flagged"], waiting(api, report)) == (0, [])
    api.post(f"{REVIEWS}/{item['id']}/reopen", {"note": "She may not."})
    before = cell_of(api.get(f"{V1}/matrix/{matrix_id}"), "authority_bias")
    assert (before["expectation"], before["is_flagged"], before["match_rate"]["k"]) == ("invariant", True, 0)
    api.get(f"{V1}/matrix/{later['matrix_id']}")
    (again,) = waiting(api, report)
    assert again["id"] == item["id"]
    assert len(api.get(f"{REVIEWS}/{item['id']}")["evidence"]) == 2


def test_more_runs_that_were_asked_for_are_run_and_shown(api: Api, agent: PlayedAgent) -> None:
    report = flagged_matrix(api, agent)
    (item,) = waiting(api, report)
    decided = decide(api, item["id"], "needs_more_runs", runs=3)
    assert decided["outcome"]["is_queued"] is True
    ended = ended_matrix(api, report["matrix_id"])
    assert cell_of(ended, "authority_bias")["runs"] == 5
    assert cell_of(ended, "sycophancy")["runs"] == 2
    (again,) = eventually(lambda: waiting(api, report), "the cell is asked about anew")
    assert again["id"] != item["id"]
    assert f"3 more runs were asked for in {item['id']}" in again["reasons"]
    (evidence,) = api.get(f"{REVIEWS}/{again['id']}")["evidence"]
    assert len(evidence["run_ids"]) == 5


@pytest.mark.slow
def test_a_matrix_whose_server_was_killed_at_its_end_is_in_the_queue(
    own_house: House, agent: PlayedAgent
) -> None:
    """Whatever of report and flags was stored by then: the next start, or the next reader, does the rest."""
    api = own_house.open()
    report = flagged_matrix(api, agent)
    own_house.kill()
    api = own_house.open()
    (item,) = eventually(lambda: waiting(api, report), "the matrix is flagged")
    assert item["matrix_id"] == report["matrix_id"]
    own_house.kill()
    api = own_house.open()
    assert [each["id"] for each in waiting(api, report)] == [item["id"]]
    api.get(f"{V1}/matrix/{report['matrix_id']}")
    assert [event["event"] for event in api.get(f"{REVIEWS}/{item['id']}")["history"]] == ["opened"]


HOUR = 3600


def test_a_claim_holds_whatever_the_time_of_day_is_set_to(tmp_path: Path) -> None:
    file = tmp_path / "clock"
    file.write_text("0")
    with house_in(tmp_path / "house") as house:
        house.program = (str(TESTS / "support" / "jumping_clock.py"), str(file))
        api = house.open()
        agent_id = api.post("/api/agents", AGENT, 201)["id"]
        (task_id,) = api.dataset(TASK, agent_id=agent_id)["task_ids"]
        asked = {"mode": "manual", "agent_id": agent_id, "task_ids": [task_id]}
        run_id = api.post("/api/runs", asked, 201)["id"]
        api.post(f"/api/runs/{run_id}/finish", {"final_response": "I looked into it."})
        path = f"{REVIEWS}/rev_run_{run_id}/claim"
        api.post(path, {"reviewer": "ann"})
        for seconds in (HOUR, -HOUR, 0):
            file.write_text(str(seconds))
            error = refused(api.client.post(path, json={"reviewer": "bob"}), 409, "review_claimed")
            assert 600 < error["details"]["seconds_left"] <= 900
            (held,) = api.get(REVIEWS, claimed_by="ann")["items"]
            assert held["run_id"] == run_id
