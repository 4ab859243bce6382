"""What every page rests on: signing in, the frame, the style guide, hostile names, files of others."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, expect

from pipelines.web.assets import FOLDER, vendored
from support.browser import check_page, person
from support.server_process import Api, house_in


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with house_in(tmp_path_factory.mktemp("frame") / "house") as house:
        yield house.open()


def test_the_link_that_up_prints_signs_in_once(tmp_path: Path, browser: Browser) -> None:
    with house_in(tmp_path / "house") as house:
        api = house.open()
        assert house.node is not None
        link = re.search(r"Open (\S+)", house.node.said)
        assert link is not None
        page = browser.new_context(base_url=api.url).new_page()
        page.goto(link[1])
        assert page.url == f"{api.url}/"
        again = browser.new_context(base_url=api.url).new_page()
        again.goto(link[1])
        assert "has been used" in again.inner_text("main")


def test_the_style_guide_is_sound_in_both_schemes_and_widths(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        check_page(visitor, "/ui/style", "style")


def test_keys_open_the_finder_and_the_list_of_keys_and_go_to_places(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/ui/style")
        page.keyboard.press("?")
        assert page.locator("#keys").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        assert page.locator("#finder").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("g")
        page.keyboard.press("h")
        page.wait_for_url(f"{api.url}/")


def test_a_page_without_a_sign_in_leads_to_it_and_back(browser: Browser, api: Api) -> None:
    page = browser.new_context(base_url=api.url).new_page()
    page.goto("/ui/style?x=1")
    page.get_by_label("API key or token").fill(api.key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{api.url}/ui/style?x=1")


@pytest.fixture
def client(api: Api) -> Iterator[httpx2.Client]:
    """A browser's requests without a browser."""
    with httpx2.Client(base_url=api.url) as browsing:
        answered = browsing.post("/sign-in", data={"key": api.key})
        assert answered.status_code == 303
        assert "HttpOnly" in answered.headers["set-cookie"]
        assert "samesite=lax" in answered.headers["set-cookie"].lower()
        yield browsing


def test_pages_are_refused_under_a_name_that_is_not_ours(client: httpx2.Client) -> None:
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": "evil.example:80"}).status_code == 421
    assert client.get("/sign-in", headers={"host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("headers", "fields"),
    [
        ({}, {}),
        ({}, {"csrf": "0" * 64}),
        ({"origin": "http://evil.example"}, {}),
        ({"sec-fetch-site": "cross-site"}, {}),
    ],
)
def test_a_form_from_elsewhere_is_refused(
    client: httpx2.Client, headers: dict[str, str], fields: dict[str, str]
) -> None:
    assert client.post("/sign-out", headers=headers, data=fields or {"x": "1"}).status_code == 403
    assert client.get("/").status_code == 200


def test_a_form_of_ours_from_elsewhere_is_refused_even_with_its_token(client: httpx2.Client) -> None:
    csrf = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/").text)
    assert csrf is not None
    away = {"origin": "http://evil.example"}
    assert client.post("/sign-out", headers=away, data={"csrf": csrf[1]}).status_code == 403
    assert client.post("/sign-out", data={"csrf": csrf[1]}).status_code == 303
    assert client.get("/").status_code == 303


@pytest.mark.parametrize("path", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\nb"])
def test_signing_in_never_leads_elsewhere(api: Api, path: str) -> None:
    answered = httpx2.post(f"{api.url}/sign-in", data={"key": api.key, "next": path})
    assert answered.headers["location"] == "/"


def test_a_key_that_is_revoked_ends_its_sign_ins(api: Api) -> None:
    made = api.post("/api/keys", {"name": "guest", "role": "viewer"}, 201)
    with httpx2.Client(base_url=api.url) as guest:
        guest.post("/sign-in", data={"key": made["api_key"]})
        assert guest.get("/").status_code == 200
        api.client.delete(f"/api/keys/{made['id']}")
        assert guest.get("/").status_code == 303


def test_what_a_browser_may_load_is_said_on_every_page(client: httpx2.Client) -> None:
    policy = client.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    for template in (FOLDER.parent / "templates").rglob("*.html"):
        text = template.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|\|\s*safe\b", text), template


def test_the_style_guide_shows_every_component() -> None:
    templates = FOLDER.parent / "templates"
    made = re.findall(r"{% macro (\w+)", (templates / "components.html").read_text())
    shown = (templates / "style.html").read_text()
    inner = {"csrf", "problems_of", "world_value"}  # seen within others
    assert {name for name in made if f"ui.{name}(" not in shown} == inner


def test_what_is_not_there_is_told_with_the_way_to_elsewhere(client: httpx2.Client, api: Api) -> None:
    gone = client.get("/runs/987654")
    assert gone.status_code == 404
    assert "There is no run 987654" in gone.text
    assert 'aria-label="Pages"' in gone.text
    stranger = httpx2.get(f"{api.url}/runs/987654")
    assert (stranger.status_code, stranger.headers["location"].partition("?")[0]) == (303, "/sign-in")


def test_the_summary_of_a_form_leads_to_its_fields_by_their_labels(browser: Browser, api: Api) -> None:
    with person(browser, api) as visitor:
        page = visitor.opens("/agents/new")
        page.get_by_label("Name", exact=True).fill("Desk")
        page.get_by_label("Endpoint URL").fill("ftp://x")
        page.get_by_label("Runs at a time").fill("0")
        page.get_by_role("button", name="Register").click()
        summary = page.locator("main .notice.bad")
        expect(summary).to_contain_text("Runs at a time must be a whole number from 1 to 1000")
        summary.get_by_role("link", name="Runs at a time").click()
        assert page.evaluate("document.activeElement.id") == "f-max_concurrency"
        expect(summary).to_contain_text("Endpoint URL must start with http://")
        summary.get_by_role("link", name="Endpoint URL").click()
        assert page.evaluate("document.activeElement.id") == "f-endpoint_url"
        assert "endpoint_url" not in page.inner_text("main .notice.bad")
        visitor.complaints.clear()  # the browser tells of the 422


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize(
    "path", ["/nothing-here", "/runs/1/nothing", "/settings/nothing/at/all", "/favicon.txt"]
)
def test_an_unknown_address_is_a_page_for_a_browser(client: httpx2.Client, api: Api, path: str) -> None:
    known = client.get(path, headers=BROWSER)
    assert (known.status_code, known.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert f"There is no page at {path}" in known.text
    assert 'aria-label="Pages"' in known.text
    stranger = httpx2.get(f"{api.url}{path}", headers=BROWSER)
    assert stranger.status_code == 404
    assert f"There is no page at {path}" in stranger.text
    assert 'aria-label="Pages"' not in stranger.text


def test_an_unknown_address_of_the_api_is_json_for_everybody(client: httpx2.Client, api: Api) -> None:
    for path, headers in (("/api/nothing", BROWSER), ("/nothing-here", {"accept": "*/*"})):
        answered = httpx2.get(f"{api.url}{path}", headers=headers)
        assert answered.status_code == 404
        assert answered.json()["error"]["code"] == "not_found"


def test_a_message_is_shown_once_and_only_where_the_action_led(client: httpx2.Client) -> None:
    csrf = re.search(r'X-Csrf": "([0-9a-f]+)"', client.get("/").text)
    assert csrf is not None
    client.post("/agents/example", data={"csrf": csrf[1]})
    assert "Created agent 1" not in client.get("/settings").text
    assert "Created agent 1" in client.get("/").text
    assert "Created agent 1" not in client.get("/").text


@pytest.mark.parametrize(
    ("path", "shows"), [("/settings/server/code", "Database and queue"), ("/settings/data/sizes", "Together")]
)
def test_a_part_that_is_opened_by_its_link_is_a_whole_page(
    client: httpx2.Client, path: str, shows: str
) -> None:
    whole = client.get(path).text
    assert "<html" in whole
    assert shows in whole
    assert 'hx-get="' + path not in whole
    assert "<html" not in client.get(path, headers={"hx-request": "true"}).text


def test_files_of_others_are_as_they_were_published() -> None:
    told = {file.name: file.sha256 for file in vendored()}
    assert {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() for name in told} == told
