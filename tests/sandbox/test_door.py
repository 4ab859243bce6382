"""The host's side of a sandbox's one address: nothing of a connection is left, whenever its run ends."""

import asyncio
import socket

import pytest

from pipelines.sandbox.host_listener import HostListener

pytestmark = pytest.mark.anyio


async def test_a_connection_whose_serving_never_began_is_closed():
    listener = socket.create_server(("127.0.0.1", 0))
    served: list[socket.socket] = []

    async def serve(connection: socket.socket) -> None:
        served.append(connection)
        await asyncio.Event().wait()

    door = HostListener(listener, serve, limit=8)
    with socket.create_connection(listener.getsockname()) as asking:
        asking.settimeout(10)
        door._accept()  # as the loop does when somebody asks; the run ends before it goes on
        await door.close()
        assert served == []
        assert await asyncio.to_thread(asking.recv, 1) == b""
