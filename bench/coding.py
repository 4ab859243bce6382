"""What the platform adds to a coding task on a repository of 5,000 files, and whether it leaves anything.

    python bench/coding.py [--json] [--rounds 10] [--first] [--sharing memory]

Everything but setup, agent and scorers, which do next to nothing here: a workspace made for the first task of
a scenario (cold), and unpacked, collected, applied and put back for each (warm). The reference does the same
by hand, with nothing around it: the tree copied twice, git's diff in one copy applied to the other. They take
turns in one run, so that a busy machine is busy for both. Then 50 tasks, 4 at a time: no process, mount, file
or handle may stay.
"""

import argparse
import asyncio
import base64
import io
import json
import os
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pipelines.core.coding.scenario import ArchiveSeed, CodingScenario
from pipelines.core.coding.scorers import CommandScorer
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.coding.run_workspace import WorkspaceJob, work_in_box
from pipelines.engine.coding.score_workspace import grade
from pipelines.engine.live.plan_readers import PlanReaders
from pipelines.engine.workspaces.code_mode import CodeMode
from pipelines.engine.workspaces.prepare_workspace import Workspaces
from pipelines.engine.workspaces.share_workspaces import Sharing
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.fetch_git import GitFetcher
from pipelines.sandbox import launcher_client, memory
from pipelines.sandbox.environments import Environments
from pipelines.sandbox.job import CodeJob, parse_entrypoint
from pipelines.sandbox.memory import tree
from pipelines.sandbox.pool import SandboxPool

FILES, FOLDERS, LINES = 5_000, 100, 100
TASKS, AT_ONCE = 50, 4
COLD_S, WARM_S = 1.5, 0.4  # what it may add, on a machine that does nothing else
AGENT = """
def run(task_input, *, proxy_url, run_token):
    with open("/job/workspace/folder-1/file-1.py", "a") as file:
        file.write("changed = True\\n")
    return "done"
"""


def repository() -> CodingScenario:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", compresslevel=1) as archive:
        for number in range(FILES):
            data = "".join(f"value_{line} = {number * line}\n" for line in range(LINES)).encode()
            entry = tarfile.TarInfo(f"folder-{number % FOLDERS}/file-{number}.py")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return CodingScenario(
        name="large",
        user_instruction="Change a file.",
        workspace_seed=ArchiveSeed(data=base64.b64encode(made.getvalue()).decode()),
        scorers=(CommandScorer(name="quick", type="command", command="true"),),
    )


@asynccontextmanager
async def opened(folder: Path, warm: int, sharing: Sharing) -> AsyncIterator[Any]:
    """As much of a platform as a coding task needs."""
    network = GuardedBackend(AddressPolicy(allow_private=False))
    mode = CodeMode(
        lambda: SandboxPool(warm=warm, most_running=AT_ONCE),
        lambda pool: Environments(folder / "environments", python=pool.python.executable),
        folder=folder / "code",
    )
    workspaces = Workspaces(
        mode,
        git=GitFetcher(network, allow_http=False),
        network=network,
        directory=folder / "workspaces",
        sharing=sharing,
    )
    readers = PlanReaders()
    try:
        yield SimpleNamespace(workspaces=workspaces, code_mode=mode, plan_readers=readers)
    finally:
        readers.close()
        await workspaces.close()
        await mode.close()


def go_first() -> None:
    """Sandboxes step back for the server; on a machine that others use, they would step back for those."""
    Path("/proc/self/autogroup").write_text("-20")
    memory.NICE = -20
    launcher_client.Request.__init__.__kwdefaults__["nice"] = -20


async def nothing(*_: object) -> None:
    """No connection, and nothing to wait for."""


async def task(platform: Any, scenario: CodingScenario, agent: Path) -> float:
    """Seconds that one took, its agent's own and its scorer's left out."""
    job = CodeJob(
        source_dir=agent,
        entrypoint=parse_entrypoint("agent.py"),
        task_input={"input": None},
        run_token="token",
        proxy_path="",
    )
    work = WorkspaceJob(job=job, scenario=scenario, run_id=1, place=SlotHolder(1), hide=lambda text: text)
    began = time.perf_counter()
    async with platform.workspaces.held(scenario, 1) as ready:
        outcome, collected = await work_in_box(platform, work, ready, nothing, nothing)
    assert outcome.error is None, outcome
    graded = await grade(platform, org_id=1, scenario=scenario, diff=collected.diff)
    taken = time.perf_counter() - began
    assert graded.combined.passed, graded
    assert len(graded.diff.files) == 1
    return taken - outcome.duration_ms / 1000


def by_hand(folder: Path, seed: bytes) -> float:
    """The same without a sandbox: what nobody can do without."""
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(seed)) as archive:
        archive.extractall(folder / "baseline", filter="data")

    def git(where: Path, *arguments: str, **more: Any) -> bytes:
        options = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "gc.auto=0"]
        command = ["git", *options, *arguments]
        return subprocess.run(command, cwd=where, check=True, capture_output=True, **more).stdout

    git(folder / "baseline", "init", "-q")
    git(folder / "baseline", "add", "-A")
    git(folder / "baseline", "commit", "-q", "-m", "baseline")
    began = time.perf_counter()
    for name in ("work", "graded"):
        subprocess.run(["cp", "-a", folder / "baseline", folder / name], check=True)
    with (folder / "work/folder-1/file-1.py").open("a") as file:
        file.write("changed = True\n")
    git(folder / "work", "add", "-A")
    patch = git(folder / "work", "diff", "--cached", "--binary", "HEAD")
    git(folder / "graded", "apply", "-", input=patch)
    for name in ("work", "graded"):
        shutil.rmtree(folder / name)
    taken = time.perf_counter() - began
    shutil.rmtree(folder)
    return taken


async def shared(platform: Any) -> None:
    """Until what is made for runs to share is made."""
    await asyncio.gather(*platform.workspaces._sharing._making.values())


async def settled(platform: Any) -> None:
    """Until no sandbox is being started ahead, and those that wait have unpacked."""
    await shared(platform)
    pool = (await platform.code_mode.opened()).pool
    while pool._stock._tasks:
        await asyncio.gather(*pool._stock._tasks)
    await asyncio.sleep(1.0)


async def take_turns(
    folder: Path, scenario: CodingScenario, agent: Path, rounds: int, sharing: Sharing
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"cold": [], "warm": [], "by hand": []}
    seed = base64.b64decode(scenario.workspace_seed.data)  # type: ignore[union-attr]
    async with (
        opened(folder / "warm", 1, sharing) as waiting,
        opened(folder / "cold", 0, sharing) as starting,
    ):
        for _ in range(3):  # from the second on runs share, and then others are started ahead
            await task(waiting, scenario, agent)
            await settled(waiting)
        await starting.workspaces.as_json()  # what can be shared is found out once
        for number in range(rounds):
            await settled(waiting)
            times["warm"].append(await task(waiting, scenario, agent))
            await settled(waiting)
            other = replace(scenario, setup_command=f"true {number}")  # another workspace, made anew
            times["cold"].append(await task(starting, other, agent))
            times["by hand"].append(await asyncio.to_thread(by_hand, folder / "hand", seed))
    return times


def inventory(folder: Path) -> dict[str, int]:
    return {
        "processes": len(tree(os.getpid())),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "files": sum(1 for path in folder.rglob("*") if path.is_file()),
        "bytes": sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file()),
        "handles": len(os.listdir("/proc/self/fd")),
    }


async def many(folder: Path, scenario: CodingScenario, agent: Path, sharing: Sharing) -> dict[str, Any]:
    place = folder / "many"
    async with opened(place, 2, sharing) as platform:
        for _ in range(2):  # the workspace is kept, on purpose, and what runs share of it
            await task(platform, scenario, agent)
        await shared(platform)
    before = inventory(folder)
    slots = asyncio.Semaphore(AT_ONCE)
    began = time.perf_counter()
    async with opened(place, 2, sharing) as platform:

        async def one() -> None:
            async with slots:
                await task(platform, scenario, agent)

        await asyncio.gather(*(one() for _ in range(TASKS)))
        taken = time.perf_counter() - began
    return {
        "tasks": TASKS,
        "at_once": AT_ONCE,
        "seconds": taken,
        "before": before,
        "after": inventory(folder),
    }


async def measured(folder: Path, rounds: int, sharing: Sharing) -> dict[str, Any]:
    scenario = await asyncio.to_thread(repository)
    times = await take_turns(folder, scenario, folder / "agent", rounds, sharing)
    return {"times": times, "many": await many(folder, scenario, folder / "agent", sharing)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--first", action="store_true", help="as root: before all else on this machine")
    parser.add_argument("--sharing", choices=("auto", "overlay", "memory"), default="auto")
    given = parser.parse_args()
    if given.first:
        go_first()
    with tempfile.TemporaryDirectory(prefix="odyssey-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "agent").mkdir()
        (folder / "agent/agent.py").write_text(AGENT)
        found = asyncio.run(measured(folder, given.rounds, given.sharing))
    if given.json:
        print(json.dumps(found))
        return
    reference = statistics.median(found["times"]["by hand"])
    for name, limit in (("cold", COLD_S), ("warm", WARM_S), ("by hand", None)):
        taken = found["times"][name]
        least, middle = min(taken), statistics.median(taken)
        told = f"; at most {limit:g} s on a quiet machine" if limit is not None else ""
        print(f"{name:8} {middle:6.3f} s (least {least:.3f}), {middle / reference:.2f} × by hand{told}")
    left = found["many"]
    differ = {key: (left["before"][key], left["after"][key]) for key in left["before"]}
    gone = "nothing is left" if left["before"] == left["after"] else f"LEFT BEHIND: {differ}"
    print(f"{left['tasks']} tasks, {left['at_once']} at a time: {left['seconds']:.1f} s; {gone}")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
