"""The pictures of docs/images, made of what the demo runs, with Chromium.

    python docs/screenshots.py [--scheme light|dark] [NAME …]

Needs what the tests of the pages need (playwright, Debian's chromium). Each file has at most 200 kB.
"""

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parent.parent
IMAGES = Path(__file__).parent / "images"
WIDE, HIGH = 1280, 800
MOST_BYTES = 200_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]


class Told(NamedTuple):
    """What the demo prints when it stays."""

    link: str  # signs in
    batch: str
    matrix: str


@contextmanager
def demo() -> Iterator[Told]:
    command = [sys.executable, "-u", str(ROOT / "examples" / "demo.py"), "--open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = ""
    try:
        for line in process.stdout:
            said += line
            if "Ctrl-C ends it" in line:
                break
        yield Told(*re.findall(r"http\S+", said[said.index("Open this") :]))
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def trace(page: Page, told: Told) -> None:
    """The run that did what it should have refused, at the step that did it."""
    page.goto("/runs?verdict=FAIL")
    page.locator("tr", has_text="incorrect completion").locator("a[href^='/runs/']").first.click()
    page.wait_for_load_state()
    page.keyboard.press("f")


def tools(page: Page, told: Told) -> None:
    """How each tool of the refund agent is understood."""
    page.goto("/agents/1/tools")
    page.get_by_role("link", name="refund_order").click()
    page.wait_for_load_state()


def batch(page: Page, told: Told) -> None:
    page.goto(told.batch)


def heatmap(page: Page, told: Told) -> None:
    page.goto(told.matrix)


def review(page: Page, told: Told) -> None:
    """The item that waits first: a decision that moved under pressure."""
    page.goto("/review")
    page.locator("tbody a[href^='/review/']").first.click()
    page.wait_for_load_state()


SHOTS = {"trace": trace, "tools": tools, "batch": batch, "heatmap": heatmap, "review": review}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--scheme", default="light", choices=("light", "dark"))
    asked.add_argument("names", nargs="*", default=list(SHOTS))
    options = asked.parse_args()
    IMAGES.mkdir(exist_ok=True)
    with demo() as told, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=which("chromium"), args=FLAGS)
        context = browser.new_context(
            base_url=told.link.partition("/sign-in")[0],
            viewport={"width": WIDE, "height": HIGH},
            color_scheme=options.scheme,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto(told.link)
        for name in options.names:
            SHOTS[name](page, told)
            page.wait_for_load_state("load")
            page.wait_for_timeout(300)  # what the page's script fills in
            file = IMAGES / f"{name}.png"
            page.screenshot(path=file)
            size = file.stat().st_size
            print(f"{file.relative_to(ROOT)}: {size / 1000:.0f} kB")
            assert size <= MOST_BYTES, f"{file} is too large"
        browser.close()


if __name__ == "__main__":
    main()
