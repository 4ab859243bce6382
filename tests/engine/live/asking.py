"""Calls that have to ask first, over a real database: the test carries out every question and answers it."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pipelines.core.calls.tool_call import Reply, ToolCall
from pipelines.core.ledger.ledger import Add, Ledger
from pipelines.core.simulation.simulator import Moment, Question, SimulatedReply, Simulator, Wait
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.live.live_runs import LiveRun
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.storage.accounts.keys import hash_of
from pipelines.wire.names import Source
from support.desk import DrivenRun, House

PATIENCE_S = 30  # only a test that fails waits this long


@dataclass(frozen=True, kw_only=True, slots=True)
class Dial:
    """A question to a line outside."""

    tool: str
    arguments: JsonObject
    attempt: int = 1
    longest_s: float = 60


class Unusable:
    """A reply that the simulator cannot use: it asks once more."""


@dataclass(kw_only=True)
class Switchboard:
    """A simulator whose live tools ask outside; all others are answered by the run's own plans."""

    plans: Simulator
    live: tuple[str, ...] = ("search_inventory",)
    reading: tuple[str, ...] = ()  # live tools whose question depends on the calls before
    longest_s: float = 60
    latencies_ms: Mapping[str, int] = field(default_factory=dict)
    remembered_tools: frozenset[str] = frozenset()

    def reads_world(self, tool: str) -> bool:
        return tool in self.reading if tool in self.live else self.plans.reads_world(tool)

    def answer(
        self, tool: str, arguments: JsonObject, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        if tool in self.live:
            seen = {"calls seen": len(ledger.as_state().get("call", {}))} if tool in self.reading else {}
            return Dial(tool=tool, arguments=arguments | seen, longest_s=self.longest_s)
        return self.plans.answer(tool, arguments, ledger, moment)

    def settle(
        self, question: Question, reply: object, ledger: Ledger, moment: Moment
    ) -> SimulatedReply | Question:
        assert isinstance(question, Dial)
        if isinstance(reply, Unusable):
            return replace(question, attempt=question.attempt + 1)
        if isinstance(reply, BaseException):
            raise reply
        update = Add(entity_type="call", id=f"c{moment.call_number}", attrs={"said": str(reply)})
        response: JsonObject = {"said": str(reply)}
        return SimulatedReply(
            200, response, (update,), engine="live", attempts=question.attempt, source=Source.PASSTHROUGH
        )

    def again(
        self, tool: str, ledger: Ledger, refused: SimulatedReply, problems: Sequence[Problem]
    ) -> SimulatedReply | Question:
        return self.plans.again(tool, ledger, refused, problems)


class Lines:
    """Every question that was put. It is out until the test answers it."""

    def __init__(self) -> None:
        self.put: list[Any] = []
        self.cancelled: list[Any] = []
        self._answers: list[asyncio.Future[object]] = []
        self._changed = asyncio.Event()

    async def carry(self, question: Any) -> object:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self.put.append(question)
        self._answers.append(answer)
        self._changed.set()
        try:
            return await answer
        except asyncio.CancelledError:
            self.cancelled.append(question)
            self._changed.set()
            raise

    def answer(self, index: int, reply: object = None) -> None:
        future = self._answers[index]
        future.set_exception(reply) if isinstance(reply, BaseException) else future.set_result(reply)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def until_put(self, count: int) -> None:
        await self.until(lambda: len(self.put) >= count)


class Caller:
    """Calls of one run, in an order that is certain: each arrives when `call` is called."""

    def __init__(self, house: House, run: DrivenRun) -> None:
        self.house = house
        self.run = run
        self.lines = Lines()
        answerer: ToolCallAnswerer = house.app.proxy.answerer
        self.answerer = answerer
        answerer._question_runner = QuestionRunner({Wait: self.lines.carry, Dial: self.lines.carry})
        self.answers: list[asyncio.Future[Reply]] = []

    async def load(self, **simulator: Any) -> LiveRun:
        live = await self.house.platform.live_runs.loaded(hash_of(self.run.token))
        assert live is not None
        if simulator:
            live.simulator = Switchboard(plans=live.simulator, **simulator)
        return live

    @property
    def live(self) -> LiveRun:
        live = self.house.platform.live_runs.get(hash_of(self.run.token))
        assert live is not None
        return live

    def call(self, tool: str, arguments: Any = None, key: str | None = None) -> "asyncio.Future[Reply]":
        body = arguments if isinstance(arguments, bytes) else json.dumps(arguments or {}).encode()
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

        def answered(answer: Reply | Exception) -> None:
            assert not future.done(), "answered twice"
            future.set_result(answer) if isinstance(answer, Reply) else future.set_exception(answer)

        self.answerer.answer(self.live, ToolCall(tool, body, None, key, time.perf_counter()), answered)
        self.answers.append(future)
        return future


class Clock:
    """The platform's time, moved by hand: time that goes by does so on both of its clocks."""

    def __init__(self, house: House) -> None:
        self._passed = timedelta()
        self._real = house.platform.now
        house.app.proxy.answerer._now = house.platform.live_runs._now = self
        house.app.proxy.answerer._steady = house.platform.live_runs.steady = self.steady

    def steady(self) -> float:
        return time.monotonic() + self._passed.total_seconds()

    def __call__(self) -> str:
        moment = datetime.fromisoformat(self._real()) + self._passed
        return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"

    def forward(self, seconds: float) -> None:
        self._passed += timedelta(seconds=seconds)


async def told(answer: "asyncio.Future[Reply]") -> Any:
    """The envelope of a reply, or the code of what was raised instead."""
    async with asyncio.timeout(PATIENCE_S):
        try:
            return json.loads((await answer).body)
        except Exception as error:  # noqa: BLE001 - compared by the test
            return getattr(error, "code", repr(error))


async def settled(house: House) -> None:
    """What was handed to storage is stored."""
    for _ in range(3):
        await house.platform.database.write(lambda connection: None)
