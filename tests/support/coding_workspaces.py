"""Workspaces of coding scenarios in real sandboxes, without a server around them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipelines.engine.workspaces.code_mode import CodeMode
from pipelines.engine.workspaces.prepare_workspace import Workspaces
from pipelines.engine.workspaces.share_workspaces import Sharing, WorkspaceLimits
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.fetch_git import GitFetcher
from pipelines.sandbox.environments import Environments
from pipelines.sandbox.pool import SandboxPool
from pipelines.wire.errors import CodeModeUnavailable


async def _loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@asynccontextmanager
async def opened_workspaces(
    folder: Path, sharing: Sharing = "auto", *, limits: WorkspaceLimits | None = None
) -> AsyncIterator[Workspaces]:
    """Kept in this folder. Every name leads to loopback, and that may be reached."""
    os.chmod(folder, 0o755)
    network = GuardedBackend(AddressPolicy(allow_private=True), _loopback)
    mode = CodeMode(
        lambda: SandboxPool(warm=0),
        lambda pool: Environments(folder / "environments", python=pool.python.executable),
        folder=folder / "code",
    )
    git = GitFetcher(network, allow_http=True)
    directory = folder / "workspaces"
    found = Workspaces(mode, git=git, network=network, directory=directory, limits=limits, sharing=sharing)
    try:
        await mode.opened()
        yield found
    except CodeModeUnavailable as error:
        pytest.skip(error.message)
    finally:
        await found.close()
        await mode.close()
