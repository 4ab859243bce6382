"""Runs jobs, each in a sandbox of its own that is thrown away afterwards."""

import asyncio
import json
import logging
import math
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pipelines.core.limits.fair_slots import FairSlots, SlotHolder
from pipelines.sandbox import recipe
from pipelines.sandbox.cgroups import Groups
from pipelines.sandbox.code_errors import out_of_memory
from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import CodeError, CodeErrorKind, CodeJob, CodeOutcome, Isolation, Limits
from pipelines.sandbox.launcher_client import Launcher
from pipelines.sandbox.memory import NICE
from pipelines.sandbox.probe import Probe, probe_with
from pipelines.sandbox.recipe import Interpreter, Layout
from pipelines.sandbox.sandbox import JobEnded, StartFailed
from pipelines.sandbox.warm_sandboxes import HeldSandbox, SandboxSetup, WarmSandboxes
from pipelines.wire.names import ENV_PROXY_URL, ENV_RUN_TOKEN, ENV_TASK_INPUT

#: "required": no isolation, no code. "preferred": the operator's unsafe flag, code runs either way.
#: "none": code is never isolated.
IsolationSetting: TypeAlias = Literal["required", "preferred", "none"]

OnBegin: TypeAlias = Callable[[], Awaitable[None]]

__all__ = ["CannotIsolate", "IsolationSetting", "SandboxPool", "Serve"]

AT_ONCE_PER_CORE = 4  # most of them wait for their tools
_MOVE = "move the data directory and the database to a folder of their own"

_log = logging.getLogger(__name__)
NOBODY = SlotHolder(0)


class CannotIsolate(Exception):
    """Code cannot be isolated here, and nobody allowed to run it without; `probe` says why and what to do."""

    def __init__(self, probe: Probe) -> None:
        super().__init__(f"{probe.reason}; {probe.remedy}" if probe.remedy else probe.reason)
        self.probe = probe


class SandboxPool:
    """One per server process.

    `warm` sandboxes wait for each code that was run lately, `most_warm` in all; they hold no token, no
    variable and none of the code's modules. `most_running` jobs run at a time (None: by the number of cores),
    more wait, the orgs by turns; a quarter more run where one org has all of these (see FairSlots).
    `groups` make a cgroup for each sandbox, where the operator has delegated one to the server. `hidden`
    folders of the server are never seen by code, not even where they lie in a folder of the system.
    """

    def __init__(
        self,
        *,
        isolation: IsolationSetting = "required",
        warm: int = 2,
        most_warm: int = 8,
        most_running: int | None = None,
        idle_s: float = 300.0,
        groups: Groups | None = None,
        hidden: tuple[Path, ...] = (),
    ) -> None:
        self._wanted = isolation
        self._sizes = {"warm": warm, "most_warm": most_warm}
        self._idle_s = idle_s
        self._groups = groups
        self._hidden = hidden
        self.at_once = most_running or most_at_once()
        self._running = FairSlots(self.at_once, guests=-(-self.at_once // 4))
        self._launcher = Launcher()
        self._stock: WarmSandboxes | None = None
        #: What was found out at the start; None before.
        self.probe: Probe | None = None

    @property
    def isolation(self) -> Isolation | None:
        """None before `start`, and where code cannot be run at all."""
        if self.probe is None:
            return None
        if self.probe.is_isolated:
            return "bubblewrap"
        return None if self._wanted == "required" else "none"

    @property
    def bounds(self) -> str:
        """What keeps the code's use of the machine in bounds, for a person."""
        if self._groups is not None:
            return f"{self._groups.describe()}, with nice {NICE}"
        return f"rlimits, a watchdog and nice {NICE}; no cgroup (PIPELINES_SANDBOX_CGROUP)"

    @property
    def python(self) -> Interpreter:
        """What runs the code; environments must be made for just this one."""
        if self.probe is not None and self.probe.python is not None:
            return self.probe.python
        return next(recipe.interpreters())

    async def start(self) -> None:
        """Raises CannotIsolate where there is no isolation and it is required."""
        await self._launcher.start()
        if self._wanted == "none":
            self.probe = Probe(is_isolated=False, reason="isolation was switched off by the operator")
        else:
            self.probe = await probe_with(self._launcher)
        seen = recipe.first_exposed(self._hidden, self.python) if self.probe.is_isolated else None
        if seen is not None:
            reason = f"code would see {seen}, because what it needs to run lies in it"
            self.probe = Probe(is_isolated=False, reason=reason, remedy=_MOVE)
        if self.isolation is None:
            await self._launcher.close()
            raise CannotIsolate(self.probe)
        if self.isolation == "none":
            _log.warning("uploaded code runs WITHOUT isolation: %s", self.probe.reason)
        way = SandboxSetup(
            python=self.python, bwrap=self.probe.bwrap, groups=self._groups, hidden=self._hidden
        )
        self._stock = WarmSandboxes(self._launcher, way, idle_s=self._idle_s, **self._sizes)

    async def run(
        self, job: CodeJob, *, serve: Serve, on_begin: OnBegin | None = None, place: SlotHolder = NOBODY
    ) -> CodeOutcome:
        """What came of the job; it does not raise. Cancelling it kills the job's whole tree.

        `place` says for whom it runs: orgs that wait come by turns. `on_begin` is awaited when its turn has
        come."""
        assert self._stock is not None, "start the pool first"
        async with self._running.slot(place):
            if on_begin is not None:
                await on_begin()
            layout = Layout(
                source_dir=job.source_dir,
                environment=job.environment,
                disk_bytes=job.limits.disk_bytes,
                memory_bytes=job.limits.memory_bytes,
                identity=recipe.identity_of(job.source_dir, job.environment),
            )
            waiting = self._stock.take(layout)
            try:
                held = waiting or await self._stock.start(layout)
            except StartFailed as error:
                return self._not_started(str(error))
            if job.expects_more:
                self._stock.refill(layout)
            try:
                ended = await held.sandbox.execute(self.message(held, job), job.limits, serve)
            finally:
                await asyncio.shield(self._stock.discard(held))
            return self._outcome(held, job, ended, was_warm=waiting is not None)

    @asynccontextmanager
    async def held(
        self, layout: Layout, *, place: SlotHolder, on_begin: OnBegin | None = None, expects_more: bool = True
    ) -> AsyncIterator[HeldSandbox]:
        """A sandbox for several messages, in its turn; thrown away afterwards. Raises StartFailed."""
        assert self._stock is not None, "start the pool first"
        async with self._running.slot(place):
            if on_begin is not None:
                await on_begin()
            held = await self._stock.taken(layout)
            if expects_more:
                self._stock.refill(layout)
            try:
                yield held
            finally:
                await asyncio.shield(self._stock.discard(held))

    def expect(self, layout: Layout) -> None:
        """For `held` in a moment."""
        assert self._stock is not None, "start the pool first"
        self._stock.expect(layout)

    async def open_sandbox(self, layout: Layout) -> HeldSandbox:
        """One that is the caller's to give to `discard`; raises StartFailed."""
        assert self._stock is not None, "start the pool first"
        return await self._stock.start(layout)

    async def discard(self, held: HeldSandbox) -> None:
        assert self._stock is not None
        await self._stock.discard(held)

    async def close(self) -> None:
        """Kills what runs and what waits, and returns when it is gone."""
        if self._stock is not None:
            await self._stock.close()
        await self._launcher.close()

    def message(self, held: HeldSandbox, job: CodeJob) -> dict[str, Any]:
        """What the driver is told. This is the only way in for tokens and secrets."""
        door = f"http://127.0.0.1:{held.sandbox.port}"
        proxy_url = f"{door}{job.proxy_path}"
        urls = {name: f"{door}{path}" for name, path in job.urls.items()}
        return {
            **self.driver_context(
                held, job.environment, dict(job.env) | urls | _contract_variables(job, proxy_url)
            ),
            "file": job.entrypoint.file,
            "function": job.entrypoint.function,
            "task_input": job.task_input,
            "proxy_url": proxy_url,
            "run_token": job.run_token,
            "limits": self.limits(job.limits),
            "result_bytes": job.limits.result_bytes,
        }

    def driver_context(
        self, held: HeldSandbox, environment: Path | None, env: Mapping[str, str]
    ) -> dict[str, Any]:
        """Folders, packages and variables as the driver is told them."""
        folder = str(held.folder) if held.folder else recipe.JOB_FOLDER
        inside = None
        if environment is not None:
            inside = str(environment) if held.folder else recipe.ENVIRONMENT
        return {
            "folder": folder,
            "agent": f"{folder}/agent",
            "site_packages": inside and f"{inside}/lib/python{self.python.version}/site-packages",
            "executable": inside and f"{inside}/bin/python",
            "env": _variables(folder, inside) | dict(env),
        }

    def limits(self, wanted: Limits) -> dict[str, int | None]:
        limits = wanted if self._groups is not None else wanted.without_cgroup()
        # Without a user namespace the limit would count every process of the operator's own account.
        processes = limits.processes if self.isolation == "bubblewrap" else None
        return {
            "cpu_s": math.ceil(limits.wall_s) + 1,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "open_files": limits.open_files,
            "processes": processes,
        }

    def _outcome(self, held: HeldSandbox, job: CodeJob, ended: JobEnded, *, was_warm: bool) -> CodeOutcome:
        assert self.isolation is not None
        error = ended.error
        if error is not None and error.kind is CodeErrorKind.KILLED and held.ran_out_of_memory:
            error = out_of_memory(job.limits)
        return CodeOutcome(
            result=ended.value,
            error=error,
            stdout=held.sandbox.stdout.text(),
            stderr=held.sandbox.stderr.text(),
            duration_ms=ended.duration_ms,
            isolation=self.isolation,
            was_called=True,
            was_warm=was_warm,
        )

    def _not_started(self, reason: str) -> CodeOutcome:
        assert self.isolation is not None
        hint = "the server's operator can look at this: the code was not run"
        error = CodeError(
            kind=CodeErrorKind.SANDBOX_FAILED, message=f"no sandbox could be started: {reason}", hint=hint
        )
        return CodeOutcome(
            result=None,
            error=error,
            stdout="",
            stderr="",
            duration_ms=0.0,
            isolation=self.isolation,
            was_called=False,
        )


def most_at_once() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return AT_ONCE_PER_CORE * cores


def _variables(folder: str, environment: str | None) -> dict[str, str]:
    path = f"{environment}/bin:{recipe.PATH}" if environment else recipe.PATH
    return {
        "HOME": folder,
        "PATH": path,
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "USER": "agent",
        "LOGNAME": "agent",
        # Libraries of numbers start a thread for each core that they see, and fail at the limit of processes.
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }


def _contract_variables(job: CodeJob, proxy_url: str) -> dict[str, str]:
    return {
        ENV_PROXY_URL: proxy_url,
        ENV_RUN_TOKEN: job.run_token,
        ENV_TASK_INPUT: json.dumps(job.task_input),
    }
