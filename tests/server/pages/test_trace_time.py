"""The timeline of a run: its waterfall and filters, equal calls as one line; thinking, metadata, JSON."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from server.pages.signed_in import words
from support.browser import check_page, person
from support.sample_runs import Traced


@pytest.fixture(scope="module")
def client(traced: Traced) -> Iterator[httpx2.Client]:
    with traced.signed_in() as signed_in:
        yield signed_in


def page_of(client: httpx2.Client, path: str) -> str:
    answered = client.get(path)
    assert answered.status_code == 200, path
    return answered.text


def line_names(page: str) -> list[str]:
    return re.findall(r'class="line[^>]*data-s="(\w+)"', page)


def test_equal_calls_in_a_row_are_one_line(client: httpx2.Client, traced: Traced) -> None:
    run = f"/runs/{traced.runs['Polls']}"
    page = page_of(client, run)
    assert line_names(page) == ["0", "1", "5", "6", "9", "10", "end"]
    assert re.findall(r"(\d+) equal calls<", page) == ["4", "3"]
    assert line_names(page_of(client, f"{run}?fold=no")) == ["0", *map(str, range(1, 11)), "end"]


def test_a_folded_line_links_to_each_of_its_calls(client: httpx2.Client, traced: Traced) -> None:
    run = f"/runs/{traced.runs['Polls']}"
    step = page_of(client, f"{run}/steps/1")
    assert "4 equal calls: the same arguments and the same reply" in words(step)
    assert re.findall(r'notice.*?data-s="(\d+)">step', step) or 'data-s="2">step 2' in step
    inside = page_of(client, f"{run}?s=3")  # a call without a line: the line before it is marked
    assert "Step 3: get_order" in words(inside)
    assert re.search(r'id="s-1"[^>]*aria-current="step"', inside)
    assert re.findall(r'aria-label="(?:Previous|Next) step"', inside) != []
    assert 'href="?s=5" data-s="5" aria-label="Next step"' in inside


def test_only_changes_and_only_failures(client: httpx2.Client, traced: Traced) -> None:
    run = f"/runs/{traced.runs['Polls']}"
    assert line_names(page_of(client, f"{run}?only=changes")) == ["0", "5", "end"]
    assert line_names(page_of(client, f"{run}?only=failures")) == ["0", "10", "end"]
    page = page_of(client, f"{run}?only=failures")
    assert 'href="?s=10&amp;only=failures"' in page  # every link keeps the view
    assert "only changes 1" in words(page)
    assert "only failures 1" in words(page)
    assert client.get(f"{run}?only=nothing").status_code == 422


def test_the_waterfall_has_a_bar_for_each_call_and_the_sums(client: httpx2.Client, traced: Traced) -> None:
    run = f"/runs/{traced.runs['Polls']}"
    page = page_of(client, f"{run}?view=time&fold=no")
    assert len(re.findall(r'<rect class="call"', page)) == 10
    text = words(page)
    assert "in 10 tool calls" in text
    assert "the agent's own time" in text
    assert "900 tokens in" in text
    assert "$0.02" in text
    bars = [
        (float(x), float(width))
        for x, width in re.findall(r'class="call" x="([\d.]+)" width="([\d.]+)"', page)
    ]
    assert all(x >= 0 and x + width <= 1000.1 for x, width in bars)
    assert bars == sorted(bars)
    folded = page_of(client, f"{run}?view=time")
    assert len(re.findall(r'<rect class="call"', folded)) == 5
    assert "style=" not in page  # the policy of the pages allows no inline style


def test_a_run_without_usage_says_so(client: httpx2.Client, traced: Traced) -> None:
    text = words(page_of(client, f"/runs/{traced.runs['Nothing']}?view=time"))
    assert "tokens not reported" in text
    assert "cost not reported" in text


def test_thinking_stands_on_every_turn_of_the_agent(client: httpx2.Client, traced: Traced) -> None:
    run = f"/runs/{traced.runs['Talk']}"
    message = line_names(page_of(client, run))[1]
    assert "Thinking First look." in words(page_of(client, f"{run}/steps/{message}"))
    assert "Thinking First look." in words(page_of(client, f"{run}/steps/1"))
    assert "Thinking Shipped means sent." in words(page_of(client, f"{run}/steps/end"))


def test_metadata_is_a_table_with_the_known_keys_first(client: httpx2.Client, traced: Traced) -> None:
    text = words(page_of(client, f"/runs/{traced.runs['Talk']}/steps/end"))
    assert (
        "Model test-model-1 Prompt id desk-v7 Runtime by the agent's clock 1.5 s Tokens in 1,200 ward" in text
    )
    assert "reported no metadata" in words(page_of(client, f"/runs/{traced.runs['Nothing']}/steps/end"))


def test_json_has_its_raw_text_with_unseen_characters_escaped(client: httpx2.Client, traced: Traced) -> None:
    page = page_of(client, f"/runs/{traced.runs['Polls']}/steps/1")
    assert "<pre>{&#34;order_id&#34;:&#34;4521&#34;}</pre>" in page
    hostile = page_of(client, f"/runs/{traced.runs['Hostile']}/steps/2")
    assert r"safe\u202elive\u2066" in hostile


def test_a_person_filters_and_measures_without_losing_the_step(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = visitor.opens(f"/runs/{traced.runs['Polls']}")
        step = page.locator("#step h2")
        page.locator("#s-5").click()
        expect(step).to_have_text("Step 5: refund_order")
        page.get_by_role("link", name="Time", exact=True).click()
        expect(page.locator("#trace")).to_have_class(re.compile("as-time"))
        expect(step).to_have_text("Step 5: refund_order")
        expect(page.locator("#s-5 rect.call")).to_have_count(1)
        page.get_by_role("link", name="only failures 1").click()
        expect(page.locator("#trace-lines .line")).to_have_count(3)
        expect(step).to_have_text("Step 5: refund_order")  # it has no line now, and stays
        page.keyboard.press("ArrowRight")
        expect(step).to_have_text("Step 10: get_order")
        assert "only=failures" in page.url
        assert "view=time" in page.url
        page.get_by_role("button", name="copy", exact=True).first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == '{"order_id":"none"}'
        raw = page.locator("#step details.raw").first
        raw.locator("summary").click()
        expect(raw.locator("pre")).to_be_visible()
        expect(page.locator("#step .json").first).to_be_hidden()


def test_a_call_inside_a_fold_can_be_opened(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Polls']}#s=7")
        expect(page.locator("#step h2")).to_have_text("Step 7: get_order")
        expect(page.locator("#s-6")).to_have_attribute("aria-current", "step")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#step h2")).to_have_text("Step 9: get_order")


@pytest.mark.slow
def test_a_long_waterfall_is_moved_through_window_by_window(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        page = visitor.opens(f"/runs/{traced.runs['Many']}?view=time#s=199")
        expect(page.locator("#step h2")).to_have_text("Step 199: get_order")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#step h2")).to_have_text("Step 200: get_order")
        expect(page.locator("#s-200 rect.call")).to_have_count(1)


@pytest.mark.slow
def test_the_waterfall_is_sound_in_both_schemes_and_widths(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        check_page(visitor, f"/runs/{traced.runs['Polls']}?view=time", "trace-time")
        check_page(visitor, f"/runs/{traced.runs['Talk']}?s=end", "trace-metadata")
