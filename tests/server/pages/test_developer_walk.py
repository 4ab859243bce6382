"""The walk of a developer: upload with two mistakes, fix them in the page, run, read the reason, correct the
oracle, judge again. Nothing happens outside the browser, and it takes at most 16 clicks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from support.browser import SHOTS, check_page, person, serious
from support.played_agents import played, refunds
from support.server_process import Api, house_in

MOST_CLICKS = 16
PATIENCE_MS = 60_000
STATE = '"{""order"": {""4521"": {""status"": ""shipped"", ""amount"": 79.5}}}"'
#: The state of the first row is no JSON, and the second row expects an outcome that there is none of. The
#: oracle of the second is wrong, too: what nobody sees before a run.
TABLE = (
    "user,state,expected_outcome,expected_state\n"
    'Refund order #4521.,"{broken",completion,"{""order.4521.status"": ""refunded""}"\n'
    f'Refund order #4521 please.,{STATE},maybe,"{{""order.4521.status"": ""cancelled""}}"\n'
)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("developer"), {"PIPELINES_PROXY_RATE_LIMIT": "0"}) as house:
        yield house.open()


def looked_at(page: Page, name: str) -> None:
    """A state of a page that has no address of its own."""
    assert not serious(page), serious(page)
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


class Hand:
    """Clicks, and counts them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1


def test_a_developer_gets_from_a_wrong_upload_to_a_right_verdict(
    api: Api, browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(TABLE)
    with played(refunds) as agent, person(browser, api) as developer:
        api.agent(agent.url)
        page = developer.opens("/")
        page.set_default_timeout(PATIENCE_MS)
        hand = Hand(page)
        hand.click(page.get_by_role("link", name="Datasets", exact=True))
        hand.click(page.get_by_role("link", name="New dataset").first)
        page.get_by_label("Drop a file of tasks here").set_input_files(file)
        hand.clicks += 1  # choosing a file is one
        expect(page.get_by_text("2 problems. Correct the marked cells")).to_be_visible()
        page.get_by_label("state of row 2").fill('{"order": {"4521": {"status": "shipped", "amount": 79.5}}}')
        page.get_by_label("expected_outcome of row 3").fill("completion")
        hand.click(page.get_by_role("button", name="Check again"))
        expect(page.get_by_text("2 tasks can be stored")).to_be_visible()
        hand.click(page.get_by_role("button", name="Create dataset of 2 tasks"))
        page.wait_for_url(re.compile(r"/datasets/\d+$"))
        hand.click(page.get_by_role("link", name="Run 2 tasks"))
        page.get_by_label("Agent").select_option(index=1)
        hand.clicks += 1
        hand.click(page.get_by_role("button", name="Start", exact=True))
        page.wait_for_url(re.compile(r"/batches/\d+"))
        batch_id = int(page.url.rpartition("/")[2].partition("?")[0])
        failed = page.locator("#runs tr", has_text="fail").locator("a[href^='/runs/']").first
        expect(failed).to_be_visible(timeout=PATIENCE_MS)
        hand.click(failed)
        expect(page.get_by_text("order.4521.status should be").first).to_be_visible()
        hand.click(page.get_by_role("link", name="Correct the oracle…").first)
        expect(page).to_have_url(re.compile(r"#f-expected_state$"))
        hand.click(page.get_by_text(re.compile(r"What run \d+ did")).first)
        hand.click(page.get_by_role("button", name="Take this over").first)
        expect(page.get_by_label("expected_state")).to_have_value('{"order.4521.status": "refunded"}')
        hand.click(page.get_by_role("button", name="Save and re-judge…"))
        expect(page.get_by_text("1 run of 1 would be judged otherwise")).to_be_visible()
        hand.click(page.get_by_role("button", name="Save and re-judge 1 run"))
        expect(page.get_by_text("1 verdict changed")).to_be_visible()
        expect(page.get_by_role("heading", name="Why this run passed")).to_be_visible()
        # The browser tells of the status 422 of the check that found the two mistakes.
        developer.complaints = [one for one in developer.complaints if "422" not in one]
    assert {run["verdict"] for run in api.runs(batch_id)} == {"PASS"}
    assert hand.clicks <= MOST_CLICKS, hand.clicks


def test_an_oracle_is_checked_while_somebody_types(api: Api, browser: Browser) -> None:
    made = api.post("/api/datasets", {"name": "orders", "rows": [{"user": "Refund order 4521."}]}, 201)
    with person(browser, api) as author:
        page = author.opens(f"/tasks/{made['task_ids'][0]}/oracle")
        told = page.locator("#oracle-told")
        page.get_by_label("expected_state").fill('{"order": 5}')
        expect(told.get_by_text("is an entity type")).to_be_visible()
        page.get_by_label("expected_state").fill('{"order.4521.status": "refunded"}')
        expect(told.get_by_text("order.4521.status", exact=False).first).to_be_visible()
        expect(told.get_by_text("is an entity type")).to_have_count(0)


@pytest.mark.slow
def test_the_forms_can_be_used_in_both_schemes_and_widths(api: Api, browser: Browser) -> None:
    with played(refunds) as agent:
        row = {
            "user": "Refund order #4521.",
            "state": {"order": {"4521": {"status": "shipped"}}},
            "expected_state": {"order.4521.status": "cancelled"},
        }
        batch_id = api.start_batch(agent.url, row)
        api.ended(batch_id)
    run = api.only_run(batch_id)
    api.post(f"/api/runs/{run['id']}/annotations", {"label": "money"}, 201)
    api.post(f"/api/runs/{run['id']}/annotations", {"comment": "Is this right?", "step": 1}, 201)
    task, dataset = run["task_id"], run["dataset_id"]
    with person(browser, api) as author:
        page = author.opens("/datasets/new")
        page.get_by_label("Drop a file of tasks here").set_input_files(
            {"name": "orders.csv", "mimeType": "text/csv", "buffer": TABLE.encode()}
        )
        page.get_by_label("state of row 2").wait_for()
        looked_at(page, "corrected-cells")
        author.complaints.clear()  # the browser tells of the status 422
        page = author.opens(f"/tasks/{task}/oracle?run={run['id']}")
        page.get_by_label("expected_state").fill('{"order.4521.status": "refunded"}')
        page.get_by_role("button", name="Save and re-judge…").click()
        page.get_by_text("1 run of 1 would be judged otherwise").wait_for()
        looked_at(page, "oracle-flips")
        check_page(author, f"/tasks/{task}/oracle?run={run['id']}", "oracle-form")
        check_page(author, f"/tasks/{task}/edit", "task-edit")
        check_page(author, f"/datasets/{dataset}/tasks/new?like={task}", "task-new")
        check_page(author, f"/tasks/{task}", "task-with-actions")
        check_page(author, f"/datasets/{dataset}", "dataset-with-actions")
        check_page(author, f"/runs/{run['id']}?s=1", "run-with-comments")
        check_page(author, "/runs?run_label=money", "runs-by-label")
        check_page(author, f"/batches/new?task_id={task}&dataset_id={dataset}", "run-one-task")
