"""Finds the task of each recorded run: by its own field, else by its first user message, else by order."""

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.recordings.recorded_run import TaskName, inside
from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.problems import Problem

MATCHED_BY_ORDER = "the run names no task, so it is judged by task {row}, the one at the same position"
HINT = "give the task's key or row number in `task`"
_ROWS = ("task", "row", "row_number", "pipelines.task")  # where a number is a row's
_IDS = ("task_id", "extra.task_id")  # where a number is an id of the server


class KnownTask(NamedTuple):
    row: int  # its place among the tasks, from 1
    key: str | None
    instruction: str
    id: int | None = None  # where it is stored
    is_coding: bool = False


class NamedRun(NamedTuple):
    """What of a recorded run its task is found by."""

    place: str
    task: TaskName | None
    instruction: str


class Match(NamedTuple):
    task: int  # its place among the tasks, from 0
    note: str | None = None


def match_tasks(
    runs: Sequence[NamedRun], tasks: Sequence[KnownTask], problems: list[Problem]
) -> list[Match | None]:
    """One match for each run; None with the reason added to `problems`."""
    found = _Tasks(tasks)
    is_as_many = len(runs) == len(tasks)
    return [found.match(run, place if is_as_many else None, problems) for place, run in enumerate(runs)]


class _Tasks:
    def __init__(self, tasks: Sequence[KnownTask]) -> None:
        self._tasks = tasks
        self._by_key = {task.key: at for at, task in enumerate(tasks) if task.key is not None}
        self._by_id = {task.id: at for at, task in enumerate(tasks) if task.id is not None}
        self._by_row = {task.row: at for at, task in enumerate(tasks)}
        self._by_words: dict[str, list[int]] = {}
        for at, task in enumerate(tasks):
            self._by_words.setdefault(task.instruction.strip(), []).append(at)

    def match(self, run: NamedRun, order: int | None, problems: list[Problem]) -> Match | None:
        named = self._named(run.task) if run.task is not None else None
        if named is not None:
            return Match(named)
        if run.task is not None and run.task.is_certain:
            problems.append(self._unknown(run.place, run.task))
            return None
        alike = self._by_words.get(run.instruction.strip(), [])
        if len(alike) == 1:
            return Match(alike[0])
        if order is not None and (not alike or order in alike):
            return Match(order, MATCHED_BY_ORDER.format(row=self._tasks[order].row))
        problems.append(self._unmatched(run, alike))
        return None

    def _named(self, name: TaskName) -> int | None:
        value = name.value
        if isinstance(value, int):
            places = self._by_row if name.field in _ROWS else self._by_id if name.field in _IDS else {}
            at = places.get(value)
            return at if at is not None else self._by_key.get(str(value))
        at = self._by_key.get(value)
        if at is None and name.field in _ROWS and value.isascii() and value.isdigit() and len(value) < 10:
            at = self._by_row.get(int(value))
        alike = self._by_words.get(value.strip(), []) if at is None else []
        return alike[0] if len(alike) == 1 else at

    def _unknown(self, place: str, name: TaskName) -> Problem:
        keys = list(self._by_key)
        near = did_you_mean(str(name.value)[:200], keys)
        known = f"rows are 1 to {len(self._tasks)}; keys: {quote_names(keys[:5])}" if keys else HINT
        path = inside(place, f"/{name.field}") if not name.field.startswith("pipelines") else place
        message = f"there is no task `{str(name.value)[:80]}`"
        return Problem(path=path, message=message, hint=near or known)

    def _unmatched(self, run: NamedRun, alike: list[int]) -> Problem:
        instruction = " ".join(run.instruction.split())[:80]
        if alike:
            rows = ", ".join(str(self._tasks[at].row) for at in alike[:5])
            message = f"names no task, and tasks {rows} all have its first user message `{instruction}`"
        else:
            message = f"names no task, and no task has its first user message `{instruction}`"
        return Problem(path=run.place, message=message, hint=HINT)
