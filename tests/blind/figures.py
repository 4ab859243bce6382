"""All blind sets in three tables, as docs/reference/blind-sets.md has them: when new, and now.

`python tests/blind/figures.py` prints them (four minutes). A set's first figures were taken before anybody
had looked at it; they are kept here, because they cannot be measured again.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import sentence_scores
import tool_scores
import transcript_scores
from blind_sets import LATER, folders

# Right side, reads that write, calls right, calls right under other labels; "–" was not measured.
TOOLS_WHEN_NEW = {
    "first": ("59.4", "164", "36.8", "10.7"),
    "tenth": ("97.6", "0", "84.1", "83.5"),
    "eleventh": ("96.0", "0", "94.0", "94.0"),
}
# Right, wrong, reported, by the reader of any English that is gone.
SENTENCES_WHEN_NEW = {
    "fourteenth": ("30.0", "2.7", "67.3"),
    "fifteenth": ("47.3", "2.0", "50.7"),
}
# Wrong PASS, wrong FAIL, PENDING of the English ones, by grader 12.
TRANSCRIPTS_WHEN_NEW = {
    "fourteenth": ("2.7", "2.0", "52.7"),
    "fifteenth": ("2.7", "2.0", "59.8"),
}


def share(count: int, every: int) -> str:
    return f"{count / every:.1%}".removesuffix("%")


def sets(kind: str) -> Iterator[tuple[str, Path]]:
    for name, folder in zip(("first", *LATER), folders(kind), strict=True):
        if folder.exists():
            yield name, folder


def tools_row(folder: Path) -> tuple[int, tuple[str, ...]]:
    found = tool_scores.scored(folder=folder)
    other = tool_scores.scored(folder=folder, renamed=1)
    sides = sum(one.has_right_side for one in found)
    writing = sum(one.is_read and one.does_write for one in found)
    return len(found), (share(sides, len(found)), str(writing), _calls(found), _calls(other))


def _calls(found: list[tool_scores.ToolScore]) -> str:
    calls = [call for one in found for call in one.calls]
    return share(sum(not call.complaints for call in calls), len(calls))


def sentences_row(folder: Path) -> tuple[int, tuple[str, ...]]:
    count = Counter(one.outcome for one in sentence_scores.scored(folder))
    return count.total(), tuple(share(count[name], count.total()) for name in ("right", "wrong", "reported"))


def transcripts_row(folder: Path) -> tuple[int, tuple[str, ...]]:
    found = [*transcript_scores.judged(folder)]
    english = [one for one in found if one.case["language"] == "en"]
    open_ = sum(one.outcome == "PENDING" for one in english)
    wrong = (sum(one.is_wrong_pass for one in found), sum(one.is_wrong_fail for one in found))
    return len(found), (*(share(count, len(found)) for count in wrong), share(open_, len(english)))


TABLES = (
    ("tools", tools_row, TOOLS_WHEN_NEW, "right side / reads that write / calls right / under other labels"),
    ("sentences", sentences_row, SENTENCES_WHEN_NEW, "right / wrong / reported"),
    (
        "transcripts",
        transcripts_row,
        TRANSCRIPTS_WHEN_NEW,
        "wrong PASS / wrong FAIL / PENDING (English)",
    ),
)


def main() -> None:
    for kind, row, when_new, what in TABLES:
        print(f"| {kind} | cases | when new: {what} | now |\n|---|---|---|---|")
        for name, folder in sets(kind):
            every, now = row(folder)
            print(f"| {name} | {every} | {' / '.join(when_new[name])} | {' / '.join(now)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
