"""The SDK waits between tries; most tests need not."""

import pytest


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other without a wait, unless a Retry-After asks for one."""
    monkeypatch.setattr("pipelines.odyssey.retry.FIRST_WAIT_S", 0.0)
    monkeypatch.setattr("pipelines.odyssey.retry.JITTER_S", 0.0)
