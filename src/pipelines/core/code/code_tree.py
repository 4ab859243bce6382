"""A tree of source files as an upload brings it: the names it may have, and the one name of its content.

Everything an author uploads becomes one zip archive in the end: stored once, named by what is in it.
"""

import hashlib
import io
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from pipelines.core.text.problems import MOST_SHOWN, Problem

LONGEST_PATH = 512
LONGEST_PART = 255  # bytes: what file systems take for one name
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest date a zip can hold: the same files give the same bytes
PathLocator = Callable[[str], str]


class CodeFile(NamedTuple):
    path: str  # with `/`, from the top of the tree
    content: bytes


def name_problems(paths: Iterable[str], at: PathLocator) -> list[Problem]:
    """Everything wrong with the names of a tree; `at` says where a name stands in what was sent."""
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    folders: dict[str, str] = {}
    for path in paths:
        complaint = _complaint(path)
        if complaint is not None:
            problems.append(Problem(path=at(path), message=f"{_printable(path)} {complaint}"))
            continue
        alike = seen.setdefault(_fold(path), path)
        if alike is not path:
            problems.append(Problem(path=at(path), message=_same_name_complaint(path, alike)))
        parts = path.split("/")
        for end in range(1, len(parts)):
            folders.setdefault(_fold("/".join(parts[:end])), path)
    for folded in seen.keys() & folders.keys():
        message = f"{_printable(seen[folded])} is a file here, but a folder in {_printable(folders[folded])}"
        problems.append(Problem(path=at(seen[folded]), message=message))
    return problems[:MOST_SHOWN]


def tree_hash(digests: Mapping[str, str]) -> str:
    """The name of a tree: of its paths and the SHA-256 of each file, whatever it was packed in."""
    whole = hashlib.sha256()
    for path in sorted(digests):
        whole.update(f"{digests[path]} {path}\n".encode())
    return whole.hexdigest()


def pack_tree(files: Iterable[CodeFile]) -> bytes:
    """The same files always give the same archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            entry = zipfile.ZipInfo(file.path, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, file.content)
    return buffer.getvalue()


def _complaint(path: str) -> str | None:
    parts = path.split("/")
    if not path or not path.strip():
        return "is not a valid file name"
    if "\\" in path:
        return "has a backslash; write paths with /"
    if path.startswith("/") or path[1:2] == ":":
        return "is an absolute path; write it from the top of the tree"
    if ".." in parts:
        return "points outside of the tree"
    if "" in parts or "." in parts:
        return "has an empty part"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        return "has control characters"
    if len(path) > LONGEST_PATH or any(len(part.encode()) > LONGEST_PART for part in parts):
        return f"is too long: at most {LONGEST_PATH} characters, {LONGEST_PART} bytes for each part"
    return None


def _same_name_complaint(path: str, alike: str) -> str:
    if path == alike:
        return f"{_printable(path)} is listed twice"
    return (
        f"{_printable(path)} and {_printable(alike)} are the same name on file systems that "
        "ignore letter case"
    )


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _printable(path: str) -> str:
    """A name as it may be printed: what a terminal would act upon is escaped."""
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path[:120])
    return f"`{printable}`" + ("…" if len(path) > 120 else "")
