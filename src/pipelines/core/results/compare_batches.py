"""What flipped between two batches, task by task, and whether it is more than chance.

Tasks are paired by their key, so that the same file uploaded twice can be compared. The unit is the task, not
the run. A pair whose task or oracle changed is shown with a note, but not tested: it tells nothing about the
agent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pipelines.core.evals.matrix.resampling import sign_flip_p
from pipelines.core.text.statistics import exact_mcnemar
from pipelines.core.verdict.verdict import OF_PENDING, FailureModeName, OutcomeName, PendingReasonName
from pipelines.wire.records import Hidden, Id, Named, Record, one_of, shown

#: How a task changed, in the order in which people should read it.
CHANGES = ("regressed", "unjudged", "still_failing", "improved", "fixed", "only_from", "only_to", "passing")
OTHER_TASK = "not the same task: its request or its world has changed"
OTHER_ORACLE = "judged by another oracle"
MOST_LISTED = 1_000  # tasks in one answer; the others are counted


@dataclass(frozen=True, slots=True)
class JudgedRun(Record, component="ComparedRun"):
    """One of the two runs."""  # each stands for its place in a batch

    task_key: Hidden[str]
    task_id: Hidden[int]
    row_number: Hidden[int]
    content_hash: Hidden[str | None]
    oracle_hash: Hidden[str | None]
    repeat_number: Hidden[int]
    id: Annotated[Id, Named("run_id")]
    verdict: OutcomeName | None
    failure_mode: FailureModeName | None
    pending_reason: Annotated[PendingReasonName | None, OF_PENDING] = None

    @property
    def outcome(self) -> tuple[str | None, ...]:
        return (self.failure_mode, self.pending_reason)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side(Record, component="ComparedSide"):
    """A task in one of the two."""

    runs: Hidden[tuple[JudgedRun, ...]]

    @property
    @shown(after="runs")
    def task_id(self) -> Id:
        return self.runs[0].task_id

    @property
    @shown(after="runs")
    def passed(self) -> int:
        return sum(run.verdict == "PASS" for run in self.runs)

    @property
    @shown(after="runs")
    def judged(self) -> int:
        return sum(run.verdict in ("PASS", "FAIL") for run in self.runs)

    @shown(after="runs")
    def failure_modes(self) -> list[FailureModeName]:
        return sorted({run.failure_mode for run in self.runs if run.verdict == "FAIL" and run.failure_mode})

    @shown(after="runs")
    def pending_reasons(self) -> list[PendingReasonName]:
        return sorted({run.pending_reason for run in self.runs if run.pending_reason})

    @shown(after="runs")
    def run_ids(self) -> list[Id]:
        return [run.id for run in self.runs]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPair(Record, component="ComparedTask"):
    """How a task changed."""

    key: Annotated[str, Named("task_key")]
    before: Annotated[Side | None, Named("from")]
    after: Annotated[Side | None, Named("to")]
    user_instruction: str | None = None  # of the newer task

    @property
    def newest(self) -> JudgedRun:
        side = self.after or self.before
        assert side is not None
        return side.runs[0]

    @property
    @shown(after="key")
    def row_number(self) -> int:
        return self.newest.row_number

    @property
    @shown(after="key")
    def change(self) -> Annotated[str, one_of(CHANGES)]:
        if self.before is None or self.after is None:
            return "only_to" if self.before is None else "only_from"
        if not self.before.judged or not self.after.judged:
            return "unjudged"
        difference = self.difference
        if difference < 0:
            return "regressed"
        if difference > 0:
            return "fixed" if self.after.passed == self.after.judged else "improved"
        return "passing" if self.after.passed == self.after.judged else "still_failing"

    @property
    def difference(self) -> float:
        """Of the shares of judged runs that pass."""
        assert self.before is not None
        assert self.after is not None
        return self.after.passed / self.after.judged - self.before.passed / self.before.judged

    @property
    @shown(after="key")
    def is_lost(self) -> Annotated[bool, "it passed before, and could not be judged now"]:
        return self.change == "unjudged" and self.before is not None and self.before.passed > 0

    @property
    @shown(after="after")
    def notes(
        self,
    ) -> Annotated[tuple[str, ...], "why the two are not held against each other in the test"]:
        if self.before is None or self.after is None:
            return ()
        before, after = self.before.runs[0], self.after.runs[0]
        found = ((OTHER_TASK, "content_hash"), (OTHER_ORACLE, "oracle_hash"))
        return tuple(note for note, name in found if getattr(before, name) != getattr(after, name))

    @property
    def is_tested(self) -> bool:
        return self.change not in ("unjudged", "only_from", "only_to") and not self.notes


def pairs_of(before: Iterable[JudgedRun], after: Iterable[JudgedRun]) -> list[TaskPair]:
    """By what a person should read first, then in the author's order."""
    first, second = _by_key(before), _by_key(after)
    pairs = [TaskPair(key=key, before=first.get(key), after=second.get(key)) for key in first | second]
    ranks = {change: rank for rank, change in enumerate(CHANGES)}
    return sorted(pairs, key=lambda pair: (ranks[pair.change], pair.newest.row_number, pair.key))


def counts_of(pairs: Sequence[TaskPair]) -> dict[str, int]:
    changes = [pair.change for pair in pairs]
    return {change: changes.count(change) for change in CHANGES}


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedTest(Record):
    """Whether more tasks got worse than chance would have it."""

    name: Literal["mcnemar", "sign_flip"]
    unit: Literal["task"] = "task"
    tasks: int
    worse: int
    better: int
    mean_difference: float | None
    p: float | None


def paired_test(pairs: Sequence[TaskPair]) -> PairedTest:
    """McNemar where every task is one run against one, else sign-flip over the differences of pass shares."""
    counted = [pair for pair in pairs if pair.is_tested]
    differences = [pair.difference for pair in counted]
    worse, better = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    name: Literal["mcnemar", "sign_flip"] = "mcnemar"
    p = exact_mcnemar(worse, better) if counted else None
    if any(side is not None and side.judged > 1 for pair in counted for side in (pair.before, pair.after)):
        name, found = "sign_flip", sign_flip_p(differences)
        p = found.p if found is not None else 1.0  # no share differs: no sign of a change
    return PairedTest(
        name=name,
        tasks=len(counted),
        worse=worse,
        better=better,
        mean_difference=sum(differences) / len(differences) if differences else None,
        p=p,
    )


def flips_of(before: Iterable[JudgedRun], after: Iterable[JudgedRun]) -> "Flips":
    """Run by run: same task, same repeat."""
    first, second = _by_place(before), _by_place(after)
    both = sorted(first.keys() & second.keys(), key=lambda place: first[place].id)
    flips = [
        Flip(task_key=place[0], repeat_number=place[1], before=first[place], after=second[place])
        for place in both
        if first[place].outcome != second[place].outcome
    ]
    return Flips(
        compared=len(both),
        only_from=len(first) - len(both),
        only_to=len(second) - len(both),
        flips=tuple(flips),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Flip(Record, component="BatchFlip"):
    """A run whose verdict differs: same task, same repeat."""

    task_key: str
    repeat_number: int
    before: Annotated[JudgedRun, Named("from")]
    after: Annotated[JudgedRun, Named("to")]

    @shown(after="")
    def task_id(self) -> Id:
        return self.after.task_id

    @shown(after="after")
    def direction(self) -> Literal["improved", "regressed", "undecided", "lateral"]:
        if self.before.verdict == self.after.verdict:
            return "lateral"
        if self.after.verdict == "PASS":
            return "improved"
        return "regressed" if self.after.verdict == "FAIL" else "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class Flips(Record, component=""):
    compared: int
    only_from: int
    only_to: int
    flips: tuple[Flip, ...]


def _by_key(runs: Iterable[JudgedRun]) -> dict[str, Side]:
    found: dict[str, list[JudgedRun]] = {}
    for run in runs:
        found.setdefault(run.task_key, []).append(run)
    return {key: Side(runs=tuple(each)) for key, each in found.items()}


def _by_place(runs: Iterable[JudgedRun]) -> dict[tuple[str, int], JudgedRun]:
    return {(run.task_key, run.repeat_number): run for run in runs}
