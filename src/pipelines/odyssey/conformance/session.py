"""One visit of the kit to a wrapper: sends a dispatch, and keeps everything that can be observed."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...wire.envelope import Envelope
from .proxy import Disturbance, FakeProxy, FakeRun, SeenRequest
from .wrapper import Answer, NoAnswer, Wrapper, post

DEFAULT_INSTRUCTION = "Please look up order 4521 and tell me its status."
NO_CALL = "the agent made no tool call; give an instruction that needs one (--instruction)"
NO_PLAIN = "the plain dispatch failed already: see response.status"

Headers = dict[str, str]
Body = dict[str, Any]
#: Something wrong with the shape of an answer, per line: (is it dropped by the platform?, what).
ReplyProblems = Callable[[bytes, str], list[tuple[bool, str]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    instruction: str = DEFAULT_INSTRUCTION
    task_input: Any = field(default_factory=dict)
    slow_s: float = 12.0  # how long the slow tool call takes
    retry_after_s: int = 1
    at_once: int = 4  # dispatches open at the same time
    gather_s: float = 20.0  # how long they wait for each other's first tool call
    reply_problems: ReplyProblems | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Visit:
    """A dispatch that has ended."""

    answer: Answer | NoAnswer
    run: FakeRun
    went_elsewhere: bool  # meanwhile calls came that belong to another run

    @property
    def ok(self) -> bool:
        return self.answer.is_success

    @property
    def calls(self) -> list[SeenRequest]:
        return self.run.calls

    @property
    def reply(self) -> Body:
        """The answer as JSON; empty when it is no object."""
        try:
            read = json.loads(self.answer.body) if isinstance(self.answer, Answer) else {}
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}

    @property
    def repeated(self) -> list[SeenRequest]:
        """The run's first call and every call that equals it."""
        calls = self.calls
        return [call for call in calls if call.what == calls[0].what]

    def shown(self) -> str:
        """Everything that the agent let be seen, as text to search in."""
        arguments = [call.arguments for call in self.calls]
        return json.dumps([arguments, self.reply], ensure_ascii=False)


class Session:
    def __init__(self, wrapper: Wrapper, proxy: FakeProxy, options: Options) -> None:
        self.wrapper = wrapper
        self.proxy = proxy
        self.options = options
        self.dispatches = 0
        self.plain: Visit | None = None  # the dispatch with nothing odd about it, sent first
        self._lock = threading.Lock()

    @property
    def works(self) -> bool:
        return self.plain is not None and self.plain.ok

    @property
    def calls_tools(self) -> bool:
        return self.plain is not None and bool(self.plain.calls)

    def visit(
        self,
        disturb: Disturbance | None = None,
        *,
        instruction: str | None = None,
        change: Callable[[Body, Headers], None] | None = None,
        auth: Headers | None = None,
    ) -> Visit:
        run = self.proxy.open_run(disturb)
        envelope = self._envelope(run, instruction or self.options.instruction)
        body, headers = envelope.body(), envelope.headers()
        if change is not None:
            change(body, headers)
        mixed = len(self.proxy.mixed)
        answer = self.send(json.dumps(body, ensure_ascii=False).encode(), headers, auth=auth)
        run.is_answered.set()
        return Visit(answer=answer, run=run, went_elsewhere=len(self.proxy.mixed) > mixed)

    def send(
        self, body: bytes, headers: Headers, *, auth: Headers | None = None, timeout_s: float | None = None
    ) -> Answer | NoAnswer:
        with self._lock:
            self.dispatches += 1
        sent = headers | (self.wrapper.auth if auth is None else auth)
        return post(self.wrapper, body, sent, timeout_s)

    def _envelope(self, run: FakeRun, instruction: str) -> Envelope:
        number = int(run.jti[:6], 16) + 1
        return Envelope(
            run_id=number,
            task_id=number + 1,
            agent_id=1,
            user_instruction=instruction,
            odyssey_proxy_url=self.proxy.url_of(run),
            run_token=run.token,
            run_token_jti=run.jti,
            task_input=self.options.task_input,
        )
