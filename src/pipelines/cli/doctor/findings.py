"""The result of a check: ok, a warning or a problem, what was seen, and what to change."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem

MOST_LISTED = 50  # a file with more problems than this has one cause, repeated


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"  # it runs, but not as its author may believe
    PROBLEM = "problem"  # it does not run


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    check: str  # what was looked at, in a word or two
    level: Level
    seen: str
    change: str | None = None  # what to do about it; nothing when it is fine

    def as_json(self) -> JsonObject:
        return {"check": self.check, "level": self.level.value, "seen": self.seen, "change": self.change}


def ok(check: str, seen: str) -> Finding:
    return Finding(check=check, level=Level.OK, seen=seen)


def warning(check: str, seen: str, change: str | None = None) -> Finding:
    return Finding(check=check, level=Level.WARNING, seen=seen, change=change)


def problem(check: str, seen: str, change: str | None = None) -> Finding:
    return Finding(check=check, level=Level.PROBLEM, seen=seen, change=change)


def list_problems(check: str, problems: list[Problem], level: Level = Level.PROBLEM) -> Iterator[Finding]:
    """One finding for each problem of a file, and one that counts the rest."""
    for problem in problems[:MOST_LISTED]:
        yield Finding(check=check, level=level, seen=problem.said(), change=problem.hint)
    if len(problems) > MOST_LISTED:
        yield Finding(check=check, level=level, seen=f"… and {len(problems) - MOST_LISTED} more like these")


def count_findings(findings: Iterable[Finding], level: Level) -> int:
    return len([finding for finding in findings if finding.level is level])
