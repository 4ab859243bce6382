"""Reading the answer to one POST off its connection: what it may be made of, and how fast it is taken.

Whoever answers decides how many pieces it sends, and each costs us something. So pieces are parsed by
compiled code, a few kilobytes at a time with others in between; what is not content (heads, sizes of chunks,
trailers) is bounded; and where little comes at a time, it is left to gather. A large body goes to a file, as
many of them at once would fill the memory.
"""

import asyncio
import tempfile
from typing import IO

import httptools
from httpcore2 import AsyncNetworkStream

READ_BYTES = 16 * 1024  # parsed at once: a millisecond, if it is nothing but pieces of a byte
MAX_HEAD_BYTES = 64 * 1024  # of the answer and of hints before it; servers and proxies allow 8 to 64
MAX_HEADERS = 500
MAX_FRAMING_BYTES = 1024 * 1024  # 200,000 chunks of a byte, or 8 MiB in chunks of fifty
SMALL_READS = 16  # that are taken as they come: most answers have no more
SMALL_READ_BYTES = 4 * 1024
GATHERING_S = 0.02  # a token of a model comes each 10 to 50 ms
HELD_BYTES = 256 * 1024  # of a body in memory; past them, and in steps of as many, it is written to a file


class NotHttp(Exception):
    """What came back cannot be parsed as an HTTP/1 response."""


class BrokenOff(Exception):
    """The connection ended before the answer did."""


class TooMuchAround(Exception):
    """The answer has more around its content than an agent needs; the message says what."""


class IncomingAnswer:
    """What has come of an answer so far."""

    def __init__(
        self, most_bytes: int, most_error_bytes: int, *, has_no_body: bool = False, may_go_on: bool = False
    ) -> None:
        self.status: int | None = None  # once the head is there
        self.headers: dict[str, str] = {}  # lower-case names; the last of those that stand twice
        self.begins = b""  # the whole body, unless there is a file
        self.file: IO[bytes] | None = None
        self.is_whole = False
        self._is_kept = False  # by whoever answered, behind an answer that has ended
        self._most_bytes = most_bytes
        self._most_error_bytes = most_error_bytes
        self._fields: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._held = 0  # bytes in parts
        self._left = most_bytes + 1  # bytes of the body that are wanted yet
        self._around = 0  # bytes that were no content
        self._is_head = True
        self._has_no_body = has_no_body  # the answer to HEAD, whatever length it names
        self._has_more = False  # bytes behind the answer
        self._ends_with_connection = False
        self._parser = httptools.HttpResponseParser(self)
        # Where nothing follows the answer on its connection, what is ambiguous elsewhere does no harm.
        if not may_go_on:
            self._parser.set_dangerous_leniencies(
                lenient_chunked_length=True,
                lenient_data_after_close=True,
                lenient_optional_cr_before_lf=True,
                lenient_spaces_after_chunk_size=True,
            )

    @property
    def lets_go_on(self) -> bool:
        """Whether the connection can be asked once more: the answer has ended, and nothing came behind it."""
        return self._is_kept and not self._has_more and not self._has_no_body

    async def read(self, stream: AsyncNetworkStream) -> None:
        small_reads = 0
        while not self.is_whole:
            data = await stream.read(READ_BYTES)
            if not data:
                self._end()
                break
            self._take(data)
            if self._held > HELD_BYTES:
                await self._put_aside()
            small_reads += len(data) < SMALL_READ_BYTES
            if small_reads > SMALL_READS and not self.is_whole:
                await asyncio.sleep(GATHERING_S if len(data) < SMALL_READ_BYTES else 0)
        await self._finish()

    @property
    def has_begun(self) -> bool:
        return self._around > 0 or self.status is not None

    def keep_what_came(self) -> None:
        """Of an answer that was cut short; a file has it already."""
        if self.file is None:
            self.begins = b"".join(self._parts)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()

    def _take(self, data: bytes) -> None:
        before = self._left
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise NotHttp from None
        except httptools.HttpParserError:
            self._has_more = True
            if self.is_whole:  # what comes behind an answer is nobody's
                return
            self._check_head()
            raise NotHttp from None
        self._around += len(data) - (before - self._left)
        self._check_head()
        if self._around > MAX_FRAMING_BYTES and not self.is_whole:
            raise TooMuchAround("the answer comes in too many small pieces")

    def _check_head(self) -> None:
        if self._is_head and self._around > MAX_HEAD_BYTES:
            raise TooMuchAround(f"the head of the answer is over {MAX_HEAD_BYTES // 1024} KiB")
        if len(self._fields) > MAX_HEADERS:
            raise TooMuchAround(f"the answer has more than {MAX_HEADERS} headers")

    def _end(self) -> None:
        if self._is_head or not self._ends_with_connection:
            raise BrokenOff
        self.is_whole = True

    async def _put_aside(self) -> None:
        data = b"".join(self._parts)
        self._parts, self._held = [], 0
        if self.file is None:
            self.begins = data
            self.file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever gets the answer closes it
        await asyncio.to_thread(self.file.write, data)

    async def _finish(self) -> None:
        if self.file is not None:
            await self._put_aside()
        else:
            self.keep_what_came()

    # What the parser finds

    def on_message_begin(self) -> None:
        self._has_more = self.is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._fields) <= MAX_HEADERS:  # those of trailers, too
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        if self.is_whole:
            return
        status = self._parser.get_status_code()
        if status < 200:  # a hint; the answer is still to come
            return
        self.status = status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._fields
        }
        self._is_head = False
        self._ends_with_connection = not {"content-length", "transfer-encoding"} & self.headers.keys()
        if status >= 300:
            self._left = min(self._most_bytes, self._most_error_bytes) + 1
        self.is_whole = self._has_no_body

    def on_body(self, body: bytes) -> None:
        if self.is_whole or self._is_head:
            return
        part = body[: self._left]
        self._parts.append(part)
        self._held += len(part)
        self._left -= len(part)
        self.is_whole = self._left == 0

    def on_message_complete(self) -> None:
        if self._is_head:
            self._fields.clear()
        elif not self._has_more:
            self.is_whole = True
            self._is_kept = self._parser.should_keep_alive()
