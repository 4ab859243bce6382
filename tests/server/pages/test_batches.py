"""Batches: figures, live progress, repeats, buttons by role; starting one; comparing two."""

import csv
import io
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from support.browser import check_page, person
from support.played_agents import Dispatch, PlayedAgent, played, refunds
from support.sample_batches import HOSTILE, RanBatches, csrf_of, held_agent, ran_batches, signed_in
from support.server_process import REFUND_TASK, eventually

#: As if somebody had gone to another tab, or come back.
SEEN = """hidden => {
    Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RanBatches]:
    with ran_batches(tmp_path_factory.mktemp("batches") / "house") as found:
        yield found


@pytest.fixture
def client(ran: RanBatches) -> Iterator[httpx2.Client]:
    with signed_in(ran.api) as browsing:
        yield browsing


@pytest.fixture
def held() -> Iterator[PlayedAgent]:
    with contextmanager(held_agent)() as agent:
        yield agent


def plain(page: httpx2.Response, status: int = 200) -> str:
    """What is read, without the markup."""
    assert page.status_code == status, page.text
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text.partition("<main")[2]))


def test_progress_is_seen_live_and_the_results_come_when_it_ends(
    browser: Browser, ran: RanBatches, held: PlayedAgent
) -> None:
    batch_id = ran.api.start_batch(held.url, *[REFUND_TASK] * 3, agent={"max_concurrency": 1})
    eventually(lambda: held.dispatches, "the first run is sent")
    with person(browser, ran.api) as visitor:
        page = visitor.opens(f"/batches/{batch_id}")
        expect(page.locator("#progress")).to_contain_text("0 of 3 runs finished, 1 running, 2 waiting")
        expect(page.get_by_role("button", name="Cancel")).to_be_visible()
        for hidden in (
            True,
            False,
        ):  # a tab that nobody looks at lets go of its connection, and takes it up again
            page.evaluate(SEEN, hidden)
            assert page.locator("#progress[sse-connect]").count() == (not hidden)
        held.may_answer.set()
        expect(page.locator("#progress")).to_contain_text("3 of 3 runs finished", timeout=40_000)
        expect(page.locator("#progress")).to_contain_text("100 %")
        expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=20_000)
        assert page.locator("#runs .badge.green").count() == 3
        assert page.evaluate("performance.getEntriesByType('navigation').length") == 1


def test_the_table_of_a_live_batch_follows_its_runs_and_keeps_what_was_selected(
    browser: Browser, ran: RanBatches
) -> None:
    """A batch of two tasks with two repeats: the table of tasks counts, the runs get their verdicts."""

    def refunds_one_after_another(dispatch: Dispatch) -> None:
        if len(dispatch.agent.dispatches) > 1:
            dispatch.until_let_go()
        refunds(dispatch)

    rows = (REFUND_TASK, REFUND_TASK | {"user": "Refund it again.", "id": "again"})
    with played(refunds_one_after_another) as agent, person(browser, ran.api) as visitor:
        batch_id = ran.api.start_batch(agent.url, *rows, agent={"max_concurrency": 1}, repeats=2)
        page = visitor.opens(f"/batches/{batch_id}?status=completed#runs")
        expect(page.locator("#runs .badge.green")).to_have_count(1)
        box = page.locator("#runs tbody input[type=checkbox]").first
        box.check()
        page.locator("#runs [data-opens]").first.focus()
        chosen = box.get_attribute("value")
        before = page.evaluate("performance.timeOrigin")
        expect(page.locator("#tasks")).to_contain_text("1 / 1")
        agent.may_answer.set()
        expect(page.locator("#runs .badge.green")).to_have_count(4, timeout=40_000)
        expect(page.locator("#tasks")).to_contain_text("2 / 2")
        assert page.locator(f"#runs input[value='{chosen}']").is_checked()
        assert page.evaluate("document.activeElement.getAttribute('href')") == f"/runs/{chosen}"
        assert page.evaluate("performance.timeOrigin") == before, "The page was not loaded again"


def test_a_batch_is_started_from_the_form_which_says_before_what_it_takes(
    browser: Browser, ran: RanBatches
) -> None:
    with person(browser, ran.api) as visitor:
        page = visitor.opens(f"/batches/new?agent_id={ran.agent_id}")
        page.get_by_label("Dataset").select_option(str(ran.dataset_id))
        expect(page.locator("#estimate")).to_contain_text("about")
        page.get_by_label("Tasks").select_option("flaky")
        page.get_by_label("Repeats").fill("4")
        page.get_by_label("Repeats").blur()
        expect(page.locator("#estimate .value").first).to_have_text("4")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/batches/*")
        batch_id = int(page.url.rpartition("/")[2])
    assert ran.api.ended(batch_id)["counts"]["total"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/batches", "batches"),
        ("/batches/{first}", "batch"),
        ("/batches/new?agent_id={agent_id}&dataset_id={dataset_id}&repeats=3", "new-batch"),
        ("/compare/batches?from={first}&to={second}", "compare-batches"),
        ("/compare/batches", "compare-nothing"),
    ],
)
def test_pages_are_sound_in_both_schemes_and_widths(
    browser: Browser, ran: RanBatches, path: str, name: str
) -> None:
    with person(browser, ran.api) as visitor:
        check_page(visitor, path.format(**ran._asdict()), name)


def test_the_list_shows_pass_rates_with_their_intervals(ran: RanBatches, client: httpx2.Client) -> None:
    shown = plain(client.get("/batches", params={"agent_id": ran.agent_id}))
    summary = ran.api.batch(ran.first)["summary"]
    low, high = summary["pass_rate_interval"]
    assert f"67 % {low * 100:.0f}–{high * 100:.0f} %, n 21" in shown
    assert "3 repeats 4 stable, 1 flaky, 2 failing" in shown
    assert "No batch matches" in plain(client.get("/batches", params={"agent_id": "999"}))
    assert "must be a number" in plain(client.get("/batches", params={"agent_id": "x"}), 422)


def test_a_batch_shows_its_figures_why_runs_failed_and_what_they_cost(
    ran: RanBatches, client: httpx2.Client
) -> None:
    shown = plain(client.get(f"/batches/{ran.first}"))
    for words in (
        *("24 of 24 runs finished", "pass^2", "pass^3", "57 %", "4 stable pass", "1 flaky", "2 stable fail"),
        *("3 agent 5xx", "wrong action", "reported by 21 of 24 runs", "3 repeats"),
    ):
        assert words in shown, words


def test_repeats_of_a_task_stand_together_and_one_judged_run_is_not_called_stable(
    ran: RanBatches, client: httpx2.Client
) -> None:
    flaky = client.get(f"/batches/{ran.first}", params={"steadiness": "flaky"})
    assert plain(flaky).count("flaky 2/3") == 1
    tasks = flaky.text.partition('id="tasks"')[2].partition('id="runs"')[0]
    repeats = dict(re.findall(r">repeat (\d): (\w+)<", tasks))
    assert sorted(repeats) == ["1", "2", "3"]
    assert sorted(repeats.values()) == ["fail", "pass", "pass"]
    crashed = plain(client.get(f"/batches/{ran.first}", params={"steadiness": "undecided"}))
    assert "no verdict" in crashed
    assert "must be one of" in plain(client.get(f"/batches/{ran.first}?steadiness=odd"), 422)


def test_the_runs_of_a_batch_are_filtered_in_its_address(ran: RanBatches, client: httpx2.Client) -> None:
    text = client.get(f"/batches/{ran.first}", params={"verdict": "FAIL", "batch_id": "999"}).text
    runs = {int(number) for number in re.findall(r'href="/runs/(\d+)" data-opens', text)}
    assert runs == {run["id"] for run in ran.api.runs(ran.first, verdict="FAIL")}


def test_exports_are_files(ran: RanBatches, client: httpx2.Client) -> None:
    table = client.get(f"/batches/{ran.first}/export", params={"format": "csv"})
    assert "attachment" in table.headers["content-disposition"]
    assert len([*csv.DictReader(io.StringIO(table.text))]) == 24
    whole = client.get(f"/batches/{ran.first}/export", params={"format": "json"})
    assert "attachment" in whole.headers["content-disposition"]
    assert len(json.loads(whole.text)["items"]) == 24


@pytest.mark.parametrize("act", ["cancel", "resume", "judge"])
def test_a_viewer_sees_no_button_and_is_refused(ran: RanBatches, act: str) -> None:
    with signed_in(ran.api, ran.viewer) as guest:
        assert '<form method="post"' not in guest.get(f"/batches/{ran.first}").text
        token = {"csrf": csrf_of(guest)}
        assert guest.post(f"/batches/{ran.first}/{act}", data=token).status_code == 403
        assert guest.post("/batches/new", data=token).status_code == 403
        assert ">Start<" not in guest.get("/batches/new").text


def test_a_batch_is_cancelled_and_resumed(ran: RanBatches, client: httpx2.Client, held: PlayedAgent) -> None:
    batch_id = ran.api.start_batch(held.url, REFUND_TASK, agent={"max_concurrency": 1})
    eventually(lambda: held.dispatches, "the run is sent")
    token = {"csrf": csrf_of(client)}
    done = client.post(f"/batches/{batch_id}/cancel", data=token)
    assert done.headers["location"] == f"/batches/{batch_id}"
    shown = plain(client.get(f"/batches/{batch_id}"))
    assert "The batch is cancelled." in shown
    assert "1 of 1 run finished, 1 of them cancelled" in shown
    assert ">Resume<" in client.get(f"/batches/{batch_id}").text
    held.may_answer.set()
    assert client.post(f"/batches/{batch_id}/resume", data=token).status_code == 303
    assert ran.api.ended(batch_id)["counts"]["by_verdict"] == {"PASS": 1}
    again = client.post(f"/batches/{batch_id}/cancel", data=token)
    assert "already ended" in plain(again, 409)


def test_a_batch_is_judged_anew(ran: RanBatches, client: httpx2.Client) -> None:
    token = {"csrf": csrf_of(client), "oracle": "present"}
    assert client.post(f"/batches/{ran.first}/judge", data=token).status_code == 303
    assert "Judged 24 runs again; 0 verdicts changed." in plain(client.get(f"/batches/{ran.first}"))


def test_a_batch_that_is_not_there_or_anothers_is_not_found(client: httpx2.Client) -> None:
    assert client.get("/batches/999").status_code == 404
    assert client.get("/batches/999/events").status_code == 404


def test_all_who_watch_get_the_same_fragment_written_once(
    ran: RanBatches, client: httpx2.Client, held: PlayedAgent
) -> None:
    batch_id = ran.api.start_batch(held.url, REFUND_TASK, agent={"max_concurrency": 1})
    heard: list[list[str]] = []

    def watch() -> None:
        with signed_in(ran.api) as own, own.stream("GET", f"/batches/{batch_id}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            heard.append([*stream.iter_lines()])

    watching = [threading.Thread(target=watch) for _ in range(5)]
    for each in watching:
        each.start()
    eventually(lambda: held.dispatches, "the run is sent")
    held.may_answer.set()
    for each in watching:
        each.join(40)
    assert len(heard) == 5
    ends = {"\n".join(lines[lines.index("event: end") :]) for lines in heard}
    assert len(ends) == 1
    (end,) = ends
    assert "1 of 1 run finished" in end
    assert csrf_of(client) not in end


def test_what_is_wrong_with_a_new_batch_stands_at_its_fields_and_nothing_typed_is_lost(
    ran: RanBatches, client: httpx2.Client
) -> None:
    given = {"repeats": "many", "concurrency": "0", "passthrough": "replay", "fault_seed": "-1"}
    answer = client.post("/batches/new", data=given | {"csrf": csrf_of(client)})
    shown = plain(answer, 422)
    assert "The batch was not started." in shown
    assert "choose an agent" in shown
    for name in ("agent_id", "dataset_id", "repeats", "concurrency", "cassette", "fault_seed"):
        assert f'id="f-{name}-problem-1"' in answer.text, name
    assert 'value="many"' in answer.text
    assert '<option value="replay" selected>' in answer.text
    whole = {"agent_id": str(ran.agent_id), "dataset_id": str(ran.dataset_id), "csrf": csrf_of(client)}
    tagged = client.post("/batches/new", data=whole | {"tag": HOSTILE})
    assert "no task of this dataset has the tag" in plain(tagged, 422)
    assert "<img src=x" not in tagged.text
    gone = client.post("/batches/new", data=whole | {"agent_id": "999"})
    assert "There is no agent 999" in plain(gone, 404)


def test_an_estimate_says_what_it_rests_on(ran: RanBatches, client: httpx2.Client) -> None:
    asked = {"agent_id": str(ran.agent_id), "dataset_id": str(ran.dataset_id), "repeats": "10"}
    shown = plain(client.get("/batches/new", params=asked))
    assert re.search(r"Runs 80 ", shown)
    assert re.search(r"about \$0\.2[0-9] estimated from \d+ runs", shown)
    stranger = ran.api.agent("https://agents.example.com/dispatch", name="Never ran")["id"]
    unknown = plain(client.get("/batches/new", params=asked | {"agent_id": str(stranger)}))
    assert "This agent has not run yet" in unknown
    assert "Its cost is unknown" in unknown


def test_two_batches_are_compared_task_by_task(ran: RanBatches, client: httpx2.Client) -> None:
    page = client.get("/compare/batches", params={"from": ran.first, "to": ran.second})
    shown = plain(page)
    compared = ran.api.get(f"/api/batches/{ran.first}/compare", to=ran.second)
    assert compared["counts"]["fixed"] == 1
    assert "1 ✓ fixed" in shown
    assert "sign-flip test" in shown
    assert "got worse" in shown
    fixed = next(task for task in compared["tasks"] if task["change"] == "fixed")
    pair = fixed["from"]["run_ids"][0], fixed["to"]["run_ids"][0]
    assert f"/compare/runs?from={pair[0]}&amp;to={pair[1]}" in page.text
    assert "There is no batch 999" in plain(client.get("/compare/batches?from=1&to=999"), 422)
    assert "Choose two batches" in plain(client.get("/compare/batches"))
