"""Paths in a workspace and the globs that scorers name them by.

    src/**        everything below src        *.md          files at the top that end in .md
    **/*.md       such files at any depth     docs/         everything below docs, as docs/**
    tests         the file, or everything below the folder

`*` and `?` stop at `/`, as in .gitignore. Compared with letter case.
"""

from collections.abc import Iterable

from pipelines.core.code.code_tree import LONGEST_PATH, name_problems


def path_complaint(path: str) -> str | None:
    """What is wrong with a path that must lie in the workspace, as the rest of a sentence about it."""
    problems = name_problems([path], lambda _: "")
    if problems:
        return problems[0].message.rpartition("` ")[2] or "is no path"
    if any(part.casefold() == ".git" for part in path.split("/")):
        return "belongs to the repository itself; graders and seeds must not use it"
    return None


def glob_complaint(glob: str) -> str | None:
    if len(glob) > LONGEST_PATH:
        return f"is longer than {LONGEST_PATH} characters"
    if glob.startswith(("/", "!")) or "\\" in glob or ".." in glob.split("/"):
        return "is not a glob below the workspace; write it from the top of the tree, as in src/**"
    return "is empty" if not glob.strip("/") else None


def matches(path: str, globs: Iterable[str]) -> bool:
    return any(_matches(path.split("/"), glob) for glob in globs)


def _matches(parts: list[str], glob: str) -> bool:
    """Whether the glob names the path or a folder above it. `**` stands for any number of parts, none too."""
    plain = glob.removeprefix("./")
    is_folder = plain.endswith(("/", "/**"))
    pattern_parts = plain.rstrip("/").removesuffix("/**").split("/")
    if pattern_parts == ["**"]:
        return True
    reached = _skip_stars({0}, pattern_parts)  # how many parts of the glob are used up
    for place, part in enumerate(parts, start=1):
        held = {at for at in reached if at < len(pattern_parts) and pattern_parts[at] == "**"}
        moved = {at + 1 for at in reached if at < len(pattern_parts) and _is_like(part, pattern_parts[at])}
        reached = _skip_stars(held | moved, pattern_parts)
        if len(pattern_parts) in reached:
            return place < len(parts) or not is_folder
    return False


def _skip_stars(reached: set[int], wanted: list[str]) -> set[int]:
    found = set(reached)
    for at, part in enumerate(wanted):
        if at in found and part == "**":
            found.add(at + 1)
    return found


def _is_like(text: str, glob: str) -> bool:
    """One part of a path: at a mismatch the last star takes one character more, so nothing is tried twice."""
    at = glob_at = 0
    star = matched = -1
    while at < len(text):
        if glob_at < len(glob) and glob[glob_at] == "*":
            star, matched = glob_at, at
            glob_at += 1
        elif glob_at < len(glob) and glob[glob_at] in ("?", text[at]):
            at, glob_at = at + 1, glob_at + 1
        elif star >= 0:
            matched += 1
            at, glob_at = matched, star + 1
        else:
            return False
    return not glob[glob_at:].strip("*")
