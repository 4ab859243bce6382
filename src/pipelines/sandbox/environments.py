"""Dependency environments: requirements made into a read-only folder by uv, once for equal requirements.

Nothing that is installed runs here: wheels only, and put into a plain folder, so that no start-up file of a
package (`.pth`) is read by an interpreter outside of a sandbox.
"""

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pipelines.sandbox.held_folders import HeldFolders
from pipelines.sandbox.requirements import parse_requirements

INSTALLS_WITHIN_S = 600.0
LONGEST_WORDS = 2_000
CACHE = "cache"  # what uv has fetched

_ADDRESS = re.compile(r"\b\w+://\S+")
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2], sys.version)"


class CannotPrepare(Exception):
    """The requirements cannot be installed; the message is for their author."""


class Environments:
    """The cached environments under one folder, for one interpreter."""

    def __init__(self, directory: Path, *, python: Path) -> None:
        self._directory = directory
        self._python = python
        self._locks: dict[str, asyncio.Lock] = {}
        self._folders = HeldFolders(directory)

    @asynccontextmanager
    async def held(self, requirements: str) -> AsyncIterator[Path | None]:
        """What `prepare` gives, kept from being removed."""
        while True:
            environment = await self.prepare(requirements)
            if environment is None:
                yield None
                return
            with self._folders.held(environment.name):
                if await asyncio.to_thread(environment.is_dir):  # else it was removed just before
                    yield environment
                    return

    async def prepare(self, requirements: str) -> Path | None:
        """The environment for the text of a requirements file; None when it asks for nothing.

        Equal texts get the environment of the first time, without asking an index again. Raises Refused
        (core.problems) for lines that are no plain requirements, CannotPrepare with uv's words.
        """
        packages = parse_requirements(requirements)
        if not packages:
            return None
        key = hashlib.sha256("\n".join([str(self._python), *packages]).encode()).hexdigest()
        async with self._locks.setdefault(key, asyncio.Lock()):
            return await asyncio.to_thread(self._prepared, packages, key)

    def _prepared(self, wanted: list[str], asked: str) -> Path:
        known = self._directory / "asked" / asked
        with suppress(OSError):
            environment = self._directory / known.read_text()
            if environment.is_dir():
                return environment
        version, full_version = self._version()
        lock = self._resolved(wanted)
        name = hashlib.sha256("\n".join([full_version, *sorted(lock.splitlines())]).encode()).hexdigest()[:32]
        environment = self._directory / name
        if not environment.is_dir():
            self._install(lock, environment, version)
        known.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(known, name)
        return environment

    def _version(self) -> tuple[str, str]:
        output = subprocess.run(
            [self._python, "-I", "-S", "-c", _VERSION], capture_output=True, text=True, check=True, timeout=60
        )
        short, _, full = output.stdout.strip().partition(" ")
        return short, full

    def _resolved(self, wanted: list[str]) -> str:
        """Every package with its version and hashes, as uv found them for this interpreter."""
        options = ["--no-build", "--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url"]
        return self._uv(["pip", "compile", "-q", *options, "-"], given="\n".join(wanted))

    def _install(self, lock: str, environment: Path, version: str) -> None:
        """Into a folder beside, which takes its name only when it is whole."""
        self._directory.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".making-", dir=self._directory))
        try:
            packages = temporary / "lib" / f"python{version}" / "site-packages"
            packages.mkdir(parents=True)
            (temporary / "bin").mkdir()
            (temporary / "bin" / "python").symlink_to(self._python)
            (temporary / "pyvenv.cfg").write_text(f"home = {self._python.parent}\n")
            options = ["--no-build", "--no-deps", "--require-hashes", "--compile-bytecode"]
            self._uv(["pip", "install", "-q", *options, "--target", str(packages), "-r", "-"], given=lock)
            for folder in (temporary, temporary / "lib", packages.parent, packages, temporary / "bin"):
                folder.chmod(0o755)
            try:
                temporary.rename(environment)
            except OSError:
                if not environment.is_dir():  # else another process was faster, with the same
                    raise
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _uv(self, arguments: Sequence[str], *, given: str) -> str:
        command = [_uv_executable(), *arguments, "--python", str(self._python), "--no-python-downloads"]
        try:
            with self._folders.held(CACHE):
                done = subprocess.run(
                    [*command, "--cache-dir", str(self._directory / CACHE)],
                    input=given,
                    capture_output=True,
                    text=True,
                    timeout=INSTALLS_WITHIN_S,
                    cwd="/",  # where no project's settings are
                    env=_own_variables(),
                    umask=0o022,  # a dropped uid must be able to read what is installed
                )
        except subprocess.TimeoutExpired:
            raise CannotPrepare(f"installing did not end within {INSTALLS_WITHIN_S:.0f} s") from None
        if done.returncode != 0:
            raise CannotPrepare(self._words(done.stderr))
        return done.stdout

    def _words(self, said: str) -> str:
        """uv's own, without the addresses of indexes (which may hold a password) and our folders."""
        plain = _ADDRESS.sub("[address]", said).replace(str(self._directory), "…")
        return plain.strip()[:LONGEST_WORDS] or "uv failed and printed nothing"


def _uv_executable() -> str:
    sibling = Path(sys.executable).parent / "uv"
    found = str(sibling) if sibling.exists() else shutil.which("uv")
    if found is None:
        raise CannotPrepare("this server has no uv, which installs requirements (pip install uv)")
    return found


def _own_variables() -> dict[str, str]:
    """An operator sets indexes and proxies by variables; ours are no business of uv's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIPELINES_")}
    return kept | {"NO_COLOR": "1", "UV_NO_PROGRESS": "1"}


def _write_whole(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
