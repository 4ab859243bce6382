"""Scores a diff, and combines the results of all scorers. Nothing here runs a command.

Required scorers gate: if one did not pass, the change did not pass. The score is the weighted mean of all.
A scorer without a result (N/A) is not a pass and is left out of the mean.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pipelines.core.coding.diff import WorkspaceDiff, printable
from pipelines.core.coding.paths import matches
from pipelines.core.coding.scorers import (
    DiffContainsScorer,
    FileEqualsScorer,
    MaxDiffLinesScorer,
    PathsScorer,
    Scorer,
    ScorerResult,
    Status,
)
from pipelines.wire.records import Record

MOST_NAMED = 10  # paths in one reason


@dataclass(frozen=True, kw_only=True, slots=True)
class CombinedResult(Record):
    """What the scorers come to together."""

    passed: Annotated[bool | None, "null: a required scorer could not be judged, and none failed"]
    score: float | None  # None without scorers
    reason: str


def result_of(
    scorer: Scorer, status: Status, reason: str, *, score: float | None = None, output: str = ""
) -> ScorerResult:
    return ScorerResult(
        name=scorer.name,
        type=scorer.type,
        required=scorer.required,
        weight=scorer.weight,
        status=status,
        score=score if score is not None else float(status is Status.PASS),
        output=output,
        reason=reason,
    )


def gating_results(results: Sequence[ScorerResult]) -> list[ScorerResult]:
    """Those that decide. Without a required one all of them do: a verdict that nothing can fail would say
    nothing."""
    return [result for result in results if result.required] or list(results)


def combine_results(results: Sequence[ScorerResult]) -> CombinedResult:
    if not results:
        return CombinedResult(passed=None, score=None, reason="The scenario has no scorers.")
    whole = sum(result.weight for result in results)
    earned = sum(
        result.weight * result.score for result in results if result.status is not Status.NOT_APPLICABLE
    )
    score = round(earned / whole, 6) if whole else None
    deciding = gating_results(results)
    failed = [result for result in deciding if result.status is Status.FAIL]
    open_ones = [result for result in deciding if result.status is Status.NOT_APPLICABLE]
    if failed:
        return CombinedResult(passed=False, score=score, reason=_first_result_reason(failed, "did not pass"))
    if open_ones:
        return CombinedResult(
            passed=None, score=score, reason=_first_result_reason(open_ones, "could not be judged")
        )
    count = f"all {len(deciding)} scorers" if len(deciding) > 1 else f"the scorer `{deciding[0].name}`"
    return CombinedResult(passed=True, score=score, reason=f"{count[0].upper()}{count[1:]} passed.")


def _first_result_reason(results: Sequence[ScorerResult], what: str) -> str:
    first = results[0]
    others = f" (and {len(results) - 1} more)" if len(results) > 1 else ""
    return f"The scorer `{first.name}` {what}{others}: {first.reason}"


def score_by_diff(
    scorer: Scorer, diff: WorkspaceDiff, contents: Mapping[str, str | None]
) -> ScorerResult | None:
    """The result of a scorer that runs nothing; None for one that does. `contents` are the files that
    `file_equals` names, as they are after the change; None where there is none."""
    if diff.truncated:
        return result_of(scorer, Status.FAIL, "The diff is over its limit and was cut, so it is not judged.")
    judge = _BY_TYPE.get(scorer.type)
    return judge(scorer, diff, contents) if judge is not None else None


def _allowed(scorer: PathsScorer, diff: WorkspaceDiff, _: object) -> ScorerResult:
    others = [path for file in diff.files for path in file.paths if not matches(path, scorer.paths)]
    if others:
        return result_of(
            scorer, Status.FAIL, f"Paths outside of the allowed ones were changed: {_path_list(others)}."
        )
    return result_of(scorer, Status.PASS, "Nothing outside of the allowed paths was changed.")


def _forbidden(scorer: PathsScorer, diff: WorkspaceDiff, _: object) -> ScorerResult:
    found = [path for file in diff.files for path in file.paths if matches(path, scorer.paths)]
    if found:
        return result_of(scorer, Status.FAIL, f"Forbidden paths were changed: {_path_list(found)}.")
    return result_of(scorer, Status.PASS, "No forbidden path was changed.")


def _contains(scorer: DiffContainsScorer, diff: WorkspaceDiff, _: object) -> ScorerResult:
    sign = "+" if scorer.lines == "added" else "-"
    text = "\n".join(changed_lines(diff.patch, sign, scorer.paths))
    if scorer.text in text:
        return result_of(scorer, Status.PASS, f"The {scorer.lines} lines contain the text.")
    return result_of(scorer, Status.FAIL, f"No {scorer.lines} lines contain {scorer.text[:80]!r}.")


def _equals(scorer: FileEqualsScorer, _: WorkspaceDiff, contents: Mapping[str, str | None]) -> ScorerResult:
    if scorer.path not in contents:
        return result_of(scorer, Status.NOT_APPLICABLE, f"`{scorer.path}` could not be read.")
    text = contents[scorer.path]
    if text is None:
        return result_of(scorer, Status.FAIL, f"The file `{scorer.path}` does not exist.")
    if text == scorer.text:
        return result_of(scorer, Status.PASS, f"`{scorer.path}` is as expected.")
    return result_of(scorer, Status.FAIL, f"`{scorer.path}` differs {_difference_place(text, scorer.text)}.")


def _at_most(scorer: MaxDiffLinesScorer, diff: WorkspaceDiff, _: object) -> ScorerResult:
    binary = [file.path for file in diff.files if file.binary]
    if binary:
        return result_of(scorer, Status.FAIL, f"Binary files have no lines to count: {_path_list(binary)}.")
    reason = f"{diff.lines:,} lines were added or removed; at most {scorer.max:,} are allowed."
    return result_of(scorer, Status.PASS if diff.lines <= scorer.max else Status.FAIL, reason)


_BY_TYPE: dict[str, Callable[[Any, WorkspaceDiff, Mapping[str, str | None]], ScorerResult]] = {
    "allowed_paths": _allowed,
    "forbid_paths": _forbidden,
    "diff_contains": _contains,
    "file_equals": _equals,
    "max_diff_lines": _at_most,
}


def changed_lines(patch: str, sign: str, globs: Sequence[str] = ()) -> list[str]:
    """The lines with this sign, without it, of the files that the globs name. Counted by the hunks' own
    heads: a line of a file may itself look like a head of the patch."""
    found: list[str] = []
    counts, left_old, left_new = False, 0, 0
    for line in patch.split("\n"):
        if left_old > 0 or left_new > 0:
            mark = line[:1]
            left_old -= mark in ("-", " ", "")
            left_new -= mark in ("+", " ", "")
            if mark == sign and counts:
                found.append(line[1:])
        elif line.startswith("@@ "):
            left_old, left_new = _hunk(line)
        elif line.startswith(("--- ", "+++ ")):
            name = _unquote(line[4:].rstrip("\t\r"))
            if name != "/dev/null":
                counts = not globs or matches(name.partition("/")[2], globs)
    return found


def _hunk(head: str) -> tuple[int, int]:
    """`@@ -3,7 +3,8 @@` has 7 old lines and 8 new ones."""
    try:
        old, new = head.split(" ")[1:3]
        counts = [int(part.partition(",")[2] or "1") for part in (old, new)]
    except (ValueError, IndexError):
        return 0, 0
    return counts[0], counts[1]


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unquote(name: str) -> str:
    """As git quotes unusual names: in C's way, with octal bytes."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    unquoted = bytearray()
    inner, at = name[1:-1], 0
    while at < len(inner):
        if inner[at] != "\\":
            unquoted += inner[at].encode("utf-8", "surrogateescape")
            at += 1
        elif inner[at + 1 : at + 4].isdigit():
            unquoted.append(int(inner[at + 1 : at + 4], 8) & 0xFF)
            at += 4
        else:
            unquoted += _ESCAPES.get(inner[at + 1 : at + 2], "?").encode()
            at += 2
    return unquoted.decode("utf-8", "surrogateescape")


def _path_list(paths: Sequence[str]) -> str:
    listed = list(dict.fromkeys(paths))
    path_list = ", ".join(f"`{printable(path)[:120]}`" for path in listed[:MOST_NAMED])
    return path_list + (f" and {len(listed) - MOST_NAMED:,} more" if len(listed) > MOST_NAMED else "")


def _difference_place(text: str, wanted: str) -> str:
    pairs = zip(text.split("\n"), wanted.split("\n"), strict=False)
    line = next((number for number, (one, other) in enumerate(pairs, start=1) if one != other), None)
    return f"at line {line}" if line is not None else "in its length"
