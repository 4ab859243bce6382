"""The page of a run: why it failed, every step, the world after it; and text that is out to be markup."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import httpx2
import pytest
from playwright.sync_api import Browser, Route, expect

from support.browser import check_page, person
from support.desk import STATE
from support.played_agents import played
from support.sample_runs import EVIL, LONG, Traced, behave
from support.server_process import house_in


@pytest.fixture(scope="module")
def client(traced: Traced) -> Iterator[httpx2.Client]:
    with traced.signed_in() as signed_in:
        yield signed_in


class Elements(HTMLParser):
    """Every element of a page with its attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def hrefs(self) -> list[str]:
        return [attrs["href"] or "" for _, attrs in self.elements if "href" in attrs]


def text_of(client: httpx2.Client, path: str) -> str:
    answered = client.get(path)
    assert answered.status_code == 200, path
    return re.sub(r"\s+", " ", Elements(answered.text).text)


def test_it_says_why_a_run_failed_and_links_to_the_step(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Wrong"]
    page = client.get(f"/runs/{run_id}").text
    text = re.sub(r"\s+", " ", Elements(page).text)
    assert "did something that the task does not allow" in text
    assert 'order.7001.status changed from "pending" to "cancelled"' in text
    assert "?s=3" in Elements(page).hrefs()
    assert "Step 3: cancel_order" in text  # where a reader begins
    assert "5 calls 4 odyssey 1 injected" in text
    assert "$0.0042" in text


def test_a_step_tells_its_rule_in_words_its_number_and_what_it_changed(
    client: httpx2.Client, traced: Traced
) -> None:
    run_id = traced.runs["Refund"]
    injected = text_of(client, f"/runs/{run_id}/steps/3")
    assert "injected 502 call 1 of 2 to this tool" in injected
    assert "On the 1st call of refund_order, answer 502" in injected
    assert "This stepchanged nothing" in injected
    repaired = text_of(client, f"/runs/{run_id}/steps/4")
    assert "call 2 of 2" in repaired
    assert 'status "shipped" → "refunded"' in repaired
    assert "flag + refund_told" in text_of(client, f"/runs/{run_id}/steps/5")
    assert "at the start" in text_of(client, f"/runs/{run_id}/steps/0")
    assert "No changes up to this step" in text_of(client, f"/runs/{run_id}/steps/1")


def test_an_entity_has_its_history(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Refund"]
    text = text_of(client, f"/runs/{run_id}/entity?type=order&id=4521&s=5")
    assert 'at the start status "shipped"' in text
    assert 'step 4 changed status "shipped" → "refunded"' in text
    assert "No step changed it" in text_of(client, f"/runs/{run_id}/entity?type=order&id=7001")
    assert "no such entity" in text_of(client, f"/runs/{run_id}/entity?type=order&id=nope")


def test_a_step_can_be_linked_to_and_one_that_is_not_there_is_said(
    client: httpx2.Client, traced: Traced
) -> None:
    run_id = traced.runs["Refund"]
    assert "Step 5: raise_flag" in text_of(client, f"/runs/{run_id}?s=5")
    assert "has no step 99" in text_of(client, f"/runs/{run_id}?s=99")
    assert client.get(f"/runs/{run_id}/steps/99").status_code == 404
    assert client.get("/runs/999999").status_code == 404


def test_a_run_without_a_call_says_so(client: httpx2.Client, traced: Traced) -> None:
    text = text_of(client, f"/runs/{traced.runs['Nothing']}")
    assert "The agent called no tools" in text
    assert "odyssey_proxy_url" in text
    assert "Answer" in text


def test_a_run_that_broke_opens_where_it_broke(client: httpx2.Client, traced: Traced) -> None:
    text = text_of(client, f"/runs/{traced.runs['Broken']}")
    assert "Error" in text
    assert "there is nothing to judge" in text


def test_actors_have_lanes_and_handoffs_are_told(client: httpx2.Client, traced: Traced) -> None:
    page = client.get(f"/runs/{traced.runs['Team']}").text
    assert "handoff to boss/refunds: it is a refund" in re.sub(r"\s+", " ", Elements(page).text)
    assert {"lane-0", "lane-1"} <= set(re.findall(r"lane-\d", page))


def test_a_transcript_that_tells_the_same_calls_stands_between_them(
    client: httpx2.Client, traced: Traced
) -> None:
    run_id = traced.runs["Talk"]
    page = client.get(f"/runs/{run_id}").text
    names = re.findall(r'class="line[^>]*data-s="(\w+)"', page)
    assert len(names) == 4
    assert (names[0], names[2:]) == ("0", ["1", "end"])
    assert "Let me look." in text_of(client, f"/runs/{run_id}/steps/{names[1]}")


def test_a_search_names_the_steps_and_takes_signs_as_they_are(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Refund"]

    def found(words: str) -> list[str]:
        page = client.get(f"/runs/{run_id}/found", params={"q": words}).text
        return re.findall(r"data-s=\"(\w+)\"", page)

    assert found("PAYMENT processor") == ["3"]
    assert found("late") == ["3", "4"]
    assert found("i have refunded") == ["end"]
    assert found('"reason":"late"') == []  # JSON's own signs are not words of a value
    assert found("%") == []
    assert found("_0") == []
    assert "Nothing found" in client.get(f"/runs/{run_id}/found?q=zzz").text
    assert "data-found" in client.get(f"/runs/{run_id}?q=late").text  # without scripts


def test_a_long_timeline_comes_in_windows(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Many"]
    first = client.get(f"/runs/{run_id}").text
    assert len(re.findall(r'class="line[ "]', first)) == 200
    last = client.get(f"/runs/{run_id}/window?s=250").text
    places = [int(place) for place in re.findall(r'data-place="(\d+)"', last)]
    assert (places[0], places[-1]) == (52, 251)  # as many as there are, before the end
    assert "250 steps" in text_of(client, f"/runs/{run_id}?s=250")
    without_scripts = client.get(f"/runs/{run_id}").text
    following = re.findall(
        r'class="more" data-at="(\d+)"[^>]*>↓ lines (\d+) to (\d+) of 251', without_scripts
    )
    assert following == [("300", "200", "251")]
    assert 'data-place="251"' in client.get(f"/runs/{run_id}?at=300").text


def test_the_download_is_the_whole_run(client: httpx2.Client, traced: Traced) -> None:
    answered = client.get(f"/runs/{traced.runs['Many']}/download")
    assert "attachment" in answered.headers["content-disposition"]
    whole = json.loads(answered.content)
    assert len(whole["trace"]) == 250
    assert whole["odyssey_seed"]["initial_state"] == STATE
    step = client.get(f"/runs/{traced.runs['Refund']}/steps/4/json").json()
    assert step["tool_name"] == "refund_order"


def hostile_paths(traced: Traced) -> list[str]:
    run_id, refund = traced.runs["Hostile"], traced.runs["Refund"]
    return [
        f"/runs/{run_id}",
        *(f"/runs/{run_id}/steps/{name}" for name in ("0", "1", "2", "3", "4", "5", "6", "end")),
        f"/runs/{run_id}/entity?type=order&id=4521",
        f"/runs/{run_id}/entity?type=%3Cscript%3E&id=%3Cb%3E",
        f"/runs/{run_id}?q=%3Cscript%3E",
        f"/runs/{run_id}?s=%3Cscript%3E",
        f"/compare/runs?from={run_id}&to={refund}",
        f"/compare/runs?from={run_id}&to=%3Cscript%3E",
    ]


def test_nothing_that_an_agent_says_is_markup(client: httpx2.Client, traced: Traced) -> None:
    seen = ""
    for path in hostile_paths(traced):
        answered = client.get(path)
        assert answered.status_code in (200, 422), path
        assert len(answered.content) < 120_000, path  # of texts of 900,000 characters
        found = Elements(answered.text)
        seen += found.text
        for tag, attrs in found.elements:
            assert tag not in ("img", "iframe", "b"), path
            assert tag != "script" or (attrs.get("src") or "").startswith("/"), path
            assert not any(name.startswith("on") for name in attrs), (path, attrs)
        for href in found.hrefs():
            assert href.startswith(("/", "?", "#")), (path, href)
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u0007]", answered.text), path
    assert EVIL in seen
    assert "⟨U+202E⟩" in seen
    assert LONG[:1000] in seen


def test_only_who_may_judges_anew(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Wrong"]
    csrf = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/").text)
    assert csrf is not None
    judged = client.post(f"/runs/{run_id}/judge", data={"csrf": csrf[1], "oracle": "own"})
    assert judged.headers["location"] == f"/runs/{run_id}"
    assert "Judged again: FAIL, as before." in text_of(client, f"/runs/{run_id}")
    key = traced.api.post("/api/keys", {"name": "guest", "role": "viewer"}, 201)["api_key"]
    with traced.signed_in(key) as viewer:
        page = viewer.get(f"/runs/{run_id}").text
        assert "Re-judge" not in page
        assert "Do you disagree" not in page
        token = re.search(r'X-Csrf": "([0-9a-f]+)"', page)
        assert token is not None
        for act in ("judge", "cancel", "verdict"):
            assert viewer.post(f"/runs/{run_id}/{act}", data={"csrf": token[1]}).status_code == 403


def test_a_person_may_see_it_otherwise(client: httpx2.Client, traced: Traced) -> None:
    run_id = traced.runs["Nothing"]
    page = client.get(f"/runs/{run_id}").text
    csrf = re.search(r'X-Csrf": "([0-9a-f]+)"', page)
    assert csrf is not None
    assert not [href for href in Elements(page).hrefs() if href.startswith("/review/")]
    given = {"csrf": csrf[1], "verdict": "PASS", "note": "nothing was to be done"}
    assert client.post(f"/runs/{run_id}/verdict", data=given).status_code == 303
    text = text_of(client, f"/runs/{run_id}")
    assert "reviewer verdict: ✓pass" in text
    assert "nothing was to be done" in text
    assert f"/review/rev_run_{run_id}" in client.get(f"/runs/{run_id}").text
    pending = client.get(f"/runs/{traced.runs['Many']}").text
    assert f"/review/rev_run_{traced.runs['Many']}" in pending
    wrong = client.post(f"/runs/{traced.runs['Refund']}/verdict", data={"csrf": csrf[1], "verdict": "MAYBE"})
    assert wrong.status_code == 422


def test_a_person_reads_a_run_with_keys(browser: Browser, traced: Traced) -> None:
    run_id = traced.runs["Refund"]
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{run_id}")
        step, world = page.locator("#step h2"), page.locator("#world")
        expect(step).to_have_text("Step 3: refund_order")  # the first failure
        page.keyboard.press("ArrowRight")
        expect(step).to_have_text("Step 4: refund_order")
        expect(world).to_contain_text('"shipped" → "refunded"')
        expect(page.locator("#trace-position")).to_have_text("step 4 of 5")
        assert page.url.endswith("#s=4")
        page.keyboard.press("Home")
        expect(step).to_have_text("Request")
        page.keyboard.press("f")
        expect(step).to_have_text("Step 3: refund_order")
        page.keyboard.press("w")
        expect(world).to_be_hidden()
        page.keyboard.press("w")
        page.keyboard.press("/")
        page.keyboard.type("first the order")
        page.keyboard.press("Enter")
        expect(step).to_have_text("Step 1: thinking")
        page.get_by_label("Step", exact=True).and_(page.get_by_role("slider")).fill("5")
        expect(step).to_have_text("Step 5: raise_flag")
        visitor.opens(f"/runs/{run_id}?x#s=2")
        expect(step).to_have_text("Step 2: get_order")
        page.locator("#world").get_by_text("order 4521").click()
        expect(page.locator("#world")).to_contain_text("history")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Wrong", "Team", "Nothing", "Hostile"])
def test_the_page_is_sound_in_both_schemes_and_widths(browser: Browser, traced: Traced, name: str) -> None:
    with person(browser, traced.api) as visitor:
        check_page(visitor, f"/runs/{traced.runs[name]}", f"trace-{name.lower()}")


@pytest.mark.slow
def test_a_long_timeline_is_moved_through_window_by_window(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Many']}#s=199")
        expect(page.locator("#step h2")).to_have_text("Step 199: get_order")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#step h2")).to_have_text("Step 200: get_order")
        page.keyboard.press("End")
        expect(page.locator("#step h2")).to_have_text("Answer")
        whole = page.evaluate("document.querySelector('#trace-lines').scrollHeight")
        assert abs(whole - 252 * 28) < 40  # the scroll bar tells how long it is
        page.evaluate("document.querySelector('#trace-lines').scrollTop = 0")
        expect(page.locator("#s-1")).to_be_visible()


@pytest.mark.slow
def test_on_a_phone_columns_are_tabs(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Refund']}")
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.locator("#world")).to_be_hidden()
        page.locator("#s-4").click()
        expect(page.locator("#step h2")).to_have_text("Step 4: refund_order")
        page.get_by_text("World", exact=True).first.click()
        expect(page.locator("#world")).to_contain_text("refunded")
        expect(page.locator("#step")).to_be_hidden()


@pytest.mark.slow
def test_a_run_that_still_goes_is_followed(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with house_in(tmp_path_factory.mktemp("live") / "house") as house, played(behave) as agent:
        api = house.open()
        api.start_batch(agent.url, {"user": "Slow going.", "state": STATE})
        with person(browser, api) as visitor:
            page = visitor.opens("/runs/1")
            expect(page.locator("#trace-live")).to_contain_text("This run is still running")
            expect(page.locator("#s-1")).to_be_visible()  # its first call, when it came
            agent.may_answer.set()
            expect(page.locator("#s-end")).to_be_visible()
            expect(page.locator("#trace-strip")).to_contain_text("pending")


@pytest.mark.slow
def test_reading_works_without_scripts(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api, java_script_enabled=False) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Refund']}")
        page.locator("#s-4").click()
        expect(page.locator("#step h2")).to_have_text("Step 4: refund_order")
        expect(page.locator("#world")).to_contain_text("refunded")
        page.get_by_placeholder("Search arguments").fill("late")
        page.get_by_role("button", name="Search").click()
        expect(page.locator("#trace-hits")).to_contain_text("2 steps")


#: The names of the lines that somebody sees, and how many rows of the list are without one.
SEEN = """() => {
    const list = document.getElementById("trace-lines"), box = list.getBoundingClientRect();
    const seen = [...list.querySelectorAll(".line")].filter((line) => {
        const at = line.getBoundingClientRect();
        return at.top >= box.top - 1 && at.bottom <= box.bottom + 1;
    });
    const blank = Math.max(0, Math.floor(list.clientHeight / 28) - 1 - seen.length);
    return { names: seen.map((line) => line.dataset.s), blank };
}"""


@pytest.mark.parametrize("step", [0, 150, 200, 201, 249])
def test_a_jump_fills_the_list_around_the_step(browser: Browser, traced: Traced, step: int) -> None:
    """The lines come two hundred at a time: none of them may begin or end where somebody looks."""
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Many']}")
        slider = page.locator("#trace-slider")
        slider.evaluate(
            "(slider, to) => { slider.value = to; slider.dispatchEvent(new Event('input')) }", step
        )
        page.locator(f".line[aria-current][data-s='{step}']").wait_for()
        page.wait_for_function(f"({SEEN})().blank === 0")
        assert str(step) in page.evaluate(SEEN)["names"]
        if step:
            page.keyboard.press("ArrowLeft")
            page.locator(f".line[aria-current][data-s='{step - 1}']").wait_for()
            page.wait_for_function(f"({SEEN})().blank === 0")
            assert str(step - 1) in page.evaluate(SEEN)["names"]
            page.locator(f".line[data-s='{step}']").click()
            page.locator(f".line[aria-current][data-s='{step}']").wait_for()


def test_the_last_place_of_a_slider_that_is_dragged_counts(browser: Browser, traced: Traced) -> None:
    """Answers that come late or in another order change nothing."""
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Many']}")
        held: list[Route] = []
        page.route("**/window?*", lambda route: held.append(route))
        drag = """(slider, places) => { for (const to of places) {
            slider.value = to; slider.dispatchEvent(new Event('input')) } }"""
        page.locator("#trace-slider").evaluate(drag, [230, 5, 240])
        while len(held) < 2:
            page.evaluate("0")  # the browser tells of its requests meanwhile
        for route in reversed(held):
            route.continue_()
        page.locator(".line[aria-current][data-s='240']").wait_for()
        page.wait_for_function(f"({SEEN})().blank === 0")
        assert "240" in page.evaluate(SEEN)["names"]
