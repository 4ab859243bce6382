"""A batch as one file: what is in it, what is not, and that it works from disk."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser
from signed_in import words

from pipelines.web.render import render
from support.browser import check_page, person, serious
from support.played_agents import Dispatch, does_nothing, played, refunds
from support.pressure_matrix import MATRIX, V1, WITHOUT_TOOLS, ended_matrix, scenario, yields_to_authority
from support.server_process import REFUND_TASK, Api, house_in

CREDENTIAL = "sk-upstream-7Gq2mWx9LfTz4VbN"
AUTH = "agent-door-5tR8yU2pQ7"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"


def tells_too_much(dispatch: Dispatch) -> None:
    """Markup and secrets wherever an agent can put them."""
    encoded = base64.b64encode(f"key={CREDENTIAL};".encode()).decode()
    dispatch.call("add_note", {"order_id": "4521", "text": f"{SCRIPT} {CREDENTIAL} {encoded} {AUTH}"})
    dispatch.answer(f"{SCRIPT} The key is {CREDENTIAL}, the token {JWT}, yours Bearer {AUTH}.")


def by_wish(dispatch: Dispatch) -> None:
    if "nothing" in dispatch.said:
        does_nothing(dispatch)
    elif "tell" in dispatch.said:
        tells_too_much(dispatch)
    elif "long" in dispatch.said:
        for _ in range(2):
            dispatch.call("add_note", {"order_id": "4521", "text": "long " * 6_000})
        dispatch.answer("word " * 6_000)
    else:
        refunds(dispatch)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("report") / "house") as house:
        opened = house.open()
        opened.post("/api/credentials", {"name": "UPSTREAM_KEY", "value": CREDENTIAL}, 201)
        yield opened


@pytest.fixture(scope="module")
def batch_id(api: Api) -> Iterator[int]:
    wishes = ("Refund order #4521.", "Refund #4521, but do nothing.", "Refund #4521 and tell <b>all</b>.")
    rows = [REFUND_TASK | {"user": wish} for wish in wishes]
    auth = {"auth_header_name": "Authorization", "auth_header_value": f"Bearer {AUTH}"}
    with played(by_wish) as agent:
        made = api.start_batch(agent.url, *rows, agent={"name": "Refunds <i>", **auth})
        api.ended(made)
        yield made


@pytest.fixture(scope="module")
def client(api: Api) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=api.url, timeout=60) as browsing:
        browsing.post("/sign-in", data={"key": api.key})
        yield browsing


@pytest.fixture(scope="module")
def report(client: httpx2.Client, batch_id: int) -> str:
    answered = client.get(f"/report/{batch_id}/file")
    assert answered.status_code == 200, answered.text
    assert "attachment" in answered.headers["content-disposition"]
    return str(answered.text)


def test_the_page_says_what_the_file_will_hold_before_it_is_written(
    client: httpx2.Client, batch_id: int
) -> None:
    shown = client.get(f"/report/{batch_id}").text
    for text in ("3 runs with", "what the agent answered", "arguments and the reply", "kB", "are masked"):
        assert text in shown, text
    assert f'action="/report/{batch_id}/file"' in shown


def test_the_api_gives_the_same_file_and_tells_what_it_would_hold(
    api: Api, batch_id: int, report: str
) -> None:
    told = api.get(f"/api/batches/{batch_id}/report/contents")
    assert (told["runs"], told["is_cut"], told["matrix_id"]) == (3, False, None)
    file = api.client.get(f"/api/batches/{batch_id}/report").text
    times = r"report of .*?</time>"
    assert re.sub(times, "", file) == re.sub(times, "", report)
    assert len(file) / 3 < told["estimated_bytes"] < len(file) * 3


def test_whoever_is_not_signed_in_or_of_another_org_gets_no_file(api: Api, client: httpx2.Client) -> None:
    assert httpx2.get(f"{api.url}/report/1").status_code == 303
    assert httpx2.get(f"{api.url}/report/1/file").status_code == 303
    assert client.get("/report/999").status_code == 404
    assert client.get("/report/999/file").status_code == 404


def test_no_secret_is_in_the_file_however_the_agent_spelled_it(report: str) -> None:
    for secret in (CREDENTIAL, AUTH, JWT, base64.b64encode(CREDENTIAL.encode()).decode()[4:24]):
        assert secret not in report, secret
    assert "[secret]" in report
    assert "[jwt:" in report


def test_text_of_strangers_is_never_markup(report: str) -> None:
    assert "<script" not in report
    assert "<img" not in report
    assert "<i>" not in report
    assert "&lt;script&gt;" in report


def test_each_run_has_its_calls_changes_and_reasons(report: str) -> None:
    for text in ("refund_order", "order.4521.status", "<del>", "<ins>", "Refund #4521, but do nothing."):
        assert text in report, text
    first, second = report.index("do nothing."), report.index("Refund order #4521.")
    assert first < second, "Failures come first"


def test_the_report_has_what_people_decided(api: Api, client: httpx2.Client) -> None:
    """On a run of it, and on a cell of its matrix."""
    with played(by_wish) as agent:
        made = api.start_batch(
            agent.url, REFUND_TASK, REFUND_TASK | {"user": "Refund #4521, but do nothing."}
        )
        api.ended(made)
    empty = words(client.get(f"/report/{made}/file").text)
    assert "What people decided" in empty
    assert "Nobody has decided anything about these runs" in empty
    run_id = api.runs(made)[1]["id"]
    given = {"verdict": "PASS", "note": f"The user was called {SCRIPT}.", "reviewer": "Ann"}
    api.post(f"/api/runs/{run_id}/verdict", given)
    file = client.get(f"/report/{made}/file").text
    decided = words(file.partition('id="decided"')[2].partition("</section>")[0])
    assert f"run {run_id} ✓ pass Ann : Pass, “The user was called {SCRIPT}.”" in decided
    assert f'href="#run-{run_id}"' in file.partition('id="decided"')[2]
    assert "Ann : Pass, “The user was called" in words(file.partition(f'id="run-{run_id}"')[2])
    assert "<script" not in file


def test_the_report_of_a_matrix_has_the_decisions_on_its_cells(api: Api, client: httpx2.Client) -> None:
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, **WITHOUT_TOOLS)["id"]
        asked = MATRIX | {"agent_id": agent_id, "scenario_ids": [scenario(api, name="Page the owner")]}
        matrix_id = api.post(f"{V1}/matrix", asked, 202)["matrix_id"]
        report = ended_matrix(api, matrix_id)
    item = api.get(f"{V1}/reviews", matrix_id=matrix_id)["items"][0]
    given = {"verdict": "confirmed_susceptible", "note": "It obeyed.", "reviewer": "Bea"}
    api.post(f"{V1}/reviews/{item['id']}/verdict", given)
    decided = words(client.get(f"/report/{report['batch_id']}/file").text.partition('id="decided"')[2])
    assert (
        "Page the owner under authority_bias The agent gave in Bea : The agent gave in, “It obeyed.”"
        in decided
    )


def test_the_file_opens_from_disk_and_its_links_lead_to_the_steps(
    browser: Browser, report: str, tmp_path: Path, api: Api, batch_id: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report)
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page, complaints = context.new_page(), list[Any]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(file.as_uri())
    complaints = [each for each in complaints if each != file.as_uri()]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert not serious(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.locator("table.list tbody a").first.click()
    assert page.locator(".reported").first.locator("h3", has_text="Steps").is_visible()
    assert not complaints
    assert page.title().startswith("Refunds <i>, batch")


@pytest.mark.slow
def test_the_page_of_the_report_is_sound(browser: Browser, api: Api, batch_id: int) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, f"/report/{batch_id}", "report")


def test_a_file_is_no_larger_than_asked_and_says_what_is_missing(api: Api, client: httpx2.Client) -> None:
    rows = [REFUND_TASK | {"user": f"Refund #4521, the long way, {number}."} for number in range(12)]
    rows.append(REFUND_TASK | {"user": "Refund #4521, but do nothing."})
    with played(by_wish) as agent:
        made = api.start_batch(agent.url, *rows)
        api.ended(made)
    told = api.get(f"/api/batches/{made}/report/contents", max_mb=1)
    assert told["is_cut"]
    assert "does not fit into" in client.get(f"/report/{made}", params={"max_mb": 1}).text
    file = client.get(f"/report/{made}/file", params={"max_mb": 1}).text
    assert len(file.encode()) <= 1_000_000
    assert "characters more" in file
    assert client.get(f"/report/{made}/file", params={"max_mb": 51}).status_code == 422
    missing = re.search(r"The traces of (\d+) runs", file)
    kept = file.count('class="panel reported"')
    assert missing is not None
    assert int(missing[1]) == 13 - kept
    assert kept > 0


def test_the_report_of_a_matrix_has_its_heatmap(api: Api, client: httpx2.Client) -> None:
    with played(yields_to_authority) as agent:
        agent_id = api.agent(agent.url, **WITHOUT_TOOLS)["id"]
        name = f"Escalate {SCRIPT}"
        asked = MATRIX | {"agent_id": agent_id, "scenario_ids": [scenario(api, name=name)]}
        matrix_id = api.post(f"{V1}/matrix", asked, 202)["matrix_id"]
        ended_matrix(api, matrix_id)
    batch = max(each["id"] for each in api.get("/api/batches")["items"])
    assert api.get(f"/api/batches/{batch}/report/contents")["matrix_id"] == matrix_id
    file = client.get(f"/report/{batch}/file").text
    assert matrix_id in file
    assert re.search(r'<td class="(red|amber)[^>]*><a id="at-0-\d" href="#run-\d+"', file)
    assert "<script" not in file
    assert json.dumps("data_loss_risk") in file or "data_loss_risk" in file


def test_a_heatmap_that_is_too_large_for_the_file_is_told_of() -> None:
    left_out = {"untraced": 0, "unlisted": 0, "heatmap": True}
    told = render("report_end.html", {"head": {"most_steps": 200}, "left_out": left_out})
    assert "The heatmap, because it has too many cells" in told
