"""The key of a task across uploads: its author's `id`, or one made from its content.

A key by content names what the agent is asked and the world it meets. What counts as right is not part of it,
so that a task whose oracle is corrected is still that task; nor are its labels. See docs/decisions/0021.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from pipelines.core.tasks.seed import own_id_of
from pipelines.core.text.json_text import Json, JsonObject, canonical, dumps
from pipelines.core.text.problems import Problem, Refused

#: What decides a verdict, and nothing else.
ORACLE_AXES = (
    *("expected_outcome", "tracked_constraints", "eval", "expected_state", "expected_calls"),
    *("expected_answer", "rubric"),
)
#: Of a coding task's scenario, what grades and is not asked.
GRADING_PARTS = ("scorers", "test_files")
#: What people find a task by.
LABEL_AXES = ("id", "tags")
_NOT_ASKED = frozenset((*ORACLE_AXES, *LABEL_AXES, "initial_state", "drawn_as"))
ONE_TASK = "use each id for one task of the dataset only"
STORED_DIGITS = 32  # of a hash on every task: enough for all tasks there are
LONGEST_TAGS = 2_000  # characters of all tags of a task in a list; those past it are only on the task
KEY_DIGITS = 12  # of 16: among a million tasks of an org two get the same by chance once in 500 times


def canonical_hash(value: Json) -> str:
    """Equal for JSON that differs only in spacing and the order of an object's keys."""
    return hashlib.sha256(canonical(value)).hexdigest()


def content_hash(seed: JsonObject, world_hash: str | None) -> str:
    """Of what a seed asks; `world_hash` is the canonical one of its initial state, which is not looked at."""
    axes = {axis: _one_line_end(value) for axis, value in seed.items() if axis not in _NOT_ASKED}
    if isinstance(scenario := seed.get("coding_scenario"), dict):
        axes["coding_scenario"] = {
            part: value for part, value in scenario.items() if part not in GRADING_PARTS
        }
    return canonical_hash([axes, world_hash])[:STORED_DIGITS]


def oracle_hash(seed: JsonObject) -> str:
    """Of what counts as right."""
    right = {axis: seed[axis] for axis in ORACLE_AXES if axis in seed}
    if isinstance(scenario := seed.get("coding_scenario"), dict):
        right["coding_scenario"] = {part: scenario[part] for part in GRADING_PARTS if part in scenario}
    return canonical_hash(right)[:STORED_DIGITS]


def world_hash_of(seed: JsonObject) -> str | None:
    state = seed.get("initial_state")
    return canonical_hash(state) if isinstance(state, dict) else None


def tags_text(seed: JsonObject) -> str:
    """As a JSON list, of as many as lists show."""
    listed = seed.get("tags")
    tags: list[Json] = []
    room = LONGEST_TAGS
    for tag in listed if isinstance(listed, list) else ():
        room -= len(str(tag))
        if room < 0:
            break
        tags.append(tag)
    return dumps(tags).decode()


def key_of(content: str) -> str:
    """Begins with a letter, so that none is taken for the number of a row."""
    return "t" + content[:KEY_DIGITS]


def keys_of(
    own_ids: Sequence[str | None], contents: Sequence[str], taken: Iterable[str], counted: Mapping[str, int]
) -> list[str]:
    """The key of each of some tasks: its own id, or by content; the second of equal ones ends in `-2`.

    `taken` are keys that other tasks of the dataset have, `counted` how many of them have which content.
    """
    used = {*taken, *(own_id for own_id in own_ids if own_id is not None)}
    numbers = dict(counted)
    keys = []
    for own_id, content in zip(own_ids, contents, strict=True):
        key = own_id
        while key is None or (own_id is None and key in used):
            numbers[content] = numbers.get(content, 0) + 1
            number = numbers[content]
            key = key_of(content) + (f"-{number}" if number > 1 else "")
        used.add(key)
        keys.append(key)
    return keys


def fold_content(before: str | None, tasks: Iterable[tuple[str, str | None]]) -> str:
    """The hash of a dataset: of the texts (seed, world) of its tasks in order, going on from `before`."""
    folded = before or ""
    for seed, world in tasks:
        folded = hashlib.sha256(f"{folded}\n{seed}\n{world or ''}".encode()).hexdigest()
    return folded


def repeated_id_problems(given: Iterable[tuple[int, Json]]) -> list[Problem]:
    """Of (row, id): every id that stands more than once, told in each row that has it."""
    found: dict[str, list[int]] = {}
    for row, value in given:
        if (own_id := own_id_of(value)) is not None:
            found.setdefault(own_id, []).append(row)
    return [
        Problem(
            path="/id", row=row, message=f"rows {_rows_text(at)} have the same id `{own_id}`", hint=ONE_TASK
        )
        for own_id, at in found.items()
        if len(at) > 1
        for row in at
    ]


def refuse_taken_ids(taken: Mapping[str, int]) -> None:
    """Ids that tasks of the dataset have already, by the number of their row there."""
    problems = [
        Problem(
            path="column id",
            column="id",
            message=f"task {number} of the dataset already has the id `{own_id}`",
            hint=ONE_TASK,
        )
        for own_id, number in sorted(taken.items(), key=lambda item: item[1])
    ]
    if problems:
        raise Refused(problems, "the upload")


def _one_line_end(value: Json) -> Json:
    """A file that was saved elsewhere asks the same."""
    return value.replace("\r\n", "\n") if isinstance(value, str) else value


def _rows_text(rows: list[int]) -> str:
    most = 10
    listed = [str(row) for row in rows[:most]]
    more = [f"{len(rows) - most} more"] if len(rows) > most else []
    return ", ".join([*listed, *more][:-1]) + f" and {[*listed, *more][-1]}"
