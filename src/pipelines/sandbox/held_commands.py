"""Commands that are kept running in sandboxes: MCP servers that speak over their input and output.

A sandbox runs one job; here the job is to start the command with a connection to the host as both. It has no
network, and beside the system it sees the operator's programs alone: `recipe.ENVIRONMENT`.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.core.code.held_commands import CannotStart, Command
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.sandbox.job import CodeJob, CodeOutcome, Entrypoint, Limits
from pipelines.sandbox.pool import CannotIsolate, SandboxPool

LONGEST_S = 24 * 3600.0  # then it is started anew
MEBIBYTE = 1024 * 1024
FILES = 1_024  # Node opens a few hundred at once to start
LIMITS = Limits(
    wall_s=LONGEST_S,
    memory_bytes=1024 * MEBIBYTE,
    output_bytes=16 * 1024,
    connections=2,
    open_files=FILES,
    open_files_without_cgroup=FILES,
)
LONGEST_WORDS = 2_000
_BRIDGE = Path(__file__).parent / "bridge"
_READ_BYTES = 64 * 1024
_ENDS_WITHIN_S = 5.0
_ELSEWHERE = "or start it elsewhere, with HTTP, and register its url"


class HeldCommands:
    """`folder` holds the programs, and is `/env` inside: what is in its `bin` is found by name.

    As many run as the pool has places, and of one org half of them. Where there is none for another, the one
    that nobody has waited for longest is ended; whoever calls its endpoint next starts it again."""

    def __init__(self, make_pool: Callable[[], SandboxPool], folder: Path) -> None:
        self._make_pool = make_pool
        self._folder = folder
        self._pool: SandboxPool | None = None
        self._starting = asyncio.Lock()
        self._held: list[_RunningCommand] = []

    @asynccontextmanager
    async def open(self, command: Command) -> AsyncIterator["HeldPipes"]:
        """Raises CannotStart."""
        pool = await self._start_pool()
        self._make_room(pool.at_once, command.org_id)
        connected: asyncio.Future[socket.socket] = asyncio.get_running_loop().create_future()
        is_over = asyncio.Event()

        async def serve(connection: socket.socket) -> None:
            if not connected.done():  # the first is the bridge's; nobody else has any business here
                connected.set_result(connection)
                await is_over.wait()

        place = SlotHolder(command.org_id)
        running = asyncio.create_task(pool.run(self._job(command), serve=serve, place=place))
        held = _RunningCommand(command=command, running=running)
        self._held.append(held)
        running.add_done_callback(lambda _: self._forget(held))
        first: set[asyncio.Future[Any]] = {running, connected}
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if not connected.done():
                raise CannotStart(_end_reason(running.result()))
            with connected.result().dup() as connection:  # the other is closed with the sandbox
                held.pipes = HeldPipes(connection, running)
                yield held.pipes
        finally:
            self._forget(held)
            is_over.set()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    async def _start_pool(self) -> SandboxPool:
        async with self._starting:
            if self._pool is None:
                pool = self._make_pool()
                try:
                    await pool.start()
                except CannotIsolate as error:
                    raise CannotStart(f"programs cannot be isolated here: {error}") from None
                self._pool = pool
        return self._pool

    def _make_room(self, most: int, org_id: int) -> None:
        """For one more. Raises CannotStart; waiting would help only by chance."""
        own = [one for one in self._held if one.command.org_id == org_id]
        of_org = max(1, most // 2)
        if len(own) >= of_org:
            self._end_one(own, f"your org has {of_org} programs running, the most at a time,")
        elif len(self._held) >= most:
            self._end_one(self._held, f"this server has {most} programs running, the most at a time,")

    def _end_one(self, among: "list[_RunningCommand]", full: str) -> None:
        idle = [one for one in among if one.pipes is not None and one.command.use.is_idle]
        if not idle:
            raise CannotStart(f"{full} and each is being called: call again in a moment, {_ELSEWHERE}")
        longest = min(idle, key=lambda one: one.command.use.ended)
        self._forget(longest)
        assert longest.pipes is not None
        longest.pipes.end()

    def _forget(self, held: "_RunningCommand") -> None:
        if held in self._held:
            self._held.remove(held)

    def _job(self, command: Command) -> CodeJob:
        return CodeJob(
            source_dir=_BRIDGE,
            entrypoint=Entrypoint("run_command.py", "run"),
            task_input={"argv": list(command.argv)},
            run_token="",
            proxy_path="",
            env=command.variables,
            environment=self._folder,
            limits=LIMITS,
            expects_more=False,
        )


class HeldPipes:
    def __init__(self, connection: socket.socket, running: "asyncio.Task[CodeOutcome]") -> None:
        self._connection = connection
        self._running = running
        self._loop = asyncio.get_running_loop()
        self._writing = asyncio.Lock()

    async def read(self) -> bytes:
        try:
            return await self._loop.sock_recv(self._connection, _READ_BYTES)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        async with self._writing:  # whole messages
            await self._loop.sock_sendall(self._connection, data)

    def end(self) -> None:
        """At once for whoever reads or writes, so that no message gets to a program that is about to end."""
        with suppress(OSError):  # it has ended by itself
            self._connection.shutdown(socket.SHUT_RDWR)
        self._running.cancel()

    async def why(self) -> str:
        await asyncio.wait({self._running}, timeout=_ENDS_WITHIN_S)
        if not self._running.done() or self._running.cancelled():
            return "it closed its output"
        return _end_reason(self._running.result())


@dataclass(slots=True, kw_only=True, eq=False)
class _RunningCommand:
    command: Command
    running: "asyncio.Task[CodeOutcome]"
    pipes: HeldPipes | None = None  # while it starts


def _end_reason(outcome: CodeOutcome) -> str:
    if outcome.error is not None:
        ended = outcome.error.message
    else:
        code = outcome.result.get("exit_code") if isinstance(outcome.result, dict) else None
        ended = f"it ended with exit code {code}"
    words = outcome.stderr.strip()[-LONGEST_WORDS:]
    return f"{ended}; it said: {words}" if words else ended
