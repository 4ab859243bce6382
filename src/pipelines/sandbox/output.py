"""What a process prints: read as it comes, so that it never blocks, and kept up to a limit."""

import asyncio
import os
import re

_PIECE = 64 * 1024
_MOST_PIECES = 16  # a pipe cannot be made larger from inside: one is the usual
#: Past its limit a flood is thrown away at this pace, lest reading it take the whole event loop.
_FLOOD_PAUSE_S = 0.002
#: Stands where the middle of too much text was left out: here, and in what an exception says (`inside`).
LEFT_OUT = re.compile(r"\n\[(?:\.\.\. [0-9]+ bytes dropped \.\.\.|… [0-9]+ characters left out …)\]\n")


class Output:
    """The reading end of a pipe. Of too much text the beginning and the end are kept."""

    def __init__(self, pipe: int, limit: int) -> None:
        os.set_blocking(pipe, False)
        self.limit = limit
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(pipe, self._read)

    def text(self) -> str:
        kept = len(self._head) + len(self._tail)
        dropped = self._total - kept
        note = b"\n[... %d bytes dropped ...]\n" % dropped if dropped else b""
        whole = bytes(self._head) + note + bytes(self._tail)
        return whole.decode("utf-8", "replace").replace("\0", "\ufffd")

    def taken(self) -> str:
        """What was printed since the last time. Whatever lies in the pipe is read first, so that what a
        process printed before it answered is there."""
        for _ in range(_MOST_PIECES):
            before = self._total
            self._read()
            if self._total == before:
                break
        text = self.text()
        self._head.clear()
        self._tail.clear()
        self._total = 0
        return text

    def close(self) -> None:
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1
        if not self.ended.done():
            self.ended.set_result(None)

    def _read(self) -> None:
        if self._pipe < 0:
            return
        try:
            data = os.read(self._pipe, _PIECE)
        except (BlockingIOError, InterruptedError):
            return
        if not data:
            self.close()
            return
        self._keep(data)
        if self._total > self.limit:
            self._loop.remove_reader(self._pipe)
            self._loop.call_later(_FLOOD_PAUSE_S, self._resume)

    def _resume(self) -> None:
        if self._pipe >= 0:
            self._loop.add_reader(self._pipe, self._read)

    def _keep(self, data: bytes) -> None:
        self._total += len(data)
        half = self.limit // 2
        room = max(0, half - len(self._head))
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > half:
            del self._tail[: len(self._tail) - half]
