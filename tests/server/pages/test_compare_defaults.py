"""What a batch is compared with unless somebody says otherwise: the one before it over the same dataset."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser
from signed_in import Signed, signed_in, words

from support.browser import person
from support.played_agents import played, refunds
from support.pressure_matrix import V1, ended_matrix, scenario
from support.server_process import REFUND_TASK, Api, house_in


class Desk(NamedTuple):
    api: Api
    batches: list[int]  # over the refunds, over the returns, over the refunds again, over the returns again
    matrices: list[str]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with house_in(tmp_path_factory.mktemp("defaults") / "house") as house, played(refunds) as agent:
        api = house.open()
        agent_id = api.agent(agent.url)["id"]
        names = ("refunds", "returns")
        sets = [api.post("/api/datasets", {"name": name, "rows": [REFUND_TASK]}, 201)["id"] for name in names]
        batches = [api.batch_of(agent_id, sets[at % 2]) for at in range(4)]
        for batch in batches:
            api.ended(batch)
        api.put(f"/api/batches/{batches[2]}/label", {"label": "2026.11 rc1"})
        asked = {"scenario_ids": [scenario(api)], "agent_id": agent_id, "variation_types": ["sycophancy"]}
        matrices = [str(api.post(f"{V1}/matrix", asked, 202)["matrix_id"]) for _ in range(2)]
        for matrix in matrices:
            ended_matrix(api, matrix)
        yield Desk(api, batches, matrices)


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[Signed]:
    with signed_in(desk.api) as browsing:
        yield browsing


def test_compare_on_a_batch_leads_to_the_one_before_it_over_the_same_dataset(
    browser: Browser, desk: Desk
) -> None:
    first, _, third, _ = desk.batches
    with person(browser, desk.api) as visitor:
        page = visitor.opens(f"/batches/{third}")
        page.get_by_role("link", name="Compare", exact=True).click()
        page.wait_for_url(f"**/compare/batches?from={first}&to={third}")
        assert "None of them changed" in page.inner_text("main")


def test_a_first_batch_of_its_dataset_has_nothing_to_be_compared_with(client: Signed, desk: Desk) -> None:
    second = desk.batches[1]
    assert f'href="/compare/batches?to={second}"' in client.text(f"/batches/{second}")


def test_the_choice_shows_dataset_version_build_and_date_and_begins_with_the_same_dataset(
    client: Signed, desk: Desk
) -> None:
    first, second, third, fourth = desk.batches
    page = client.text(f"/compare/batches?to={third}")
    offered = re.findall(
        r'<option value="(\d+)"[^>]*>([^<]*)<', page.partition('id="f-from"')[2].partition("</select>")[0]
    )
    ids = [int(number) for number, _ in offered]
    assert set(ids[:2]) == {first, third}
    assert {second, fourth} < set(ids[2:])
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(rf"{third}: refunds · Support desk v1 \(2026.11 rc1\) · {when}", offered[0][1])
    assert re.fullmatch(rf"{first}: refunds · Support desk v1 · {when}", offered[1][1])


def test_batches_of_two_matrices_lead_to_the_comparison_of_the_matrices(client: Signed, desk: Desk) -> None:
    ids = [desk.api.get(f"{V1}/matrix/{matrix}")["batch_id"] for matrix in desk.matrices]
    answer = client.client.get("/compare/batches", params={"from": ids[0], "to": ids[1]})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/compare/matrices?from={desk.matrices[0]}&to={desk.matrices[1]}"
    assert f'href="/compare/matrices?to={desk.matrices[1]}"' in client.text(f"/batches/{ids[1]}")
    offered = words(client.text("/compare/batches"))
    assert f"{ids[1]}: matrix · Support desk v1" in offered
