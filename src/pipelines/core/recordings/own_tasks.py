"""The tasks that recordings are judged by: those of a file, by their keys, or what a recording itself says.

Our own export has its whole task. Of any other run only what was asked is known: it has no oracle.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipelines.core.recordings.match_tasks import KnownTask
from pipelines.core.recordings.recorded_run import RecordedRun, inside
from pipelines.core.tasks.seed import AXES, Seed, own_id_of, parse_seed
from pipelines.core.tasks.seed_text import SeedText
from pipelines.core.tasks.task_key import content_hash, keys_of, world_hash_of
from pipelines.core.text.json_text import JsonObject, canonical
from pipelines.core.text.problems import Problem, Refused


class RecordedTasks(NamedTuple):
    seeds: list[Seed]
    task_of: list[int]  # for each run, its place among the seeds


def tasks_of_recordings(runs: Sequence[RecordedRun]) -> RecordedTasks:
    """One task for all runs that were given the same. Refused with every problem."""
    seeds: list[Seed] = []
    places: dict[bytes, int] = {}
    task_of: list[int] = []
    problems: list[Problem] = []
    for run in runs:
        axes = _axes(run)
        name = canonical(axes)
        if name not in places:
            try:
                seeds.append(parse_seed(axes, path=inside(run.place, "/odyssey_seed" if run.seed else "")))
            except Refused as refused:
                problems += refused.problems
                continue
            places[name] = len(seeds) - 1
        task_of.append(places[name])
    if problems:
        raise Refused(problems, "the recording")
    return RecordedTasks(seeds, task_of)


def known_tasks(seeds: Iterable[Seed | SeedText]) -> list[KnownTask]:
    """Tasks of a file with the keys that an upload would give them."""
    known: list[KnownTask] = []
    own_ids: list[str | None] = []
    contents: list[str] = []
    for row, seed in enumerate(seeds, 1):
        body = seed.as_json()
        instruction, is_coding = str(body["user_instruction"]), "coding_scenario" in body
        known.append(KnownTask(row, None, instruction, is_coding=is_coding))
        own_ids.append(own_id_of(body.get("id")))
        own_hash = seed.content_hash if isinstance(seed, SeedText) else None
        contents.append(own_hash or content_hash(body, world_hash_of(body)))
    keys = keys_of(own_ids, contents, (), {})
    return [task._replace(key=key) for task, key in zip(known, keys, strict=True)]


def _axes(run: RecordedRun) -> JsonObject:
    if run.seed is not None:
        return {axis: value for axis, value in run.seed.items() if axis in AXES}
    axes: JsonObject = {"user_instruction": run.instruction}
    return axes | ({"initial_state": run.state_before} if run.state_before else {})
