"""What flipped between two batches, task by task, and whether it is more than chance.

Tasks are paired by their key, so that the same file uploaded twice can be compared. The unit is the task, not
the run. A pair whose task or oracle changed is shown with a note, but not tested: it tells nothing about the
agent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.evals.matrix.resampling import sign_flip_p
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import exact_mcnemar

#: How a task changed, in the order in which people should read it.
CHANGES = ("regressed", "unjudged", "still_failing", "improved", "fixed", "only_from", "only_to", "passing")
OTHER_TASK = "not the same task: its request or its world has changed"
OTHER_ORACLE = "judged by another oracle"
MOST_LISTED = 1_000  # tasks in one answer; the others are counted


class JudgedRun(NamedTuple):
    """A run that stands for its place in a batch."""

    task_key: str
    task_id: int
    row_number: int
    content_hash: str | None
    oracle_hash: str | None
    repeat_number: int
    id: int
    verdict: str | None
    failure_mode: str | None
    pending_reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One task in one batch."""

    runs: tuple[JudgedRun, ...]

    @property
    def passed(self) -> int:
        return sum(run.verdict == "PASS" for run in self.runs)

    @property
    def judged(self) -> int:
        return sum(run.verdict in ("PASS", "FAIL") for run in self.runs)

    def as_json(self) -> JsonObject:
        modes = sorted({run.failure_mode for run in self.runs if run.verdict == "FAIL" and run.failure_mode})
        reasons = sorted({run.pending_reason for run in self.runs if run.pending_reason})
        return {
            "task_id": self.runs[0].task_id,
            "passed": self.passed,
            "judged": self.judged,
            "failure_modes": [*modes],
            "pending_reasons": [*reasons],
            "run_ids": [run.id for run in self.runs],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskPair:
    key: str
    before: Side | None
    after: Side | None

    @property
    def newest(self) -> JudgedRun:
        side = self.after or self.before
        assert side is not None
        return side.runs[0]

    @property
    def change(self) -> str:
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
    def is_lost(self) -> bool:
        """Some run of it passed, and now none could be judged."""
        return self.change == "unjudged" and self.before is not None and self.before.passed > 0

    @property
    def notes(self) -> tuple[str, ...]:
        if self.before is None or self.after is None:
            return ()
        before, after = self.before.runs[0], self.after.runs[0]
        found = ((OTHER_TASK, "content_hash"), (OTHER_ORACLE, "oracle_hash"))
        return tuple(note for note, name in found if getattr(before, name) != getattr(after, name))

    @property
    def is_tested(self) -> bool:
        return self.change not in ("unjudged", "only_from", "only_to") and not self.notes

    def as_json(self) -> JsonObject:
        return {
            "task_key": self.key,
            "row_number": self.newest.row_number,
            "change": self.change,
            "is_lost": self.is_lost,
            "from": self.before.as_json() if self.before is not None else None,
            "to": self.after.as_json() if self.after is not None else None,
            "notes": [*self.notes],
        }


def pairs_of(before: Iterable[JudgedRun], after: Iterable[JudgedRun]) -> list[TaskPair]:
    """By what a person should read first, then in the author's order."""
    first, second = _by_key(before), _by_key(after)
    pairs = [TaskPair(key=key, before=first.get(key), after=second.get(key)) for key in first | second]
    ranks = {change: rank for rank, change in enumerate(CHANGES)}
    return sorted(pairs, key=lambda pair: (ranks[pair.change], pair.newest.row_number, pair.key))


def counts_of(pairs: Sequence[TaskPair]) -> JsonObject:
    changes = [pair.change for pair in pairs]
    return {change: changes.count(change) for change in CHANGES}


def paired_test(pairs: Sequence[TaskPair]) -> JsonObject:
    """McNemar where every task is one run against one, else sign-flip over the differences of pass shares."""
    counted = [pair for pair in pairs if pair.is_tested]
    differences = [pair.difference for pair in counted]
    worse, better = sum(each < 0 for each in differences), sum(each > 0 for each in differences)
    name, p = "mcnemar", exact_mcnemar(worse, better) if counted else None
    if any(side is not None and side.judged > 1 for pair in counted for side in (pair.before, pair.after)):
        name, found = "sign_flip", sign_flip_p(differences)
        p = found.p if found is not None else 1.0  # no share differs: no sign of a change
    return {
        "name": name,
        "unit": "task",
        "tasks": len(counted),
        "worse": worse,
        "better": better,
        "mean_difference": sum(differences) / len(differences) if differences else None,
        "p": p,
    }


def flips_of(before: Iterable[JudgedRun], after: Iterable[JudgedRun]) -> "Flips":
    """Run by run: same task, same repeat."""
    first, second = _by_place(before), _by_place(after)
    both = sorted(first.keys() & second.keys(), key=lambda place: first[place].id)
    flips: list[Json] = [
        {
            "task_id": second[place].task_id,
            "task_key": place[0],
            "repeat_number": place[1],
            "from": _run_as_json(first[place]),
            "to": _run_as_json(second[place]),
            "direction": _direction(first[place].verdict, second[place].verdict),
        }
        for place in both
        if first[place][-2:] != second[place][-2:]
    ]
    return Flips(len(both), len(first) - len(both), len(second) - len(both), flips)


class Flips(NamedTuple):
    compared: int
    only_from: int
    only_to: int
    flips: list[Json]


def _by_key(runs: Iterable[JudgedRun]) -> dict[str, Side]:
    found: dict[str, list[JudgedRun]] = {}
    for run in runs:
        found.setdefault(run.task_key, []).append(run)
    return {key: Side(runs=tuple(each)) for key, each in found.items()}


def _by_place(runs: Iterable[JudgedRun]) -> dict[tuple[str, int], JudgedRun]:
    return {(run.task_key, run.repeat_number): run for run in runs}


def _run_as_json(run: JudgedRun) -> JsonObject:
    return {
        "run_id": run.id,
        "verdict": run.verdict,
        "failure_mode": run.failure_mode,
        "pending_reason": run.pending_reason,
    }


def _direction(before: str | None, after: str | None) -> str:
    if before == after:
        return "lateral"
    return {"PASS": "improved", "FAIL": "regressed"}.get(after or "", "undecided")
