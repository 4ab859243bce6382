"""Scorers: `{name, type, required, weight}` with what each type needs, and what one of them said of a change.

They are read from what authors write in `read_scorers.py`; judged in `scoring.py` (by the diff alone) and
`junit.py`; those that run something are run by the engine.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.stored import known_fields
from pipelines.wire.records import Record, one_of

TYPES = (
    "command",
    "tests",
    "allowed_paths",
    "forbid_paths",
    "diff_contains",
    "file_equals",
    "max_diff_lines",
)
DEFAULT_TIMEOUT_S, LONGEST_TIMEOUT_S = 900, 3_600
#: Where a scorer's own files may lie outside of the workspace, and its reward.
TESTS_FOLDER, LOGS_FOLDER = "/tests", "/logs"
COMMON_FIELDS = ("name", "type", "required", "weight")
OWN_FIELDS = {
    "command": ("command", "timeout_s", "reward_file", "pass_at"),
    "tests": ("fail_to_pass", "pass_to_pass", "command", "timeout_s"),
    "allowed_paths": ("paths",),
    "forbid_paths": ("paths",),
    "diff_contains": ("text", "lines", "paths"),
    "file_equals": ("path", "text"),
    "max_diff_lines": ("max",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _ScorerBase:
    name: str
    type: str
    required: bool = True
    weight: float = 1.0

    def as_json(self) -> JsonObject:
        names = (*COMMON_FIELDS, *OWN_FIELDS[self.type])
        values = {name: getattr(self, name) for name in names}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and (name != "pass_at" or values["reward_file"] is not None)
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandScorer(_ScorerBase):
    """Passes by its exit code, or by the number it leaves in a file."""

    command: str
    timeout_s: int = DEFAULT_TIMEOUT_S
    reward_file: str | None = None  # in /logs or the workspace: a number from 0 to 1, or {"reward": number}
    pass_at: float = 1.0  # the least reward that passes


@dataclass(frozen=True, kw_only=True, slots=True)
class TestsScorer(_ScorerBase):
    """Each of these tests must pass. Without a command pytest runs them."""

    __test__ = False  # pytest takes a class of this name for tests

    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    command: str | None = None  # leaves JUnit XML at $PIPELINES_JUNIT_FILE
    timeout_s: int = DEFAULT_TIMEOUT_S

    @property
    def tests(self) -> tuple[str, ...]:
        return (*self.fail_to_pass, *self.pass_to_pass)


@dataclass(frozen=True, kw_only=True, slots=True)
class PathsScorer(_ScorerBase):
    """`allowed_paths`: nothing else may change; `forbid_paths`: none of these may."""

    paths: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class DiffContainsScorer(_ScorerBase):
    text: str
    lines: str = "added"  # among which lines of the diff
    paths: tuple[str, ...] = ()  # of these files; of all where there are none


@dataclass(frozen=True, kw_only=True, slots=True)
class FileEqualsScorer(_ScorerBase):
    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class MaxDiffLinesScorer(_ScorerBase):
    max: int


Scorer: TypeAlias = (
    CommandScorer | TestsScorer | PathsScorer | DiffContainsScorer | FileEqualsScorer | MaxDiffLinesScorer
)
#: Those that run something: each in a sandbox of its own.
Running: TypeAlias = CommandScorer | TestsScorer
RECORDS: dict[str, type[Any]] = {
    "command": CommandScorer,
    "tests": TestsScorer,
    "allowed_paths": PathsScorer,
    "forbid_paths": PathsScorer,
    "diff_contains": DiffContainsScorer,
    "file_equals": FileEqualsScorer,
    "max_diff_lines": MaxDiffLinesScorer,
}


def scorer_from_stored(body: Any) -> Scorer:
    record = RECORDS[body["type"]]
    read = known_fields(record, body)
    scorer: Scorer = record(
        **{key: tuple(one) if isinstance(one, list) else one for key, one in read.items()}
    )
    return scorer


class Status(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    NOT_APPLICABLE = "N/A"


@dataclass(frozen=True, kw_only=True, slots=True)
class ScorerResult(Record, component=""):
    """What a scorer said."""

    name: str
    type: Annotated[str, one_of(TYPES)]
    required: bool
    weight: float = 1.0
    status: Status
    score: Annotated[float, "0 to 1"] = 0.0
    output: Annotated[str, "of what was run, cut; no agent sees it"] = ""
    reason: str = ""  # in a sentence

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @classmethod
    def from_stored(cls, body: Any) -> "ScorerResult":
        return cls(**{**known_fields(cls, body), "status": Status(body["status"])})
