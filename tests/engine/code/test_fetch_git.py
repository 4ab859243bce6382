"""Fetching from a real git server on loopback, and from servers and repositories that mean harm."""

import asyncio
import os
import socket
import subprocess
import threading

import pytest
from git_server import git, git_server, repository

from pipelines.core.code.code_source import GitSource
from pipelines.core.text.problems import Refused
from pipelines.outbound import fetch_git
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.fetch_git import GitFetcher, version_in

FILES = {"agent.py": "def run(): ...\n", "lib/data.bin": b"\0\n\1", "lib/é.txt": "x"}


def fetch(url, *, allow_private=True, allow_http=True, **more):
    network = GuardedBackend(AddressPolicy(allow_private=allow_private))
    return asyncio.run(GitFetcher(network, allow_http=allow_http).fetch(GitSource(url=url, **more)))


def refused(url, **more):
    with pytest.raises(Refused) as found:
        fetch(url, **more)
    return [f"{problem.path}: {problem.message}" for problem in found.value.problems]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("git")
    repository(root / "agent", FILES)
    with git_server(root) as server:
        yield root, server


def test_a_branch_a_tag_a_commit_and_a_folder(served):
    root, server = served
    first = repository(root / "several", {"agent.py": "1"})
    git(root / "several", "tag", "v1")
    second = repository(root / "several", {"agent.py": "2", "bots/x.py": "3"})
    url = f"{server.url}/several"
    assert fetch(url).commit == second
    assert fetch(url, ref="main").commit == second
    assert fetch(url, ref="v1").commit == first
    assert [file.content for file in fetch(url, ref=first).files] == [b"1"]
    assert [tuple(file) for file in fetch(url, directory="bots").files] == [("x.py", b"3")]


def test_files_arrive_as_they_are(served):
    _, server = served
    found = {file.path: file.content for file in fetch(f"{server.url}/agent").files}
    assert found == {path: text.encode() if isinstance(text, str) else text for path, text in FILES.items()}


def test_what_is_not_there(served):
    _, server = served
    assert "not found" in refused(f"{server.url}/nothing")[0]
    assert "couldn't find remote ref" in refused(f"{server.url}/agent", ref="nothing")[0]
    assert refused(f"{server.url}/agent", directory="nothing")[0].startswith("/code/directory")


def test_links_and_submodules_are_refused_by_name(served):
    root, server = served
    repository(root / "odd", {"agent.py": "x"})
    (root / "odd" / "link").symlink_to("/etc/passwd")
    git(root / "odd", "add", "link")
    git(root / "odd", "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},sub")
    git(root / "odd", "commit", "-q", "-m", "odd")
    told = refused(f"{server.url}/odd")
    assert told == [
        "link: is a symbolic link; put the file itself there",
        "sub: is a submodule, which is not fetched; put its files into the repository",
    ]


def test_private_addresses_are_refused_where_they_are_not_allowed(served):
    _, server = served
    asked = len(server.asked)
    assert "loopback" in refused(f"{server.url}/agent", allow_private=False)[0]
    assert len(server.asked) == asked


def test_redirects_are_not_followed(served, tmp_path):
    _, server = served
    asked = len(server.asked)
    with git_server(tmp_path, redirect_to=server.url) as redirecting:
        assert "302" in refused(f"{redirecting.url}/agent")[0]
    assert len(server.asked) == asked


def test_git_connects_to_the_address_that_was_judged(served):
    """The name has no address of its own: only what the guard has resolved can lead there."""
    _, server = served

    async def resolver(host, port):
        return ["127.0.0.1"]

    network = GuardedBackend(AddressPolicy(allow_private=True), resolver)
    url = server.url.replace("127.0.0.1", "git.invalid")
    tree = asyncio.run(GitFetcher(network, allow_http=True).fetch(GitSource(url=f"{url}/agent")))
    assert len(tree.files) == 3


@pytest.mark.parametrize(
    "host",
    ["127%2e0%2e0%2e1", "%31%32%37.0.0.1", "127.0.0.1.", "0x7f.1", "2130706433", "127.1", "%6cocalhost"],
)
def test_a_host_that_git_reads_otherwise_than_the_guard_is_not_asked(served, host):
    """A name server of the attacker's answers every name with a harmless address."""
    _, server = served
    asked = len(server.asked)

    async def resolver(host, port):
        return ["93.184.216.34"]

    network = GuardedBackend(AddressPolicy(allow_private=False), resolver)
    url = server.url.replace("127.0.0.1", host)
    with pytest.raises(Refused) as found:
        asyncio.run(GitFetcher(network, allow_http=True).fetch(GitSource(url=f"{url}/agent")))
    assert "names a host" in found.value.problems[0].message
    assert len(server.asked) == asked


def test_other_protocols_are_off_even_for_git_itself(served):
    """Were a URL to slip through the reading, git would not act on it."""
    root, _ = served

    class Open(GitFetcher):
        async def _pin_address(self, url):
            return "x:1:127.0.0.1"

    for url in (f"file://{root}/agent", str(root / "agent"), "ext::touch hacked"):
        fetcher = Open(GuardedBackend(AddressPolicy(allow_private=True)), allow_http=True)
        with pytest.raises(Refused, match="1 problem") as found:
            asyncio.run(fetcher.fetch(GitSource(url=url)))
        assert "not allowed" in found.value.problems[0].message


def test_the_operators_git_and_environment_stay_outside(served, monkeypatch, tmp_path):
    """No configuration, no credential helper, no prompt: this one would show itself."""
    _, server = served
    shown = tmp_path / "shown"
    config = tmp_path / "gitconfig"
    instead = f'[url "http://127.0.0.1:1/"]\n  insteadOf = {server.url}\n'
    config.write_text(f'{instead}[credential]\n  helper = "!touch {shown}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert len(fetch(f"{server.url}/agent").files) == 3
    assert not shown.exists()


def test_a_repository_that_is_too_large(served, monkeypatch):
    root, server = served
    repository(root / "large", {"agent.py": "x", "noise.bin": os.urandom(300_000)})
    monkeypatch.setattr(fetch_git, "MAX_TREE_BYTES", 200_000)
    assert "MB are allowed" in refused(f"{server.url}/large")[0]
    monkeypatch.setattr(fetch_git, "MAX_FETCHED_BYTES", 50 * 512)  # one file may not grow past it either
    assert refused(f"{server.url}/large")[0].startswith("/code/url")


def test_a_tree_that_lists_itself_without_end(served, monkeypatch):
    """Ten levels of ten folders that are all the same folder: a few objects, ten billion files."""
    root, server = served
    repository(root / "bomb", {"agent.py": "x"})
    folder = root / "bomb"
    tree = git(folder, "rev-parse", "HEAD^{tree}")
    for _ in range(10):
        listed = "".join(f"040000 tree {tree}\td{number}\n" for number in range(10))
        done = subprocess.run(
            ["git", "mktree"], input=listed, cwd=folder, capture_output=True, text=True, check=True
        )
        tree = done.stdout.strip()
    commit = git(folder, "commit-tree", tree, "-m", "bomb")
    git(folder, "update-ref", "refs/heads/main", commit)
    monkeypatch.setattr(fetch_git, "MAX_LISTED_BYTES", 100_000)
    assert "more than 10,000 files" in refused(f"{server.url}/bomb")[0]


def test_a_server_that_never_answers(monkeypatch):
    monkeypatch.setattr(fetch_git, "FETCH_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        told = refused(f"http://127.0.0.1:{silent.getsockname()[1]}/agent")
    assert "did not finish within" in told[0]


def test_a_server_that_answers_nonsense():
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer():
            connection, _ = odd.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x1b[31mboo\n")

        thread = threading.Thread(target=answer)
        thread.start()
        told = refused(f"http://127.0.0.1:{odd.getsockname()[1]}/agent")
        thread.join()
    assert "git failed" in told[0]
    assert "\x1b" not in told[0]


def test_nothing_is_left_behind(served, tmp_path, monkeypatch):
    _, server = served
    monkeypatch.setattr(fetch_git.tempfile, "tempdir", str(tmp_path))
    fetch(f"{server.url}/agent")
    refused(f"{server.url}/agent", ref="nothing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "version"),
    [("git version 2.39.5", (2, 39)), ("git version 2.34.1.windows.1", (2, 34)), ("what?", (0, 0))],
)
def test_the_version_of_git(said: str, version: tuple[int, int]) -> None:
    assert version_in(said) == version
