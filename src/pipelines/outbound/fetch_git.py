"""Fetching a tree from a git server, one commit deep, as if both its URL and its content were hostile.

git speaks to one address that the guard has judged, follows no redirect, asks nobody, runs no hook and writes
no working copy: the files are read out of its object store, each size known before a byte is.
"""

import asyncio
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from httpcore2 import ConnectError

from pipelines.core.code.code_source import GitSource
from pipelines.core.code.code_tree import CodeFile, name_problems
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.url_host import host_complaint
from pipelines.outbound.address_guard import AddressRefused, GuardedBackend

MEBIBYTE = 1024 * 1024
FETCH_S = 120.0
MAX_FETCHED_BYTES = 100 * MEBIBYTE  # what the server may send, packed
MAX_TREE_BYTES = 100 * MEBIBYTE  # the files themselves; they are held in memory while they are packed
MAX_FILES = 10_000
MAX_GIT_KB = 1024 * 1024
LEAST_GIT = (2, 37)  # older ones do not know http.curloptResolve, and would look the name up by themselves
LOOK_S = 0.25  # how often the store is measured while git fills it
MAX_SAID_BYTES = 64 * 1024
MAX_LISTED_BYTES = 8 * MEBIBYTE  # of all names together
MAX_HEAD_BYTES = 100  # an object's line before its bytes: id, kind, size
DIRECTORY, LINK, SUBMODULE = "040000", "120000", "160000"
MAX_NOTES = 20
_WHAT = "the code"
#: A file of Git LFS in its place: its first line, and how long such a file can be.
_POINTER, _POINTER_BYTES = b"version https://git-lfs.github.com/spec/", range(100, 300)
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, slots=True)
class GitTree:
    commit: str
    files: tuple[CodeFile, ...]


class TreeLimits(NamedTuple):
    files: int
    bytes: int


class _Blob(NamedTuple):
    mode: str
    id: str
    size: int
    path: str


class GitFetcher:
    """`network` judges addresses; `allow_http` also takes servers without TLS."""

    def __init__(self, network: GuardedBackend, *, allow_http: bool) -> None:
        self._network = network
        self._allow_http = allow_http

    @property
    def allow_http(self) -> bool:
        return self._allow_http

    async def fetch(self, source: GitSource) -> GitTree:
        """The files of a commit; Refused with what is wrong about them, or with git's words."""
        if shutil.which("git") is None:
            raise _refusal("/code/source", "this server has no git", "send the files or a zip archive")
        pinned = await self._pin_address(source.url)
        with tempfile.TemporaryDirectory(prefix="odyssey-git-") as home:
            git = _Git(Path(home), pinned, allow_http=self._allow_http)
            if version_in((await git.run("--version")).decode()) < LEAST_GIT:
                raise _refusal(
                    "/code/source", "this server's git is too old", "send the files or a zip archive"
                )
            await git.run("init", "--quiet", "--bare", ".")
            await git.run(
                "fetch", "--quiet", "--no-tags", "--depth=1", "--no-recurse-submodules", "--no-auto-gc",
                "--", source.url, source.ref, place="/code/url",
            )  # fmt: skip
            commit = (await git.run("rev-parse", "--verify", "FETCH_HEAD^{commit}")).decode().strip()
            blobs = await self._list_files(git, commit, source.directory)
            return GitTree(commit=commit, files=await _contents(git, blobs))

    async def commit_of(self, url: str, ref: str) -> str:
        """The commit that a name stands for now. A whole commit id is taken by its word."""
        if _COMMIT.fullmatch(ref):
            return ref
        pinned = await self._pin_address(url)
        with tempfile.TemporaryDirectory(prefix="odyssey-git-") as home:
            git = _Git(Path(home), pinned, allow_http=self._allow_http)
            await git.run("init", "--quiet", "--bare", ".")
            listed = await git.run(
                "ls-remote", "--", url, ref, f"{ref}^{{}}", place="/code/url", most=MAX_LISTED_BYTES
            )
        lines = (line.partition("\t") for line in listed.decode("utf-8", "replace").splitlines())
        found = {name: commit for commit, _, name in lines}
        reference = (
            ref,
            *(f"refs/{kind}/{ref}{peeled}" for kind in ("heads", "tags") for peeled in ("", "^{}")),
        )
        matching = [found[name] for name in reversed(reference) if name in found]
        if not matching or not _COMMIT.fullmatch(matching[0]):
            raise _refusal("/code/url", f"the repository has no branch or tag `{ref[:80]}`")
        return matching[0]

    async def archive(self, url: str, commit: str, target: Path, limits: TreeLimits) -> list[str]:
        """The files of a commit as a tar archive, with their modes and links: to be unpacked in a sandbox.
        What of it is not there as its authors have it is told."""
        pinned = await self._pin_address(url)
        with tempfile.TemporaryDirectory(prefix="odyssey-git-") as home:
            git = _Git(Path(home), pinned, allow_http=self._allow_http, most_bytes=2 * limits.bytes)
            await git.run("init", "--quiet", "--bare", ".")
            await git.run(
                "fetch", "--quiet", "--no-tags", "--depth=1", "--no-recurse-submodules", "--no-auto-gc",
                "--", url, commit, place="/code/url",
            )  # fmt: skip
            raw = await git.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit, most=8 * MAX_LISTED_BYTES)
            blobs = [_blob(line) for line in raw.split(b"\0") if line]
            _refuse_large(blobs, limits)
            # The tree's own attributes could leave files out of an archive, or write into them.
            (Path(home) / "info").mkdir(exist_ok=True)
            (Path(home) / "info" / "attributes").write_text("* -export-ignore -export-subst\n")
            await git.run("archive", "--format=tar", f"--output={target}", commit)
            return await _missing_notes(git, blobs)

    async def _pin_address(self, url: str) -> str:
        """curl's words for `this host is at this address`: git looks no name up by itself."""
        parts = urlsplit(url)
        if complaint := host_complaint(parts):  # also of a URL that was stored before this was looked at
            raise _refusal("/code/url", f"`url` {complaint}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
        try:
            async with asyncio.timeout(FETCH_S):
                addresses = await self._network.allowed_addresses(host, port)
        except AddressRefused as refused:
            raise _refusal("/code/url", str(refused), refused.hint) from None
        except (ConnectError, TimeoutError) as error:
            raise _refusal("/code/url", str(error) or f"the name {host} was not resolved in time") from None
        return f"{host}:{port}:{','.join(f'[{a}]' if ':' in a else a for a in addresses)}"

    async def _list_files(self, git: "_Git", commit: str, directory: str) -> list[_Blob]:
        """What the commit holds, refused before anything of it is read."""
        within = f"{commit}:{directory}" if directory else commit
        raw = await git.run(
            "ls-tree", "-r", "-l", "-z", "--full-tree", within, place="/code/directory", most=MAX_LISTED_BYTES
        )
        blobs = [_blob(line) for line in raw.split(b"\0") if line]
        problems = name_problems([blob.path for blob in blobs], lambda path: path[:200])
        for blob in blobs:
            if blob.mode == SUBMODULE:
                message = "is a submodule, which is not fetched; put its files into the repository"
                problems.append(Problem(path=blob.path[:200], message=message))
            elif blob.mode == LINK:
                message = "is a symbolic link; put the file itself there"
                problems.append(Problem(path=blob.path[:200], message=message))
        problems += _size_problems(blobs)
        if problems:
            raise Refused(problems, _WHAT)
        return blobs


def _refuse_large(blobs: list[_Blob], limits: TreeLimits) -> None:
    whole = sum(blob.size for blob in blobs)
    if len(blobs) > limits.files:
        raise _refusal("/code/url", f"has {len(blobs):,} files; at most {limits.files:,} are allowed")
    if whole > limits.bytes:
        most = limits.bytes // MEBIBYTE
        raise _refusal("/code/url", f"has {whole // MEBIBYTE:,} MB; at most {most:,} MB are allowed")


async def _missing_notes(git: "_Git", blobs: list[_Blob]) -> list[str]:
    notes = [
        f"{blob.path[:200]} is a submodule, which is not fetched" for blob in blobs if blob.mode == SUBMODULE
    ]
    short = [blob for blob in blobs if blob.mode != SUBMODULE and blob.size in _POINTER_BYTES][:MAX_FILES]
    for file in await _contents(git, short) if short else ():
        if file.content.startswith(_POINTER):
            notes.append(f"{file.path[:200]} is a pointer to a file in Git LFS, which is not fetched")
    return notes[:MAX_NOTES]


def version_in(text: str) -> tuple[int, int]:
    """
    >>> version_in("git version 2.39.5 (Apple Git-154)")
    (2, 39)
    """
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found is not None else (0, 0)


def _size_problems(blobs: list[_Blob]) -> list[Problem]:
    whole = sum(blob.size for blob in blobs)
    messages = []
    if len(blobs) > MAX_FILES:
        messages.append(f"has {len(blobs):,} files; at most {MAX_FILES:,} are allowed")
    if whole > MAX_TREE_BYTES:
        messages.append(f"has {whole // MEBIBYTE:,} MB; at most {MAX_TREE_BYTES // MEBIBYTE} MB are allowed")
    if not blobs:
        messages.append("has no files")
    return [Problem(path="/code/directory", message=message) for message in messages]


class _Git:
    """git in a folder of its own: no configuration, no credentials and no environment but ours."""

    def __init__(self, home: Path, pinned: str, *, allow_http: bool, most_bytes: int | None = None) -> None:
        self._home = home
        self._most_bytes = most_bytes if most_bytes is not None else MAX_FETCHED_BYTES
        self._options = [
            "-c", "protocol.allow=never",
            "-c", "protocol.https.allow=always",
            "-c", f"protocol.http.allow={'always' if allow_http else 'never'}",
            "-c", "http.followRedirects=false",
            "-c", f"http.curloptResolve={pinned}",
            "-c", "http.proxy=",
            "-c", "credential.helper=",
            "-c", "core.hooksPath=/dev/null",
            "-c", "core.fsmonitor=false",
            "-c", "fetch.fsckObjects=true",
            "-c", "gc.auto=0",
        ]  # fmt: skip

    async def run(
        self, *arguments: str, place: str = "/code", given: bytes = b"", most: int = MAX_SAID_BYTES
    ) -> bytes:
        """What it printed; Refused with what it said when it failed, took too long or brought too much."""
        # The shell sets the limit on one file, which the children of git inherit, and becomes git.
        # A pack of some kilobytes can ask for gigabytes, so its memory is limited as well.
        limit = f'ulimit -f {self._most_bytes // 512}; ulimit -v {MAX_GIT_KB}; exec git "$@"'
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", limit, "git", *self._options, *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._home,
            env=self._environment(),
            start_new_session=True,
        )  # fmt: skip
        measuring = asyncio.create_task(self._measure(process.pid))
        try:
            async with asyncio.timeout(FETCH_S):
                printed, errors = await _communicate(process, given, most)
        except TimeoutError:
            raise _refusal(place, f"the git server did not finish within {FETCH_S:.0f} s") from None
        finally:
            measuring.cancel()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if len(printed) > most:
            raise _refusal(place, f"the repository has more than {MAX_FILES:,} files")
        if measuring.done() and not measuring.cancelled():
            raise _refusal(place, f"the repository is over {self._most_bytes // MEBIBYTE} MB")
        if process.returncode != 0:
            raise _refusal(place, _git_error(errors, process.returncode))
        return printed

    async def _measure(self, group: int) -> None:
        """Ends, and ends git, once the store is over its size."""
        while await asyncio.to_thread(_size_of, self._home) <= self._most_bytes:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)  # nothing tells us when a file of another process grows
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def _environment(self) -> Mapping[str, str]:
        return {
            "PATH": os.defpath,
            "HOME": str(self._home),
            "LC_ALL": "C",
            "GIT_DIR": str(self._home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "/bin/false",
            "GIT_PROTOCOL_FROM_USER": "0",
        }


async def _communicate(process: asyncio.subprocess.Process, given: bytes, most: int) -> tuple[bytes, bytes]:
    """What it printed, to just past `most`, and what it said. A tree can list itself a billion times."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    saying = asyncio.create_task(_read(process.stderr, MAX_SAID_BYTES))
    telling = asyncio.create_task(_write_input(process.stdin, given))
    try:
        printed = await _read(process.stdout, most)
        if len(printed) <= most:
            await process.wait()
            return printed, await saying
        return printed, b""
    finally:
        saying.cancel()
        telling.cancel()


async def _write_input(stream: asyncio.StreamWriter, given: bytes) -> None:
    with suppress(ConnectionError):
        stream.write(given)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= most and (part := await stream.read(65_536)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


async def _contents(git: _Git, blobs: list[_Blob]) -> tuple[CodeFile, ...]:
    """One process for all: it answers each id with a head line and the bytes."""
    ids = "".join(f"{blob.id}\n" for blob in blobs).encode()
    most = sum(blob.size + MAX_HEAD_BYTES for blob in blobs)
    raw = await git.run("cat-file", "--batch", given=ids, most=most)
    files, at = [], 0
    for blob in blobs:
        start = raw.index(b"\n", at) + 1
        files.append(CodeFile(blob.path, raw[start : start + blob.size]))
        at = start + blob.size + 1
    return tuple(files)


def _blob(line: bytes) -> _Blob:
    head, _, path = line.partition(b"\t")
    mode, _, object_id, size = head.decode().split()
    return _Blob(mode, object_id, int(size) if size.isdigit() else 0, path.decode("utf-8", "replace"))


def _size_of(folder: Path) -> int:
    whole = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                whole += (Path(parent) / name).lstat().st_size
    return whole


def _git_error(said: bytes, code: int | None) -> str:
    """git's own last words, as one line that can be printed."""
    text = said[-MAX_SAID_BYTES:].decode("utf-8", "replace")
    lines = [line.removeprefix("fatal: ").strip() for line in text.splitlines() if line.strip()]
    printable = "".join(c if c.isprintable() else " " for c in "; ".join(lines[-3:]))
    return f"git failed: {printable[:400] or f'exit code {code}'}"


def _refusal(place: str, message: str, hint: str | None = None) -> Refused:
    return Refused([Problem(path=place, message=message, hint=hint)], _WHAT)
