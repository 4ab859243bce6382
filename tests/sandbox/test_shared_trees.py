"""Workspaces that runs share: what one writes no other sees, and nothing but plain files is shared."""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from boxes import Boxes

from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.sandbox import layered
from pipelines.sandbox.pool import SandboxPool
from pipelines.sandbox.recipe import is_root
from pipelines.sandbox.shared_trees import SHARED, CannotShare, probe_sharing, share
from pipelines.sandbox.workspace_box import WorkspaceBox, layout_of, open_box

MEBIBYTE = 1024 * 1024
FILES = {"a.txt": "one\n", "src/deep/b.py": "x = 1\n", "run.sh": "#!/bin/sh\n"}
ENV = {"PATH": "/usr/bin:/bin", "HOME": "/job"}

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not is_root(), reason="only root mounts an overlay that folders can be renamed in"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for part in (place, place / "empty", place / "base"):
            part.mkdir(exist_ok=True)
            part.chmod(0o755)
        yield place


@asynccontextmanager
async def opened_pool() -> AsyncIterator[SandboxPool]:
    pool = SandboxPool(warm=0)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.close()


def box(pool: SandboxPool, folder: Path, *, is_grading: bool = False):
    layout = layout_of(
        given=folder / "shared",
        shared=folder / "shared" / SHARED,
        dependencies=None,
        workspace_bytes=16 * MEBIBYTE,
        source_dir=folder / "empty",
        is_grading=is_grading,
    )
    return open_box(pool, layout, place=SlotHolder(1), is_single=True)


async def packed(pool: SandboxPool, folder: Path) -> None:
    """The archives of a workspace of FILES."""
    layout = layout_of(
        given=folder / "empty",
        dependencies=None,
        workspace_bytes=16 * MEBIBYTE,
        source_dir=folder / "empty",
    )
    async with open_box(pool, layout, place=SlotHolder(1), is_single=True) as making:
        await making.make_seed(archive=None, files=FILES)
        await making.make_baseline(most_files=10)
        await making.save_archives(folder / "base", most_bytes=MEBIBYTE)
    for file in (folder / "base").iterdir():
        file.chmod(0o644)


async def shared(pool: SandboxPool, folder: Path, *, most_files: int = 1_000) -> None:
    await share(
        pool,
        folder / "base",
        folder / "shared",
        empty=folder / "empty",
        most_files=most_files,
        most_bytes=MEBIBYTE,
        place=SlotHolder(1),
    )


async def said(opened: WorkspaceBox, command: str) -> str:
    ran = await opened.run(["/bin/sh", "-ec", command], env=ENV, timeout_s=30, output_bytes=4_000)
    assert ran.code == 0, ran.output
    return ran.output


def told_of(tree: Path) -> list[tuple[str, int, int, int, bytes]]:
    found = []
    for path in sorted(tree.rglob("*")):
        seen = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found.append((str(path), seen.st_mode, seen.st_uid, seen.st_mtime_ns, content))
    return found


async def test_what_one_run_does_reaches_neither_the_disk_nor_another_run(folder: Path, boxes: Boxes) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        await shared(pool, folder)
        before = told_of(folder / "shared")
        async with box(pool, folder) as one, box(pool, folder, is_grading=True) as other:
            await said(
                one, "echo two > a.txt; mv -T src moved; rm run.sh; echo new > new; rm -rf .git; chmod 700 ."
            )
            assert (
                await said(other, "cat a.txt src/deep/b.py; ls -A; id -u; stat -c %u a.txt .")
            ).split() == [*("one", "x", "=", "1", ".git", "a.txt", "run.sh", "src", "1001", "1001", "1001")]
            assert (await said(one, "cat a.txt; ls moved/deep; stat -c %u a.txt")).split() == [
                "two",
                "b.py",
                "1000",
            ]
        assert told_of(folder / "shared") == before
        async with box(pool, folder) as again:
            assert await said(again, "git status --short; cat a.txt") == "one\n"


async def test_nobody_can_write_below_and_rights_that_a_file_had_are_none(folder: Path, boxes: Boxes) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        await shared(pool, folder)
        tree = folder / "shared" / SHARED
        assert {path.lstat().st_uid for path in tree.rglob("*")} == {layered.OWNER}
        async with box(pool, folder) as opened:
            tried = await said(
                opened,
                "! touch /given/tree/x; ! rm /given/tree/a.txt; ! mknod dev c 1 3; "
                "grep ' /job/workspace ' /proc/mounts; cp /bin/true own; chmod 4755 own; ls -l own",
            )
        assert "nosuid,nodev" in tried
        assert str(folder) not in tried  # what is mounted from where is nobody's business
        assert not (tree / "x").exists()


async def test_what_is_written_is_bounded_and_counted_apart_from_what_is_shared(
    folder: Path, boxes: Boxes
) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        await shared(pool, folder)
        async with box(pool, folder) as opened:
            ran = await opened.run(
                ["/bin/sh", "-c", "head -c 100000000 /dev/zero > full; stat -c %s full"],
                env=ENV,
                timeout_s=30,
                output_bytes=2_000,
            )
    assert "No space left" in ran.output
    assert int(ran.output.split()[-1]) <= 16 * MEBIBYTE


async def test_git_knows_that_nothing_changed_without_reading_the_files(folder: Path, boxes: Boxes) -> None:
    """Or each run would read every file of its repository before its change is told."""
    async with opened_pool() as pool:
        await packed(pool, folder)
        await shared(pool, folder)
        async with box(pool, folder) as opened:
            debug = "git ls-files --debug a.txt; stat -c 'is %i' a.txt"
            told = await said(opened, debug)
            assert f"ino: {told.split('is ')[1].strip()}" in told
            changes = await opened.collect(most_bytes=MEBIBYTE)
            assert changes.patch == b""
            await said(opened, "cp -p a.txt keep; printf 'two\\n' > a.txt; touch -r keep a.txt; rm keep")
            changes = await opened.collect(most_bytes=MEBIBYTE)
    assert b"+two" in changes.patch  # of the same size and time as before: still seen


def add(archive: Path, change: Callable[[tarfile.TarInfo], None], name: str = "./odd") -> None:
    entry = tarfile.TarInfo(name)
    change(entry)
    with tarfile.open(archive, "a") as tar:
        tar.addfile(entry)


def fifo(entry: tarfile.TarInfo) -> None:
    entry.type = tarfile.FIFOTYPE


def hard_link(entry: tarfile.TarInfo) -> None:
    entry.type, entry.linkname = tarfile.LNKTYPE, "./a.txt"


def closed_folder(entry: tarfile.TarInfo) -> None:
    entry.type, entry.mode = tarfile.DIRTYPE, 0o500


def unreadable(entry: tarfile.TarInfo) -> None:
    entry.mode = 0o200


def whiteout(entry: tarfile.TarInfo) -> None:
    entry.type, entry.devmajor, entry.devminor = tarfile.CHRTYPE, 0, 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (fifo, "neither a file nor a folder"),
        (hard_link, "under several names"),
        (closed_folder, "may not write in"),
        (unreadable, "may not be read"),
        (whiteout, "neither a file nor a folder|cannot be unpacked"),
    ],
)
async def test_what_is_more_than_files_is_not_shared_and_the_reason_is_told(
    folder: Path, boxes: Boxes, change: Callable[[tarfile.TarInfo], None], reason: str
) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        add(folder / "base/tree.tar", change)
        with pytest.raises(CannotShare, match=reason):
            await shared(pool, folder)


async def test_rights_and_attributes_of_an_archive_do_not_reach_the_disk(folder: Path, boxes: Boxes) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        entry = tarfile.TarInfo("./odd")
        entry.mode, entry.uid = 0o6755, 0
        entry.pax_headers = {
            "SCHILY.xattr.user.overlay.opaque": "y",
            "SCHILY.xattr.trusted.overlay.redirect": "/etc",
        }
        with tarfile.open(folder / "base/tree.tar", "a", format=tarfile.PAX_FORMAT) as tar:
            tar.addfile(entry)
        await shared(pool, folder)
    odd = folder / "shared" / SHARED / "odd"
    assert odd.lstat().st_mode & 0o7000 == 0
    assert odd.lstat().st_uid == layered.OWNER
    assert os.listxattr(odd) == []


async def test_an_archive_of_more_files_than_allowed_is_not_unpacked(folder: Path, boxes: Boxes) -> None:
    async with opened_pool() as pool:
        await packed(pool, folder)
        with tarfile.open(folder / "base/tree.tar", "a") as tar:
            for number in range(10_100):
                tar.addfile(tarfile.TarInfo(f"./many/{number}"))
        with pytest.raises(CannotShare, match="more than 10,004 files"):
            await shared(pool, folder, most_files=1)
    assert list((folder / "shared" / SHARED).iterdir()) == []


async def test_a_file_under_a_link_of_the_archive_is_not_written_elsewhere(
    folder: Path, boxes: Boxes
) -> None:
    def out(entry: tarfile.TarInfo) -> None:
        entry.type, entry.linkname = tarfile.SYMTYPE, "/given"

    async with opened_pool() as pool:
        await packed(pool, folder)
        add(folder / "base/tree.tar", out, "./way")
        add(folder / "base/tree.tar", lambda _: None, "./way/out")
        with pytest.raises(CannotShare):
            await shared(pool, folder)
    assert not (folder / "base/out").exists()


async def test_the_probe_says_what_works_here(folder: Path, boxes: Boxes) -> None:
    async with opened_pool() as pool:
        assert await probe_sharing(pool, folder) is None
    assert sorted(os.listdir(folder)) == ["base", "empty"]


def test_a_normal_user_is_told_why_not(boxes: Boxes) -> None:
    code = (
        "import asyncio, os; os.setresuid(60000, 60000, 60000)\n"
        "from pathlib import Path\n"
        "from pipelines.sandbox.shared_trees import probe_sharing\n"
        "print(asyncio.run(probe_sharing(None, Path('/nowhere'))))"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", "import pipelines.sandbox.shared_trees\n" + code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=True,
    )
    assert "does not run as root" in done.stdout
