"""The tasks of a marked test. Its dataset and tools are read once in a session and checked completely."""

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.simulation.rules.axis import parse_agent_rules
from pipelines.core.task_files.read_tasks import format_of, read_tasks
from pipelines.core.tasks.task_key import content_hash, keys_of, world_hash_of
from pipelines.core.text.json_text import InvalidJson, Json, loads
from pipelines.core.text.problems import Problem, Refused
from pipelines.odyssey.testing import Task, read_toolbox
from pipelines.pytest_plugin.marked import Mark, read_mark

LONGEST_SLUG = 40
MOST_LISTED = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class OdysseyTask:
    """One task of a marked test, as the fixture `odyssey_task` gives it."""

    number: int  # of its row
    name: str  # of the test, in brackets
    key: str  # the same in another round
    instruction: str
    tags: tuple[str, ...]
    task: Task
    marked: Mark


def tasks_of(definition: pytest.Item) -> list[OdysseyTask]:
    """The tasks in order. Raises CollectError with all problems of mark, agent and dataset."""
    marked = read_mark(definition)
    known: dict[Any, Any] = definition.config.__dict__.setdefault("odyssey_datasets", {})
    cached = (marked.dataset, marked.agent, str(marked.tools), str(marked.ledger_schema))
    if cached not in known:
        known[cached] = _read(marked)
    read = known[cached]
    if isinstance(read, str):
        known[cached] = f"{marked.dataset.name}: its problems are listed with the first test that uses it"
        raise pytest.Collector.CollectError(read)
    tasks = [
        OdysseyTask(
            number=number,
            name=name_of(number, task.seed.user_instruction),
            key=key,
            instruction=task.seed.user_instruction,
            tags=task.seed.tags,
            task=task,
            marked=marked,
        )
        for number, (task, key) in enumerate(zip(read, _keys(read), strict=True), start=1)
    ]
    return _select_tasks(tasks, marked)


def _keys(tasks: list[Task]) -> list[str]:
    """The same keys that a server gives the file."""
    seeds = [task.seed.as_json() for task in tasks]
    contents = [content_hash(seed, world_hash_of(seed)) for seed in seeds]
    return keys_of([task.seed.id for task in tasks], contents, (), {})


def name_of(number: int, instruction: str) -> str:
    """`3-where-is-my-order-5001`: the row's number, and words of the instruction."""
    plain = unicodedata.normalize("NFKD", instruction[:400]).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall("[a-z0-9]+", plain))
    if len(slug) > LONGEST_SLUG:
        slug = slug[: LONGEST_SLUG + 1].rpartition("-")[0] or slug[:LONGEST_SLUG]
    return f"{number}-{slug}" if slug else str(number)


def _select_tasks(tasks: list[OdysseyTask], marked: Mark) -> list[OdysseyTask]:
    chosen = [task for task in tasks if not marked.tags or set(marked.tags) & set(task.tags)]
    if not chosen:
        raise pytest.Collector.CollectError(
            f"{marked.dataset.name}: no task has the tag {' or '.join(marked.tags)}"
        )
    conversations = [str(task.number) for task in chosen if task.task.seed.is_conversation]
    if conversations and not marked.is_served:
        raise pytest.Collector.CollectError(
            f"{marked.dataset.name}: task {', '.join(conversations)} is a conversation, which a function that"
            " is called once cannot hold: let the agent be served (serve=True or url=…), or choose by tags="
        )
    return chosen


def _read(marked: Mark) -> list[Task] | str:
    """The tasks, or what is wrong with the files."""
    place = marked.agent
    try:
        body = _read_json(marked.agent) if marked.agent is not None else {}
        body = body if isinstance(body, dict) else {"tools_schema": body}
        place = marked.tools if isinstance(marked.tools, Path) else place
        listed = _read_json(marked.tools) if isinstance(marked.tools, Path) else marked.tools
        tools, schema = read_toolbox(
            listed if listed is not None else body.get("tools_schema"),
            marked.ledger_schema if marked.ledger_schema is not None else body.get("ledger_schema"),
        )
        rules = parse_agent_rules(body.get("rules"), tools={tool.name for tool in tools})
        place = marked.dataset
        file = read_bytes(marked.dataset)
        format = format_of(marked.dataset.name)
        seeds = read_tasks(file, format=format, tools=tools, ledger_schema=schema).seeds
    except Refused as refused:
        return format_problems(place or Path("tools"), refused)
    return [Task(tools, schema, seed, rules) for seed in seeds]


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Refused([Problem(path="", message=error.strerror or str(error))], path.name) from None


def _read_json(path: Path) -> Json:
    try:
        return loads(read_bytes(path).decode())
    except (InvalidJson, UnicodeDecodeError) as error:
        raise Refused([Problem(path="", message=f"not JSON: {error}")], path.name) from None


def format_problems(path: Path, refused: Refused) -> str:
    """`tasks.csv: 2 problems`, and each of them with its place and a hint."""
    lines = [f"{path.name}: {refused.total} problem{'s' if refused.total != 1 else ''}"]
    for problem in refused.problems[:MOST_LISTED]:
        hint = f" ({problem.hint})" if problem.hint else ""
        lines.append(f"  {problem.path or 'the whole'}: {problem.message}{hint}")
    if refused.total > MOST_LISTED:
        lines.append(f"  … and {refused.total - MOST_LISTED} more")
    return "\n".join(lines)
