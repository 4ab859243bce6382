"""A way to a server that can be blocked like a network that drops packets: nothing is refused, nothing comes.

Only what is sent afterwards is held: it goes on when the relay does, unless its connection was cut meanwhile.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Relay:
    """Between `port` of this machine and another of it, on a loop and a thread of its own."""

    port: int

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._carried: set[asyncio.Task[None]] = set()
        self._is_open = asyncio.Event()
        self.held = 0  # parts that arrived while it was blocked

    def block(self) -> None:
        self._on_loop(self._is_open.clear)

    def go_on(self) -> None:
        self._on_loop(self._is_open.set)

    def cut(self) -> None:
        """Every connection there is now ends; what it held never arrives."""
        self._on_loop(lambda: [task.cancel() for task in self._carried])

    def start(self) -> None:
        self._thread.start()
        self.go_on()
        served = asyncio.start_server(self._carry, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(served, self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]

    def stop(self) -> None:
        self._on_loop(self._server.close)
        self.cut()
        asyncio.run_coroutine_threadsafe(self._until_all_ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _on_loop(self, act: Callable[[], object]) -> None:
        done = threading.Event()

        def carry_out() -> None:
            act()
            done.set()

        self._loop.call_soon_threadsafe(carry_out)
        assert done.wait(10)

    async def _until_all_ended(self) -> None:
        await asyncio.gather(*self._carried)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._carried.add(task)
        far = None
        try:
            await self._is_open.wait()
            from_far, far = await asyncio.open_connection("127.0.0.1", self._target_port)
            await asyncio.gather(self._pump(reader, far), self._pump(from_far, writer))
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._carried.discard(task)
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while part := await reader.read(65_536):
            self.held += not self._is_open.is_set()
            await self._is_open.wait()
            writer.write(part)
            await writer.drain()
        await self._is_open.wait()
        with suppress(OSError):  # the other direction ended first
            writer.write_eof()


@contextmanager
def relay_to(port: int) -> Iterator[Relay]:
    relay = Relay(port)
    relay.start()
    try:
        yield relay
    finally:
        relay.stop()
