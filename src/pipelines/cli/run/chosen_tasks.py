"""`--task` and `--tag`: selects the tasks of a dataset. A name that fits no task, or several, is refused."""

from collections.abc import Sequence
from typing import Any

from pipelines.cli.client import Server
from pipelines.cli.files import is_number, stop
from pipelines.core.text.authored import nearest_names, quote_names

ROW = "row:"


def chosen_tasks(
    server: Server, dataset_id: int, *, named: Sequence[str], tags: Sequence[str]
) -> list[int] | None:
    """The ids in the author's order; None for all. A task is named, and has one of the tags, where both are
    given."""
    if not named and not tags:
        return None
    tasks = server.every(f"/api/datasets/{dataset_id}/tasks")
    found, problems = _find_named_tasks(tasks, named)
    problems += _unknown_tags(tasks, tags)
    if problems:
        stop("\n".join(problems))
    ids = [
        task["id"]
        for task in tasks
        if (not named or task["id"] in found) and (not tags or set(tags) & set(task["tags"]))
    ]
    if not ids:
        stop(f"No task that --task names has the tag {quote_names(tags)}.")
    return ids


def _find_named_tasks(tasks: Sequence[Any], named: Sequence[str]) -> tuple[set[int], list[str]]:
    found: set[int] = set()
    problems = []
    for name in named:
        fitting = _matching_tasks(tasks, name)
        if len(fitting) == 1:
            found.add(fitting[0]["id"])
        else:
            problems.append(_explain_no_match(tasks, name, fitting))
    return found, problems


def _matching_tasks(tasks: Sequence[Any], name: str) -> list[Any]:
    """Tasks with this key or row number; if there are none, tasks whose key starts with it."""
    number = name.removeprefix(ROW)
    is_row = is_number(number)
    by_row = [task for task in tasks if is_row and task["row_number"] == int(number)]
    if name.startswith(ROW):
        return by_row
    exact = [task for task in tasks if task["task_key"] == name]
    if exact or by_row:
        return exact + [task for task in by_row if task not in exact]
    return [task for task in tasks if (task["task_key"] or "").startswith(name)]


def _explain_no_match(tasks: Sequence[Any], name: str, fitting: Sequence[Any]) -> str:
    keys = [task["task_key"] for task in tasks if task["task_key"]]
    if not fitting:
        near = nearest_names(name, keys)
        hint = (
            f"did you mean {quote_names(near)}?"
            if near
            else f"rows are 1 to {len(tasks)}; keys: {_join_names(keys)}"
        )
        return f"--task {name}: there is no such task; {hint}"
    if any(task["task_key"] == name for task in fitting):
        (row,) = [task for task in fitting if task["task_key"] != name]
        return (
            f"--task {name}: that is the id of one task and the row of another ({row['task_key']});"
            f" write {ROW}{name} or {row['task_key']}, or give the task an id that is no number"
        )
    return (
        f"--task {name}: {len(fitting)} keys begin so: {_join_names([task['task_key'] for task in fitting])}"
    )


def _unknown_tags(tasks: Sequence[Any], tags: Sequence[str]) -> list[str]:
    known = sorted({tag for task in tasks for tag in task["tags"]})
    problems = []
    for tag in tags:
        if tag not in known:
            near = nearest_names(tag, known)
            listed = f"the tags are {_join_names(known)}" if known else "the dataset has no tags"
            hint = f"did you mean {quote_names(near)}?" if near else listed
            problems.append(f"--tag {tag}: no task has it; {hint}")
    return problems


def _join_names(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
