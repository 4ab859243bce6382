"""One sandbox with a workspace in it: what the host asks of the driver inside (`inside/workspace.py`).

Everything that comes out is told by a process of the same user as the code that ran there, so nothing of it
is trusted: a diff is applied in another sandbox before anybody believes it.
"""

import asyncio
import base64
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads
from pipelines.sandbox import recipe
from pipelines.sandbox.code_errors import out_of_memory, read_frame, sandbox_lost, timed_out, without_frame
from pipelines.sandbox.host_listener import Serve
from pipelines.sandbox.job import MEBIBYTE, CodeError, CodeErrorKind, CodeJob, CodeOutcome, Limits
from pipelines.sandbox.pool import OnBegin, SandboxPool
from pipelines.sandbox.recipe import Layout, WorkspaceLayout
from pipelines.sandbox.sandbox import StartFailed
from pipelines.sandbox.warm_sandboxes import HeldSandbox

WORKSPACE = f"{recipe.JOB_FOLDER}/workspace"
TASK_FILE = f"{recipe.JOB_FOLDER}/task.json"
TREE, REPOSITORY = "tree.tar", "repository.tar"
#: Of what runs in a workspace: compilers and test suites need more than an agent's own code.
LIMITS = Limits(memory_bytes=1024 * MEBIBYTE, disk_bytes=256 * MEBIBYTE, file_bytes=256 * MEBIBYTE)
#: For what we do inside: unpacking, collecting, applying. A large workspace takes seconds.
OWN_S = 300.0
_PIECE = 4 * MEBIBYTE
_SLACK = 8 * MEBIBYTE


class BoxFailed(Exception):
    """What was asked of a workspace was not done; the message says why. `is_ours`: no code of others is to
    blame."""

    def __init__(self, message: str, *, is_ours: bool = False) -> None:
        super().__init__(message)
        self.is_ours = is_ours


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """How a command ended."""

    code: int | None  # None: it was killed at its time
    timed_out: bool
    output: str
    left: tuple[str, ...]  # names of the processes that it left running
    sessions: tuple[JsonObject, ...]  # test sessions that were seen, and what each said of itself
    files: Mapping[str, bytes | None]  # that it was to leave; None where there is none
    rewritten: tuple[str, ...] = ()  # of the scenario's files, those that it changed
    touched: tuple[str, ...] = ()  # and those that it did something to, which are the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    paths: tuple[str, ...]  # what was put back, beside the scenario's own files
    known: tuple[str, ...]  # of the scenario's own, those that the baseline has too


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """What git says was changed, as it says it."""

    raw: bytes
    patch: bytes
    ignored: bytes
    truncated: bool
    signs: tuple[str, ...] = ()
    contents: Mapping[str, str | None] | None = None  # of files that were asked for


def layout_of(
    *,
    given: Path,
    dependencies: Path | None,
    workspace_bytes: int,
    source_dir: Path,
    environment: Path | None = None,
    is_grading: bool = False,
    workdir: str = "/app",
    folders: tuple[str, ...] = (),
    shared: Path | None = None,
    fills: Path | None = None,
) -> Layout:
    return Layout(
        source_dir=source_dir,
        environment=environment,
        disk_bytes=LIMITS.disk_bytes,
        memory_bytes=LIMITS.memory_bytes + workspace_bytes,
        driver=recipe.WORKSPACE_DRIVER,
        workspace=WorkspaceLayout(
            given=given,
            dependencies=dependencies,
            bytes=workspace_bytes,
            is_grading=is_grading,
            workdir=workdir,
            folders=folders,
            shared=shared,
            fills=fills,
        ),
        identity=recipe.identity_of(source_dir, environment, given, dependencies, shared),
    )


async def _nobody(connection: socket.socket) -> None:
    """No way out."""


class WorkspaceBox:
    def __init__(self, pool: SandboxPool, held: HeldSandbox) -> None:
        self._pool = pool
        self._held = held

    @property
    def port(self) -> int:
        return self._held.sandbox.port

    async def ask(
        self,
        kind: str,
        fields: Mapping[str, Any],
        *,
        wall_s: float = OWN_S,
        serve: Serve = _nobody,
        result_bytes: int = 0,
    ) -> dict[str, Any]:
        """Raises BoxFailed."""
        limits = replace(LIMITS, wall_s=wall_s, result_bytes=result_bytes + _SLACK)
        ended = await self._held.sandbox.ask({"kind": kind, **fields}, limits, serve, read=_read_own)
        if ended.error is not None:
            raise self._failed(ended.error)
        assert isinstance(ended.value, dict)
        return ended.value

    def _failed(self, error: CodeError) -> BoxFailed:
        if error.exception == "Refusal":
            return BoxFailed(error.message)
        if error.kind is CodeErrorKind.TIMEOUT:
            return BoxFailed("it took too long, and was ended")
        is_ours = error.kind in (CodeErrorKind.SANDBOX_FAILED, CodeErrorKind.EXCEPTION)
        return BoxFailed(error.message, is_ours=is_ours)

    async def unpack(self) -> None:
        await self.ask("unpack", {})

    async def make_seed(self, *, archive: str | None, files: Mapping[str, str]) -> None:
        await self.ask("seed", {"archive": archive, "files": dict(files)})

    async def make_baseline(self, *, most_files: int) -> dict[str, Any]:
        return await self.ask("baseline", {"most_files": most_files})

    async def fill(self, *, most_entries: int) -> None:
        """The folder that the layout names, with everything that was given."""
        await self.ask("fill", {"most_entries": most_entries})

    async def save_archives(
        self, folder: Path, *, most_bytes: int, names: Sequence[str] = (TREE, REPOSITORY)
    ) -> None:
        """Tree and repository into files of the host, unread."""
        await self._held.sandbox.order({"kind": "archives", "names": list(names)})
        for name in names:
            bytes_left = (
                2 * most_bytes + 64 * MEBIBYTE
            )  # an archive pads each file, a repository has all of them once more
            with (folder / name).open("xb") as file:
                while True:
                    async with asyncio.timeout(OWN_S):
                        piece = await self._held.sandbox.piece(_PIECE)
                    if piece is None:
                        raise BoxFailed("the workspace was lost while it was packed", is_ours=True)
                    if not piece:
                        break
                    bytes_left -= len(piece)
                    if bytes_left < 0:
                        raise BoxFailed("the workspace is too large to be kept")
                    await asyncio.to_thread(file.write, piece)

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        timeout_s: float,
        output_bytes: int,
        read: Sequence[str] = (),
        most_bytes: int = 16 * MEBIBYTE,
        serve: Serve = _nobody,
    ) -> CommandResult:
        limits = self._pool.limits(replace(LIMITS, wall_s=timeout_s))
        fields = {
            "argv": list(argv),
            "cwd": WORKSPACE,
            "env": dict(env),
            "limits": limits,
            "timeout_s": timeout_s,
            "output_bytes": output_bytes,
            "read": list(read),
            "most_bytes": most_bytes,
        }
        size = 2 * most_bytes * max(1, len(read)) + 64 * MEBIBYTE
        found = await self.ask("run", fields, wall_s=timeout_s + OWN_S, serve=serve, result_bytes=size)
        return CommandResult(
            code=found["code"],
            timed_out=found["timed_out"],
            output=found["output"],
            left=tuple(found["left"]),
            sessions=tuple(found["sessions"]),
            files={path: _decoded(text) for path, text in found["files"].items()},
            rewritten=tuple(found["rewritten"]),
            touched=tuple(found["touched"]),
        )

    async def run_agent(
        self, job: CodeJob, *, task: JsonObject, env: Mapping[str, str], serve: Serve
    ) -> CodeOutcome:
        """The agent's function called in the workspace; what it printed is in the outcome."""
        sandbox, limits = self._held.sandbox, job.limits
        message = self._pool.message(self._held, job)
        message["env"] = {**message["env"], **env}
        fields = {**message, "kind": "agent", "task": task, "timeout_s": limits.wall_s}
        ended = await sandbox.ask(
            fields,
            replace(limits, wall_s=limits.wall_s + OWN_S),
            serve,
            read=partial(_read_agent, job.limits),
        )
        error = ended.error
        group = self._held.group
        if (
            error is not None
            and error.kind is CodeErrorKind.KILLED
            and group is not None
            and group.was_exhausted()
        ):
            error = out_of_memory(limits)
        assert self._pool.isolation is not None
        return CodeOutcome(
            result=ended.value if error is None else None,
            error=error,
            stdout=sandbox.stdout.taken(),
            stderr=sandbox.stderr.taken(),
            duration_ms=ended.duration_ms,
            isolation=self._pool.isolation,
            was_called=True,
        )

    async def collect(self, *, most_bytes: int) -> Changes:
        return _changes(await self.ask("collect", {"most_bytes": most_bytes}, result_bytes=4 * most_bytes))

    async def apply(self, patch: bytes, *, read: Sequence[str], most_bytes: int) -> Changes | str:
        """The changes that the patch makes, or why it cannot be applied."""
        fields = {
            "patch": base64.b64encode(patch).decode(),
            "read": list(read),
            "most_bytes": most_bytes,
        }
        found = await self.ask("apply", fields, result_bytes=4 * most_bytes + 8 * MEBIBYTE * len(read))
        return found["problem"] if "problem" in found else _changes(found)

    async def restore(
        self, *, paths: Sequence[str], settings: Sequence[str], files: Mapping[str, str]
    ) -> Restored:
        fields = {"restore": list(paths), "settings": list(settings), "files": dict(files)}
        found = await self.ask("restore", fields)
        return Restored(paths=tuple(found["restored"]), known=tuple(found["known"]))


@asynccontextmanager
async def open_box(
    pool: SandboxPool,
    layout: Layout,
    *,
    place: SlotHolder,
    on_begin: OnBegin | None = None,
    is_single: bool = False,
) -> AsyncIterator[WorkspaceBox]:
    """Raises BoxFailed where none can be started. After a single one no other is expected."""
    try:
        async with pool.held(layout, place=place, on_begin=on_begin, expects_more=not is_single) as held:
            yield WorkspaceBox(pool, held)
    except StartFailed as error:
        raise BoxFailed(f"no sandbox could be started: {error}", is_ours=True) from None


def _changes(found: Mapping[str, Any]) -> Changes:
    return Changes(
        raw=_bytes(found["raw"]),
        patch=_bytes(found["patch"]),
        ignored=_bytes(found["ignored"]),
        truncated=bool(found["truncated"]),
        signs=tuple(_signs(found)),
        contents=found.get("contents"),
    )


def _signs(found: Mapping[str, Any]) -> list[str]:
    signs = [str(one) for one in found.get("history", ())]
    if found.get("left"):
        signs.append(f"the agent left processes running: {', '.join(map(str, found['left']))}"[:500])
    return signs


def _decoded(text: str | None) -> bytes | None:
    return _bytes(text) if text is not None else None


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


def _accept_any(value: Json) -> Json | CodeError:
    return value


def _read_own(frame: bytes, limits: Limits) -> tuple[Any, CodeError | None]:
    value, error = read_frame(frame, limits, checked=_accept_any)
    if error is None and not isinstance(value, dict):
        return None, sandbox_lost()
    return value, error


def _read_agent(own: Limits, frame: bytes, limits: Limits) -> tuple[Any, CodeError | None]:
    """As of any agent; the process around it says how one ended that said nothing itself."""
    if len(frame) < 200:
        with suppress(InvalidJson):
            body = loads(frame)
            if isinstance(body, dict) and body.get("kind") == "ended":
                status = body.get("status")
                return None, without_frame(status if isinstance(status, int) else 1, own)
            if isinstance(body, dict) and body.get("kind") == "timeout":
                return None, timed_out(own)
    return read_frame(frame, limits)
