"""Workspaces in real sandboxes: what is made of one, what is told of changes, what no content can do."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from boxes import Boxes

from pipelines.core.coding.diff import parse_diff
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.sandbox.pool import SandboxPool
from pipelines.sandbox.recipe import is_root
from pipelines.sandbox.shared_trees import SHARED, share
from pipelines.sandbox.workspace_box import (
    BoxFailed,
    Changes,
    CommandResult,
    WorkspaceBox,
    layout_of,
    open_box,
)

MEBIBYTE = 1024 * 1024
MOST = 64 * 1024
FILES = {"a.txt": "one\ntwo\n", "src/b.py": "x = 1\n", ".gitattributes": "*.py filter=evil diff=evil\n"}


pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["memory", "overlay"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        for part in (made, made / "given", made / "empty", made / "base"):
            part.mkdir(exist_ok=True)
            part.chmod(0o755)
        if request.param == "overlay":
            if not is_root():
                pytest.skip("an overlay takes root")
            (made / "shares").touch()
        yield made


@asynccontextmanager
async def box(folder: Path, given: str = "base", *, grading: bool = False, size: int = 64 * MEBIBYTE):
    pool = SandboxPool(warm=0)
    await pool.start()
    shared = folder / "shared" if given == "base" and (folder / "shares").exists() else None
    layout = layout_of(
        given=shared or folder / given,
        shared=shared / SHARED if shared is not None else None,
        dependencies=None,
        workspace_bytes=size,
        source_dir=folder / "empty",
        is_grading=grading,
    )
    try:
        async with open_box(pool, layout, place=SlotHolder(1)) as opened:
            yield opened
    finally:
        await pool.close()


async def made(folder: Path) -> None:
    """A baseline of FILES, once."""
    if (folder / "base/tree.tar").exists():
        return
    async with box(folder, "given") as making:
        await making.make_seed(archive=None, files=FILES)
        facts = await making.make_baseline(most_files=10)
        assert (facts["files"], len(facts["commit"])) == (len(FILES), 40)
        await making.save_archives(folder / "base", most_bytes=MEBIBYTE)
    for file in (folder / "base").iterdir():
        file.chmod(0o644)
    if (folder / "shares").exists():
        await shared_in(folder)


async def shared_in(folder: Path) -> None:
    pool = SandboxPool(warm=0)
    await pool.start()
    try:
        await share(
            pool,
            folder / "base",
            folder / "shared",
            empty=folder / "empty",
            most_files=1_000,
            most_bytes=MEBIBYTE,
            place=SlotHolder(1),
        )
    finally:
        await pool.close()


async def sh(opened: WorkspaceBox, command: str, timeout_s: float = 20.0, **more: object) -> CommandResult:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/job"}
    argv = ["/bin/sh", "-c", command]
    return await opened.run(argv, env=env, timeout_s=timeout_s, output_bytes=2_000, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def worked(folder: Path, command: str) -> AsyncIterator[tuple[WorkspaceBox, CommandResult]]:
    await made(folder)
    async with box(folder) as opened:
        await opened.unpack()
        yield opened, await sh(opened, command)


async def changed(folder: Path, command: str) -> Changes:
    async with worked(folder, command) as (opened, ran):
        assert ran.code == 0, ran.output
        return await opened.collect(most_bytes=MOST)


EVIL = """
git config core.fsmonitor 'touch /tmp/evil;' && git config filter.evil.clean 'touch /tmp/evil; cat'
git config diff.evil.textconv 'touch /tmp/evil; cat' && git config core.hooksPath /job/workspace/hooks
git config diff.external 'touch /tmp/evil' && git config core.pager 'touch /tmp/evil'
mkdir hooks && printf '#!/bin/sh\\ntouch /tmp/evil' > hooks/pre-commit && chmod +x hooks/pre-commit
echo '* filter=evil diff=evil' > .git/info/attributes
echo 'y = 2' >> src/b.py
mkdir inner && cd inner && git init -q && echo hidden > file && git add file
git -c user.name=a -c user.email=b commit -qm c
"""


async def test_nothing_that_a_repository_names_is_run_when_its_changes_are_told(
    folder: Path, boxes: Boxes
) -> None:
    async with worked(folder, EVIL) as (opened, ran):
        assert ran.code == 0, ran.output
        await sh(opened, "rm -f /tmp/evil")
        told = await opened.collect(most_bytes=MOST)
        assert (await sh(opened, "test -e /tmp/evil")).code == 1
    paths = [file.path for file in parse_diff(told.raw, told.patch).files]
    assert paths == ["hooks/pre-commit", "inner/file", "src/b.py"]  # of an inner repository its files
    assert b"+y = 2" in told.patch  # though its attributes would have it filtered


async def test_a_change_is_told_and_applied_byte_by_byte(folder: Path, boxes: Boxes) -> None:
    command = "printf 'a\\000\\377' > bin; mv a.txt 'b \"c\".txt'; chmod +x src/b.py; rm .gitattributes; "
    command += "ln -s /etc/passwd link"
    told = await changed(folder, command)
    async with box(folder, grading=True) as fresh:
        await fresh.unpack()
        again = await fresh.apply(told.patch, read=["src/b.py", "link", "gone"], most_bytes=MOST)
        assert isinstance(again, Changes), again
        assert again.patch == told.patch
        assert again.contents == {"src/b.py": "x = 1\n", "link": None, "gone": None}
        listed = await sh(fresh, "id -u; ls -A; test -x src/b.py; cat bin | od -An -tx1; git status --short")
    assert listed.output.splitlines()[:6] == ["1001", ".git", 'b "c".txt', "bin", "link", "src"]
    assert " 61 00 ff" in listed.output


@pytest.mark.parametrize(
    "patch",
    [
        b"junk",
        b"--- a/no\n+++ b/no\n@@ -1 +1 @@\n-x\n+y\n",
        b"--- /dev/null\n+++ b/../../up\n@@ -0,0 +1 @@\n+x\n",
    ],
    ids=["no patch", "of a file that is not there", "out of the workspace"],
)
async def test_a_change_that_cannot_be_applied_is_told_with_the_reason(
    folder: Path, boxes: Boxes, patch: bytes
) -> None:
    await made(folder)
    async with box(folder, grading=True) as fresh:
        await fresh.unpack()
        assert isinstance(await fresh.apply(patch, read=[], most_bytes=MOST), str)


async def test_a_huge_change_is_cut_and_a_full_workspace_ends_in_words(folder: Path, boxes: Boxes) -> None:
    told = await changed(folder, "head -c 1000000 /dev/urandom > noise")
    assert told.truncated
    assert len(told.patch) == MOST
    async with worked(folder, "head -c 100000000 /dev/zero > full") as (_, ran):
        assert "No space left" in ran.output


async def test_what_a_command_leaves_running_is_named_and_gone(folder: Path, boxes: Boxes) -> None:
    async with worked(folder, "(setsid sleep 1000 &) ; echo done") as (opened, ran):
        assert ran.left == ("sleep",)
        assert "sleep" not in (await sh(opened, "cat /proc/[0-9]*/comm")).output


async def test_a_command_that_takes_too_long_is_ended_with_what_it_printed(
    folder: Path, boxes: Boxes
) -> None:
    await made(folder)
    async with box(folder) as opened:
        ran = await sh(opened, "echo begun; sleep 1000", timeout_s=0.5)
    assert (ran.timed_out, ran.code, ran.output) == (True, None, "begun\n")


async def test_files_are_read_when_all_is_over_and_never_through_a_link(folder: Path, boxes: Boxes) -> None:
    await made(folder)
    async with box(folder, grading=True) as opened:
        read = ["/logs/a/reward", "/logs/link", "/logs/none", "/logs/large"]
        command = "echo 1 > /logs/a/reward; echo 1 > /tmp/one; ln -s /tmp/one /logs/link; "
        command += "head -c 100 /dev/zero > /logs/large"
        ran = await sh(opened, command, read=read, most_bytes=50)
    assert ran.files == {
        "/logs/a/reward": b"1\n",
        "/logs/link": None,
        "/logs/none": None,
        "/logs/large": None,
    }


async def test_tests_replace_whatever_stands_in_their_way(folder: Path, boxes: Boxes) -> None:
    told = await changed(
        folder, "rm -r src; ln -s /tmp src; ln -s /etc tests; printf '[pytest]\\n' > tox.ini"
    )
    async with box(folder, grading=True) as fresh:
        await fresh.unpack()
        await fresh.apply(told.patch, read=[], most_bytes=MOST)
        files = {"tests/test_a.py": "new\n", "/tests/run.sh": "#!/bin/sh\necho ran\n"}
        restored = await fresh.restore(paths=["src/b.py"], settings=["tox.ini"], files=files)
        assert restored.paths == ("src/b.py", "tox.ini")
        seen = await sh(
            fresh, "cat src/b.py tests/test_a.py; /tests/run.sh; ls tox.ini; test -L tests || echo folder"
        )
    assert seen.output.splitlines()[:3] == ["x = 1", "new", "ran"]
    assert "No such file" in seen.output
    assert "folder" in seen.output


async def test_a_seed_with_a_repository_of_its_own_starts_anew(folder: Path) -> None:
    own = {
        ".git/config": '[remote "origin"]\n\turl = https://example.com/x\n',
        ".git/HEAD": "ref: refs/heads/theirs\n",
        ".git/hooks/post-checkout": "#!/bin/sh\ntouch /tmp/evil\n",
    }
    async with box(folder, "given") as opened:
        await opened.make_seed(archive=None, files=FILES | own)
        await opened.make_baseline(most_files=10)
        ran = await sh(opened, "git log --format=%s; git remote; git branch --show-current; ls .git/hooks")
    assert "baseline\nmain\n" in ran.output
    assert "origin" not in ran.output
    assert "post-checkout" not in ran.output
    assert "sample" not in ran.output


async def test_a_history_that_was_fetched_is_told(folder: Path) -> None:
    borrowed = "mkdir -p .git/objects/info && echo /tmp > .git/objects/info/alternates"
    commands = f"git remote add origin https://example.com/x; touch .git/FETCH_HEAD; {borrowed}"
    told = await changed(folder, commands)
    assert len(told.signs) == 3
    assert "remote" in told.signs[0]
    assert (await changed(folder, "git log")).signs == ()


@pytest.mark.skipif(not is_root(), reason="only root mounts a folder twice")
async def test_a_workspace_may_have_the_name_of_a_folder_that_holds_the_interpreter(folder: Path) -> None:
    """A task that works in /root, on a server whose Python lies below it."""
    await made(folder)
    pool = SandboxPool(warm=0)
    await pool.start()
    top = str(pool.python.prefix.parents[-2])  # the first folder of its path
    if not pool.python.needs_mount:
        await pool.close()
        pytest.skip("the interpreter is the system's own")
    layout = layout_of(
        given=folder / "base",
        dependencies=None,
        workspace_bytes=MEBIBYTE,
        source_dir=folder / "empty",
        workdir=top,
    )
    try:
        async with open_box(pool, layout, place=SlotHolder(1)) as opened:
            await opened.unpack()
            python = pool.python.executable
            ran = await sh(
                opened, f"cat {top}/a.txt; echo new > {top}/new.txt; {python} -c 'print(5)'; cat new.txt"
            )
            assert ran.output == "one\ntwo\n5\nnew\n"
            told = await opened.collect(most_bytes=MOST)
            assert [file.path for file in parse_diff(told.raw, told.patch).files] == ["new.txt"]
            full = await sh(opened, f"head -c 3000000 /dev/zero > {top}/large")
            assert "No space left" in full.output
    finally:
        await pool.close()


async def test_more_files_than_allowed_are_refused(folder: Path, boxes: Boxes) -> None:
    async with box(folder, "given") as making:
        await making.make_seed(archive=None, files={f"f{number}": "" for number in range(5)})
        with pytest.raises(BoxFailed, match="at most 4"):
            await making.make_baseline(most_files=4)


async def test_a_command_cannot_look_into_the_process_that_grades_it(folder: Path, boxes: Boxes) -> None:
    look = "ls -l /proc/2/fd /proc/2/cwd; cat /proc/2/environ /proc/2/mem | head -c 100"
    async with worked(folder, look) as (_, ran):
        assert "ermission denied" in ran.output
        assert "socket" not in ran.output
