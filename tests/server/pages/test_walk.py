"""From `pipelines up` to reading why a run failed, in the browser only, by docs/howto/pages.md."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.repository import DOCS
from support.server_process import house_in

PAGE = DOCS / "howto" / "pages.md"
PATIENCE_MS = 90_000


def told_to_press() -> list[str]:
    """What the walk says to press, in its order."""
    walk = PAGE.read_text().partition("## A first verdict")[2].partition("\n## ")[0]
    return re.findall(r"[Pp]ress \*([^*]+)\*", walk)


@pytest.mark.slow  # its agent runs in a sandbox
def test_the_walk_leads_to_why_a_run_failed(tmp_path: Path, browser: Browser) -> None:
    with house_in(tmp_path / "house") as house:
        api = house.open()
        if not api.get("/api/code-mode")["available"]:
            pytest.skip("this machine cannot run the example agent in a sandbox")
        assert house.node is not None
        link = re.search(r"Open (\S+)", house.node.said)
        assert link is not None
        page = browser.new_context(base_url=api.url).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(link[1])
        make, run, start = told_to_press()
        page.get_by_role("button", name=make).click()
        if not page.url.endswith("/batches/new"):
            page.goto("/")
        page.get_by_role("link", name=run).click()
        page.get_by_role("button", name=start, exact=True).click()
        page.wait_for_url(re.compile(r"/batches/\d+"))
        failed = page.locator("tr", has_text="fail").locator("a[href^='/runs/']").first
        expect(failed).to_be_visible(timeout=PATIENCE_MS)
        failed.click()
        page.wait_for_url(re.compile(r"/runs/\d+"))
        said = page.inner_text("main")
        assert "4701" in said
        assert "refunded" in said
