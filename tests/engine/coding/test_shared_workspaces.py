"""When runs of a scenario begin to share its workspace, and what happens where they cannot."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.core.coding.scenario import CodingScenario, FilesSeed
from pipelines.core.coding.scorers import CommandScorer
from pipelines.engine.workspaces.prepare_workspace import ReadyWorkspace, WorkspaceFailed, Workspaces
from pipelines.engine.workspaces.share_workspaces import ASKS_OF_A_RUN, MADE, NOT_SHARED
from pipelines.sandbox.recipe import is_root
from support.coding_workspaces import opened_workspaces

pytestmark = pytest.mark.anyio
takes_root = pytest.mark.skipif(not is_root(), reason="only root mounts an overlay")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def scenario(setup_command: str | None = None) -> CodingScenario:
    return CodingScenario(
        name="small",
        user_instruction="x",
        workspace_seed=FilesSeed(files={"a.txt": "one\n"}),
        setup_command=setup_command,
        scorers=(CommandScorer(name="quick", type="command", command="true"),),
    )


async def asked(workspaces: Workspaces, wanted: CodingScenario, org_id: int = 1) -> ReadyWorkspace:
    async with workspaces.held(wanted, org_id) as ready:
        return ready


async def made(workspaces: Workspaces) -> None:
    await asyncio.gather(*workspaces._sharing._making.values())


@takes_root
async def test_one_run_writes_nothing_to_the_disk_and_the_next_ones_share(folder: Path) -> None:
    async with opened_workspaces(folder, "auto") as workspaces:
        for _ in range(ASKS_OF_A_RUN):
            assert (await asked(workspaces, scenario())).shared is None
            assert not workspaces._sharing._making
        assert (await asked(workspaces, scenario())).shared is None  # nobody waits for it
        await made(workspaces)
        ready = await asked(workspaces, scenario())
        assert ready.shared is not None
        assert ready.shared.joinpath("a.txt").read_text() == "one\n"
        assert (await asked(workspaces, scenario(), org_id=2)).shared is None  # to each org its own
    async with opened_workspaces(folder, "auto") as later:
        assert (await asked(later, scenario())).shared is not None
    async with opened_workspaces(folder, "memory") as otherwise:
        assert (await asked(otherwise, scenario())).shared is None
        assert "PIPELINES_WORKSPACE_SHARING" in str(await otherwise.describe())


@takes_root
async def test_a_workspace_that_cannot_be_shared_is_copied_and_not_tried_again(folder: Path) -> None:
    odd = scenario("mkfifo pipe")
    async with opened_workspaces(folder, "overlay") as workspaces:
        ready = await asked(workspaces, odd)
        assert ready.shared is None
        assert "pipe is neither" in (ready.folder / NOT_SHARED).read_text()
        assert not (ready.folder / MADE).exists()
        assert (await asked(workspaces, odd)).shared is None
        assert sorted(path.name for path in (folder / "workspaces").iterdir() if path.name[0] == "n") == []


async def test_where_it_cannot_be_had_the_reason_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipelines.engine.workspaces.share_workspaces.probe_sharing", lambda *_: _said("no overlay today")
    )
    async with opened_workspaces(folder, "overlay") as forced:
        with pytest.raises(
            WorkspaceFailed, match=r"SHARING=overlay does not work on this server: no overlay today"
        ):
            await asked(forced, scenario())
        assert "no overlay today" in str(await forced.describe())
    async with opened_workspaces(folder, "auto") as workspaces:
        for _ in range(ASKS_OF_A_RUN + 2):
            assert (await asked(workspaces, scenario())).shared is None
        assert await workspaces.describe() == "in memory, a copy for each run: no overlay today"


async def _said(reason: str) -> str:
    return reason
