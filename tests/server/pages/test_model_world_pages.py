"""Worlds by a model in the browser: what it will cost is seen before it is asked, and what it cost after."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from signed_in import Signed, signed_in, words

from support.browser import SHOTS, check_page, person
from support.desk import AGENT
from support.library_agent import NOON, RULE, SCHEMA, SCRIPT, TOOLS
from support.server_process import Api, eventually, house_in

FORM = {
    "name": "Library",
    "size": "compact",
    "author": "model",
    "behavior": RULE,
    "rng_seed": "7",
    "now": NOON,
    "bucket_1_name": "loans",
    "bucket_1_rows": "5",
}


@pytest.fixture
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    directory = tmp_path_factory.mktemp("model-worlds")
    script = directory / "answers.jsonl"
    script.write_text("\n".join(map(json.dumps, SCRIPT)))
    with house_in(directory, {"PIPELINES_AUTHOR_MODEL": f"scripted:{script}"}) as house:
        yield house.open()


@pytest.fixture
def agent_id(api: Api) -> str:
    body = AGENT | {"name": "Library", "tools_schema": TOOLS, "ledger_schema": SCHEMA}
    return str(api.post("/api/agents", body, 201)["id"])


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def seen_tokens(page: str) -> str:
    (seen,) = re.findall(r'name="seen_tokens" value="(\d+)"', page)
    return str(seen)


def in_review(api: Api, session: str) -> Any:
    def look() -> Any:
        found = api.get(f"/api/seed-sessions/{session}")
        return found if found["status"] == "rows_review" else None

    return eventually(look, "rows are made")


def test_the_cost_is_said_before_the_model_is_asked_and_shown_after(
    api: Api, agent_id: str, visit: Signed
) -> None:
    form = FORM | {"agent_id": agent_id, "max_cost_usd": "1.5"}
    shown = visit.post("/worlds", form)
    assert shown.status_code == 200
    assert "This asks a model" in words(shown.text)
    assert api.get("/api/seed-sessions")["items"] == []
    made = visit.post("/worlds", form | {"seen_tokens": seen_tokens(shown.text)})
    assert made.status_code == 303
    place = made.headers["location"].split("?")[0]
    page = words(visit.text(place))
    assert "of $1.50, 1 question" in page
    assert "The rows need about 1 question" in page
    refined = visit.post(f"{place}/refine", {"prompt": "somebody reads Joyce instead", "revision": "1"})
    assert refined.status_code == 303
    assert "Ulysses" in visit.text(place)
    assert visit.post(f"{place}/continue", {"revision": "2"}).status_code == 303
    in_review(api, place.rsplit("/", 1)[1])
    page = words(visit.text(place))
    assert "of $1.50, " in page
    assert "3 questions" in page


def test_an_estimate_that_no_longer_fits_the_form_is_shown_again(
    api: Api, agent_id: str, visit: Signed
) -> None:
    form = FORM | {"agent_id": agent_id}
    seen = seen_tokens(visit.post("/worlds", form).text)
    larger = visit.post("/worlds", form | {"size": "rich", "seen_tokens": seen})
    assert larger.status_code == 200
    assert seen_tokens(larger.text) != seen
    assert api.get("/api/seed-sessions")["items"] == []


def test_a_budget_is_set_and_missing_rows_are_made(api: Api, agent_id: str, visit: Signed) -> None:
    body = {"agent_id": int(agent_id), "name": "Library", "size": "compact", "author": "model"}
    body |= {"behavior": RULE, "rng_seed": 7, "now": NOON, "max_model_tokens": 100}
    body |= {"buckets": [{"name": "loans", "rows": 2}]}
    session = api.post("/api/seed-sessions", body, 201)
    place = f"/worlds/{session['id']}"
    api.post(f"/api/seed-sessions/{session['id']}/continue", status=202)
    in_review(api, str(session["id"]))
    page = words(visit.text(place))
    assert "is used up" in page
    assert "Generate the missing rows" in page
    again = visit.post(f"{place}/resume", {"budget": "yes", "max_model_tokens": "100"})
    assert again.status_code == 422
    assert "has spent its budget" in words(again.text)
    assert visit.post(f"{place}/resume", {"budget": "yes", "max_model_tokens": ""}).status_code == 303
    assert in_review(api, str(session["id"]))["counts"]["kept"] >= 2


def test_a_model_that_fails_is_told_and_what_was_typed_stays(api: Api, agent_id: str, visit: Signed) -> None:
    form = FORM | {"agent_id": agent_id, "max_cost_usd": "much"}
    shown = visit.post("/worlds", form)
    assert shown.status_code == 422
    assert 'value="much"' in shown.text


def test_the_parts_of_a_model_are_legible(api: Api, agent_id: str, browser: Browser) -> None:
    body = {"agent_id": int(agent_id), "name": "Library", "size": "compact", "author": "model"}
    body |= {"behavior": RULE, "rng_seed": 7, "now": NOON, "max_cost_usd": 2}
    body |= {"buckets": [{"name": "loans", "rows": 4}, {"name": "gone wrong", "rows": 2}]}
    review = api.post("/api/seed-sessions", body, 201)["id"]
    rows = api.post("/api/seed-sessions", body, 201)["id"]
    api.post(f"/api/seed-sessions/{rows}/continue", status=202)
    in_review(api, str(rows))
    with person(browser, api) as somebody:
        check_page(somebody, f"/worlds/{review}", "model-world-review")
        check_page(somebody, f"/worlds/{rows}", "model-world-rows")
        page = somebody.opens("/worlds/new")
        page.get_by_label("For the agent").select_option(agent_id)
        page.get_by_label("Name", exact=True).fill("By a model")
        page.get_by_label("Author").select_option("model")
        page.get_by_role("button", name="Create the world").click()
        expect(page.get_by_text("This asks a model")).to_be_visible()
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/model-world-new.png", full_page=True)
        page.get_by_role("button", name="Ask the model").click()
        expect(page.get_by_role("heading", name="By a model")).to_be_visible()
