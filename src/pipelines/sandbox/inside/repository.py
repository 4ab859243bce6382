"""git inside a sandbox, on a workspace whose every file may have been written to deceive it.

Nothing of the workspace's own repository is ever used: its config could name programs to run. What is asked
of git is asked of a repository that we unpacked, with attributes that outrank those in the tree. Standard
library only.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GIT = "/usr/bin/git"
#: No conversion, no filter, and no file may call itself binary: what is compared are bytes.
ATTRIBUTES = "* !diff !merge -text -ident -filter -working-tree-encoding\n"
_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.attributesFile=/dev/null"),
    *("-c", "core.excludesFile=/dev/null", "-c", "gc.auto=0", "-c", "core.untrackedCache=false"),
    *("-c", "commit.gpgSign=false", "-c", "core.compression=1", "-c", "diff.renameLimit=1000"),
    *("-c", "submodule.recurse=false", "-c", "protocol.allow=never", "-c", "advice.addEmbeddedRepo=false"),
)
_DIFF = ("--cached", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none", "-M")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
#: The same content has the same commit, whenever and wherever it is made.
_WHEN = "2000-01-01T00:00:00+0000"
_LONGEST_WORDS = 2_000
#: git asks for a compressor's memory anew for each file: given back each time, that is half of what it does.
_MEMORY_IS_KEPT = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
    "MALLOC_TOP_PAD_": str(16 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
}


class GitFailed(Exception):
    """git ended with an error; its own words."""


class Repository:
    def __init__(self, git_dir: str, work_tree: str) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree

    def environment(self) -> dict[str, str]:
        name, mail = "baseline", "baseline@localhost"
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": self.git_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            **_MEMORY_IS_KEPT,
            **{f"GIT_{who}_NAME": name for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": mail for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")},
        }

    def start(self, *arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:
        command = [GIT, *_OPTIONS, *arguments]
        return subprocess.Popen(
            command, cwd=self.work_tree, env=self.environment(), stdout=subprocess.PIPE, **pipes
        )

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        process = self.start(*arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        printed, errors = process.communicate(given)
        if process.returncode:
            words = errors.decode("utf-8", "replace").strip()[-_LONGEST_WORDS:]
            raise GitFailed(words or f"git {arguments[0]} ended with {process.returncode}")
        return printed

    def make(self) -> dict[str, Any]:
        """A repository of one commit, of everything that is there and not ignored."""
        remove(self.git_dir)
        forget_inner_repositories(self.work_tree)
        # Without a template there are no hooks.
        self.run("init", "--quiet", "--template=", "--initial-branch=main")
        self.write_attributes()
        with open(f"{self.git_dir}/config", "a") as file:
            file.write("[user]\n\tname = agent\n\temail = agent@localhost\n")
        # Past this size files go into one pack at once: thousands, one by one, would take a second.
        self.run("-c", "core.bigFileThreshold=1", "add", "--all")
        self.run("commit", "--quiet", "--allow-empty", "--no-verify", "--message=baseline")
        commit, tree = self.run("rev-parse", "HEAD", "HEAD^{tree}").decode().split()
        return {"commit": commit, "tree": tree}

    def write_attributes(self) -> None:
        os.makedirs(f"{self.git_dir}/info", exist_ok=True)
        with open(f"{self.git_dir}/info/attributes", "w") as file:
            file.write(ATTRIBUTES)

    def stage_all(self) -> None:
        """Into the index: everything that differs from the baseline and is not ignored."""
        self.run("add", "--all")

    def apply(self, patch: bytes) -> None:
        """To the index alone; then the files that it changes are written anew."""
        if not patch.strip():
            return
        self.run("apply", "--cached", "--binary", "--whitespace=nowarn", "-", given=patch)
        parts = self.run("diff", "--cached", "--no-renames", "--name-status", "-z", "HEAD").split(b"\0")
        changed = list(zip(parts[0::2], parts[1::2], strict=False))
        self.write_out(
            [path for status, path in changed if status != b"D"], also_remove=[p for _, p in changed]
        )

    def unstage(self, paths: list[bytes]) -> None:
        """These files in the index as the baseline has them."""
        listed = self.run("ls-tree", "-r", "-z", "HEAD", "--", *map(os.fsdecode, paths))
        self.run("update-index", "-z", "--index-info", given=listed)

    def write_out(self, paths: list[bytes], also_remove: list[bytes] = []) -> None:  # noqa: B006 - only read
        """These files as the index has them; nothing is written through a link."""
        top = self.work_tree.encode()
        for path in [*also_remove, *paths]:
            remove_below(top, path)
        given = b"".join(path + b"\0" for path in paths)
        self.run("checkout-index", "--force", "-z", "--stdin", given=given)

    def changes(self) -> bytes:
        return self.run("diff", *_DIFF, "--raw", "--numstat", "--abbrev=40", "-z", "HEAD")

    def patch(self) -> subprocess.Popen[bytes]:
        arguments = ("diff", *_DIFF, *_PREFIXES, "--binary", "--full-index", "-p", "HEAD")
        return self.start(*arguments, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ignored(self) -> bytes:
        return self.run("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")


def remove(path: Any) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        import shutil  # late: every sandbox that starts would wait for it

        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)


def remove_below(top: bytes, path: bytes) -> None:
    """A path's file, and whatever stands where its folders should be."""
    parts = path.split(b"/")
    for end in range(1, len(parts)):
        parent = os.path.join(top, *parts[:end])
        if os.path.islink(parent) or (os.path.lexists(parent) and not os.path.isdir(parent)):
            os.unlink(parent)
            return
    remove(os.path.join(top, path))


def forget_inner_repositories(top: str) -> list[str]:
    """A folder with a repository of its own would be one line in the diff instead of its files."""
    found = []
    for folder, folders, files in os.walk(top):
        if folder != top and ".git" in (*folders, *files):
            remove(os.path.join(folder, ".git"))
            found.append(os.path.relpath(folder, top))
        folders[:] = [name for name in folders if name != ".git"]
    return found


def signs_of_history(git_dir: str) -> list[str]:
    """What the workspace's own repository has that its one commit did not bring; read, never run."""
    found = []
    try:
        with open(f"{git_dir}/config", errors="replace") as file:
            if "[remote" in file.read(1 << 20):
                found.append("a remote was added to the workspace's repository")
    except OSError:
        pass
    if os.path.lexists(f"{git_dir}/FETCH_HEAD"):
        found.append("the workspace's repository has fetched something (FETCH_HEAD)")
    if os.path.lexists(f"{git_dir}/objects/info/alternates"):
        found.append("the workspace's repository borrows objects from another (alternates)")
    return found
