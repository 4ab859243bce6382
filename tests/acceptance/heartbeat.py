"""The heartbeat: how long others wait while hostile inputs arrive.

A process of its own asks each 20 ms for `/health` (on a new connection), for what another org has (a list of
runs, one of agents and a run by turns) and for a tool call of another org (a read and a guarded write by
turns), each at most once at a time: a server that stands still is asked again when it goes on. The rule:
every answer is a success and comes within 250 ms. Twice a second it also uploads a dataset or opens a run of
another org. This work itself takes a while on a busy core, so it has 1.5 s: whoever stands behind another
org's reading waits for 5 s and more.

Machines are shared and noisy. Where the system allows it, the server and the probes go before whatever else
runs there. The same loop asks a bare asyncio process, the reference, which does nothing else: where that took
100 ms or more, the machine was busy and not the server. So it was where the server wanted to run and others
had the processors (`starvation.py`), or, for a probe that stores something, where the disk stood still for
strangers too (`disk.py`). A probe is late only if more than 250 ms remain of it after the largest of these is
taken off. There is no other timing; an attack during which answers were late by less than a
second, and nothing else was wrong, is tried again, up to twice, and judged by that.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from disk import Disk
from starvation import Starvation, Starved, tree

LATE_S = 0.25
REFERENCE_SLOW_S = 0.1
OPEN_S = 1.0  # a question is asked each 20 ms: after this somebody is waiting
REFERENCE = "reference"
SOURCE = "127.0.0.2"  # not the attacker's address: a limit by address is for them
PREFERRED = -10
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROBE = Path(__file__).with_name("heartbeat_probe.py")


class Sample(NamedTuple):
    name: str
    started: float
    took: float
    status: int  # 0: no reply
    why: str = ""

    @property
    def ended(self) -> float:
        return self.started + self.took

    @property
    def is_answered(self) -> bool:
        return 200 <= self.status < 300

    def overlaps(self, start: float, end: float) -> bool:
        return self.started < end and self.ended > start


class Question(NamedTuple):
    """What one probe asks, by turns."""

    name: str
    requests: Sequence[str]
    is_kept: bool = True
    stores: bool = False  # its answer waits for the disk
    pause_s: float = 0.0  # between an answer and the next question: what stores much is asked less often
    late_s: float = LATE_S


def request(method: str, path: str, token: str = "", body: Any = None, *headers: str) -> str:
    raw = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: heartbeat", *headers]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += ["Content-Type: application/json", f"Content-Length: {len(raw)}"] if raw else []
    return "\r\n".join([*lines, "", raw])


class Heartbeat:
    """Asks from its start to its stop."""

    def __init__(self, url: str, pid: int, directory: Path, questions: Sequence[Question]) -> None:
        self.names = [each.name for each in questions]
        self._storing = frozenset(each.name for each in questions if each.stores)
        self._late_s = {each.name: each.late_s for each in questions}
        self._extra_s = {each.name: each.pause_s + each.late_s - LATE_S for each in questions}
        self.samples: list[Sample] = []
        self._echo = _started("echo")
        assert self._echo.stdout is not None
        host, port = urlsplit(url).netloc.split(":")
        told = [_told(each, host, port) for each in questions]
        reference = Question(REFERENCE, [request("GET", "/")])
        told.append(_told(reference, "127.0.0.1", self._echo.stdout.readline().strip()))
        self._probe = _started("probe", json.dumps(told))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._starvation = Starvation(pid)
        self._disk = Disk(directory, pid)

    def _read(self) -> None:
        assert self._probe.stdout is not None
        for line in self._probe.stdout:
            self.samples.append(Sample(*json.loads(line)))

    def stop(self) -> None:
        self._starvation.stop()
        self._disk.stop()
        for process in (self._probe, self._echo):
            process.kill()
            process.wait()
        self._reader.join()
        for process in (self._probe, self._echo):
            assert process.stdout is not None
            process.stdout.close()

    def settle(self, since: float, patience_s: float) -> bool:
        """Wait until every question that was asked after `since` has an answer; False where one never had."""
        deadline = time.monotonic() + patience_s
        while True:
            answered = {each.name for each in self.samples[-200:] if each.started >= since}
            if answered >= {*self.names, REFERENCE}:
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)

    def _open_questions(self, now: float) -> list[Sample]:
        """What nobody has answered yet, as if it had been given up now."""
        last = {each.name: each.ended for each in self.samples if each.name != REFERENCE}
        waiting = {name: ended for name, ended in last.items() if now - ended > OPEN_S + self._extra_s[name]}
        return [Sample(name, ended, now - ended, 0, "no answer yet") for name, ended in waiting.items()]

    def between(self, start: float, end: float) -> "Beats":
        within = [each for each in self.samples if each.overlaps(start, end)]
        within += self._open_questions(end)
        return Beats(
            [each for each in within if each.name != REFERENCE],
            [each for each in within if each.name == REFERENCE],
            [each for each in self._starvation.spans if each.within(start, end)],
            [each for each in self._disk.spans if each.within(start, end)],
            self._storing,
            self._late_s,
        )


class Beats(NamedTuple):
    """What was asked in a span of time."""

    asked: Sequence[Sample]
    reference: Sequence[Sample]
    starved: Sequence[Starved]
    stood_still: Sequence[Starved]  # the disk
    storing: frozenset[str]  # names of those who wait for the disk
    late_s: Mapping[str, float] = {}  # of questions whose work itself takes a while

    def late(self) -> list[Sample]:
        return [each for each in self.asked if self.lateness(each) > 0]

    def lateness(self, sample: Sample) -> float:
        return sample.took - self.excused(sample) - self.late_s.get(sample.name, LATE_S)

    def failed(self) -> list[Sample]:
        return [each for each in self.asked if not each.is_answered]

    def excused(self, sample: Sample) -> float:
        """For how long of it the machine itself was busy."""
        slow = [each for each in self.reference if each.took >= REFERENCE_SLOW_S]
        by_reference = sum(
            min(each.ended, sample.ended) - max(each.started, sample.started)
            for each in slow
            if each.overlaps(sample.started, sample.ended)
        )
        by_disk = self.stood_still if sample.name in self.storing else ()
        spans = (
            sum(each.within(sample.started, sample.ended) for each in some)
            for some in (self.starved, by_disk)
        )
        return max(by_reference, *spans)

    def worst(self, name: str = "") -> float:
        return max((each.took for each in self.asked if name in ("", each.name)), default=0.0)

    def p99(self) -> float:
        return percentile((each.took for each in self.asked), 0.99)

    def worst_reference(self) -> float:
        return max((each.took for each in self.reference), default=0.0)


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def tree_rss_mb(pid: int) -> float:
    """Resident memory of a process and everything below it."""
    total = 0
    for each in tree(pid):
        with suppress(OSError, IndexError):
            total += int(Path(f"/proc/{each}/statm").read_text().split()[1])
    return total * PAGE_BYTES / 1e6


@contextmanager
def preferred() -> Iterator[None]:
    """What is started in here goes before the rest of the machine, where we may say so."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PREFERRED)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def _told(question: Question, host: str, port: str) -> dict[str, Any]:
    return question._asdict() | {"host": host, "port": port, "source": SOURCE}


def _started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-S", str(PROBE), *arguments]
    with preferred():
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
