"""A real Chromium on the pages of a real server, and what holds for every page."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.server_process import Api

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from axe_playwright_python.sync_playwright import Axe  # noqa: E402
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
WIDTHS = {"wide": (1280, 800), "narrow": (390, 844)}
#: Where a person looks at every page: SHOTS=folder pytest tests/server/pages
SHOTS = os.environ.get("SHOTS")


@contextmanager
def started_browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


#: What htmx writes when a page is left, or its form typed on, while a question of it is under way. A question
#: that fails has a word of its own beside the second: htmx:sendError, or the status.
GIVEN_UP = ("htmx:sendAbort", "htmx:afterRequest")


class Person:
    """Somebody who has signed in, in a browser window of their own. What the browser complains about fails
    the test that made it, and so does a request to anywhere else."""

    def __init__(self, browser: Browser, api: Api, *, key: str | None = None, **options: Any) -> None:
        self.api = api
        self.context: BrowserContext = browser.new_context(
            base_url=api.url, viewport={"width": 1280, "height": 800}, **options
        )
        self.context.set_default_timeout(20_000)
        self.complaints: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)
        self.sign_in(key or api.key)

    def sign_in(self, key: str) -> None:
        self.page.goto("/sign-in")
        self.page.get_by_label("API key or token").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"{self.api.url}/")

    def opens(self, path: str) -> Page:
        answer = self.page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        return self.page

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(GIVEN_UP):
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.api.url, "data:", "blob:")):
            self.complaints.append(f"asked {request.url}")

    def close(self) -> None:
        self.context.close()
        assert not self.complaints, self.complaints


@contextmanager
def person(browser: Browser, api: Api, **options: Any) -> Iterator[Person]:
    visitor = Person(browser, api, **options)
    yield visitor
    visitor.close()


def check_page(visitor: Person, path: str, name: str) -> None:
    """In both schemes and both widths: nothing that axe calls serious, nothing wider than the window."""
    page = visitor.opens(path)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width, (wide, high) in WIDTHS.items():
            page.set_viewport_size({"width": wide, "height": high})
            overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert overflow <= 0, f"{path} is {overflow} pixels too wide at {wide}"
            if SHOTS:
                Path(SHOTS).mkdir(parents=True, exist_ok=True)
                page.screenshot(path=f"{SHOTS}/{name}-{scheme}-{width}.png", full_page=width == "wide")
        assert not serious(page), f"{path}, {scheme}: {serious(page)}"
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")


def axe_findings(page: Page, rules: Sequence[str] | None = None) -> list[str]:
    """All that axe finds, however minor, and targets that are too small; `rules`: only these."""
    options: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}}
    if rules is not None:
        options = {"runOnly": {"type": "rule", "values": [*rules]}}
    return [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in Axe().run(page, options=options).response["violations"]
        for node in rule["nodes"]
    ]


def serious(page: Page) -> list[str]:
    """What axe finds that keeps somebody from using the page, with the elements it means."""
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:160] for node in rule['nodes'][:3]]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
