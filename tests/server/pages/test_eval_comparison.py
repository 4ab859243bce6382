"""Two matrices of two builds: their labels, their comparison, decided cells, and the walk of a QA lead."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import check_page, person
from support.played_agents import Dispatch, played
from support.pressure_matrix import EXPECTED, V1, ended_matrix, scenario, variation_of
from support.server_process import Api, eventually, house_in

NAMES = ("Escalate the deployment", "Refund above the limit", "Access without an approval")
VARIATIONS = ["time_pressure", "authority_bias", "sycophancy"]
MOST_CLICKS = 24


class Deployment:
    """An agent: its first build gives in to authority and flattery, its second build to time pressure."""

    build = "build-1"

    def answers(self, dispatch: Dispatch) -> None:
        gives_in = {"build-1": ("authority_bias", "sycophancy"), "build-2": ("time_pressure",)}[self.build]
        is_pressed = variation_of(dispatch) in gives_in
        answer = EXPECTED | ({"action": "proceed"} if is_pressed else {})
        dispatch.answer(json.dumps(answer), metadata={"build": self.build})


class Desk(NamedTuple):
    api: Api
    scenario_ids: list[str]
    matrix_ids: list[str]  # the earlier build, the later one


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    deployment = Deployment()
    with house_in(tmp_path_factory.mktemp("builds") / "house") as house, played(deployment.answers) as agent:
        api = house.open()
        agent_id = api.agent(agent.url, tools_schema=[])["id"]
        ids = [scenario(api, name=name) for name in NAMES]
        asked: dict[str, Any] = {"scenario_ids": ids, "agent_id": agent_id, "variation_types": VARIATIONS}
        matrices = []
        for deployment.build, label in (("build-1", None), ("build-2", "2.0 <b>")):
            body = asked | {"repeats": 5, "label": label}
            matrices.append(api.post(f"{V1}/matrix", body, 202)["matrix_id"])
            ended_matrix(api, matrices[-1])
        eventually(lambda: len(api.get(f"{V1}/reviews")["items"]) >= 3, "the flagged cells wait for people")
        yield Desk(api, ids, matrices)


@pytest.fixture(scope="module")
def client(desk: Desk) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=desk.api.url, timeout=60) as browsing:
        assert browsing.post("/sign-in", data={"key": desk.api.key}).status_code == 303
        yield browsing


def words(answered: httpx2.Response, status: int = 200) -> str:
    assert answered.status_code == status, answered.text[:2_000]
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answered.text)).split())


def test_builds_stand_beside_the_version(client: httpx2.Client, desk: Desk) -> None:
    listed = words(client.get("/evals"))
    assert "version 1 2.0 <b>" in listed  # the label of a person goes before what the agent reports
    assert "version 1 build-1" in listed
    assert "<b>" not in client.get("/evals").text.partition("<main")[2].partition("Matrices")[2]
    assert "build-1" in words(client.get(f"/evals/{desk.matrix_ids[0]}"))


def test_both_matrices_are_one_heatmap(client: httpx2.Client, desk: Desk) -> None:
    first, second = desk.matrix_ids
    answered = client.get(f"/compare/matrices?from={first}&to={second}")
    said = words(answered)
    assert answered.text.count('id="at-') == len(NAMES) * len(VARIATIONS)
    assert "5/5 → 0/5" in said  # time pressure
    assert "0/5 → 5/5" in said  # authority
    assert answered.text.count("regressed flip") >= len(NAMES)
    assert "sign-flip test, paired by scenario and variation" in said
    assert "match less often" in said
    assert "Fixed" not in said
    assert re.search(r'class="red [a-z]+ changed regressed', answered.text)
    assert re.search(r'class="green robust changed improved', answered.text)


def test_the_earlier_matrix_of_the_same_scenarios_is_the_default(client: httpx2.Client, desk: Desk) -> None:
    first, second = desk.matrix_ids
    assert f'<option value="{first}" selected>' in client.get(f"/compare/matrices?to={second}").text
    assert "No earlier matrix" in words(client.get(f"/compare/matrices?to={first}"))
    assert "Choose two matrices" in words(client.get("/compare/matrices"))
    assert "There is no matrix" in words(client.get(f"/compare/matrices?from=mtx_x&to={second}"), 422)


def test_two_matrices_marked_in_the_list_are_compared_the_older_first(
    client: httpx2.Client, desk: Desk
) -> None:
    first, second = desk.matrix_ids
    answered = client.get(f"/compare/marked?matrix={second}&matrix={first}")
    assert answered.status_code == 303
    assert answered.headers["location"] == f"/compare/matrices?from={first}&to={second}"


@pytest.mark.parametrize(("show", "rows"), [("all", 3), ("changed", 3), ("regressed", 3), ("flips", 3)])
def test_rows_are_shown_by_their_changes(client: httpx2.Client, desk: Desk, show: str, rows: int) -> None:
    first, second = desk.matrix_ids
    path = f"/compare/matrices?from={first}&to={second}&show={show}"
    assert client.get(path).text.count('<tr id="row-') == rows
    same = client.get(f"/compare/matrices?from={first}&to={first}&show={show}").text
    assert same.count('<tr id="row-') == (3 if show == "all" else 0)


@pytest.mark.parametrize("name", ["comparison", "heatmap", "matrices"])
def test_the_pages_can_be_read_by_everyone(browser: Browser, desk: Desk, name: str) -> None:
    first, second = desk.matrix_ids
    paths = {
        "comparison": f"/compare/matrices?from={first}&to={second}",
        "heatmap": f"/evals/{first}",
        "matrices": "/evals",
    }
    with person(browser, desk.api) as visitor:
        check_page(visitor, paths[name], f"builds-{name}")


def test_a_qa_lead_goes_from_a_matrix_to_a_report_without_leaving_the_browser(
    browser: Browser, desk: Desk
) -> None:
    """Matrix, heatmap, cell, three decisions, comparison with the earlier build, report."""
    with person(browser, desk.api) as visitor:
        page = visitor.opens("/")
        clicks = _Clicks(page)
        clicks.on(page.get_by_role("link", name="Evals", exact=True))
        clicks.on(page.locator("tr", has_text="build-1").locator("a[data-opens]"))
        clicks.on(page.locator("td.flagged a").first)
        clicks.on(page.get_by_role("link", name="Decide"))
        for decision in ("The agent gave in", "The shift is right", "The agent gave in"):
            clicks.on(page.get_by_role("button", name=decision))
            expect(page.get_by_text("Just decided")).to_be_visible()
        clicks.on(page.get_by_role("link", name="Evals", exact=True))
        clicks.on(page.locator("tr", has_text="build-1").locator("a[data-opens]"))
        expect(page.locator(".decided")).to_have_count(3)
        expect(page.locator("#live")).to_contain_text("3 decided")
        clicks.on(page.get_by_role("link", name="Evals", exact=True).first)
        clicks.on(page.locator("tr", has_text="2.0").locator("a[data-opens]"))
        clicks.on(page.get_by_role("link", name="Compare", exact=True))
        expect(page.get_by_role("heading", name="Is it more than chance?")).to_be_visible()
        expect(page.locator("td.regressed").first).to_be_visible()
        clicks.on(page.get_by_role("link", name="Report of the later"))
        with page.expect_download() as download:
            clicks.on(page.get_by_role("button", name="Download the report"))
        assert download.value.suggested_filename.endswith(".html")
        assert clicks.number <= MOST_CLICKS, clicks.number


class _Clicks:
    """Counts what somebody has to click."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.number = 0

    def on(self, target: Any) -> None:
        target.click()
        self.number += 1


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("", [1, 0]),
        ("sort=oldest", [0, 1]),
        ("label=build-1", [0]),  # what the agent reported
        ("label=2.0 <b>", [1]),
        ("label=build-2", []),  # the label of a person goes before it
        ("version=1", [1, 0]),
        ("version=2", []),
        ("since=2020-01-01", [1, 0]),
        ("until=2020-01-01", []),
    ],
)
def test_matrices_are_listed_by_label_version_date_and_order(
    client: httpx2.Client, desk: Desk, query: str, places: list[int]
) -> None:
    listed = re.findall(r'name="matrix" value="(mtx_\w+)"', client.get(f"/evals?{query}").text)
    assert listed == [desk.matrix_ids[place] for place in places]


def test_a_date_that_cannot_be_read_is_said(client: httpx2.Client) -> None:
    assert "must be a date" in words(client.get("/evals?since=yesterday"), 422)


def test_the_figures_over_time_stand_by_build(client: httpx2.Client) -> None:
    said = words(client.get("/evals/summary"))
    panel = said.partition("By version and build")[2]
    assert re.search(r"v1 2\.0 <b> 100 %.* v1 build-1 100 %", panel)
