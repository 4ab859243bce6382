"""Which files a patch that an author wrote changes: by its own heads, unapplied."""

from pipelines.core.coding.paths import path_complaint

_NEW, _RENAME_TO = "+++ b/", "rename to "


def changed_paths(patch: str) -> list[str]:
    """Files that are there after it, in its order. Names that git would quote are not among them."""
    found: dict[str, None] = {}
    old = new = 0
    for line in patch.split("\n"):
        if old > 0 or new > 0:  # within a hunk nothing is a head, whatever it looks like
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
        elif line.startswith("@@ "):
            old, new = hunk_lines(line)
        elif line.startswith((_NEW, _RENAME_TO)):
            path = line.removeprefix(_NEW).removeprefix(_RENAME_TO).rstrip("\t\r")
            if path_complaint(path) is None:
                found[path] = None
    return list(found)


def hunk_lines(head: str) -> tuple[int, int]:
    """`@@ -3,7 +3,8 @@`: how many lines of the old file and of the new one follow."""
    try:
        old, new = (int(part.partition(",")[2] or 1) for part in head.split(" ")[1:3])
    except ValueError:
        return 0, 0
    return old, new
