"""Runs a server that uvicorn serves, and on demand counts how late its event loop is.

    python bench/ticking.py MODULE [ARGUMENT …]        # as python -m MODULE would

SIGUSR1 starts a tick per millisecond in the server's own loop, SIGUSR2 stops them and writes what they saw to
the file named by BENCH_TICKS. Between the two nothing runs that would not run anyway.
"""

import asyncio
import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn

TICK_S = 0.001


class Ticker:
    """Ticks are due on a fixed schedule: a loop blocked for 50 ms was late for 50 of them, not for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: Path) -> None:
        self._loop = loop
        self._file = file
        self._late: list[float] = []
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self._late = []
        self._due = time.perf_counter() + TICK_S
        self._timer = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._note()
        self._timer = self._loop.call_later(TICK_S, self._tick)

    def _note(self) -> None:
        now = time.perf_counter()
        while self._due <= now:
            self._late.append(now - self._due)
            self._due += TICK_S

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._note()  # what is due by now was late as well
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(lateness(self._late)))
        part.rename(self._file)  # whoever waits for the file sees it whole


def lateness(late: list[float]) -> dict[str, float]:
    ordered = sorted(late) or [0.0]
    return {
        "ticks": len(late),
        "p50_ms": round(ordered[len(ordered) // 2] * 1000, 2),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)] * 1000, 2),
        "max_ms": round(ordered[-1] * 1000, 2),
    }


def install(file: Path) -> None:
    """Around uvicorn's `serve`, which both `pipelines up` and the `uvicorn` command end in."""
    serve = uvicorn.Server.serve

    async def serve_and_tick(server: uvicorn.Server, *positional: Any, **named: Any) -> None:
        loop = asyncio.get_running_loop()
        ticker = Ticker(loop, file)
        loop.add_signal_handler(signal.SIGUSR1, ticker.begin)
        loop.add_signal_handler(signal.SIGUSR2, ticker.end)
        await serve(server, *positional, **named)

    uvicorn.Server.serve = serve_and_tick  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    install(Path(os.environ["BENCH_TICKS"]))
    module = sys.argv[1]
    del sys.argv[1]
    del sys.path[0]  # this folder: its modules have plain names
    runpy.run_module(module, run_name="__main__", alter_sys=True)
