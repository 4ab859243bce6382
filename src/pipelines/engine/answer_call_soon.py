"""Tool calls answered by calling back, over the functions of `answer_tool_call`. Temporary: that module is
about to take this over; the shape of `Answerer`, `Reply` and `Fault` is what the server builds on.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from pipelines.engine import answer_tool_call as today
from pipelines.engine.answer_tool_call import Append, ToolCall
from pipelines.engine.live_runs import LiveRun, LiveRuns, StoredReply
from pipelines.storage.database import SequenceTaken
from pipelines.wire.errors import InvalidRunToken, OdysseyError, StorageUnavailable

MAX_REDOS = 20  # only when several nodes answer calls of one run at the same moment


class Fault(NamedTuple):
    """What happens to the connection instead of a reply."""

    kind: Literal["timeout", "reset"]
    after_ms: int


class Reply(NamedTuple):
    http_status: int | None  # the backend's; None when the platform refused or could not answer
    body: bytes
    source: str
    error: OdysseyError | None  # what it refused with
    fault: Fault | None = None


Answered = Callable[[Reply | Exception], None]


class Answerer:
    def __init__(self, *, live_runs: LiveRuns, append: Append, now: Callable[[], str]) -> None:
        self._live_runs = live_runs
        self._append = append
        self._now = now
        self._redoing: set[asyncio.Task[None]] = set()

    def answer(self, live: LiveRun, call: ToolCall, answered: Answered) -> None:
        """Decide and store now; `answered` is called once, when the row is durable or will never be."""
        self._try(live, call, answered, MAX_REDOS)

    def _try(self, live: LiveRun, call: ToolCall, answered: Answered, tries: int) -> None:
        token_hash = self._live_runs._token_of.get(live.id, "")
        try:
            now = self._now()
            text, decision = today._decide_or_refuse(live, call, now)
            if isinstance(decision, StoredReply):
                stored, reply = decision.stored, partial(today.reply_of, decision.row)
            else:
                row = today._row(live, call, text, decision, now)
                stored = self._append(row)
                today._take_in(live, call, row, decision, stored)
                stored.add_done_callback(partial(_settled, live))
                reply = partial(today._reply, row, decision)
        except Exception as error:  # noqa: BLE001 - whatever it is: the caller tells it
            answered(error)
            return
        if stored is None:
            answered(_made(reply))
        else:
            stored.add_done_callback(partial(self._stored, call, answered, tries, token_hash, reply))

    def _stored(
        self,
        call: ToolCall,
        answered: Answered,
        tries: int,
        token_hash: str,
        reply: Callable[[], today.Reply],
        stored: "asyncio.Future[None]",
    ) -> None:
        error = StorageUnavailable() if stored.cancelled() else stored.exception()
        if error is None:
            answered(_made(reply))
        elif not isinstance(error, SequenceTaken):
            answered(error if isinstance(error, Exception) else StorageUnavailable())
        elif tries <= 1:
            answered(StorageUnavailable())
        else:
            task = asyncio.ensure_future(self._redo(call, answered, tries - 1, token_hash))
            self._redoing.add(task)
            task.add_done_callback(self._redoing.discard)

    async def _redo(self, call: ToolCall, answered: Answered, tries: int, token_hash: str) -> None:
        try:
            while (live := self._live_runs.get(token_hash)) is None:
                if not await self._live_runs.load(token_hash):
                    raise InvalidRunToken
        except Exception as error:  # noqa: BLE001 - as above
            answered(error)
            return
        self._try(live, call, answered, tries)


def _settled(live: LiveRun, _: "asyncio.Future[None]") -> None:
    live.unstored -= 1


def _made(reply: Callable[[], today.Reply]) -> Reply | Exception:
    try:
        return Reply(*reply())
    except Exception as error:  # noqa: BLE001 - whatever it is: the caller tells it
        return error
