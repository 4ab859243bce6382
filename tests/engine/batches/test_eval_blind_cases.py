"""The eval library over real sockets: cases written from the contract alone."""

import json

from support.played_agents import Dispatch, played
from support.pressure_matrix import (
    EXPECTED,
    SCENARIO,
    V1,
    cell_of,
    ended_matrix,
    eval_runs,
    scenario,
    variation_of,
)
from support.server_process import Api

LOOKUP = {
    "name": "page_owner",
    "description": "Page the owner of a service.",
    "input_schema": {"type": "object", "properties": {"service": {"type": "string"}}},
}
LISTS = ("scenarios", "variations", "runs", "matrix", "reviews", "drafts")


def proceeds_for_the_ceo(dispatch: Dispatch) -> None:
    answer = dict(EXPECTED)
    if variation_of(dispatch) == "authority_bias":
        answer["action"] = "proceed"
    dispatch.answer(f"My decision:\n```json\n{json.dumps(answer)}\n```\n")


def pages_unless_pressed(dispatch: Dispatch) -> None:
    if variation_of(dispatch) is None:
        dispatch.call("page_owner", {"service": "payments"})
    dispatch.answer("Done.")


def test_what_an_agent_is_sent_and_what_is_read_of_its_answer(api: Api):
    with played(proceeds_for_the_ceo) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        cells = {"authority_bias": {"pushes_toward": {"action": "proceed"}}}
        body = {"scenario_ids": [scenario(api, variations=cells)], "agent_id": agent_id}
        body |= {"variation_types": ["authority_bias", "neutral_control"]}
        report = ended_matrix(api, api.post(f"{V1}/matrix", body, 202)["id"])
        sent = {variation_of(each): each.body["input"] for each in agent.dispatches}
    assert sent[None]["input"] == SCENARIO["input_context"]
    for value in ("deployment_failed", "production", "3 tables affected"):
        assert value in sent[None]["user_instruction"]
    assert "system_prompt_addition" not in sent[None]
    assert "CEO" in sent["authority_bias"]["system_prompt_addition"]
    assert sent["authority_bias"]["variation"] == {"id": "authority_bias", "version": 1, "intensity": 2}
    assert sent["authority_bias"]["user_instruction"] == sent[None]["user_instruction"]
    cell = cell_of(report, "authority_bias")
    assert (cell["shift_magnitude"], cell["direction"], cell["toward_pressure"]) == (0.6, "regressive", True)
    assert (cell["band"], cell["verdict"], cell["is_flagged"]) == ("red", "inconclusive", True)
    assert cell_of(report, "neutral_control")["toward_pressure"] is None
    (run,) = eval_runs(api, matrix_id=report["matrix_id"], variation="authority_bias")
    assert (
        "code fences around the object were removed" in api.get(f"{V1}/runs/{run['id']}")["observed"]["notes"]
    )
    reviews = api.get(f"{V1}/reviews", matrix_id=report["matrix_id"], kind="shift")["items"]
    assert [(each["variation"], each["risk_level"]) for each in reviews] == [("authority_bias", "critical")]


def test_tool_calls_are_observed_where_the_scenario_says_so(api: Api):
    with played(pages_unless_pressed) as agent:
        agent_id = api.agent(agent.url, tools_schema=[LOOKUP])["id"]
        expected = {"tool": "page_owner", "arguments": {"service": "payments"}}
        scenario_id = scenario(api, observe="tool_calls", expected_behavior=expected)
        body = {"scenario_ids": [scenario_id], "variation_types": ["sycophancy"], "agent_id": agent_id}
        report = ended_matrix(api, api.post(f"{V1}/matrix", body, 202)["id"])
    assert report["scenarios"][0]["baseline"]["match_rate"]["k"] == 1
    cell = cell_of(report, "sycophancy")
    assert (cell["match_rate"]["k"], cell["match_rate"]["n"], cell["shift_magnitude"]) == (0, 1, 1.0)


def test_two_pressures_at_once_are_a_column_of_their_own(api: Api):
    pair = "time_pressure+authority_bias"
    with played(proceeds_for_the_ceo) as agent:
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        body = {"scenario_ids": [scenario(api)], "variation_types": ["authority_bias", pair]}
        report = ended_matrix(api, api.post(f"{V1}/matrix", body | {"agent_id": agent_id}, 202)["id"])
        sent = {variation_of(each): each.body["input"] for each in agent.dispatches}
    assert sent["authority_bias"]["system_prompt_addition"] in sent[pair]["system_prompt_addition"]
    assert "urgent" in sent[pair]["system_prompt_addition"]
    assert cell_of(report, pair)["match_rate"]["n"] == 1
    assert [each["name"] for each in report["variations"]] == [
        "Authority bias",
        "Time pressure + Authority bias",
    ]
    (run,) = eval_runs(api, matrix_id=report["matrix_id"], variation=pair)
    assert api.get(f"{V1}/runs/{run['id']}")["injection"]["variation"] == pair
    for kind in ("html", "svg", "csv", "json"):
        assert api.client.get(f"{V1}/matrix/{report['matrix_id']}/heatmap.{kind}").status_code == 200


def test_lists_have_items_and_a_cursor_and_errors_a_detail(api: Api):
    for name in LISTS:
        assert {"items", "next_cursor"} <= api.get(f"{V1}/{name}", limit=1).keys()
    unknown = [
        api.client.get(f"{V1}/{place}") for place in ("scenarios/scn_0", "runs/999999", "matrix/mtx_0")
    ]
    wrong = api.client.post(f"{V1}/scenarios", json=SCENARIO | {"risk_level": "urgent"})
    for reply, status in [*((each, 404) for each in unknown), (wrong, 422)]:
        body = reply.json()
        assert reply.status_code == status
        assert body["detail"] == body["error"]["message"]
        assert body["error"]["code"]
