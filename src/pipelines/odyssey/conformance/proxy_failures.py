"""Checks of a wrapper when the proxy is busy, fails, or is slow."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from ...wire.names import Source
from .proxy import FakeRun, Peer, ProxyReply, SeenRequest, busy
from .report import Finding, failed, not_observable, passed, skipped, warned
from .session import NO_CALL, Session, Visit

INJECTED = {"error": {"code": "service_unavailable", "message": "The service is down."}}
MOST_LIKELY_DELIBERATE = 2  # an agent may try once more; a client's retries are more
NOTHING_SHOWN = (
    "no run made a second call, nor a second try of its first, while another was open: whether they share a"
    " token would not show; see tools.retry_429, or give an instruction that takes two calls (--instruction)"
)
STAGES = 2  # runs that are let go on one by one: a proxy that all share can be that of one of them at most
CALLED_NOTHING = "the agent made no tool call this time"
POLL_S = 0.05
PATIENCE_S = 10.0  # with our own threads


@dataclass(slots=True)
class BusyFirst:
    """Refuses the first call with a temporary error."""

    reply: ProxyReply
    replied: float = 0.0

    def __call__(self, run: FakeRun, call: SeenRequest, peer: Peer) -> ProxyReply | None:
        if call.number > 1:
            return None
        self.replied = time.monotonic()
        return self.reply


def check_retries(session: Session) -> Iterator[Finding]:
    wait_s = session.options.retry_after_s
    limited = BusyFirst(busy(429, "rate_limited", wait_s))
    visit = session.visit(limited)
    yield _check_retried("tools.retry_429", visit, "429")
    yield _check_retry_after(session, visit, limited)
    stored = BusyFirst(busy(503, "storage_unavailable", wait_s))
    yield _check_retried("tools.retry_503", session.visit(stored), 'a 503 that says `"retryable": true`')


def _check_retried(rule: str, visit: Visit, what: str) -> Finding:
    if not visit.calls:
        return skipped(rule, CALLED_NOTHING)
    if len(visit.repeated) > 1:
        return passed(rule, "the call came again")
    found = f"{visit.calls[0].tool} was answered with {what} and was not called again"
    # Where the agent goes on, a run counts what was refused (`soft_warnings`); where it ends, the run fails.
    return (
        warned(rule, found) if visit.ok else failed(rule, f"{found}: the wrapper {visit.answer.description}")
    )


def _check_retry_after(session: Session, visit: Visit, limited: BusyFirst) -> Finding:
    rule = "tools.retry_after"
    if len(visit.calls) == 0 or len(visit.repeated) < 2:
        return skipped(rule, "there was no retry to check: see tools.retry_429")
    waited_s = visit.repeated[1].arrived - limited.replied
    text = f"{waited_s:.2f} s after a Retry-After of {session.options.retry_after_s} s"
    # 50 ms of grace: clients round, and clocks of two processes are not one.
    is_early = waited_s < session.options.retry_after_s - 0.05
    return warned(rule, f"the call came again {text}") if is_early else passed(rule, text)


def check_injected(session: Session) -> Iterator[Finding]:
    visits = [session.visit(Injecting(session, status)) for status in (503, 500)]
    called = [visit for visit in visits if visit.calls]
    if not called:
        yield skipped("tools.error_survived", CALLED_NOTHING)
        yield skipped("tools.injected_not_retried", CALLED_NOTHING)
        return
    broken = next((visit for visit in called if not visit.ok), None)
    if broken is not None:
        yield failed(
            "tools.error_survived", f"after an injected failure the wrapper {broken.answer.description}"
        )
    else:
        yield passed("tools.error_survived", f"{called[0].answer.description} after an injected failure")
    yield _check_not_retried(called)


@dataclass(slots=True)
class Injecting:
    """Fails every call, like a failure rule of the task."""

    session: Session
    status: int

    def __call__(self, run: FakeRun, call: SeenRequest, peer: Peer) -> ProxyReply | None:
        return self.session.proxy.envelope(call.tool or "", self.status, INJECTED, Source.INJECTED, 0)


def _check_not_retried(visits: list[Visit]) -> Finding:
    rule = "tools.injected_not_retried"
    worst = max(visits, key=lambda visit: len(visit.repeated))
    tries = len(worst.repeated)
    tool = worst.calls[0].tool
    keys = [call.idempotency_key for visit in visits for call in visit.repeated if call.idempotency_key]
    if len(set(keys)) < len(keys):
        return failed(rule, f"{tool} came again under the same Idempotency-Key: below the agent")
    if tries > MOST_LIKELY_DELIBERATE:
        return failed(rule, f"{tool} was called {tries} times with the same arguments")
    if tries == MOST_LIKELY_DELIBERATE:
        text = f"{tool} was called once more with the same arguments: fine if the agent decided it"
        return warned(rule, text)
    return passed(rule, f"{tool} was called once")


@dataclass(slots=True)
class SlowFirst:
    """Answers the first call late, and records what the wrapper does meanwhile."""

    hold_s: float
    gave_up: str | None = None
    is_over: threading.Event = field(default_factory=threading.Event)

    def __call__(self, run: FakeRun, call: SeenRequest, peer: Peer) -> ProxyReply | None:
        if call.number == 1:
            self._hold(run, peer)
        elif not self.is_over.is_set() and call.what == run.calls[0].what:
            self.gave_up = self.gave_up or "the same call came again while the first was still open"
        return None

    def _hold(self, run: FakeRun, peer: Peer) -> None:
        started = time.monotonic()
        while self.gave_up is None and time.monotonic() - started < self.hold_s:
            if run.is_answered.wait(POLL_S):
                self.gave_up = "the dispatch was answered while a tool call was still open"
            elif peer.is_gone():
                self.gave_up = f"the tool call was given up after {time.monotonic() - started:.1f} s"
        self.is_over.set()


def check_slow(session: Session) -> Iterator[Finding]:
    rule = "tools.slow_reply"
    slow = SlowFirst(session.options.slow_s)
    visit = session.visit(slow)
    if not visit.calls:
        yield skipped(rule, CALLED_NOTHING)
        return
    slow.is_over.wait(PATIENCE_S)  # a wrapper that gave up has answered before the proxy noticed
    if slow.gave_up is not None:
        yield failed(rule, slow.gave_up)
    elif not visit.ok:
        yield failed(
            rule,
            f"after a reply that took {session.options.slow_s:g} s the wrapper {visit.answer.description}",
        )
    else:
        yield passed(rule, f"a reply after {session.options.slow_s:g} s was waited for")


class LaterCall(NamedTuple):
    """A call that came while only one run was released."""

    of: FakeRun  # the run that was let go on last
    to: FakeRun
    call: SeenRequest


@dataclass(slots=True)
class Gathering:
    """The first call of each run waits until every run has made one, and is then sent back to try again.

    The first two are let go on one after the other, while the others are still held: what comes next is the
    second try of the one that was let go on, wherever it goes. A wrapper that keeps the proxy or the token of
    the last dispatch for all of them sends at least one of the two into another run.
    """

    size: int
    patience_s: float
    reply: ProxyReply
    arrived: list[FakeRun] = field(default_factory=list)
    together: int = 0  # how many were open at once
    later: list[LaterCall] = field(default_factory=list)
    doubled: FakeRun | None = None  # got the same call twice, while its first was held
    _released: list[FakeRun] = field(default_factory=list)
    _moved: threading.Condition = field(default_factory=threading.Condition)
    _is_over: bool = False

    def __call__(self, run: FakeRun, call: SeenRequest, peer: Peer) -> ProxyReply | None:
        with self._moved:
            if call.number > 1:
                if self._released:
                    self.later.append(LaterCall(self._released[-1], run, call))
                elif call.what == run.calls[0].what:
                    self.doubled = self.doubled or run
                self._moved.notify_all()
                return None
            self.arrived.append(run)
            if not self._is_over:
                self.together = len(self.arrived)
            self._moved.notify_all()
            self._moved.wait_for(lambda: self._is_over or len(self.arrived) == self.size, self.patience_s)
            self._is_over = True
            self._wait_for_turn(run)
            self._released.append(run)
            self._moved.notify_all()
        return self.reply

    def _wait_for_turn(self, run: FakeRun) -> None:
        """Wait until each of the first two runs has shown where its second try goes, or has ended."""
        place = next(at for at, each in enumerate(self.arrived) if each is run)
        until = time.monotonic() + self.patience_s
        while time.monotonic() < until and not self._is_turn_of(place):
            self._moved.wait(POLL_S)

    def _is_turn_of(self, place: int) -> bool:
        before = self.arrived[: min(place, STAGES)]
        calls_seen = [later.of for later in self.later]
        return all(
            any(each is run for each in self._released)
            and (run.is_answered.is_set() or any(each is run for each in calls_seen))
            for run in before
        )

    def strayed(self) -> tuple[FakeRun, FakeRun] | None:
        """A run whose second try went to another run, and that other run."""
        for of, to, call in self.later:
            if to is of or len([each for each in of.calls if each.what == of.calls[0].what]) > 1:
                continue
            own_tries = 2 if any(each is to for each in self._before(of)) else 1
            same = [each for each in to.calls if each.what == call.what]
            if call.what == of.calls[0].what and len(same) > own_tries:
                return of, to
        return None

    def has_shown(self) -> bool:
        """Whether a run made a call while others were held; otherwise it is unknown where its calls go."""
        return any(of is to for of, to, _ in self.later)

    def _before(self, run: FakeRun) -> list[FakeRun]:
        place = next(at for at, each in enumerate(self._released) if each is run)
        return self._released[:place]


def check_runs(session: Session) -> Iterator[Finding]:
    options = session.options
    gathering = Gathering(options.at_once, options.gather_s, busy(429, "rate_limited", options.retry_after_s))
    with ThreadPoolExecutor(options.at_once) as pool:
        visits = list(pool.map(lambda _: session.visit(gathering), range(options.at_once)))
    yield _check_isolated(session, visits, gathering)
    broken = next((visit for visit in visits if not visit.ok), None)
    if broken is not None:
        what = f"of {len(visits)} dispatches at once, one was not served"
        yield failed("runs.concurrent", f"{what}: the wrapper {broken.answer.description}")
    elif not gathering.arrived:
        yield passed("runs.concurrent", f"{len(visits)} dispatches at once were answered")
    elif gathering.together < len(visits):
        text = f"{gathering.together} of {len(visits)} dispatches were worked on at the same time"
        yield warned("runs.concurrent", text)
    else:
        yield passed("runs.concurrent", f"{len(visits)} dispatches were worked on at the same time")


def _check_isolated(session: Session, visits: list[Visit], gathering: Gathering) -> Finding:
    """Checks every call of every visit so far, not only the concurrent ones."""
    rule = "runs.isolated"
    if session.proxy.mixed:
        return failed(rule, session.proxy.mixed[0])
    strayed = gathering.strayed()
    if strayed is not None:
        of, to = strayed
        return failed(
            rule, f"a call of run {of.jti[:8]} came to run {to.jti[:8]}, with its proxy and its token"
        )
    if not any(visit.calls for visit in visits):
        return skipped(rule, NO_CALL)
    silent = next((visit.run for visit in visits if not visit.calls), None)
    if silent is not None and gathering.doubled is not None:
        text = f"run {silent.jti[:8]} got no call, and run {gathering.doubled.jti[:8]} got the same one twice"
        return failed(rule, text)
    if gathering.together > 1 and not gathering.has_shown():
        return not_observable(rule, NOTHING_SHOWN)
    return passed(rule, f"{len(visits)} runs at once kept to their own proxies and tokens")
