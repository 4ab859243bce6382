"""One sandbox with an endpoint's modules imported, which answers calls one after the other.

A call is a fork of the process that imported them, so each begins alike. Whether the sandbox may be used
again is told by `is_reusable`; whoever has one that is not closes it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.sandbox import recipe
from pipelines.sandbox.code_errors import out_of_memory, read_frame, without_frame
from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import MEBIBYTE, CodeError, CodeErrorKind, Limits
from pipelines.sandbox.pool import SandboxPool
from pipelines.sandbox.recipe import Layout
from pipelines.sandbox.sandbox import JobEnded
from pipelines.sandbox.warm_sandboxes import HeldSandbox

LOADS_WITHIN_S = 60.0  # imports of large packages on a cold machine take ten of them
#: Of the process that imports and forks, in all its life: it needs a few milliseconds for a call, so what is
#: over this is a timer or a handler of the code that runs while nobody watches.
OWN_CPU_S = 120
MOST_CALLS = 1_000  # after which it is replaced by a new one
TIDIES_WITHIN_S = 5.0  # killing what a call started takes a millisecond
#: Of one call. Results are what a live answer may be, prints what a trace row can carry.
CALL_LIMITS = Limits(wall_s=60.0, result_bytes=MEBIBYTE, output_bytes=8 * 1024, connections=16)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, weakref_slot=True)
class Program:
    """What is imported, and in which surroundings. Two are never taken for the same: each has its own
    sandboxes, and no org's calls come to another's."""

    org_id: int
    source_dir: Path
    environment: Path | None
    files: Sequence[str]  # modules to import, as paths in `source_dir`
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Limits = CALL_LIMITS
    #: For the connections of an import, which is no call's.
    import_serve: Callable[[], Serve]


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionAnswer:
    """What came of a message: a value or an error, and what was printed meanwhile."""

    value: Json
    error: CodeError | None
    stdout: str = ""
    stderr: str = ""


class LoadFailed(Exception):
    """The modules cannot be imported; what came of it."""

    def __init__(self, answered: FunctionAnswer) -> None:
        super().__init__(answered.error.message if answered.error else "")
        self.answered = answered


def layout_of(program: Program) -> Layout:
    return Layout(
        source_dir=program.source_dir,
        environment=program.environment,
        disk_bytes=program.limits.disk_bytes,
        memory_bytes=program.limits.memory_bytes,
        driver=recipe.FUNCTIONS_DRIVER,
    )


class FunctionBox:
    def __init__(self, pool: SandboxPool, held: HeldSandbox, program: Program) -> None:
        self.program = program
        self._pool = pool
        self._held = held
        self.forks = False  # whether calls leave it as it was
        self._has_answered = False
        self._calls = 0
        self.is_reusable = False
        self.expiry: asyncio.TimerHandle | None = None

    @property
    def is_alive(self) -> bool:
        return self._held.sandbox.is_alive

    async def load(self) -> None:
        """Import the modules. Raises CannotLoad."""
        program = self.program
        port = self._held.sandbox.port
        message = {
            **self._pool.driver_context(
                self._held, program.environment, dict(program.env) | proxy_variables(port)
            ),
            "files": list(program.files),
            "limits": self._pool.limits(program.limits) | {"cpu_s": OWN_CPU_S},
            "is_isolated": self._held.folder is None,
        }
        limits = replace(program.limits, wall_s=LOADS_WITHIN_S)
        answered = await self._exchange(message, limits, program.import_serve())
        if answered.error is not None:
            raise LoadFailed(answered)
        self.forks = answered.value is True

    async def ask(self, message: JsonObject, serve: Serve, wall_s: float | None = None) -> FunctionAnswer:
        """One call, or a look at the functions."""
        program = self.program
        limits = replace(program.limits, wall_s=wall_s or program.limits.wall_s)
        request = {"limits": self._pool.limits(limits), "result_bytes": limits.result_bytes}
        whole = {**message, **request}
        self._calls += 1
        self.is_reusable = False
        answered = await self._exchange(whole, limits, serve)
        if self.forks and self._has_answered and self.is_alive:
            self.is_reusable = await self._is_clean() and self._calls < MOST_CALLS
        return answered

    async def _exchange(self, message: dict[str, Any], limits: Limits, serve: Serve) -> FunctionAnswer:
        sandbox = self._held.sandbox
        self._has_answered = False
        ended = await sandbox.ask(message, limits, serve, read=self._read)
        return FunctionAnswer(
            value=ended.value,
            error=self._error(ended, limits),
            stdout=sandbox.stdout.taken(),
            stderr=sandbox.stderr.taken(),
        )

    def _read(self, frame: bytes, limits: Limits) -> tuple[Any, CodeError | None]:
        self._has_answered = True
        return _read(frame, limits)

    def _error(self, ended: JobEnded, limits: Limits) -> CodeError | None:
        error, group = ended.error, self._held.group
        if error is not None and error.kind is CodeErrorKind.KILLED and group is not None:
            return out_of_memory(limits) if group.was_exhausted() else error
        return error

    async def _is_clean(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(TIDIES_WITHIN_S):
                notice = await self._held.sandbox.read_notice()
                return notice is not None and notice.get("clean") is True
        return False

    async def close(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()
        await self._pool.discard(self._held)


def _accept_any(value: Json) -> Json | CodeError:
    return value


def _read(frame: bytes, limits: Limits) -> tuple[Any, CodeError | None]:
    if len(frame) < 200:  # what the first process says of a call that ended without a frame
        with suppress(InvalidJson):
            body = loads(frame)
            if isinstance(body, dict) and body.get("kind") == "ended":
                status = body.get("status")
                return None, without_frame(status if isinstance(status, int) else 1, limits)
    return _read_any(frame, limits)


_read_any = partial(read_frame, checked=_accept_any)


def proxy_variables(port: int) -> dict[str, str]:
    """Where programs look for a proxy. It answers those that may reach nothing, too, with the reason."""
    url = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    trusted = {"SSL_CERT_FILE": str(bundle)} if bundle.exists() else {}
    return {**dict.fromkeys(names, url), **trusted}
