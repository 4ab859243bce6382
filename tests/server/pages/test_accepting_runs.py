"""A run is accepted as right on its page: the oracle that it proves is a form to read, correct and save."""

import html
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from signed_in import Signed, as_viewer, signed_in, words

from support.browser import check_page, person
from support.played_agents import played, refunds
from support.server_process import REFUND_TASK, Api, house_in

UNDECIDED = {key: value for key, value in REFUND_TASK.items() if key != "expected_state"}
OFFER = "Accept this run as correct…"
REFUNDED = {"order.4521.status": "refunded"}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("accepting"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


@pytest.fixture
def visitor(api: Api) -> Iterator[Signed]:
    with signed_in(api) as signed:
        yield signed


def pending_run(api: Api) -> int:
    with played(refunds) as agent:
        batch_id = api.start_batch(agent.url, UNDECIDED)
        api.ended(batch_id)
    run = api.only_run(batch_id)
    assert run["verdict"] == "PENDING"
    return int(run["id"])


def fields_of(page: str) -> dict[str, str]:
    areas = re.findall(r'<textarea id="f-(\w+)"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    return {name: html.unescape(text).strip() for name, text in areas}


def test_a_pending_run_offers_its_oracle_and_saving_it_makes_the_run_pass(api: Api, visitor: Signed) -> None:
    run_id = pending_run(api)
    assert OFFER in visitor.text(f"/runs/{run_id}")
    page = visitor.text(f"/runs/{run_id}/oracle")
    fields = fields_of(page)
    assert fields["expected_state"] == '{"order.4521.status": "refunded"}'
    assert "With this oracle, the run is ✓ pass" in words(page)
    sent = fields | {"expected_outcome": "completion", "note": "as the policy says"}
    done = visitor.post_in_parts(f"/runs/{run_id}/oracle", sent)
    assert (done.status_code, done.headers["location"]) == (303, f"/runs/{run_id}")
    run = api.get(f"/api/runs/{run_id}")
    assert run["verdict"] == "PASS"
    newest = api.get(f"/api/tasks/{run['task_id']}/oracles")["items"][0]
    assert (newest["version"], newest["note"], newest["expected_state"]) == (
        2,
        "as the policy says",
        REFUNDED,
    )
    assert OFFER not in visitor.text(f"/runs/{run_id}")
    assert "Accept as correct…" in visitor.text(f"/runs/{run_id}")


def test_what_is_wrong_stands_beside_its_field_and_what_was_typed_stays(api: Api, visitor: Signed) -> None:
    run_id = pending_run(api)
    typed = {"expected_state": '{"order": 5}', "expected_calls": "", "expected_outcome": "", "note": "<b>why"}
    shown = visitor.post_in_parts(f"/runs/{run_id}/oracle", typed)
    assert shown.status_code == 422
    assert "is an entity type" in words(shown.text)
    assert fields_of(shown.text)["expected_state"] == '{"order": 5}'
    assert "<b>why" not in shown.text
    broken = visitor.post_in_parts(
        f"/runs/{run_id}/oracle", typed | {"expected_state": "{", "expected_calls": "["}
    )
    assert broken.status_code == 422
    assert words(broken.text).count("is not JSON") == 2
    assert api.get(f"/api/runs/{run_id}")["verdict"] == "PENDING"


def test_a_field_that_is_emptied_is_no_part_of_the_oracle(api: Api, visitor: Signed) -> None:
    run_id = pending_run(api)
    fields = fields_of(visitor.text(f"/runs/{run_id}/oracle")) | {"expected_calls": ""}
    assert visitor.post_in_parts(f"/runs/{run_id}/oracle", fields).status_code == 303
    newest = api.get(f"/api/tasks/{api.get(f'/api/runs/{run_id}')['task_id']}/oracles")["items"][0]
    assert newest["expected_calls"] is None


def test_a_viewer_reads_the_oracle_and_has_nothing_to_save_it_with(api: Api) -> None:
    run_id = pending_run(api)
    with signed_in(api, as_viewer(api)) as viewer:
        assert OFFER not in viewer.text(f"/runs/{run_id}")
        assert "Save as the task" not in viewer.text(f"/runs/{run_id}/oracle")
        assert viewer.post(f"/runs/{run_id}/oracle").status_code == 403


@pytest.mark.slow
def test_the_form_can_be_used_in_a_browser(api: Api, browser: Browser) -> None:
    run_id = pending_run(api)
    with person(browser, api) as reader:
        check_page(reader, f"/runs/{run_id}", "run-to-accept")
        check_page(reader, f"/runs/{run_id}/oracle", "accept-run")
        page = reader.opens(f"/runs/{run_id}")
        page.get_by_role("button", name=OFFER).click()
        page.get_by_label("Note").fill("right")
        page.get_by_role("button", name="Save as the task's oracle").click()
        page.get_by_text("With it, the verdict of this run is PASS").wait_for()
