"""That these tests keep to this machine is watched, and the watch works."""

import asyncio
import socket
from typing import Any

import pytest

ELSEWHERE = ("192.0.2.1", 80)  # an address for documentation: nobody has it


def connect() -> None:
    with socket.socket() as opened:
        opened.settimeout(1)
        opened.connect(ELSEWHERE)


def connect_ex() -> None:
    with socket.socket() as opened:
        opened.settimeout(1)
        opened.connect_ex(ELSEWHERE)


def by_name() -> None:
    socket.create_connection(("api.example.com", 443), timeout=1)


def by_loop() -> None:
    asyncio.run(asyncio.wait_for(opened_by_loop(), 1))


async def opened_by_loop() -> None:
    await asyncio.open_connection(*ELSEWHERE)


@pytest.mark.parametrize("attempt", [connect, connect_ex, by_name, by_loop])
def test_another_machine_is_refused_and_remembered(attempt: Any, sought_elsewhere: list[str]) -> None:
    with pytest.raises(OSError, match="wants to reach"):
        attempt()
    assert len(sought_elsewhere) == 1
    sought_elsewhere.clear()  # or this test would fail at its end, as others shall


def test_this_machine_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port), timeout=5).close()
