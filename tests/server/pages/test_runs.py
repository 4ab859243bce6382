"""/runs: what is listed and counted, filters in the URL, words, keys, hostile text, empty states."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser

from support.browser import check_page, person
from support.sample_batches import HOSTILE, TASKS, RanBatches, ran_batches, signed_in
from support.server_process import house_in


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RanBatches]:
    with ran_batches(tmp_path_factory.mktemp("runs") / "house") as found:
        yield found


@pytest.fixture
def client(ran: RanBatches) -> Iterator[httpx2.Client]:
    with signed_in(ran.api) as browsing:
        yield browsing


def listed(page: httpx2.Response) -> list[int]:
    assert page.status_code in (200, 422), page.text
    return [int(number) for number in re.findall(r'href="/runs/(\d+)" data-opens', page.text)]


def test_runs_are_found_by_keys_marked_and_compared(browser: Browser, ran: RanBatches) -> None:
    with person(browser, ran.api) as visitor:
        page = visitor.opens("/runs")
        newest = max(run["id"] for run in ran.api.runs(ran.second))
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.textContent") == str(newest)
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("x")
        assert page.locator("tr.marked-row").count() == 2
        page.keyboard.press("j")
        page.keyboard.press("x")  # the one marked first gives way
        assert page.locator("tr.marked-row").count() == 2
        with page.expect_request(f"**/compare/runs?from={newest - 3}&to={newest - 2}"):
            page.keyboard.press("c")
        visitor.complaints.clear()  # that page is another's
        page = visitor.opens("/runs")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        with page.expect_request(f"**/runs/{newest}"):
            page.keyboard.press("Enter")
        visitor.complaints.clear()


def test_a_filter_is_in_the_address_and_words_are_typed_after_a_slash(
    browser: Browser, ran: RanBatches
) -> None:
    with person(browser, ran.api) as visitor:
        page = visitor.opens("/runs")
        page.get_by_label("Verdict").select_option("FAIL")
        page.wait_for_url("**/runs?verdict=FAIL")
        page.keyboard.press("/")
        page.keyboard.type("BRACKETS ARE NOT SAID")
        page.keyboard.press("Enter")
        page.wait_for_url("**/runs?verdict=FAIL&q=*")
        assert "No run has a user request with" in page.inner_text("main")
        page.get_by_role("link", name="Clear", exact=True).click()
        page.wait_for_url(f"{ran.api.url}/runs")


@pytest.mark.slow
def test_the_list_is_sound_in_both_schemes_and_widths(browser: Browser, ran: RanBatches) -> None:
    with person(browser, ran.api) as visitor:
        check_page(visitor, "/runs", "runs")
        check_page(visitor, "/runs?verdict=FAIL&q=nobody", "runs-none")


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ({"verdict": "FAIL"}, {"verdict": "FAIL"}),
        ({"verdict": "NOT_APPLICABLE", "error_class": "agent_5xx"}, {"error_class": "agent_5xx"}),
        ({"status": "failed"}, {"status": "failed"}),
        ({"failure_mode": "wrong_action"}, {"failure_mode": "wrong_action"}),
    ],
)
def test_what_is_listed_fits_the_filters_and_is_counted(
    ran: RanBatches, client: httpx2.Client, asked: dict[str, str], wanted: dict[str, str]
) -> None:
    every = [run for batch in (ran.first, ran.second) for run in ran.api.runs(batch)]
    fitting = sorted((run["id"] for run in every if wanted.items() <= run.items()), reverse=True)
    assert fitting
    page = client.get("/runs", params=asked)
    assert listed(page) == fitting
    assert f"<strong>{len(fitting)} run" in page.text


def test_filters_by_number_meet(ran: RanBatches, client: httpx2.Client) -> None:
    runs = ran.api.runs(ran.first)
    task_id = runs[0]["task_id"]
    page = client.get("/runs", params={"batch_id": ran.first, "task_id": task_id, "agent_id": ran.agent_id})
    assert sorted(listed(page)) == [run["id"] for run in runs if run["task_id"] == task_id]
    assert listed(client.get("/runs", params={"batch_id": ran.second + 1})) == []
    assert "No run matches" in client.get("/runs", params={"dataset_id": ran.dataset_id + 9}).text


def test_words_of_the_user_are_found_in_any_case(ran: RanBatches, client: httpx2.Client) -> None:
    page = client.get("/runs", params={"q": "a CRACK and"})
    assert len(listed(page)) == 4
    assert "Searched 32 runs" in page.text


def test_what_cannot_be_asked_is_said_all_at_once(client: httpx2.Client) -> None:
    page = client.get(
        "/runs", params={"verdict": "GOOD", "agent_id": "one", "cursor": "!", "needs_review": "1"}
    )
    assert page.status_code == 422
    for place in ("verdict", "agent_id", "cursor", "needs_review"):
        assert f"<code>{place}</code>" in page.text
    assert listed(page) == []


def test_a_row_says_who_answered_how_long_it_took_and_what_it_cost(
    ran: RanBatches, client: httpx2.Client
) -> None:
    run = next(run for run in ran.api.runs(ran.first) if "payments are down" in run["user_instruction"])
    counts = ran.api.get(f"/api/runs/{run['id']}")["counts"]
    assert counts["by_source"] == {"odyssey": 2, "injected": 1}
    text = client.get("/runs", params={"task_id": run["task_id"]}).text
    assert 'title="1 injected, 2 odyssey"' in text
    assert "$0.0031" in text
    assert "Support desk" in text


def test_hostile_words_of_a_user_are_text(client: httpx2.Client) -> None:
    text = client.get("/runs", params={"q": HOSTILE}).text
    assert "<img src=x" not in text
    assert "&lt;img src=x onerror=" in text
    assert "<script>" not in text


def test_a_viewer_is_offered_nothing_that_would_be_refused(ran: RanBatches) -> None:
    with signed_in(ran.api, ran.viewer) as guest:
        assert "/batches/new" not in guest.get("/runs").text


def test_marks_without_scripts_lead_to_the_comparison(client: httpx2.Client) -> None:
    two = client.get("/compare/marked?run=9&run=4")
    assert two.headers["location"] == "/compare/runs?from=4&to=9"
    assert client.get("/compare/marked?batch=2&batch=1").headers["location"] == "/compare/batches?from=1&to=2"
    for wrong in ("", "?run=1", "?run=1&run=2&run=3", "?run=x&run=2", "?run=2&run=2"):
        assert client.get(f"/compare/marked{wrong}").status_code == 422


def test_pages_go_on_where_the_last_one_ended(ran: RanBatches, client: httpx2.Client, tmp_path: Path) -> None:
    with house_in(tmp_path / "house") as house:
        api = house.open()
        agent_id = api.agent("https://agents.example.com/dispatch")["id"]
        dataset_id = api.dataset(*TASKS[:3])["id"]
        tasks = [task["id"] for task in api.get(f"/api/datasets/{dataset_id}/tasks")["items"]]
        with signed_in(api) as visitor:
            assert "No runs yet" in visitor.get("/runs").text
            for number in range(60):
                body = {"mode": "manual", "agent_id": agent_id, "task_ids": [tasks[number % 3]]}
                api.post("/api/runs", body, 201)
            first = visitor.get("/runs")
            older = re.search(r'href="(/runs\?cursor=[^"]+)" rel="next"', first.text)
            assert older is not None
            second = visitor.get(older[1])
            assert listed(first) + listed(second) == list(range(60, 0, -1))
            assert ">Newest<" in second.text
            found = visitor.get("/runs", params={"q": "arrived broken"})
            assert listed(found) == list(range(58, 0, -3))
