"""Why a run is pending, first on its page; what was not verified, as a quiet note; the counts of a batch."""

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

import httpx2
import pytest

from pipelines.core.verdict.verdict import PendingReason
from support.browser import Browser, check_page, person
from support.played_agents import played, refunds
from support.sample_batches import signed_in
from support.sample_verdicts import NOTES, PASSED, RULE, UNENFORCED, given_in, pending
from support.server_process import REFUND_TASK, Api, house_in

NO_ORACLE = pending(PendingReason.NO_ORACLE, "No oracle says what completing this task means.")
SAYS = "A rule of the task was not enforced, and the result depends on it."


class Judged(NamedTuple):
    api: Api
    batch_id: int
    unenforced: int
    no_oracle: int
    passed: int
    before: int  # judged by the grader before


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    directory = tmp_path_factory.mktemp("reasons") / "house"
    with house_in(directory) as house, played(refunds) as agent:
        api = house.open()
        rows = [REFUND_TASK | {"user": f"Refund order #4521 ({number})."} for number in range(4)]
        batch_id = api.start_batch(agent.url, *rows)
        api.ended(batch_id)
        ids = [run["id"] for run in api.runs(batch_id)]
        given_in(directory, dict(zip(ids, (UNENFORCED, NO_ORACLE, PASSED, None), strict=True)))
        yield Judged(api, batch_id, *ids)


@pytest.fixture
def client(judged: Judged) -> Iterator[httpx2.Client]:
    with signed_in(judged.api) as client:
        yield client


def text_of(client: httpx2.Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def test_a_pending_run_begins_with_its_reason_and_the_rule_that_was_not_read(
    client: httpx2.Client, judged: Judged
) -> None:
    text = text_of(client, f"/runs/{judged.unenforced}")
    parts = [
        SAYS,
        "Why this run is pending",
        "rule not enforced",
        f'The rule "{RULE}" was not enforced',
        "What to do: Reword the rule",
        "3 not verified",
        NOTES[0].phrase,
        f"{NOTES[2].why}, turn 2",
        "Timeline",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.count(f'The rule "{RULE}"') == 1


def test_notes_beside_a_pass_are_no_alarm(client: httpx2.Client, judged: Judged) -> None:
    page = client.get(f"/runs/{judged.passed}").text
    notes = page[page.index('<details class="unverified"') :].partition("</details>")[0]
    assert NOTES[0].phrase in notes
    assert "badge" not in notes
    assert "notice" not in notes


def test_a_verdict_of_the_grader_before_is_shown_as_it_was(client: httpx2.Client, judged: Judged) -> None:
    text = text_of(client, f"/runs/{judged.before}")
    assert "No oracle says what completing this task means." in text
    assert "What to do:" not in text
    assert "not verified" not in text


def test_a_batch_counts_its_reasons_and_leads_to_their_runs(client: httpx2.Client, judged: Judged) -> None:
    page = client.get(f"/batches/{judged.batch_id}").text
    for query, words in (
        ("pending_reason=rule_not_enforced", "1 rule not enforced"),
        ("pending_reason=no_oracle", "1 no oracle"),
        ("has_unverified=yes", "2 runs"),
    ):
        assert re.search(rf'href="/batches/{judged.batch_id}\?{query}#runs"[^>]*>{words}<', page), query
    found = client.get(f"/batches/{judged.batch_id}?pending_reason=no_oracle").text
    assert re.findall(r'href="/runs/(\d+)" data-opens', found) == [str(judged.no_oracle)]
    noted = client.get(f"/batches/{judged.batch_id}?has_unverified=yes").text
    assert set(re.findall(r'href="/runs/(\d+)" data-opens', noted)) == {
        str(judged.unenforced),
        str(judged.passed),
    }


def test_runs_are_filtered_by_reason_and_say_it(client: httpx2.Client, judged: Judged) -> None:
    text = text_of(client, "/runs?pending_reason=rule_not_enforced&has_unverified=yes")
    assert "1 run" in text
    assert "rule not enforced · 3 not verified" in text
    wrong = client.get("/runs?has_unverified=some")
    assert wrong.status_code == 422
    assert "must be `yes` or `no`" in wrong.text


def test_the_review_of_a_run_says_what_the_machine_could_not_decide(
    client: httpx2.Client, judged: Judged
) -> None:
    text = text_of(client, f"/review/rev_run_{judged.unenforced}")
    assert f"rule not enforced {SAYS} Reword the rule" in text
    assert NOTES[1].phrase in text


def test_two_runs_side_by_side_say_why_each_is_pending(client: httpx2.Client, judged: Judged) -> None:
    text = text_of(client, f"/compare/runs?from={judged.unenforced}&to={judged.no_oracle}")
    assert SAYS in text
    assert f'The rule "{RULE}"' in text
    assert "The task does not say what completing it means." in text


def test_the_report_names_reasons_and_lists_what_was_not_verified(
    client: httpx2.Client, judged: Judged
) -> None:
    report = judged.api.client.get(f"/api/batches/{judged.batch_id}/report").text
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", report)).split())
    assert "1 rule not enforced, 1 no oracle" in text
    assert f"rule not enforced : {SAYS} Reword the rule" in text
    assert NOTES[2].phrase in text


PAGES = {
    "pending-run": "/runs/{unenforced}",
    "noted-run": "/runs/{passed}",
    "pending-batch": "/batches/{batch_id}",
    "pending-review": "/review/rev_run_{unenforced}",
    "pending-runs": "/runs?pending_reason=no_oracle",
}


@pytest.mark.parametrize("name", PAGES)
def test_reasons_and_notes_can_be_read_by_everybody(browser: Browser, judged: Judged, name: str) -> None:
    with person(browser, judged.api) as visitor:
        check_page(visitor, PAGES[name].format(**judged._asdict()), name)
