"""Worlds in the browser: the gated flow from an agent's tools to a dataset, with scripts and without."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from signed_in import Signed, signed_in, words

from support.browser import check_page, person
from support.desk import AGENT
from support.server_process import Api, eventually, house_in

HOSTILE = "<script>alert(1)</script><b onmouseover=alert(2)>\"'`"
NOON = "2026-05-01T12:00:00Z"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("worlds") / "house") as house:
        yield house.open()


@pytest.fixture(scope="module")
def agent_id(api: Api) -> str:
    return str(api.post("/api/agents", AGENT, 201)["id"])


@pytest.fixture
def visit(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def opened(api: Api, agent_id: str, **changes: Any) -> str:
    body = {"agent_id": int(agent_id), "name": "Orders", "size": "compact", "rng_seed": 7, "now": NOON}
    buckets = [{"name": "refunds", "rows": 3}, {"name": "backend trouble", "rows": 2}]
    return str(api.post("/api/seed-sessions", body | {"buckets": buckets} | changes, 201)["id"])


def made(api: Api, session: str) -> dict[str, Any]:
    """Once its rows are there."""
    api.post(f"/api/seed-sessions/{session}/continue", status=202)

    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = api.get(f"/api/seed-sessions/{session}")
        return found if found["status"] == "rows_review" else None

    found = eventually(look, "rows are made")
    assert found is not None
    return found


def fields_of(page: str, action: str) -> dict[str, str]:
    """The hidden fields of a form, as a browser would send them."""
    (form,) = re.findall(rf'<form[^>]*action="{action}"[^>]*>(.*?)</form>', page, re.DOTALL)[:1]
    found = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    return {name: value for name, value in found.items() if name != "csrf"}


def test_the_whole_flow_works_without_scripts(api: Api, agent_id: str, visit: Signed) -> None:
    assert "No worlds yet" in words(visit.text("/worlds"))
    assert 'value="everyday requests"' in visit.text(f"/worlds/new?agent_id={agent_id}")
    form = {"agent_id": agent_id, "name": "Orders", "size": "compact", "rng_seed": "7", "now": NOON}
    form |= {"bucket_1_name": "refunds", "bucket_1_rows": "3", "bucket_4_name": "not allowed"}
    refused = visit.post_in_parts("/worlds", form)
    assert refused.status_code == 422
    assert "`rows` is missing" in words(refused.text)
    assert 'value="not allowed"' in refused.text, "what was typed stays"
    created = visit.post_in_parts("/worlds", form | {"bucket_4_rows": "2"})
    assert created.status_code == 303, words(created.text)
    at = created.headers["location"]

    page = visit.text(at)
    assert "order" in words(page)
    assert "Advisories" in words(page)
    seen = fields_of(page, f"{at}/refine")
    assert seen["revision"] == "1"
    unknown = visit.post(f"{at}/refine", seen | {"prompt": f"frobnicate {HOSTILE}"})
    assert unknown.status_code == 422
    assert "not understood" in words(unknown.text)
    assert HOSTILE not in unknown.text
    assert "frobnicate" in unknown.text, "what was typed stays"
    assert visit.post(f"{at}/refine", seen | {"prompt": "add 2 cancelled orders"}).status_code == 303
    late = visit.post(f"{at}/refine", seen | {"prompt": "add 1 order"})
    assert late.status_code == 409
    assert "revision 2 by now" in words(late.text)
    page = visit.text(at)
    assert "2 added" in words(page)
    assert visit.post(f"{at}/undo", fields_of(page, f"{at}/undo")).status_code == 303
    assert visit.post(f"{at}/regenerate", {"revision": "3"}).status_code == 303
    wrong = visit.post_in_parts(f"{at}/paste", {"state": '{"order": [}', "revision": "4"})
    assert wrong.status_code == 422
    assert "This is not JSON" in words(wrong.text)
    assert visit.post(f"{at}/undo", {"revision": "4"}).status_code == 303

    assert visit.post(f"{at}/continue", {"revision": "5"}).status_code == 303
    again = visit.post(f"{at}/continue", {"revision": "5"})
    assert again.status_code == 409
    session = at.rpartition("/")[2]
    eventually(lambda: api.get(f"/api/seed-sessions/{session}")["status"] == "rows_review", "rows are made")
    page = visit.text(at)
    assert "frozen" in words(page)
    (first, *_) = re.findall(rf'action="({at}/rows/\d+/drop)"', page)
    assert visit.post(first).status_code == 303
    assert visit.post(first).status_code == 409
    assert "dropped 1" in words(visit.text(at))
    assert words(visit.text(f"{at}?shown=dropped"))
    assert words(visit.text(f"{at}/world?type=order&revision=1"))
    assert visit.post(f"{at}/finalize").status_code == 303
    page = visit.text(at)
    dataset = re.findall(r'href="(/datasets/\d+)"', page)[0]
    assert "Orders" in visit.text(dataset)
    assert "/batches/new?dataset_id=" in page
    assert visit.post(f"{at}/abandon").status_code == 409


def test_a_viewer_looks_and_is_offered_nothing_to_change(api: Api, agent_id: str) -> None:
    session = opened(api, agent_id)
    viewer = api.post("/api/keys", {"name": "viewer", "role": "viewer"}, 201)["api_key"]
    with signed_in(api, viewer) as visit:
        page = visit.text(f"/worlds/{session}")
        assert 'method="post"' not in page.replace("/sign-out", "")
        assert "Advisories" in words(page)
        assert visit.post(f"/worlds/{session}/continue").status_code == 403
        assert visit.client.get("/worlds/new").status_code == 403


def test_what_people_wrote_is_shown_as_text(api: Api, agent_id: str, visit: Signed) -> None:
    session = opened(api, agent_id, name=HOSTILE, behavior=HOSTILE)
    state = {"order": {HOSTILE: {"status": HOSTILE, HOSTILE: [HOSTILE]}}}
    api.put(f"/api/seed-sessions/{session}/world", {"state": state})
    for path in ("/worlds", f"/worlds/{session}", f"/worlds/{session}/world"):
        page = visit.text(path)
        assert HOSTILE not in page
        assert "<b onmouseover" not in page


def test_a_session_in_the_browser_while_its_rows_are_made(api: Api, agent_id: str, browser: Browser) -> None:
    """The page fills by itself, and a fix is one click."""
    session = opened(api, agent_id)
    api.put(
        f"/api/seed-sessions/{session}/world",
        {
            "state": {
                "order": {f"o-{at}": {"status": "pending", "created_at": "2026-04-30"} for at in range(4)}
            }
        },
    )
    with person(browser, api) as somebody:
        page = somebody.opens(f"/worlds/{session}")
        fix = page.locator("button.fix").first
        expect(fix).to_be_visible()
        fix.click()
        expect(page.locator(".about")).to_contain_text("revision 3")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".about")).to_contain_text("revision 4")
        page.get_by_role("button", name="Continue to rows").click()
        expect(page.get_by_role("button", name=re.compile("Finalize"))).to_be_visible()
        expect(page.locator("#rows tbody tr").first).to_be_visible()


@pytest.mark.slow
def test_every_step_is_legible_and_usable_by_keyboard_and_eye(
    api: Api, agent_id: str, browser: Browser
) -> None:
    review, rows, ended, empty = (opened(api, agent_id, name=name) for name in ("a", "b", "c", "d"))
    made(api, rows)
    made(api, ended)
    api.post(f"/api/seed-sessions/{ended}/finalize", status=201)
    api.post(f"/api/seed-sessions/{empty}/abandon", status=200)
    with person(browser, api) as somebody:
        for path, name in (
            ("/worlds", "worlds"),
            (f"/worlds/new?agent_id={agent_id}", "world-new"),
            (f"/worlds/{review}", "world-review"),
            (f"/worlds/{review}/world?type=order", "world-whole"),
            (f"/worlds/{rows}", "world-rows"),
            (f"/worlds/{rows}?shown=rejected", "world-rejected"),
            (f"/worlds/{ended}", "world-ended"),
            (f"/worlds/{empty}", "world-abandoned"),
        ):
            check_page(somebody, path, name)
        _walk(somebody.opens("/worlds"), agent_id)
        (complaint,) = somebody.complaints
        assert "422" in complaint, "the world of the wrong shape, and nothing else"
        somebody.complaints.clear()


def _walk(page: Page, agent_id: str) -> None:
    """From nothing to a batch, by what a person reads."""
    page.keyboard.press("g")
    page.keyboard.press("w")
    expect(page.get_by_role("heading", name="Worlds")).to_be_visible()
    page.get_by_role("link", name="New world").click()
    page.get_by_label("For the agent").select_option(agent_id)
    page.get_by_label("Name", exact=True).fill("By hand")
    page.get_by_label("Size").select_option("compact")
    page.get_by_label("Rows of bucket 1").fill("3")
    page.get_by_label("Rows of bucket 2").fill("2")
    page.get_by_label("Rows of bucket 3").fill("2")
    page.get_by_role("button", name="Create the world").click()
    expect(page.get_by_role("heading", name="By hand")).to_be_visible()
    page.get_by_label("Describe the change in a sentence").fill("add 3 cancelled orders")
    page.get_by_role("button", name="Refine", exact=True).click()
    expect(page.get_by_text("Added 3 orders").first).to_be_visible()
    page.get_by_text("Paste your own").click()
    page.get_by_label("An initial state as JSON").fill(json.dumps({"order": []}))
    page.get_by_role("button", name="Use this world").click()
    expect(page.get_by_label("An initial state as JSON")).to_have_value(re.compile("order"))
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Regenerate").click()
    expect(page.locator(".about")).to_contain_text("revision 3")
    page.get_by_role("button", name="Continue to rows").click()
    finalize = page.get_by_role("button", name="Finalize 7 rows")
    expect(finalize).to_be_visible()
    page.locator("#rows").get_by_role("button", name="Replace").first.click()
    expect(page.get_by_text("dropped 1").first).to_be_visible()
    expect(page.get_by_role("button", name="Finalize 7 rows")).to_be_visible()
    page.locator("#rows").get_by_role("button", name="Drop").first.click()
    page.get_by_role("button", name="Finalize 6 rows").click()
    page.get_by_role("link", name="Run 6 tasks").click()
    expect(page.get_by_label("Dataset")).not_to_have_value("")
