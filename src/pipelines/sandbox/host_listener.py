"""The host's side of the one address that code in a sandbox can reach."""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import TypeAlias

#: Called on the host, in the event loop, with each TCP connection that the code opens to its proxy. It speaks
#: HTTP on it and returns when the connection is over; it is cancelled when the run ends first. The socket is
#: non-blocking; it is closed for you once this has returned, if you have not done so.
Serve: TypeAlias = Callable[[socket.socket], Awaitable[None]]

_log = logging.getLogger(__name__)
_WITHOUT_FILES_PAUSE_S = 0.1


class HostListener:
    """Accepts connections, at most `limit` at a time; more wait in the kernel's queue, inside the sandbox."""

    def __init__(self, listener: socket.socket, serve: Serve, limit: int) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._serve = serve
        self._limit = limit
        self._served: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._is_open = True
        self._listen()

    async def close(self) -> None:
        self._is_open = False
        self._loop.remove_reader(self._listener.fileno())
        self._listener.close()
        for task in self._served:
            task.cancel()
        await asyncio.gather(*self._served, return_exceptions=True)

    def _listen(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # this process is out of file handles: not a reason to spin
            self._loop.remove_reader(self._listener.fileno())
            self._loop.call_later(_WITHOUT_FILES_PAUSE_S, self._listen)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve_one(connection))
        self._served.add(task)
        task.add_done_callback(lambda done: self._is_served(done, connection))
        if len(self._served) >= self._limit:
            self._loop.remove_reader(self._listener.fileno())

    async def _serve_one(self, connection: socket.socket) -> None:
        try:
            await self._serve(connection)
        except OSError:
            pass  # the code closed it
        except Exception:  # noqa: BLE001 - one connection of theirs; the log has what is ours to mend
            _log.exception("a sandbox's connection to its proxy failed")

    def _is_served(self, task: "asyncio.Task[None]", connection: socket.socket) -> None:
        connection.close()  # here, since a task that is cancelled before its first step does nothing at all
        self._served.discard(task)
        self._listen()
