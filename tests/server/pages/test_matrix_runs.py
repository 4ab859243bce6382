"""Runs of a matrix are judged by their scenario and counted nowhere else; and a matrix while it runs."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect
from signed_in import Signed, signed_in, words

from support.browser import person
from support.desk import STATE
from support.played_agents import Dispatch, PlayedAgent, played
from support.pressure_matrix import EXPECTED, V1, ended_matrix, eval_runs, scenario, variation_of
from support.server_process import REFUND_TASK, Api, house_in

pressed = itertools.count()  # runs under sycophancy: the first answers, the others when the test lets them


def _wavers(dispatch: Dispatch) -> None:
    """Proceeds under every second pressure; refunds what an ordinary task asks for."""
    if dispatch.said == REFUND_TASK["user"]:
        dispatch.call("refund_order", {"order_id": "4521", "reason": "late"})
        dispatch.answer("I have refunded order 4521.")
        return
    variation = variation_of(dispatch)
    if variation == "sycophancy" and next(pressed):
        dispatch.until_let_go()
    answer = dict(EXPECTED)
    if variation == "authority_bias" and dispatch.run_id % 2:
        answer["action"] = "proceed"
    dispatch.answer(json.dumps(answer))


class Desk(NamedTuple):
    api: Api
    agent: PlayedAgent
    agent_id: int
    scenario_id: str
    matrix_id: str
    open: str  # the matrix of a scenario with an outcome that evidence cannot decide
    batch_id: int  # an ordinary one


def _matrix(api: Api, agent_id: int, scenario_id: str) -> str:
    asked = {"scenario_ids": [scenario_id], "agent_id": agent_id, "repeats": 5}
    matrix_id = str(
        api.post(f"{V1}/matrix", asked | {"variation_types": ["authority_bias"]}, 202)["matrix_id"]
    )
    ended_matrix(api, matrix_id)
    return matrix_id


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with house_in(tmp_path_factory.mktemp("matrix-runs") / "house") as house, played(_wavers) as agent:
        api = house.open()
        agent_id = api.agent(agent.url)["id"]
        dataset = api.dataset(agent_id=agent_id)
        batch_id = api.batch_of(agent_id, dataset["id"])
        api.ended(batch_id)
        api.put(f"{V1}/reviews/settings", {"audit_share": 0})
        scenario_id = scenario(api, risk_level="low", odyssey_seed={"initial_state": STATE})
        matrix_id = _matrix(api, agent_id, scenario_id)
        world = {"initial_state": STATE, "expected_outcome": "completion"}
        open = _matrix(
            api,
            api.agent(agent.url, name="Second desk")["id"],
            scenario(api, risk_level="low", odyssey_seed=world),
        )
        yield Desk(api, agent, agent_id, scenario_id, matrix_id, open, batch_id)


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[Signed]:
    with signed_in(desk.api) as browsing:
        yield browsing


def test_the_summary_over_time_is_shown_from_five_runs_on(client: Signed, desk: Desk) -> None:
    shown = words(client.text(f"/evals/summary?agent={desk.agent_id}"))
    assert re.search(r"Mean shift [\d.]+ 95 % interval 0\.\d\d–[01]\.\d\d, n 5", shown)


def test_home_shows_what_runs_of_a_matrix_matched_and_no_pass_rate(client: Signed, desk: Desk) -> None:
    shown = words(client.text("/"))
    assert re.search(r"Batch 2 matrix Support desk v1 ● completed \d+ of 15 runs matched", shown)
    assert "Batch 1 Support desk v1 ● completed 100 % 21–100 %, n 1" in shown
    rates = shown.partition("Pass rate by version")[2].partition("Waiting for review")[0]
    assert re.findall(r"[\d.]+ % [\d–]+ %, n \d+", rates) == ["100 % 21–100 %, n 1"]


def test_runs_of_a_matrix_wait_for_nobody_unless_they_are_flagged(client: Signed, desk: Desk) -> None:
    runs = eval_runs(desk.api, matrix_id=desk.open)
    assert "Nothing to review" in words(client.text("/"))
    assert not desk.api.get("/api/runs", needs_review=True)["items"]
    assert not desk.api.get(f"{V1}/reviews")["items"]
    flagged = desk.api.post(f"{V1}/reviews", {"run_id": runs[0]["id"]}, 201)
    assert [each["id"] for each in desk.api.get(f"{V1}/reviews")["items"]] == [flagged["id"]]
    assert "Your verdict…" in words(client.text(f"/runs/{runs[0]['id']}"))
    assert "Your verdict…" not in words(client.text(f"/runs/{runs[1]['id']}"))


def test_a_run_of_a_matrix_is_judged_by_its_scenario_alone(desk: Desk) -> None:
    """One scenario has a world and no oracle, the other one an outcome to judge."""
    for matrix_id, verdict in ((desk.matrix_id, "NOT_APPLICABLE"), (desk.open, "PENDING")):
        assert {run["verdict"] for run in eval_runs(desk.api, matrix_id=matrix_id)} == {verdict}


def test_a_live_matrix_says_how_far_each_cell_is_and_drops_cancel_when_it_ends(
    browser: Browser, desk: Desk
) -> None:
    asked = {"scenario_ids": [desk.scenario_id], "agent_id": desk.agent_id, "repeats": 5}
    asked |= {"variation_types": ["sycophancy"], "parallel": False}
    matrix_id = desk.api.post(f"{V1}/matrix", asked, 202)["matrix_id"]
    with person(browser, desk.api) as visitor:
        page = visitor.opens(f"/evals/{matrix_id}")
        cell = page.locator("#at-0-0")
        expect(cell.locator(".tip")).to_contain_text("1 of 5 runs have ended", timeout=40_000)
        expect(cell).to_contain_text("1 of 5 run")
        assert page.get_by_role("button", name="Cancel").is_visible()
        assert (
            "1 of 5 runs have ended"
            in page.request.get(
                page.url.replace(matrix_id, f"{matrix_id}/cell"),
                params={"scenario": desk.scenario_id, "variation": "sycophancy"},
            ).text()
        )
        desk.agent.may_answer.set()
        expect(page.locator("#live .badge", has_text="completed")).to_be_visible(timeout=40_000)
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
        assert "have ended" not in cell.inner_text()
