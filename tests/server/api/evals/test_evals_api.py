"""The eval library over HTTP, in process: what is refused, with every problem, and whose things are whose."""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.engine.evals import start_matrix
from pipelines.wire.errors import NotFound
from pipelines.wire.names import Role
from support.desk import House, Org, answered, open_house, refused
from support.played_agents import PlayedAgent, played
from support.pressure_matrix import MATRIX, SCENARIO, V1, yields_to_authority

pytestmark = pytest.mark.anyio
NOWHERE = {"endpoint_url": "http://127.0.0.1:9/dispatch", "tools_schema": []}


async def scenario(org: Org, **changes: Any) -> str:
    made = answered(await org.client.post(f"{V1}/scenarios", json=SCENARIO | changes), 201)
    return str(made["id"])


def problems(error: dict[str, Any]) -> dict[str, str]:
    return {
        each["path"]: " ".join(filter(None, (each["message"], each.get("hint")))) for each in error["details"]
    }


@pytest.mark.parametrize(
    ("changes", "path", "says"),
    [
        ({"risk_level": "urgent"}, "/risk_level", "`critical`"),
        ({"risk_level": "crtical"}, "/risk_level", "did you mean `critical`?"),
        ({"expected_behavior": "escalate"}, "/expected_behavior", "must be a JSON object, not a string"),
        ({"expected_behavior": ["escalate"]}, "/expected_behavior", "not an array"),
        ({"expected_behavior": {"action": {"$regex": "("}}}, "/expected_behavior/action", ""),
        ({"expected_behavior": {"action": {"$inn": ["a"]}}}, "/expected_behavior/action", "$in"),
        ({"input_context": None}, "/input_context", "must be a JSON object, not null"),
        (
            {"variations": {"time_presure": {"expectation": "exempt"}}},
            "/variations/time_presure",
            "time_pressure",
        ),
        ({"agent_id": 99}, "/agent_id", "there is no agent 99"),
        ({"exspected": 1}, "/exspected", "unknown field"),
    ],
)
async def test_a_scenario_that_cannot_be_meant_is_refused(
    org: Org, changes: dict[str, Any], path: str, says: str
) -> None:
    response = await org.client.post(f"{V1}/scenarios", json=SCENARIO | changes)
    found = problems(refused(response, 422, "invalid_request"))
    (told,) = [text for place, text in found.items() if place.startswith(path)]
    assert says in told
    assert answered(await org.client.get(f"{V1}/scenarios"))["items"] == []


async def test_all_that_is_wrong_with_a_scenario_is_told_at_once(org: Org) -> None:
    body = SCENARIO | {"risk_level": "urgent", "expected_behavior": 7, "agent_id": 99, "name": ""}
    found = problems(refused(await org.client.post(f"{V1}/scenarios", json=body), 422, "invalid_request"))
    assert found.keys() >= {"/risk_level", "/expected_behavior", "/agent_id", "/name"}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"scenario_ids": []}, {"/scenario_ids": "is empty"}),
        ({"scenario_ids": None}, {"/scenario_ids": "missing"}),
        ({"variation_types": []}, {"/variation_types": "is empty"}),
        ({"variation_types": ["time_presure"]}, {"/variation_types/0": "did you mean `time_pressure`?"}),
        ({"variation_types": ["sycophancy", "sycophancy"]}, {"/variation_types/1": "is listed twice"}),
        ({"repeats": 0}, {"/repeats": "from 1 to 100"}),
        ({"repeats": 101}, {"/repeats": "from 1 to 100"}),
        ({"intensity": 4}, {"/intensity": "from 1 to 3"}),
        ({"delivery": "telepathy"}, {"/delivery": "`system`, `user` or `tool_result`"}),
        ({"delivery": "tool_result"}, {"/delivery": "declares no tools"}),
        ({"parallel": "no"}, {"/parallel": "must be true or false"}),
        ({"parallel": False, "concurrency": 4}, {"/concurrency": "one run at a time"}),
        ({"rng_seed": -1}, {"/rng_seed": "from 0"}),
        ({"agent_id": "a"}, {"/agent_id": "the id of an agent"}),
        ({"agent_id": 99}, {"/agent_id": "there is no agent 99"}),
        ({"scenarios": []}, {"/scenarios": "scenario_ids"}),
    ],
)
async def test_a_matrix_that_cannot_be_meant_is_refused(
    house: House, org: Org, changes: dict[str, Any], expected: dict[str, str]
) -> None:
    await org.agent(**NOWHERE)
    body = MATRIX | {"scenario_ids": [await scenario(org)]} | changes
    found = problems(refused(await org.client.post(f"{V1}/matrix", json=body), 422, "invalid_request"))
    for path, says in expected.items():
        assert says in found[path]
    assert_nothing_was_made(house)


def assert_nothing_was_made(house: House) -> None:
    tables = ("eval_matrices", "eval_tasks", "tasks", "datasets", "batches", "runs")
    with sqlite3.connect(house.settings.database_path) as aside:
        counts = [aside.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    aside.close()
    assert counts == [0] * len(tables)


async def test_unknown_scenarios_and_variations_are_all_named_with_what_was_meant(
    house: House, org: Org
) -> None:
    await org.agent(**NOWHERE)
    known = await scenario(org)
    near = known[:-1] + ("0" if known[-1] != "0" else "1")
    body = {"scenario_ids": [known, near, SCENARIO["name"], "nothing"], "variation_types": ["sycofancy", "x"]}
    found = problems(refused(await org.client.post(f"{V1}/matrix", json=body), 422, "invalid_request"))
    assert f"did you mean `{known}`?" in found["/scenario_ids/1"]
    assert f"is the name of {known}" in found["/scenario_ids/2"]
    assert "there is no scenario `nothing`" in found["/scenario_ids/3"]
    assert "did you mean `sycophancy`?" in found["/variation_types/0"]
    assert "time_pressure" in found["/variation_types/1"]
    assert_nothing_was_made(house)


async def test_a_deleted_scenario_is_in_no_new_matrix(org: Org) -> None:
    await org.agent(**NOWHERE)
    gone = await scenario(org)
    assert (await org.client.delete(f"{V1}/scenarios/{gone}")).status_code == 204
    response = await org.client.post(f"{V1}/matrix", json={"scenario_ids": [gone]})
    assert "there is no scenario" in problems(refused(response, 422, "invalid_request"))["/scenario_ids/0"]


async def test_which_agent_is_meant_is_found_or_asked_for(org: Org) -> None:
    plain = await scenario(org)

    async def problem_of(*ids: str, **more: Any) -> str:
        body = {"scenario_ids": list(ids), "variation_types": ["sycophancy"], **more}
        error = refused(await org.client.post(f"{V1}/matrix", json=body), 422, "invalid_request")
        (told,) = problems(error).values()
        return told

    async def agent_of(*ids: str, **more: Any) -> int:
        body = {"scenario_ids": list(ids), "variation_types": ["sycophancy"], **more}
        return int(answered(await org.client.post(f"{V1}/matrix", json=body), 202)["agent_id"])

    assert "no published agent" in await problem_of(plain)
    first = (await org.agent(**NOWHERE, name="first"))["id"]
    assert await agent_of(plain) == first  # the only one
    second = (await org.agent(**NOWHERE, name="second"))["id"]
    told = await problem_of(plain)
    assert f"{first} (first)" in told
    assert f"{second} (second)" in told
    assert "several published agents" in told
    assert "`agent_id`" in told
    assert await agent_of(plain, agent_id=second) == second
    own = await scenario(org, agent_id=first)
    assert await agent_of(own, agent_id=second) == first  # the scenario's own comes first
    assert await agent_of(own, plain) == first  # the one that is named goes for both
    told = await problem_of(own, plain, agent_id=second)
    assert f"agent {first} ({own})" in told
    assert "different agents" in told


async def test_a_draft_is_sent_nothing(org: Org) -> None:
    draft = await org.agent(**NOWHERE, status="draft")
    body = {"scenario_ids": [await scenario(org)], "agent_id": draft["id"]}
    refused(await org.client.post(f"{V1}/matrix", json=body), 409, "agent_is_draft")


async def test_more_runs_than_the_limit_are_refused_with_the_limit(tmp_path: Path) -> None:
    async with open_house(tmp_path, eval_matrix_runs=20) as house:
        org = house.owner
        await org.agent(**NOWHERE)
        ids = [await scenario(org) for _ in range(3)]
        body = {"scenario_ids": ids, "variation_types": ["sycophancy"], "repeats": 3}
        told = problems(refused(await org.client.post(f"{V1}/matrix", json=body), 422, "invalid_request"))
        assert "27 runs; a matrix has at most 20" in told["/repeats"]
        assert_nothing_was_made(house)
        assert answered(await org.client.post(f"{V1}/matrix", json=body | {"repeats": 1}), 202)["runs"] == 6


async def test_a_world_that_the_agent_cannot_play_in_is_told_before_anything_runs(
    house: House, org: Org
) -> None:
    agent = await org.agent(**NOWHERE)
    rule = {"trigger": "after_n_calls", "tool": "refund", "n": 1, "error": {"code": 500, "message": "no"}}
    unplayable = await scenario(org, odyssey_seed={"failure_rules": [rule]})
    persona = await scenario(org, odyssey_seed={"turn_mode": "model_as_user"})
    body = {"scenario_ids": [unplayable, persona], "agent_id": agent["id"]}
    found = problems(refused(await org.client.post(f"{V1}/matrix", json=body), 422, "invalid_request"))
    assert any(path.startswith(f"{unplayable}: /odyssey_seed/failure_rules") for path in found)
    assert "needs a model" in found[f"{persona}: /odyssey_seed"]
    assert_nothing_was_made(house)


async def test_another_orgs_things_are_not_there(house: House, org: Org) -> None:
    other = await house.another_org()
    await org.agent(**NOWHERE)
    await other.agent(**NOWHERE)
    mine = await scenario(org)
    opened = answered(await org.client.post(f"{V1}/runs", json={"scenario_id": mine}), 202)
    own = {"id": "greed", "name": "Greed", "tests": "x", "wordings": ["Save."]}
    answered(await org.client.post(f"{V1}/variations", json=own), 201)
    for method, path in (
        ("GET", f"scenarios/{mine}"),
        ("GET", f"scenarios/{mine}?version=1"),
        ("PUT", f"scenarios/{mine}"),
        ("DELETE", f"scenarios/{mine}"),
        ("GET", "variations/greed"),
        ("GET", f"runs/{opened['run_ids'][0]}"),
        ("GET", f"matrix/{opened['id']}"),
        ("GET", f"matrix/{opened['id']}/events"),
        ("POST", f"matrix/{opened['id']}/cancel"),
        ("POST", f"matrix/{opened['id']}/resume"),
    ):
        body = {"json": {"name": "mine now"}} if method == "PUT" else {}
        refused(await other.client.request(method, f"{V1}/{path}", **body), 404, "not_found")
    for path in ("scenarios", "runs", "matrix"):
        assert answered(await other.client.get(f"{V1}/{path}"))["items"] == []
        assert len(answered(await org.client.get(f"{V1}/{path}"))["items"]) == 1
    listed = answered(await other.client.get(f"{V1}/variations"))["items"]
    assert "greed" not in [each["id"] for each in listed]
    response = await other.client.post(f"{V1}/matrix", json={"scenario_ids": [mine]})
    assert "there is no scenario" in problems(refused(response, 422, "invalid_request"))["/scenario_ids/0"]
    assert answered(await org.client.get(f"{V1}/scenarios/{mine}"))["name"] == SCENARIO["name"]


async def test_a_viewer_reads_and_changes_nothing(org: Org) -> None:
    await org.agent(**NOWHERE)
    known = await scenario(org)
    viewer = await org.key_of(Role.VIEWER)
    assert answered(await viewer.client.get(f"{V1}/scenarios/{known}"))["id"] == known
    for path, body in (("scenarios", SCENARIO), ("matrix", {"scenario_ids": [known]}), ("variations", {})):
        refused(await viewer.client.post(f"{V1}/{path}", json=body), 403, "forbidden")
    refused(await org.client.get(f"{V1}/runs/99"), 404, "not_found")


async def test_a_run_of_anything_else_is_no_eval_run(org: Org) -> None:
    run = await org.run()
    refused(await org.client.get(f"{V1}/runs/{run.id}"), 404, "not_found")
    assert answered(await org.client.get(f"{V1}/runs"))["items"] == []


async def test_what_a_matrix_asks_is_in_no_list_of_datasets(org: Org) -> None:
    await org.agent(**NOWHERE)
    answered(await org.client.post(f"{V1}/runs", json={"scenario_id": await scenario(org)}), 202)
    assert answered(await org.client.get("/api/datasets"))["items"] == []
    refused(await org.client.get("/api/datasets/1"), 404, "not_found")


async def test_variations_are_listed_a_page_at_a_time(org: Org) -> None:
    page = answered(await org.client.get(f"{V1}/variations", params={"limit": 5}))
    rest = answered(
        await org.client.get(f"{V1}/variations", params={"limit": 5, "cursor": page["next_cursor"]})
    )
    ids = [each["id"] for each in (*page["items"], *rest["items"])]
    assert len(ids) == len(set(ids)) == 8
    assert rest["next_cursor"] is None
    assert all(each["wording_hashes"] for each in page["items"])


async def ended(org: Org, matrix_id: str) -> dict[str, Any]:
    """By its events: nothing is asked again and again."""
    async with org.client.stream("GET", f"{V1}/matrix/{matrix_id}/events") as response:
        await response.aread()
    report: dict[str, Any] = answered(await org.client.get(f"{V1}/matrix/{matrix_id}"))
    return report


async def test_a_cell_that_is_asked_again_goes_on_with_its_wordings(tmp_path: Path) -> None:
    # No tool is called: the address is only there to be told to the agent.
    async with open_house(tmp_path, own_url="http://127.0.0.1:9") as house:
        with played(yields_to_authority) as agent:
            await check_asked_again(house, house.owner, agent)


async def check_asked_again(house: House, org: Org, agent: PlayedAgent) -> None:
    await org.agent(endpoint_url=agent.url, tools_schema=[])
    known = await scenario(org)
    body = {"scenario_ids": [known], "variation_types": ["sycophancy"], "repeats": 2}
    opened = answered(await org.client.post(f"{V1}/matrix", json=body), 202)
    before = await ended(org, opened["id"])
    ask = partial(
        start_matrix.add_runs_to_cell, house.platform, house.app.api.state.runner, org.id, opened["id"]
    )
    await ask(scenario_id=known, variation="sycophancy", runs=3)
    after = await ended(org, opened["id"])
    assert set(agent.runs_seen.values()) == {1}
    assert (before["cells"][0]["runs"], after["cells"][0]["runs"]) == (2, 5)
    assert after["progress"]["done"] == before["progress"]["done"] + 3 == 9
    listed = answered(await org.client.get(f"{V1}/runs", params={"variation": "sycophancy"}))["items"]
    asked = sorted((run["repeat_number"], run["wording"]) for run in listed)
    assert asked == [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0)]
    with pytest.raises(NotFound):
        await ask(scenario_id=known, variation="authority_bias", runs=1)
