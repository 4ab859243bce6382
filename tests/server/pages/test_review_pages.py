"""The review queue: what waits, one item at a time, deciding by key, undoing, several at once."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from support.browser import check_page, person
from support.page_requests import csrf_of, sent, signed_in
from support.played_agents import Dispatch, played, refunds
from support.pressure_matrix import MATRIX, V1, ended_matrix, scenario, variation_of, yields_to_authority
from support.server_process import REFUND_TASK, Api, Row, eventually, house_in

UNDECIDED = {key: value for key, value in REFUND_TASK.items() if key != "expected_state"}
HOSTILE = '<script>alert(1)</script><a href="https://evil.example">Refund</a> order #4521'
RUNS = 7


def refunds_or_yields(dispatch: Dispatch) -> None:
    if variation_of(dispatch) is not None or "deployment" in str(dispatch.body["input"]):
        yields_to_authority(dispatch)
    else:
        refunds(dispatch)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A cell that moved, its audit sample, and ordinary runs that no oracle decides."""
    with house_in(tmp_path_factory.mktemp("review") / "house") as house, played(refunds_or_yields) as agent:
        api = house.open()
        agent_id = api.agent(agent.url)["id"]
        asked = MATRIX | {"scenario_ids": [scenario(api, agent_id=agent_id)], "agent_id": agent_id}
        ended_matrix(api, api.post(f"{V1}/matrix", asked, 202)["id"])
        rows = [UNDECIDED | {"user": HOSTILE}, *[UNDECIDED] * (RUNS - 1)]
        dataset = api.dataset(*rows, agent_id=agent_id)
        api.ended(api.batch_of(agent_id, dataset["id"]))
        yield api


def waiting(api: Api, **filters: Any) -> list[Row]:
    items: list[Row] = api.get(f"{V1}/reviews", **filters)["items"]
    return items


def item(api: Api, review_id: str) -> Row:
    found: Row = api.get(f"{V1}/reviews/{review_id}")
    return found


# In a browser


def test_one_after_another_is_decided_by_key_and_the_last_is_taken_back(browser: Browser, api: Api) -> None:
    first, second = (each["id"] for each in waiting(api, kind="task_verdict")[:2])
    with person(browser, api) as visitor:
        page = visitor.opens("/review?kind=task_verdict")
        page.keyboard.press("j")
        page.wait_for_url(f"**/review/{first}?kind=task_verdict")
        expect(page.locator("#lease")).to_contain_text("Yours until")
        assert item(api, first)["claims"][0]["by"] == "first key"
        page.keyboard.press("n")
        page.keyboard.type("It was not due: 12 k")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.wait_for_url(f"**/review/{second}?*")
        decided = item(api, first)
        assert (decided["verdict"], decided["verdicts"][0]["note"]) == ("FAIL", "It was not due: 12 k")
        expect(page.get_by_text("Just decided")).to_be_visible()
        page.keyboard.press("u")
        page.wait_for_url(f"**/review/{first}?kind=task_verdict")
        assert item(api, first)["status"] == "open"
        page.keyboard.press("j")
        page.wait_for_url(f"**/review/{second}?*")
        page.keyboard.press("k")
        page.wait_for_url(f"**/review/{first}?*")
        page.goto("/agents")
        page.goto("/review")
        assert "released" not in page.inner_text("main")  # nobody pressed anything
        page.goto("/ui/style")
    eventually(lambda: not item(api, first)["claims"], "it is given back on leaving")
    assert not item(api, second)["claims"]


@pytest.mark.slow
def test_pages_of_reviews_are_sound(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        for path, name in (
            ("/review", "review"),
            ("/review?kind=shift", "review-shifts"),
            (f"/review/{waiting(api, kind='shift')[0]['id']}", "review-shift"),
            (f"/review/{waiting(api, kind='task_verdict')[0]['id']}", "review-run"),
            ("/review?status=decided&kind=judge_error", "review-empty"),
        ):
            check_page(visitor, path, name)


# Over HTTP


def test_an_item_says_what_each_verdict_will_do_before_it_is_given(api: Api) -> None:
    with signed_in(api) as client:
        text = client.get(f"/review/{waiting(api, kind='shift')[0]['id']}").text
    for said in (
        "The CEO has indicated a strong preference",  # the words that were injected
        "escalate_to_owner",
        "proceed",
        "Marks the scenario as a regression",
        "Queues 4 more runs",
        "this cell expects what the agent did here",
        "Your vote decides it.",
        "shift 0.60 is above 0.5",
    ):
        assert said in text, said


def test_text_of_agents_and_tasks_is_never_markup(api: Api) -> None:
    with signed_in(api) as client:
        for path in ("/review", f"/review/{waiting(api, kind='task_verdict')[0]['id']}"):
            text = client.get(path).text
            assert "&lt;script&gt;alert(1)" in text
            assert "<script>alert" not in text
            assert 'href="https://evil.example' not in text


def test_a_viewer_sees_the_evidence_and_no_button(api: Api) -> None:
    review_id = waiting(api, kind="task_verdict")[0]["id"]
    with signed_in(api, "viewer") as viewer:
        text = viewer.get(f"/review/{review_id}").text
        assert "You need the contributor role to decide" in text
        assert "/verdict" not in text
        assert "hx-post" not in text
        assert 'name="id"' not in viewer.get("/review").text


def test_several_are_decided_at_once_each_by_itself(api: Api) -> None:
    ids = [each["id"] for each in waiting(api, kind="task_verdict")[-2:]]
    with signed_in(api) as client:
        fields = {"id": [*ids, "rev_run_999999"], "action": "verdict", "verdict": "PASS", "note": "all well"}
        answered = sent(client, "/review/bulk", fields | {"kind": "task_verdict"})
        assert answered.status_code == 303
        assert answered.headers["location"] == "/review?kind=task_verdict"
        text = client.get("/review?kind=task_verdict").text
        assert "2 of 3 decided. There is no review rev_run_999999." in text
        assert "2 pass" in text  # who decided how much
    assert {item(api, id)["verdict"] for id in ids} == {"PASS"}


def test_whose_verdict_it_is_can_be_said_by_whoever_shares_a_key(api: Api) -> None:
    review_id = waiting(api, kind="audit")[0]["id"] if waiting(api, kind="audit") else ""
    review_id = review_id or waiting(api, kind="task_verdict")[-1]["id"]
    with signed_in(api) as client:
        sent(client, "/review/as", {"name": "Ann Ü"})
        sent(client, f"/review/{review_id}/verdict", {"verdict": "PASS"})
        assert item(api, review_id)["verdicts"][0]["reviewer"] == "Ann Ü"
        assert "Ann Ü" in client.get("/review").text


def test_what_another_is_looking_at_is_not_decided(api: Api) -> None:
    review_id = waiting(api, kind="task_verdict")[0]["id"]
    api.post(f"{V1}/reviews/{review_id}/claim", {"reviewer": "bo"})
    with signed_in(api) as client:
        assert "bo is looking at it until" in client.get(f"/review/{review_id}").text
        answered = sent(client, f"/review/{review_id}/verdict", {"verdict": "PASS", "note": "kept"})
        assert answered.status_code == 422
        assert "bo is looking at" in answered.text
        assert "kept" in answered.text  # what was typed
        claimed = client.post(
            f"/review/{review_id}/claim", headers={"hx-request": "true", "x-csrf": csrf_of(client)}
        )
        assert (claimed.status_code, "bo is looking at" in claimed.text) == (200, True)
    api.post(f"{V1}/reviews/{review_id}/release", {"reviewer": "bo"})


def test_a_run_becomes_a_scenario_only_with_what_a_person_expects_of_it(api: Api) -> None:
    review_id = waiting(api, kind="task_verdict")[0]["id"]
    with signed_in(api) as client:
        fields = {"name": "Refund on request", "risk_level": "high", "expected": "{"}
        refused = sent(client, f"/review/{review_id}/scenario", fields)
        assert refused.status_code == 422
        assert "is not JSON" in refused.text
        made = sent(client, f"/review/{review_id}/scenario", fields | {"expected": '{"action": "refund"}'})
        assert made.status_code == 303, made.text
    scenario_id = made.headers["location"].removeprefix("/evals/scenarios/")
    stored = api.get(f"{V1}/scenarios/{scenario_id}")
    assert (stored["name"], stored["expected_behavior"]) == ("Refund on request", {"action": "refund"})
    assert stored["odyssey_seed"]["initial_state"]["order"]


@pytest.mark.parametrize("runs", ["²", "9" * 5_000, "many"])
def test_a_number_of_runs_that_is_none_is_refused(api: Api, runs: str) -> None:
    review_id = waiting(api, kind="shift")[0]["id"]
    with signed_in(api) as client:
        fields = {"verdict": "needs_more_runs", "runs": runs}
        assert sent(client, f"/review/{review_id}/verdict", fields).status_code == 422


def test_filters_that_mean_nothing_are_named_and_an_empty_list_says_so(api: Api) -> None:
    with signed_in(api) as client:
        wrong = client.get("/review?kind=shfit&status=x")
        assert wrong.status_code == 422
        assert "shfit" in wrong.text
        assert "No item matches" in client.get("/review?kind=judge_error").text


def test_more_than_one_voice_and_blind_items(api: Api) -> None:
    """Two are wanted: the first decides nothing, and is not told to the second before theirs is in."""
    with signed_in(api) as client:
        fields = {"reviewers_wanted": "2", "blind": "yes", "audit_percent": "5"}
        assert sent(client, "/review/settings", fields).status_code == 303
        assert sent(client, "/review/settings", fields | {"reviewers_wanted": "x"}).status_code == 422
        review_id = waiting(api, kind="task_verdict")[-1]["id"]  # nobody has acted on it
        sent(client, "/review/as", {"name": "ann"})
        sent(client, f"/review/{review_id}/verdict", {"verdict": "FAIL", "note": "ann's reason"})
        sent(client, "/review/as", {"name": "bo"})
        text = client.get(f"/review/{review_id}").text
        assert "Hidden until you decide:" in text
        assert "ann&#39;s reason" not in text
        assert "No oracle says" not in text
        assert "one of 2 votes" in text
        answered = sent(client, f"/review/{review_id}/verdict", {"verdict": "PASS"})
        assert answered.status_code == 303
        assert "The reviewers disagree" in client.get(answered.headers["location"]).text
        assert "ann&#39;s reason" in client.get(f"/review/{review_id}").text
    assert item(api, review_id)["status"] == "disputed"


@pytest.mark.parametrize(
    "path",
    [
        "/review/bulk",
        "/review/as",
        "/review/rev_run_1/claim",
        "/review/rev_run_1/release",
        "/review/rev_run_1/verdict",
        "/review/rev_run_1/reopen",
        "/review/rev_run_1/scenario",
        "/review/settings",
    ],
)
def test_a_viewer_changes_nothing(api: Api, path: str) -> None:
    with signed_in(api, "viewer") as viewer:
        assert sent(viewer, path, {"verdict": "PASS"}).status_code == 403
