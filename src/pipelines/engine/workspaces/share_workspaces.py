"""Whether runs of a scenario share its workspace on this node, as the operator wants and the machine can."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.workspaces.code_mode import CodeSandboxes
from pipelines.sandbox.held_folders import new_folder
from pipelines.sandbox.shared_trees import SHARED, CannotShare, probe_sharing, share

#: "auto": runs of a scenario share its files where the machine can. "overlay": they do, or there are none.
#: "memory": each run has a copy of its own.
Sharing: TypeAlias = Literal["auto", "overlay", "memory"]
#: Keeps a folder from being removed.
Hold: TypeAlias = Callable[[str], AbstractContextManager[None]]
MADE = "shared"  # in a workspace's folder: what its runs share
NOT_SHARED = "not-shared"  # there: why they share nothing
ASKS_OF_A_RUN = 2  # for its agent, and for its graders
MOST_KNOWN = 1_000
SETTING = "PIPELINES_WORKSPACE_SHARING"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceLimits:
    bytes: int = 500 * 1024 * 1024
    files: int = 50_000
    diff_bytes: int = 4 * 1024 * 1024


class SharedWorkspaces:
    """`directory` is where workspaces are kept: whether they can be shared depends on its file system too."""

    def __init__(self, directory: Path, limits: WorkspaceLimits, wanted: Sharing) -> None:
        self._directory = directory
        self._limits = limits
        self._wanted = wanted
        self._probing = asyncio.Lock()
        self._making: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, int] = {}  # how often for each workspace, the last asked for last
        self._problem: str | None = None  # what came of trying it: "" where it works, else why not

    async def describe(self, opened: CodeSandboxes) -> str:
        if opened.is_unsafe:
            return "none: they need isolation"
        if self._wanted == "memory":
            return f"in memory, a copy for each run ({SETTING})"
        problem = await self._try_sharing(opened)
        if not problem:
            return "shared by the runs of a scenario, what each changes in memory (overlayfs)"
        if self._wanted == "overlay":
            return f"none: {SETTING}=overlay, but {problem}"
        return f"in memory, a copy for each run: {problem}"

    async def folder_of(self, opened: CodeSandboxes, name: str, place: SlotHolder, hold: Hold) -> Path | None:
        """Of a workspace that is kept under this name the folder to share; None as long as there is none.

        Nobody waits for it, unless the operator wants nothing else. Raises BoxFailed, CannotShare."""
        if self._wanted == "memory":
            return None
        folder = self._directory / name
        is_made = await asyncio.to_thread((folder / MADE / SHARED).is_dir)
        if not is_made and not self._count_and_check(name):
            return None
        if problem := await self._try_sharing(opened):
            if self._wanted == "overlay":
                raise CannotShare(f"{SETTING}=overlay does not work on this server: {problem}")
            return None
        if is_made:
            return folder / MADE
        if await asyncio.to_thread((folder / NOT_SHARED).exists):
            return None
        making = self._making.get(name) or self._begin(opened, name, place, hold)
        if self._wanted == "auto":
            return None
        await asyncio.shield(making)
        return folder / MADE if await asyncio.to_thread((folder / MADE).is_dir) else None

    def _count_and_check(self, name: str) -> bool:
        """Whoever has one run gains nothing by writing its files to the disk."""
        self._asked[name] = self._asked.pop(name, 0) + 1
        if len(self._asked) > MOST_KNOWN:
            self._asked.pop(next(iter(self._asked)))
        return self._wanted == "overlay" or self._asked[name] > ASKS_OF_A_RUN

    def _begin(self, opened: CodeSandboxes, name: str, place: SlotHolder, hold: Hold) -> "asyncio.Task[None]":
        async def make() -> None:
            with hold(name):
                await self._make(opened, self._directory / name, place)

        def ended(task: "asyncio.Task[None]") -> None:
            self._making.pop(name, None)
            if not task.cancelled() and (error := task.exception()) is not None:
                _log.info("a workspace could not be shared between runs: %s", error)

        making = asyncio.create_task(make())
        self._making[name] = making
        making.add_done_callback(ended)
        return making

    async def _make(self, opened: CodeSandboxes, folder: Path, place: SlotHolder) -> None:
        with new_folder(self._directory) as new:
            new.chmod(0o755)
            (new / "empty").mkdir()
            (new / "empty").chmod(0o755)
            try:
                await share(
                    opened.pool,
                    folder,
                    new / MADE,
                    empty=new / "empty",
                    most_files=self._limits.files,
                    most_bytes=self._limits.bytes,
                    place=place,
                )
            except CannotShare as error:
                await asyncio.to_thread((folder / NOT_SHARED).write_text, str(error))
                return
            with suppress(OSError):  # another process was faster
                (new / MADE).rename(folder / MADE)

    async def close(self) -> None:
        for task in self._making.values():
            task.cancel()
        await asyncio.gather(*self._making.values(), return_exceptions=True)

    async def _try_sharing(self, opened: CodeSandboxes) -> str:
        """Once, by doing it."""
        async with self._probing:
            if self._problem is None:
                self._problem = await probe_sharing(opened.pool, self._directory) or ""
                if self._problem:
                    _log.info("workspaces are copied for each run: %s", self._problem)
        return self._problem
