"""How a command reaches a server."""

import pytest

from pipelines.cli.client import uses_proxies


@pytest.mark.parametrize(
    ("url", "uses"),
    [
        ("http://127.0.0.1:8420", False),
        ("http://localhost:8420", False),
        ("http://[::1]:8420", False),
        ("https://odyssey.example.com", True),
        ("http://10.0.0.5:8420", True),
    ],
)
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(url: str, uses: bool) -> None:
    assert uses_proxies(url) is uses
