"""The finder: by number or words, a few of each kind, by keyboard alone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from signed_in import as_viewer, signed_in, words

from support.browser import check_page, person
from support.played_agents import played, refunds
from support.server_process import Api, house_in


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("finder") / "house") as house, played(refunds) as agent:
        opened = house.open()
        opened.ended(opened.start_batch(agent.url, agent={"name": "100% <i>Kind</i> agent"}))
        yield opened


def test_the_finder_is_used_by_keyboard_alone(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/agents")
        page.keyboard.press("Control+k")
        page.locator(
            "#found a", has_text="Start a run"
        ).wait_for()  # what can be done, before anything is typed
        page.keyboard.type("kind")
        page.locator("#found a", has_text="batch 1").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url(f"{api.url}/agents/1")


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        ("batch 1", "/batches/1"),
        ("Runs #1", "/runs/1"),
        ("task 1", "/tasks/1"),
        ("register an agent", "/agents/new"),
        ("start run", "/batches/new"),
        ("api keys", "/settings/keys"),
    ],
)
def test_enter_opens_the_only_hit(browser: Browser, api: Api, typed: str, path: str) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/agents")
        page.keyboard.press("Control+k")
        page.keyboard.type(typed)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{api.url}{path}")


def test_k_is_the_previous_row_of_a_list_and_opens_nothing_anywhere(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        for path in ("/runs", "/agents", "/"):
            page = visitor.opens(path)
            page.keyboard.press("k")
            page.keyboard.press("?")
            page.locator("#keys").wait_for()
            assert not page.locator("#finder").is_visible()
            shown = page.locator("#keys").inner_text()
            assert ("previous row" in shown) == (path == "/runs")


def test_a_viewer_is_offered_no_command_that_they_may_not_use(api: Api) -> None:
    with signed_in(api, as_viewer(api)) as visitor:
        found = words(visitor.text("/search?q=run").split('id="results"')[1])
        assert "Start a run" not in found
        assert "Compare two runs" in found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("1", ["run 1 PASS", "batch 1 100% <i>Kind</i> agent", "agent 1", "dataset 1 tasks", "task 1 tasks"]),
        ("#1", ["run 1 PASS"]),
        ("KIND", ["agent 1 100% <i>Kind</i> agent", "batch 1"]),
        ("100%", ["agent 1"]),
        ("order refund", ["run 1 Refund order #4521."]),
        ("tasks", ["dataset 1 tasks"]),
        ("batch tasks", ["batch 1 100% <i>Kind</i> agent, tasks"]),
        ("task refund", ["task 1 Refund order #4521."]),
        ("agent kind", ["agent 1 100% <i>Kind</i> agent"]),
    ],
)
def test_things_are_found_by_number_and_words(api: Api, asked: str, found: list[str]) -> None:
    with signed_in(api) as visitor:
        page = visitor.client.get("/search", params={"q": asked}).text
    results = words(page.split('id="results"')[1])
    for text in found:
        assert text in results
    assert "<i>" not in page


@pytest.mark.parametrize(
    "asked", ["99", "99999999999999999999", "²", "a'b\"--", "%", "\\", "_" * 300, "\x00"]
)
def test_what_is_not_there_is_not_found_and_breaks_nothing(api: Api, asked: str) -> None:
    with signed_in(api) as visitor:
        answer = visitor.client.get("/search", params={"q": asked})
    assert answer.status_code == 200
    assert 'id="results"' in answer.text


@pytest.mark.slow
def test_the_page_is_sound_in_both_schemes_and_widths(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/search?q=1", "search")


def test_sessions_are_found_by_number_and_name_and_lead_to_their_page(api: Api) -> None:
    agent = api.get("/api/agents")["items"][0]
    body = {"agent_id": agent["id"], "name": "Autumn returns", "size": "compact"}
    session = api.post("/api/seed-sessions", body, 201)["id"]
    with signed_in(api) as visitor:
        for asked in (str(session), "autumn"):
            page = visitor.client.get("/search", params={"q": asked}).text
            assert f"world {session} Autumn returns" in words(page.split('id="results"')[1])
            assert f'href="/worlds/{session}"' in page
