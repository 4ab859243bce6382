"""One browser for all tests of a process: starting it takes a second."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from browsing import started_browser
from traced_runs import traced as traced  # a server with runs, for whoever asks for it


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with started_browser() as running:
        yield running
