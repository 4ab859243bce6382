"""A sandbox pool on a loop in a thread of its own, and short words to run code in it and look at the host."""

import asyncio
import ctypes
import itertools
import json
import os
import socket
import textwrap
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import CodeError, CodeErrorKind, CodeJob, CodeOutcome, Limits, parse_entrypoint
from pipelines.sandbox.memory import tree
from pipelines.sandbox.pool import SandboxPool

TOKEN = "run-token-3f9a71"
SHORT = Limits(wall_s=20.0)
_CLONE_NEWNS, _PRIVATE = 0x00020000, 0x44000


def go_private() -> None:
    """The thread's mounts become its own: one attack mounts over /tmp; were it ever to work, then here."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(_CLONE_NEWNS) == 0
        assert libc.mount(b"none", b"/", b"none", _PRIVATE, None) == 0


class Answerer:
    """Plays the proxy: answers every request with the path it came for."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.tokens: list[str] = []
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self, connection: socket.socket) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            reader, writer = await asyncio.open_connection(sock=connection)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            self.paths.append(path)
            self.tokens += [line[7:] for line in head.split("\r\n") if line.lower().startswith("token: ")]
            body = json.dumps({"path": path}).encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            await writer.drain()
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.at_once -= 1


class Boxes:
    def __init__(self, folder: Path, pool: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.chmod(0o755)
        self.written = {folder / "bystander"}
        (folder / "bystander").write_text("untouched")
        self._numbers = itertools.count()
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(ThreadPoolExecutor(4, initializer=go_private))
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.pool: SandboxPool = self.do(self._made(pool))

    async def _made(self, options: Mapping[str, Any]) -> SandboxPool:
        return SandboxPool(**options)

    def begin(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.begin(work).result(120)

    def stop(self) -> None:
        self.do(self.pool.close())
        self.do(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @property
    def launcher_pid(self) -> int:
        process = self.pool._launcher._process
        assert process is not None
        return process.pid

    def processes(self) -> list[int]:
        """What the pool has started and is still there."""
        return [pid for pid in tree(self.launcher_pid) if pid != self.launcher_pid]

    def left_behind(self) -> list[int]:
        """What is there though nothing should be. The dead stay for a moment, until their parent notices."""
        for _ in range(200):
            if not self.processes():
                return []
            time.sleep(0.01)
        return self.processes()

    def source(self, code: str, files: Mapping[str, str] | None = None) -> Path:
        folder = self.folder / f"agent-{next(self._numbers)}"
        for name, text in {"agent.py": textwrap.dedent(code), **(files or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.written.add(path)
        return folder

    def files(self) -> set[Path]:
        return {path for path in self.folder.rglob("*") if path.is_file()}

    def job(self, code: str | Path, *, files: Mapping[str, str] | None = None, **more: Any) -> CodeJob:
        limits = {name: more.pop(name) for name in list(more) if name in Limits.__dataclass_fields__}
        job = CodeJob(
            source_dir=code if isinstance(code, Path) else self.source(code, files),
            entrypoint=parse_entrypoint(more.pop("entrypoint", "agent.py:run")),
            task_input=more.pop("task_input", {}),
            run_token=TOKEN,
            proxy_path="/runs/7",
            limits=replace(SHORT, **limits),
        )
        return replace(job, **more)

    def run(self, code: str | Path, *, serve: Serve | None = None, **more: Any) -> CodeOutcome:
        outcome: CodeOutcome = self.do(self.pool.run(self.job(code, **more), serve=serve or Answerer()))
        return outcome

    def value(self, code: str | Path, **more: Any) -> Any:
        outcome = self.run(code, **more)
        assert outcome.error is None, outcome
        return outcome.result

    def error(self, code: str | Path, kind: CodeErrorKind, **more: Any) -> CodeError:
        outcome = self.run(code, **more)
        assert outcome.error is not None, outcome
        assert outcome.error.kind is kind, outcome
        assert outcome.result is None
        assert outcome.error.message
        return outcome.error


@contextmanager
def boxes_in(folder: Path, **pool: Any) -> Iterator[Boxes]:
    boxes = Boxes(folder, pool)
    try:
        boxes.do(boxes.pool.start())
        yield boxes
    finally:
        boxes.stop()


def mounts() -> list[str]:
    return sorted(Path("/proc/self/mountinfo").read_text().splitlines())
