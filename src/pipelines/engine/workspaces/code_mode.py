"""Whether and how this node runs the code of others. Found out when first asked: most servers never are."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated

from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.models.model_upstreams import ModelUpstream
from pipelines.sandbox.environments import Environments
from pipelines.sandbox.function_boxes import FunctionBoxes
from pipelines.sandbox.pool import CannotIsolate, SandboxPool
from pipelines.wire.errors import CodeModeUnavailable
from pipelines.wire.records import Omitted, Record

ASK_AGAIN_S = 60.0  # a machine that was too busy to start a sandbox may have recovered
HOW_TO_ALLOW = "PIPELINES_UNSAFE_CODE=yes runs it all the same, with the rights of the server."


class CodeSandboxes:
    """What runs code here, and installs what it requires."""

    def __init__(self, pool: SandboxPool, make_environments: Callable[[SandboxPool], Environments]) -> None:
        self.pool = pool
        self._make_environments = make_environments

    @lazy_property
    def environments(self) -> Environments:
        return self._make_environments(self.pool)

    @lazy_property
    def functions(self) -> FunctionBoxes:
        """The sandboxes of code endpoints."""
        return FunctionBoxes(self.pool)

    async def close(self) -> None:
        if "functions" in self.__dict__:
            await self.functions.close()
        await self.pool.close()

    @property
    def is_unsafe(self) -> bool:
        return self.pool.isolation == "none"

    @asynccontextmanager
    async def environment_for(self, requirements: str) -> AsyncIterator[Path | None]:
        """Kept from being removed while it is used."""
        if not requirements.strip():
            yield None
            return
        async with self.environments.held(requirements) as environment:
            yield environment


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeModeStatus(Record, component="CodeMode"):
    """Whether uploaded code is run here, and how it is isolated."""

    available: bool
    isolation: str | None = None
    reason: str
    limits: Omitted[str | None] = None
    workspaces: Annotated[Omitted[str | None], "how runs of coding tasks have theirs"] = None
    model_gateways: tuple[ModelUpstream, ...] = ()


class CodeMode:
    def __init__(
        self,
        make_pool: Callable[[], SandboxPool],
        make_environments: Callable[[SandboxPool], Environments],
        *,
        folder: Path,
    ) -> None:
        """`folder` is where code is unpacked, on this node."""
        self.folder = folder
        self._make_pool = make_pool
        self._make_environments = make_environments
        self._opening = asyncio.Lock()
        self._opened: CodeSandboxes | None = None
        self._refusal: str | None = None
        self._asks_again_at = 0.0

    async def opened(self) -> CodeSandboxes:
        """What runs code here; CodeModeUnavailable, with the reason, where nothing does."""
        async with self._opening:
            if self._opened is None and monotonic() >= self._asks_again_at:
                await self._open()
        if self._opened is None:
            raise CodeModeUnavailable(self._refusal)
        return self._opened

    async def _open(self) -> None:
        pool = self._make_pool()
        try:
            await pool.start()
        except CannotIsolate as error:
            self._refusal = f"This server cannot isolate other people's code: {error}. {HOW_TO_ALLOW}"
            self._asks_again_at = monotonic() + ASK_AGAIN_S
            return
        except BaseException:  # a run that was cancelled meanwhile: nothing of the pool may stay behind
            await asyncio.shield(pool.close())
            raise
        self._opened = CodeSandboxes(pool, self._make_environments)

    async def status(self) -> CodeModeStatus:
        try:
            opened = await self.opened()
        except CodeModeUnavailable as error:
            return CodeModeStatus(available=False, reason=error.message)
        probe = opened.pool.probe
        return CodeModeStatus(
            available=True,
            isolation=opened.pool.isolation,
            reason=probe.reason if probe is not None else "",
            limits=opened.pool.bounds,
        )

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
