"""axe finds nothing on any page, in both colour schemes and at three widths, and no page is too wide."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from support.browser import axe_findings, person
from support.every_page import EveryPage, every_page

WIDTHS = (1440, 1024, 390)
#: The dark scheme has the layout of the light one, so only what depends on colours is looked at again.
COLOUR_RULES = ("color-contrast", "link-in-text-block")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryPage]:
    with every_page(tmp_path_factory.mktemp("every-page")) as seeded:
        yield seeded


@pytest.mark.slow
def test_axe_finds_nothing_on_any_page(browser: Browser, pages: EveryPage) -> None:
    found: list[str] = []
    with person(browser, pages.api) as visitor:
        for name, path in pages.paths.items():
            answer = visitor.page.goto(path)
            assert answer is not None
            assert answer.status == (404 if name == "unknown" else 200), path
            found += _findings(visitor.page, name)
        # An unknown page is told of in the console, too.
        visitor.complaints[:] = [each for each in visitor.complaints if "/nothing-here" not in each]
    assert not found, "\n".join(found)


def _findings(page: Page, name: str) -> Iterator[str]:
    for scheme, rules in (("light", None), ("dark", COLOUR_RULES)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            too_wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            if too_wide > 0:
                yield f"{name} at {width}: {too_wide} pixels too wide"
            yield from (f"{name}, {scheme} at {width}: {each}" for each in axe_findings(page, rules))
