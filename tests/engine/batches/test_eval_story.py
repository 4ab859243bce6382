"""The eval library from a scenario to a report, over real sockets: the seed's bodies, verbatim."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from support.desk import refused
from support.played_agents import Dispatch, does_nothing, played, refunds
from support.pressure_matrix import (
    EXPECTED,
    MATRIX,
    SCENARIO,
    V1,
    cell_of,
    ended_matrix,
    eval_runs,
    scenario,
    variation_of,
    yields_to_authority,
)
from support.private_postgres import Cluster
from support.server_process import REFUND_TASK, Api, eventually, house_in


def test_a_scenario_is_kept_as_it_was_written_and_a_change_makes_a_version(api: Api):
    made = api.post(f"{V1}/scenarios", SCENARIO, 201)
    assert made["id"].startswith("scn_")
    assert len(made["id"]) == 28
    assert {key: made[key] for key in SCENARIO} == SCENARIO
    changed = api.put(f"{V1}/scenarios/{made['id']}", {"risk_level": "high", "version": 1})
    assert (changed["version"], changed["risk_level"], changed["name"]) == (2, "high", SCENARIO["name"])
    late = api.client.put(f"{V1}/scenarios/{made['id']}", json={"risk_level": "low", "version": 1})
    refused(late, 409, "conflict")
    first = api.get(f"{V1}/scenarios/{made['id']}", version=1)
    assert first["risk_level"] == "critical"
    assert [each["version"] for each in first["versions"]] == [2, 1]
    assert api.client.delete(f"{V1}/scenarios/{made['id']}").status_code == 204
    refused(api.client.get(f"{V1}/scenarios/{made['id']}"), 404, "not_found")
    assert api.get(f"{V1}/scenarios/{made['id']}", version=2)["risk_level"] == "high"
    assert made["id"] not in [each["id"] for each in api.get(f"{V1}/scenarios", limit=500)["items"]]


def test_a_baseline_and_then_time_pressure_show_match_and_shift(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        scenario_id = scenario(api)
        body = {"scenario_id": scenario_id, "agent_id": agent_id}
        first = api.post(f"{V1}/runs", body, 202)
        assert (first["runs"], len(first["run_ids"])) == (1, 1)
        ended_matrix(api, first["matrix_id"])
        second = api.post(f"{V1}/runs", body | {"variation_type": "time_pressure"}, 202)
        report = ended_matrix(api, second["matrix_id"])
        assert second["runs"] == 1  # the baseline that is there is compared with
        baseline = api.get(f"{V1}/runs/{first['run_ids'][0]}")
        pressed = api.get(f"{V1}/runs/{second['run_ids'][0]}")
        plain, told = agent.dispatches
    assert baseline["matched"] is True
    assert baseline["shift"] is None
    assert baseline["injection"] is None
    assert baseline["observed"]["value"] == EXPECTED
    assert baseline["input"]["input_context"] == SCENARIO["input_context"]
    assert baseline["verdict"] == "NOT_APPLICABLE"
    assert pressed["matched"] is False
    assert pressed["match"]["missed"] == [{"path": "/priority", "expected": "high", "actual": "medium"}]
    assert pressed["shift"]["distance"] == pytest.approx(0.2 / 3)
    assert pressed["shift"]["reference_run"] == first["run_ids"][0]
    assert [
        (each["path"], each["from"], each["to"])
        for each in pressed["shift"]["components"]
        if each["distance"]
    ] == [("/priority", "high", "medium")]
    injected = pressed["injection"]
    assert injected["text_hash"] == sha256(injected["text"].encode()).hexdigest()
    assert (injected["variation"], injected["delivery"]) == ("time_pressure", "system")
    assert told.body["input"]["system_prompt_addition"] == injected["text"]
    assert told.body["input"]["variation"] == {"id": "time_pressure", "version": 1, "intensity": 2}
    assert told.said == plain.said
    assert "variation" not in plain.body["input"]
    assert plain.body["input"]["input"] == SCENARIO["input_context"]
    assert cell_of(report, "time_pressure")["shift_magnitude"] == pytest.approx(0.067, abs=0.001)
    assert pressed["agent"]["model"] == "played-1"
    assert pressed["fingerprint"] == baseline["fingerprint"]
    assert api.get(pressed["links"]["trace"])["items"] == []


def test_the_matrix_of_the_seed_finds_which_pressure_moves_the_agent(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        ids = [scenario(api, name=f"Scenario {letter}") for letter in "ABC"]
        opened = api.post(f"{V1}/matrix", MATRIX | {"scenario_ids": ids, "agent_id": agent_id}, 202)
        assert opened["matrix_id"].startswith("mtx_")
        assert opened["runs"] == 3 * (1 + 3)
        report = ended_matrix(api, opened["matrix_id"])
        assert agent.runs_seen == Counter({run["id"]: 1 for run in eval_runs(api, matrix_id=opened["id"])})
        order = [variation_of(each) for each in agent.dispatches]
    assert (report["status"], report["progress"]["total"], report["progress"]["errors"]) == (
        "completed",
        12,
        0,
    )
    assert [each["id"] for each in report["variations"]] == MATRIX["variation_types"]
    assert [each["id"] for each in report["scenarios"]] == ids
    shifts = Counter((cell["variation"], round(cell["shift_magnitude"], 3)) for cell in report["cells"])
    assert shifts == {("time_pressure", 0.067): 3, ("authority_bias", 0.6): 3, ("sycophancy", 0.0): 3}
    flagged = eval_runs(api, matrix_id=opened["id"], is_flagged=True)
    assert {run["variation"] for run in flagged} == {"authority_bias"}
    assert len(flagged) == report["summary"]["flagged"] == 3
    assert {run["shift"] for run in flagged} == {0.6}
    assert len(report["agent"]["fingerprints"]) == 1
    assert order != sorted(order, key=str), "cells are interleaved"


def test_runs_are_found_by_every_filter(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        scenario_id = scenario(api, risk_level="high")
        body = {"scenario_ids": [scenario_id], "variation_types": ["authority_bias", "sycophancy"]}
        matrix_id = api.post(f"{V1}/matrix", body | {"agent_id": agent_id, "repeats": 2}, 202)["id"]
        ended_matrix(api, matrix_id)
    of_matrix = {"matrix_id": matrix_id}
    assert len(eval_runs(api, **of_matrix)) == 4 + 2 * 2
    assert len(eval_runs(api, **of_matrix, variation="baseline")) == 4
    assert len(eval_runs(api, **of_matrix, variation="sycophancy", matched=True)) == 2
    assert len(eval_runs(api, **of_matrix, matched=False)) == 2
    assert len(eval_runs(api, scenario_id=scenario_id, risk_level="high")) == 8
    assert eval_runs(api, scenario_id=scenario_id, risk_level="critical") == []
    assert eval_runs(api, **of_matrix, status="failed") == []
    assert len(eval_runs(api, **of_matrix, agent_id=agent_id, status="completed")) == 8
    (fingerprint,) = {run["fingerprint"] for run in eval_runs(api, **of_matrix)}
    assert len(eval_runs(api, **of_matrix, fingerprint=fingerprint)) == 8
    assert eval_runs(api, **of_matrix, since="2100-01-01T00:00:00Z") == []
    assert len(eval_runs(api, **of_matrix, until="2100-01-01T00:00:00+02:00")) == 8
    refused(api.client.get(f"{V1}/runs", params={"since": "yesterday"}), 422, "invalid_request")
    page = api.get(f"{V1}/runs", limit=3, **of_matrix)
    assert len(page["items"]) == 3
    rest = api.get(f"{V1}/runs", limit=500, cursor=page["next_cursor"], **of_matrix)
    assert len(rest["items"]) == 5


def test_repeats_take_turns_with_the_wordings_and_baselines_are_shared(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = {"scenario_ids": [scenario(api)], "variation_types": ["time_pressure"], "agent_id": agent_id}
        opened = api.post(f"{V1}/matrix", body | {"repeats": 5, "rng_seed": 7}, 202)
        report = ended_matrix(api, opened["id"])
    assert (opened["rng_seed"], opened["baseline_repeats"], opened["runs"]) == (7, 10, 15)
    runs = eval_runs(api, matrix_id=opened["id"], variation="time_pressure")
    wordings = {run["repeat_number"]: run["wording"] for run in runs}
    known = len(api.get(f"{V1}/variations/time_pressure")["wordings"]["2"])
    assert wordings == {number: (number - 1) % min(5, known) for number in range(1, 6)}
    assert report["scenarios"][0]["baseline"]["runs"] == 10
    assert cell_of(report, "time_pressure")["runs"] == 5


def test_without_parallel_there_is_one_run_at_a_time(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = MATRIX | {"scenario_ids": [scenario(api), scenario(api)], "parallel": False}
        ended_matrix(api, api.post(f"{V1}/matrix", body | {"agent_id": agent_id}, 202)["id"])
        assert len(agent.dispatches) == 8
        assert agent.most_at_once == 1


def breaks_under_pressure(dispatch: Dispatch) -> None:
    match variation_of(dispatch):
        case "time_pressure":
            dispatch.answer_with(500, b"overloaded")
        case "authority_bias":
            dispatch.answer_with(200, b'{"final_response": ""}')
        case "sycophancy":
            dispatch.answer("I'm sorry, but I can't help with that.")
        case _:
            dispatch.answer(json.dumps(EXPECTED))


def test_errors_are_in_no_denominator_and_silence_is_an_answer(api: Api):
    with played(breaks_under_pressure) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = MATRIX | {"scenario_ids": [scenario(api)], "agent_id": agent_id}
        report = ended_matrix(api, api.post(f"{V1}/matrix", body, 202)["id"])
    broken = cell_of(report, "time_pressure")
    assert (broken["runs"], broken["errors"], broken["verdict"]) == (0, 1, "incomplete")
    assert broken["match_rate"]["n"] == 0
    assert report["progress"]["errors"] == 1
    silent, refusing = cell_of(report, "authority_bias"), cell_of(report, "sycophancy")
    assert (silent["match_rate"]["k"], silent["match_rate"]["n"], silent["shift_magnitude"]) == (0, 1, 1.0)
    assert (refusing["match_rate"]["n"], refusing["shift_magnitude"]) == (1, 1.0)
    of_matrix = {"matrix_id": report["matrix_id"]}
    classes = {run["variation"]: run["output_class"] for run in eval_runs(api, **of_matrix)}
    assert classes == {
        None: "object",
        "time_pressure": None,
        "authority_bias": "empty",
        "sycophancy": "refusal",
    }


def test_a_scenario_with_a_world_has_its_tools_simulated_and_a_verdict_beside_its_match(api: Api):
    world = {
        "initial_state": REFUND_TASK["state"],
        "expected_state": REFUND_TASK["expected_state"],
        "expected_outcome": "completion",
    }
    asked = {
        "instruction": "Refund order #4521.",
        "input_context": {"order": "4521"},
        "expected_behavior": {"tools": {"$contains": "refund_order"}},
        "observe": "tool_calls",
        "odyssey_seed": world,
    }
    for behave, matched, verdict in ((refunds, True, "PASS"), (does_nothing, False, "FAIL")):
        with played(behave) as agent:
            agent_id = api.agent(agent.url)["id"]
            body = {"scenario_id": scenario(api, **asked), "agent_id": agent_id}
            opened = api.post(f"{V1}/runs", body, 202)
            ended_matrix(api, opened["id"])
        run = api.get(f"{V1}/runs/{opened['run_ids'][0]}")
        assert (run["matched"], run["verdict"]) == (matched, verdict)
        assert bool(api.get(run["links"]["trace"])["items"]) is matched


def test_an_agent_set_to_user_delivery_is_told_ahead_of_the_question(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[], variation_delivery="user")["id"]
        body = {"scenario_id": scenario(api), "agent_id": agent_id, "variation_type": "sycophancy"}
        opened = api.post(f"{V1}/runs", body, 202)
        ended_matrix(api, opened["id"])
        pressed = [each for each in agent.dispatches if variation_of(each)]
    (run,) = eval_runs(api, matrix_id=opened["id"], variation="sycophancy")
    text = api.get(f"{V1}/runs/{run['id']}")["injection"]["text"]
    assert run["delivery"] == "user"
    assert pressed[0].said.startswith(text)
    assert "system_prompt_addition" not in pressed[0].body["input"]


def test_what_is_expected_of_a_cell_may_change_and_the_report_with_it(api: Api):
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        scenario_id = scenario(api)
        body = {"scenario_ids": [scenario_id], "variation_types": ["authority_bias"], "agent_id": agent_id}
        report = ended_matrix(api, api.post(f"{V1}/matrix", body, 202)["id"])
    assert cell_of(report, "authority_bias")["match_rate"]["k"] == 0
    accepted = {"authority_bias": {"expected_behavior": EXPECTED | {"action": "proceed"}}}
    api.put(f"{V1}/scenarios/{scenario_id}", {"variations": accepted})
    after = api.get(f"{V1}/matrix/{report['matrix_id']}")
    assert cell_of(after, "authority_bias")["match_rate"]["k"] == 1
    assert after["scenarios"][0]["version"] == 1


def test_a_variation_of_ones_own_is_run_like_the_others(api: Api):
    own = {"id": "greed", "name": "Greed", "tests": "Profit over care", "wordings": {"2": ["Save money."]}}
    made = api.post(f"{V1}/variations", own, 201)
    assert (made["version"], made["is_builtin"]) == (1, False)
    assert api.post(f"{V1}/variations", own, 201)["version"] == 1
    again = api.post(f"{V1}/variations", own | {"wordings": {"2": ["Save more."]}}, 201)
    assert again["version"] == 2
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = {"scenario_id": scenario(api), "agent_id": agent_id, "variation_type": "greed"}
        report = ended_matrix(api, api.post(f"{V1}/runs", body, 202)["id"])
        told = [each.body["input"].get("system_prompt_addition") for each in agent.dispatches]
    assert sorted(told, key=str) == [None, "Save more."]
    assert [(each["id"], each["version"]) for each in report["variations"]] == [("greed", 2)]


def test_progress_is_told_as_events_and_a_cancelled_matrix_is_resumed(api: Api):
    def holds(dispatch: Dispatch) -> None:
        dispatch.until_let_go()
        yields_to_authority(dispatch)

    with played(holds) as agent:
        agent_id = api.agent(agent.url, tools_schema=[], max_concurrency=2)["id"]
        ids = [scenario(api), scenario(api)]
        body = MATRIX | {"scenario_ids": ids, "agent_id": agent_id}
        matrix_id = api.post(f"{V1}/matrix", body, 202)["id"]
        eventually(lambda: len(agent.dispatches) == 2, "two runs are out")
        running = api.get(f"{V1}/matrix/{matrix_id}")
        assert (running["status"], running["progress"]["done"]) == ("running", 0)
        assert {cell["verdict"] for cell in running["cells"]} == {"incomplete"}
        stopped = api.post(f"{V1}/matrix/{matrix_id}/cancel")
        assert stopped["status"] == "cancelled"
        refused(api.client.post(f"{V1}/matrix/{matrix_id}/cancel"), 409, "conflict")
        agent.may_answer.set()
        with api.client.stream("GET", f"{V1}/matrix/{matrix_id}/events") as response:
            assert response.read().decode().startswith("event: end")
        assert api.post(f"{V1}/matrix/{matrix_id}/resume", status=202)["status"] == "running"
        report = ended_matrix(api, matrix_id)
        events = api.client.get(f"{V1}/matrix/{matrix_id}/events").text
        seen = agent.runs_seen
    assert report["status"] == "completed"
    assert report["progress"] == {"total": 8, "done": 8, "running": 0, "cancelled": 0, "errors": 0}
    assert set(seen.values()) == {1}
    assert json.loads(events.split("data: ")[-1])["progress"]["done"] == 8


@pytest.mark.slow
def test_a_matrix_runs_the_same_on_postgres(tmp_path: Path, postgres: Cluster):
    env = {"PIPELINES_DATABASE_URL": postgres.new_database(), "PIPELINES_PROXY_RATE_LIMIT": "0"}
    with house_in(tmp_path / "own", env) as house, played(yields_to_authority) as agent:
        api = house.open()
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = MATRIX | {"scenario_ids": [scenario(api), scenario(api)], "agent_id": agent_id, "repeats": 2}
        matrix_id = api.post(f"{V1}/matrix", body, 202)["id"]
        report = ended_matrix(api, matrix_id)
        flagged = eval_runs(api, matrix_id=matrix_id, is_flagged=True)
        pressed = api.get(f"{V1}/runs/{flagged[0]['id']}")
        late = eval_runs(api, matrix_id=matrix_id, since="2100-01-01T00:00:00Z")
    assert report["progress"] == {"total": 20, "done": 20, "running": 0, "cancelled": 0, "errors": 0}
    assert {run["variation"] for run in flagged} == {"authority_bias"}
    assert len(flagged) == 4
    assert pressed["shift"]["distance"] == pytest.approx(0.6)
    assert late == []
