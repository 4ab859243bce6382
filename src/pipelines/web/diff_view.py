"""A patch as lines to look at: by file, each line with what it is, cut where it gets long.

Everything in a patch is the agent's. A line of a file may look like a head of the patch, so lines are counted
by the hunks' own heads, and what is no part of a hunk is shown as it stands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pipelines.core.coding.patch_paths import hunk_lines
from pipelines.web.json_view import visible

MOST_FILES = 200
MOST_LINES_OF_A_FILE = 400
MOST_LINES = 3_000  # over all files
LONGEST_LINE = 500
FOLDED_ABOVE = 6  # files: with more than these, none is open at first


class DiffLine(NamedTuple):
    kind: str  # added, removed, kept, hunk, head
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FileDiff:
    path: str
    file: Any  # as the API tells it; None where the list has no such file
    lines: tuple[DiffLine, ...]
    more: int  # lines that are not shown
    is_open: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownDiff:
    files: tuple[FileDiff, ...]
    more_files: int


def shown_diff(diff: Any) -> ShownDiff:
    """`diff` as GET /api/runs/{id}/coding has it. Files that the patch does not tell are listed too."""
    parts = list(_parts(diff["patch"]))
    listed = list(diff["files"])
    by_path = dict(zip([file["path"] for file in listed], _matched(listed, parts), strict=True))
    files: list[FileDiff] = []
    lines_left = MOST_LINES
    for file in listed[:MOST_FILES]:
        lines = by_path[file["path"]]
        kept = lines[: min(MOST_LINES_OF_A_FILE, lines_left)]
        lines_left -= len(kept)
        is_open = len(listed) <= FOLDED_ABOVE and bool(kept)
        files.append(
            FileDiff(
                path=file["path"], file=file, lines=tuple(kept), more=len(lines) - len(kept), is_open=is_open
            )
        )
    return ShownDiff(files=tuple(files), more_files=max(0, len(listed) - MOST_FILES))


@dataclass(kw_only=True, slots=True)
class _Part:
    """What a patch tells of one file."""

    name: str | None = None  # None where it is quoted, or told by the first line alone
    lines: list[DiffLine] = field(default_factory=list)


def _matched(listed: Sequence[Any], parts: Sequence[_Part]) -> Iterator[list[DiffLine]]:
    """By name; where a part has none by its place, since list and patch are in the order of paths both."""
    named = {part.name: part.lines for part in parts if part.name is not None}
    for place, file in enumerate(listed):
        part = parts[place] if place < len(parts) and parts[place].name is None else None
        yield named.get(file["path"], part.lines if part is not None else [])


def _parts(patch: str) -> Iterator[_Part]:
    """Each file of a patch, without its `diff --git`."""
    part: _Part | None = None
    old = new = 0
    for line in patch.split("\n"):
        if old > 0 or new > 0:
            sign = line[:1]
            if sign != "\\":
                old -= sign in ("-", " ", "")
                new -= sign in ("+", " ", "")
            if part is not None:
                part.lines.append(DiffLine(_KINDS.get(sign, "kept"), _cut(line[1:])))
        elif line.startswith("diff --git "):
            if part is not None:
                yield part
            part = _Part()
        elif part is not None and line.startswith("@@ "):
            old, new = hunk_lines(line)
            part.lines.append(DiffLine("hunk", _cut(line)))
        elif part is not None and line:
            part.name = _name(line) or part.name
            if not line.startswith(("index ", "--- ", "+++ ")):
                part.lines.append(DiffLine("head", _cut(line)))
    if part is not None:
        yield part


_KINDS = {"+": "added", "-": "removed", " ": "kept", "\\": "head"}


def _name(line: str) -> str | None:
    """The path that a line of a head tells, as the list has it; the later line is about the new file."""
    for start in ("rename to ", "--- a/", "+++ b/"):
        if line.startswith(start):
            return line.removeprefix(start).removesuffix("\t")
    return None


def _cut(line: str) -> str:
    text = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"
    return visible(text)
