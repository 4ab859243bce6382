"""The agent's change to its workspace, parsed from git's output. Every byte of it comes from the agent.

A patch is kept as text that gives back its bytes exactly (`surrogateescape`): files need not be UTF-8.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.wire.records import Named, Omitted, Record, Via, one_of, shown

MOST_IGNORED = 1_000  # names of ignored files that are kept
CHANGES = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type_changed"}
NO_MODE = "000000"
SYMLINK, SUBMODULE = "120000", "160000"


def printable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "\ufffd")


Printable: TypeAlias = Annotated[str, Via(printable)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedFile(Record, component=""):
    """A file that was changed."""

    path: Printable
    change: Annotated[str, one_of(CHANGES.values())]
    old_mode: Annotated[str, "as git writes it; 000000: no file"] = NO_MODE
    new_mode: str = NO_MODE
    binary: bool = False
    added: Annotated[int, "lines"] = 0  # of a binary file none
    removed: int = 0
    old_path: Annotated[Omitted[str | None], Via(printable), "of a renamed file"] = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the change touches."""
        return (self.path,) if self.old_path is None else (self.old_path, self.path)


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceDiff(Record):
    """What was changed since the baseline."""

    patch: Annotated[Printable, "as git writes it; bytes that are no UTF-8 are replaced"] = ""
    files: tuple[ChangedFile, ...] = ()
    ignored_files: Annotated[
        tuple[Printable, ...], "that .gitignore keeps out of the patch, some of them"
    ] = ()
    ignored_total: int = 0
    truncated: Annotated[bool, "over the limit: cut, and not graded"] = False

    @shown(after="truncated")
    def size(self) -> Annotated[int, Named("bytes")]:
        return len(self.patch_bytes)

    @shown(after="truncated")
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @shown(after="truncated")
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    def summary(self) -> JsonObject:
        """Everything but the patch."""
        return {key: value for key, value in self.as_json().items() if key != "patch"}

    @property
    def patch_bytes(self) -> bytes:
        return self.patch.encode("utf-8", "surrogateescape")

    @property
    def lines(self) -> int:
        """Added and removed, over all files."""
        return sum(file.added + file.removed for file in self.files)

    def link_target(self, path: str) -> str | None:
        """Of a link that the change makes, where it leads: its patch adds one line."""
        head = f"\n+++ b/{path}\n"
        at = f"\n{self.patch}".find(head)
        if at < 0:
            return None
        lines = self.patch[at + len(head) - 1 :].split("\n", 3)
        added = [line[1:] for line in lines[:3] if line.startswith("+")]
        return added[0] if added else None

    @classmethod
    def from_stored(cls, patch: bytes, body: Any) -> "WorkspaceDiff":
        """From a patch and what `summary` said of it."""
        files = tuple(ChangedFile(**known_fields(ChangedFile, one)) for one in stored_list(body.get("files")))
        ignored = tuple(map(str, stored_list(body.get("ignored_files"))))
        return cls(
            patch=decode_git(patch),
            files=files,
            ignored_files=ignored,
            ignored_total=int(body.get("ignored_total", len(ignored))),
            truncated=bool(body.get("truncated")),
        )

    def cut(self, most: int) -> "WorkspaceDiff":
        """Of a patch over `most` bytes its beginning."""
        whole = self.patch_bytes
        if len(whole) <= most:
            return self
        return replace(self, patch=decode_git(whole[:most]), truncated=True)


def decode_git(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


class BadDiff(ValueError):
    """What should be git's output is not."""


def parse_diff(raw: bytes, patch: bytes, ignored: bytes = b"") -> WorkspaceDiff:
    """From `git diff --raw --numstat -z`, the patch itself, and `git ls-files -o -i -z`."""
    parts = iter(raw.split(b"\0"))
    files: dict[str, ChangedFile] = {}
    try:
        for part in parts:
            if part.startswith(b":"):
                file = _raw_entry(part, parts)
                files[file.path] = file
            elif part:
                _count(part, parts, files)
    except (ValueError, StopIteration, KeyError, IndexError) as error:
        raise BadDiff(f"the list of changes cannot be parsed: {error}") from None
    names = [decode_git(name) for name in ignored.split(b"\0") if name]
    return WorkspaceDiff(
        patch=decode_git(patch),
        files=tuple(files[path] for path in sorted(files)),
        ignored_files=tuple(sorted(names)[:MOST_IGNORED]),
        ignored_total=len(names),
    )


def _raw_entry(head: bytes, rest: Iterator[bytes]) -> ChangedFile:
    """`:100644 100755 1111 2222 R090`, then a path, or two of a rename."""
    old_mode, new_mode, _, _, status = head[1:].decode("ascii").split(" ")
    first = decode_git(next(rest))
    second = decode_git(next(rest)) if status[0] in "RC" else None
    if not first or second == "":
        raise ValueError("a change has no path")
    return ChangedFile(
        path=second if second is not None else first,
        old_path=first if second is not None else None,
        change=CHANGES.get(status[0], "modified"),
        old_mode=old_mode,
        new_mode=new_mode,
    )


def _count(head: bytes, rest: Iterator[bytes], files: dict[str, ChangedFile]) -> None:
    """`3<tab>1<tab>path`, or of a rename an empty path and both after it; `-` for binary files."""
    added, removed, name = head.split(b"\t", 2)
    if not name:
        next(rest)
        name = next(rest)
    path = decode_git(name)
    is_binary = added == b"-"
    files[path] = replace(
        files[path],
        binary=is_binary,
        added=0 if is_binary else int(added),
        removed=0 if is_binary else int(removed),
    )


def patch_of(text: str) -> WorkspaceDiff:
    """A patch that somebody wrote: what it changes is found out by applying it."""
    return WorkspaceDiff(patch=text)
