"""One browser for the tests of a module: starting it takes a second. It ends with the module: Playwright
keeps an event loop in the main thread, and no async test of this process could start its own meanwhile."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from support.browser import started_browser
from support.sample_runs import traced as traced  # a server with runs, for whoever asks for it


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as running:
        yield running
