"""An author at work on a generated world: templates, marked records, a row's text, and the whole walk."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from signed_in import Signed, signed_in, words

from support.browser import check_page, person
from support.desk import AGENT
from support.played_agents import Dispatch, played
from support.server_process import Api, eventually, house_in

MOST_CLICKS = 11


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("editing") / "house") as house:
        yield house.open()


@pytest.fixture(scope="module")
def session(api: Api) -> str:
    """A world that is being reviewed."""
    return opened(api, "Reviewed")


@pytest.fixture(scope="module")
def rows(api: Api) -> str:
    """A session with its rows."""
    number = opened(api, "With rows")
    api.post(f"/api/seed-sessions/{number}/continue", status=202)
    eventually(lambda: api.get(f"/api/seed-sessions/{number}")["status"] == "rows_review", "rows are made")
    return number


def opened(api: Api, name: str) -> str:
    agent_id = api.post("/api/agents", AGENT, 201)["id"]
    body = {
        "agent_id": agent_id,
        "name": name,
        "size": "compact",
        "rng_seed": 7,
        "now": "2026-05-01T12:00:00Z",
    }
    body["buckets"] = [{"name": "refunds", "rows": 3}, {"name": "backend trouble", "rows": 2}]
    return str(api.post("/api/seed-sessions", body, 201)["id"])


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def templates(page: str) -> list[str]:
    return re.findall(r'data-act="fill"[^>]*data-text="([^"]+)"', page)


def test_templates_fit_the_world_and_fill_the_form_without_scripts(session: str, visit: Signed) -> None:
    page = visit.text(f"/worlds/{session}")
    offered = templates(page)
    assert len(offered) >= 6
    assert "non-buyer" not in page  # the example that few worlds understand
    filled = visit.client.get(f"/worlds/{session}", params={"prompt": offered[0]})
    assert filled.status_code == 200
    assert re.search(r"<textarea[^>]*>\s*" + re.escape(offered[0]) + "</textarea>", filled.text)
    with_refusal = visit.post(f"/worlds/{session}/refine", {"prompt": "frobnicate", "revision": "1"})
    assert with_refusal.status_code == 422
    assert templates(with_refusal.text) == offered


def test_records_of_the_last_revision_are_marked_and_come_first(api: Api, visit: Signed) -> None:
    number = opened(api, "Marked")
    before = api.get(f"/api/seed-sessions/{number}/world")["state"]["order"]
    first = next(iter(before))
    assert 'class="is-' not in visit.text(f"/worlds/{number}")  # a new world has nothing to compare with
    prompt = f"add 2 cancelled orders; set status of order {first} to refunded"
    api.post(f"/api/seed-sessions/{number}/world/refine", {"prompt": prompt})
    page = visit.text(f"/worlds/{number}")
    after = api.get(f"/api/seed-sessions/{number}/world")["state"]["order"]
    new = [id for id in after if id not in before]
    rows_ = re.findall(r'<tr class="is-(new|changed)"><th scope="row"><code>([^<]+)</code>', page)
    assert sorted(rows_) == sorted([("new", new[0]), ("new", new[1]), ("changed", first)])
    ids = re.findall(r'<th scope="row"><code>([^<]+)</code>', page[page.index('id="type-order"') :])
    assert set(ids[:3]) == {*new, first}
    assert f"before: &#34;{before[first]['status']}&#34;" in page
    assert "+ new" in words(page)
    assert "~ changed" in words(page)


def test_the_text_of_a_row_is_edited_without_scripts(api: Api, rows: str, visit: Signed) -> None:
    at = f"/worlds/{rows}"
    row = api.get(f"/api/seed-sessions/{rows}/rows")["items"][0]
    page = visit.text(f"{at}?edit={row['id']}")
    assert f'action="{at}/rows/{row["id"]}/text"' in page
    empty = visit.post(f"{at}/rows/{row['id']}/text", {"user_instruction": "  "})
    assert empty.status_code == 422
    assert 'id="f-user_instruction-problem-1"' in empty.text
    done = visit.post(f"{at}/rows/{row['id']}/text", {"user_instruction": "Please help me <b>now</b>."})
    assert done.status_code == 303
    said = words(visit.text(at))
    assert f"The text of row {row['id']} is changed." in said
    assert "Please help me <b>now</b>." in said
    again = next(one for one in api.get(f"/api/seed-sessions/{rows}/rows")["items"] if one["id"] == row["id"])
    assert again["user_instruction"] == "Please help me <b>now</b>."
    assert again["expected_state"] == row["expected_state"]


def test_values_that_the_text_no_longer_names_are_told(api: Api, rows: str, visit: Signed) -> None:
    row: Any = next(
        one
        for one in api.get(f"/api/seed-sessions/{rows}/rows")["items"]
        if any(str(value) in one["user_instruction"] for value in _arguments(one))
    )
    visit.post(f"/worlds/{rows}/rows/{row['id']}/text", {"user_instruction": "Do what I told you."})
    assert "It no longer says" in words(visit.text(f"/worlds/{rows}"))


def _arguments(row: Any) -> list[Any]:
    return [
        value for call in row["proof"]["calls"] for value in call["arguments"].values() if len(str(value)) > 1
    ]


def test_the_api_gives_a_row_another_text(api: Api, rows: str) -> None:
    row = api.get(f"/api/seed-sessions/{rows}/rows")["items"][-1]
    path = f"/api/seed-sessions/{rows}/rows/{row['id']}"
    changed = api.client.put(path, json={"user_instruction": "Again, please."})
    assert changed.json()["user_instruction"] == "Again, please."
    refused = api.client.put(path, json={"text": "x"})
    assert refused.status_code == 422
    assert {"/user_instruction", "/text"} == {
        problem["path"] for problem in refused.json()["error"]["details"]
    }


class Clicks:
    """A page whose clicks are counted. Typing and choosing in a list by keyboard are not clicks."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def on(self, role: str, name: str | re.Pattern[str]) -> None:
        self.count += 1
        self.page.get_by_role(role, name=name, exact=isinstance(name, str)).first.click()  # type: ignore[arg-type]


def answer_plainly(dispatch: Dispatch) -> None:
    dispatch.answer("I cannot do that.")


def test_an_author_walks_from_a_world_to_a_run(api: Api, browser: Browser) -> None:
    with played(answer_plainly) as agent, person(browser, api) as author:
        agent_id = str(
            api.post("/api/agents", AGENT | {"name": "Walked", "endpoint_url": agent.url}, 201)["id"]
        )
        page = author.opens("/")
        clicks = Clicks(page)
        clicks.on("link", "Worlds")
        clicks.on("link", "New world")
        clicks.count += 1  # opens the list of agents
        page.get_by_label("For the agent").select_option(agent_id)
        page.get_by_label("Name", exact=True).fill("Walked")
        page.get_by_label("Rows of bucket 1").fill("2")
        page.get_by_label("Rows of bucket 2").fill("1")
        page.get_by_label("Rows of bucket 3").fill("1")
        clicks.on("button", "Create the world")
        clicks.on("link", re.compile("^add 3 "))  # a template
        expect(page.get_by_label("Describe the change in a sentence")).to_have_value(re.compile("^add 3 "))
        clicks.on("button", "Refine")
        expect(page.locator("tr.is-new")).to_have_count(3)
        clicks.on("button", "Continue to rows")
        expect(page.get_by_role("button", name=re.compile("^Finalize 4 rows"))).to_be_visible()
        clicks.on("button", re.compile("^Finalize"))
        clicks.on("link", "Run 4 tasks")
        clicks.on("button", "Start")
        expect(page).to_have_url(re.compile(r"/batches/\d+"))
        assert clicks.count <= MOST_CLICKS, clicks.count
        batch = page.url.rpartition("/")[2].partition("?")[0]
        eventually(lambda: api.get(f"/api/batches/{batch}")["status"] == "completed", "the runs have ended")


@pytest.mark.slow
def test_the_pages_are_sound(api: Api, session: str, rows: str, browser: Browser) -> None:
    marked = opened(api, "Sound")
    api.post(f"/api/seed-sessions/{marked}/world/refine", {"prompt": "add 2 cancelled orders"})
    row = api.get(f"/api/seed-sessions/{rows}/rows")["items"][0]["id"]
    with person(browser, api) as somebody:
        check_page(somebody, f"/worlds/{marked}", "world-marked")
        check_page(somebody, f"/worlds/{rows}?edit={row}", "world-row-edit")
