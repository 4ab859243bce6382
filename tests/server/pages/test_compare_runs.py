"""Two runs side by side: what both did, where they part, what each made of the world."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from support.browser import check_page, person
from support.sample_runs import Traced


@pytest.fixture(scope="module")
def client(traced: Traced) -> Iterator[httpx2.Client]:
    with traced.signed_in() as signed_in:
        yield signed_in


def compared(client: httpx2.Client, left: int | str, right: int | str, **more: str) -> str:
    answered = client.get("/compare/runs", params={"from": left, "to": right} | more)
    assert answered.status_code == 200
    return answered.text


def kinds(page: str) -> list[str]:
    return re.findall(r'<tr id="r\d+" class="(\w+)', page)


def test_a_call_more_is_told_and_does_not_last(client: httpx2.Client, traced: Traced) -> None:
    page = compared(client, traced.runs["Refund"], traced.runs["Wrong"])
    assert kinds(page) == ["alike", "right", "alike", "alike", "alike"]
    assert "no lasting divergence" in page
    assert "to different tasks" in page


def test_runs_that_part_for_good_say_where(client: httpx2.Client, traced: Traced) -> None:
    page = compared(client, traced.runs["Refund"], traced.runs["Talk"])
    assert kinds(page) == ["alike", "left", "left", "left"]
    assert "divergence" in page
    assert 'data-marked="1"' in page
    assert re.search(r'id="r1" class="left parts"', page)


def test_worlds_stand_side_by_side(client: httpx2.Client, traced: Traced) -> None:
    page = compared(client, traced.runs["Refund"], traced.runs["Wrong"])
    worlds = re.sub(r"<[^>]+>|\s+", " ", page[page.index('id="worlds"') :])
    worlds = re.sub(r"\s+", " ", worlds)
    assert "1 field differs, 3 changed in the same way" in worlds
    assert 'differs: order 7001 .status "pending" "pending" "cancelled"' in worlds
    assert 'same: order 4521 .status "shipped" "refunded" "refunded"' in worlds


def test_a_run_is_like_itself_and_only_what_differs_can_be_shown(
    client: httpx2.Client, traced: Traced
) -> None:
    same = compared(client, traced.runs["Many"], traced.runs["Many"])
    assert len(kinds(same)) == 200
    assert "Both runs made the same calls" in same
    assert len(kinds(compared(client, traced.runs["Many"], traced.runs["Many"], at="200"))) == 50
    only = compared(client, traced.runs["Refund"], traced.runs["Wrong"], only="differences")
    assert kinds(only) == ["right"]
    assert "Neither run called a tool" in compared(client, traced.runs["Nothing"], traced.runs["Nothing"])


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("", 200, "Second run"),
        ("from=1", 200, "only run of its task"),
        ("from=1&to=x", 422, "must be the number of a run"),
        ("from=-3&to=1", 422, "must be the number of a run"),
        ("from=1&to=99999", 422, "There is no run 99999"),
        ("from=99999999999999999999999999&to=1", 422, "must be the number of a run"),
    ],
)
def test_what_cannot_be_compared_is_asked_for_again(
    client: httpx2.Client, query: str, status: int, says: str
) -> None:
    answered = client.get(f"/compare/runs?{query}")
    assert answered.status_code == status
    assert says in answered.text


@pytest.mark.slow
def test_a_person_goes_to_where_two_runs_part(browser: Browser, traced: Traced) -> None:
    with person(browser, traced.api) as visitor:
        path = f"/compare/runs?from={traced.runs['Refund']}&to={traced.runs['Talk']}"
        check_page(visitor, path, "compare")
        page = visitor.opens(path)
        page.keyboard.press("d")
        expect(page.locator("#r1")).to_be_focused()
        page.keyboard.press("n")
        expect(page.locator("#r2")).to_be_focused()
        check_page(visitor, f"/compare/runs?from={traced.runs['Refund']}", "compare-choice")
