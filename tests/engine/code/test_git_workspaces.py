"""Workspaces from a real git server on loopback, and from servers and repositories that mean harm."""

import asyncio
import socket
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from git_server import GitServer, git, git_server, repository

from pipelines.core.coding.scenario import CodingScenario, GitSeed
from pipelines.core.coding.scorers import CommandScorer
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.engine.workspaces.prepare_workspace import WorkspaceFailed, Workspaces
from pipelines.outbound import fetch_git
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.fetch_git import GitFetcher, TreeLimits
from pipelines.sandbox.workspace_box import layout_of, open_box
from support.coding_workspaces import opened_workspaces

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 12345\n"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "run.sh": "#!/bin/sh\n",
    "data.bin": b"\0\1\xff",
    "model.bin": POINTER,
    ".gitattributes": "*.bin filter=lfs\nsecret.txt export-ignore\ncalc.py export-subst\n",
    "secret.txt": "kept",
}

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, GitServer]]:
    root = tmp_path_factory.mktemp("git")
    with git_server(root) as server:
        yield root, server


def fetcher(*, allow_private: bool = True) -> GitFetcher:
    return GitFetcher(GuardedBackend(AddressPolicy(allow_private=allow_private)), allow_http=True)


def scenario(url: str, ref: str = "main") -> CodingScenario:
    return CodingScenario(
        name="fetched",
        user_instruction="x",
        workspace_seed=GitSeed(url=url, ref=ref),
        scorers=(CommandScorer(name="quick", type="command", command="true"),),
    )


async def seen(workspaces: Workspaces, wanted: CodingScenario, command: str) -> tuple[str, str | None]:
    """What a command prints in the workspace, and the commit that it was fetched from."""
    async with workspaces.held(wanted, 1) as ready:
        layout = layout_of(
            given=ready.folder,
            dependencies=None,
            workspace_bytes=2**24,
            source_dir=ready.empty,
            shared=ready.shared,
        )
        async with open_box(ready.opened.pool, layout, place=SlotHolder(1), is_single=True) as box:
            await box.unpack()
            ran = await box.run(
                ["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin"}, timeout_s=30, output_bytes=8_000
            )
        return ran.output, ready.facts["source_commit"]  # type: ignore[return-value]


async def test_a_branch_a_tag_and_a_commit_are_fetched_and_their_history_is_not(
    served: tuple[Path, GitServer], tmp_path: Path
) -> None:
    root, server = served
    folder = root / "several"
    first = repository(folder, {"calc.py": "1\n"})
    git(folder, "tag", "-a", "v1", "-m", "the first")  # a tag with an object of its own
    git(folder, "branch", "feature/one")
    second = repository(folder, {"calc.py": "2\n"})
    url = f"{server.url}/several"
    async with opened_workspaces(tmp_path) as workspaces:
        for ref, commit, content in (
            ("main", second, "2"),
            ("v1", first, "1"),
            ("feature/one", first, "1"),
            ("refs/heads/main", second, "2"),
            (first, first, "1"),
        ):
            look = "cat calc.py; git log --oneline | wc -l; git remote; git tag"
            output, fetched = await seen(workspaces, scenario(url, ref), look)
            assert (output.split(), fetched) == ([content, "1"], commit), ref


async def test_what_a_branch_is_called_may_move_and_a_run_then_gets_what_it_is_now(
    served: tuple[Path, GitServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, server = served
    monkeypatch.setattr("pipelines.engine.workspaces.prepare_workspace.COMMITS_KNOWN_S", -1.0)
    async with opened_workspaces(tmp_path) as workspaces:
        for number in ("1", "2"):
            repository(root / "moving", {"calc.py": number})
            output, _ = await seen(workspaces, scenario(f"{server.url}/moving"), "cat calc.py")
            assert output == number


async def test_files_arrive_as_the_commit_has_them_and_no_filter_is_run(
    served: tuple[Path, GitServer], tmp_path: Path
) -> None:
    root, server = served
    folder = root / "whole"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "run.sh").write_text("")
    (folder / "run.sh").chmod(0o755)
    repository(folder, FILES)
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},sub")
    git(folder, "commit", "-q", "-m", "a submodule")
    look = "cat model.bin; od -An -tx1 data.bin; cat secret.txt; readlink link; test -x run.sh && echo runs; "
    look += "ls -A sub; head -2 calc.py"
    async with opened_workspaces(tmp_path) as workspaces:
        output, _ = await seen(workspaces, scenario(f"{server.url}/whole"), look)
        async with workspaces.held(scenario(f"{server.url}/whole"), 1) as ready:
            assert ready.facts["notes"] == [
                "sub is a submodule, which is not fetched",
                "model.bin is a pointer to a file in Git LFS, which is not fetched",
            ]
    assert POINTER in output  # what it points at is not fetched
    assert " 00 01 ff" in output
    assert "kept/etc/passwd\nruns\n" in output
    assert "def add(a, b)" in output
    assert "No such file" not in output


async def test_what_is_not_there_is_told_and_private_addresses_are_refused(
    served: tuple[Path, GitServer], tmp_path: Path
) -> None:
    root, server = served
    repository(root / "plain", {"a": "b"})
    async with opened_workspaces(tmp_path) as workspaces:
        for url, ref, says in (
            (f"{server.url}/plain", "nothing", "no branch or tag `nothing`"),
            (f"{server.url}/none", "main", "not found"),
            (f"{server.url}/plain", "f" * 40, "git failed|not our ref|couldn't find"),
        ):
            with pytest.raises(WorkspaceFailed, match=says):
                await seen(workspaces, scenario(url, ref), "true")
    asked = len(server.asked)
    with pytest.raises(fetch_git.Refused, match=r"loopback|1 problem"):
        await fetcher(allow_private=False).commit_of(f"{server.url}/plain", "main")
    assert len(server.asked) == asked


async def test_redirects_and_questions_for_a_password_end_in_words(
    served: tuple[Path, GitServer], tmp_path: Path
) -> None:
    _, server = served
    asked = len(server.asked)
    with git_server(tmp_path, redirect_to=server.url) as redirecting:
        with pytest.raises(fetch_git.Refused) as refused:
            await fetcher().commit_of(f"{redirecting.url}/plain", "main")
        assert "302" in refused.value.problems[0].message
    assert len(server.asked) == asked
    asks = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"
    with answering(asks) as url, pytest.raises(fetch_git.Refused) as refused:
        await fetcher().commit_of(url, "main")
    assert "terminal prompts disabled" in refused.value.problems[0].message


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x1b[31mboo\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\nffffgarbage",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n"
        b"001e# service=git-upload-pack\n0000003fzzzz refs/heads/main\n0000",
    ],
    ids=["no git", "half a packet", "no commit"],
)
async def test_a_server_that_answers_nonsense_is_refused(said: bytes) -> None:
    with answering(said) as url, pytest.raises(fetch_git.Refused) as refused:
        await fetcher().commit_of(url, "main")
    assert "\x1b" not in refused.value.problems[0].message


async def test_a_server_that_never_answers_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_git, "FETCH_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x"
        with pytest.raises(fetch_git.Refused) as refused:
            await fetcher().commit_of(url, "main")
        assert "did not finish within" in refused.value.problems[0].message
        with pytest.raises(fetch_git.Refused):
            await fetcher().archive(url, "a" * 40, Path("/nowhere"), TreeLimits(10, 1_000))


async def test_a_repository_over_its_limits_is_refused_before_a_file_of_it_is_written(
    served: tuple[Path, GitServer], tmp_path: Path
) -> None:
    root, server = served
    commit = repository(root / "large", {f"f{number}": "x" * 20_000 for number in range(20)})
    url, target = f"{server.url}/large", tmp_path / "seed"
    for limits, says in ((TreeLimits(10, 10**6), "20 files"), (TreeLimits(100, 200_000), "MB are allowed")):
        with pytest.raises(fetch_git.Refused) as refused:
            await fetcher().archive(url, commit, target, limits)
        assert says in refused.value.problems[0].message
        assert not target.exists()
    await fetcher().archive(url, commit, target, TreeLimits(20, 10**6))
    with tarfile.open(target) as archive:
        assert len([entry for entry in archive if entry.isfile()]) == 20


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """A server that says this to whoever comes, until nobody does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    connection.sendall(said)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/x"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()
            thread.join(5)


def test_what_is_fetched_leaves_nothing_behind(
    served: tuple[Path, GitServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, server = served
    repository(root / "gone", {"a": "b"})
    monkeypatch.setattr(fetch_git.tempfile, "tempdir", str(tmp_path))
    commit = asyncio.run(fetcher().commit_of(f"{server.url}/gone", "main"))
    with pytest.raises(fetch_git.Refused):
        asyncio.run(fetcher().archive(f"{server.url}/gone", commit, tmp_path / "x", TreeLimits(0, 0)))
    assert list(tmp_path.iterdir()) == []
