"""Failure rules and typed rules of the tasks of new runs against the agent that is to run them.

A dataset that was uploaded for an agent was checked then; one that names none, or another, is checked here.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pipelines.core.simulation.rules.axis import RULES, undeclared_tools
from pipelines.core.tasks.task_columns import BY_AXIS
from pipelines.core.text.json_text import loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import stored_list
from pipelines.core.tools.failure_rules import rule_from_stored
from pipelines.core.tools.rule_names import undeclared_names
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, texts
from pipelines.storage.tasks.datasets import TaskToRun
from pipelines.storage.tasks.texts import SLICE_ROWS

AXES = ("failure_rules", RULES)
MOST_LISTED = 100  # problems: one cause is often in every row


async def check_rules(
    platform: Platform, agent: Agent, tasks: Sequence[TaskToRun], *, of_dataset: bool
) -> None:
    """Refused with each rule that names a tool or flag which the agent does not declare, by row or task."""
    checked = await platform.database.read(partial(_datasets_of_agent, agent=agent, tasks=tasks))
    open_tasks = [(at, task) for at, task in enumerate(tasks, 1) if task.dataset_id not in checked]
    problems: list[Problem] = []
    for start in range(0, len(open_tasks), SLICE_ROWS):
        some = open_tasks[start : start + SLICE_ROWS]
        hashes = {task.seed_hash for _, task in some}
        seeds = await platform.database.read(partial(texts.texts_of, hashes=hashes))
        problems += await asyncio.to_thread(_rule_problems, agent, some, seeds, of_dataset)
        if len(problems) >= MOST_LISTED:
            break
    if problems:
        raise Refused(problems[:MOST_LISTED], "the run")


def _datasets_of_agent(connection: Connection, agent: Agent, tasks: Sequence[TaskToRun]) -> set[int]:
    """Datasets whose rows were checked against this agent when they came."""
    found = set()
    for dataset_id in {task.dataset_id for task in tasks}:
        dataset = datasets.dataset_by_id(connection, org_id=agent.org_id, dataset_id=dataset_id)
        if dataset is not None and dataset.agent_id == agent.id:
            found.add(dataset_id)
    return found


def _rule_problems(
    agent: Agent, tasks: Sequence[tuple[int, TaskToRun]], seeds: Mapping[str, str], of_dataset: bool
) -> list[Problem]:
    names = {tool.name for tool in agent.definition.tools}
    return [
        problem
        for at, task in tasks
        for problem in _problems_in_task(agent, names, at, task, seeds, of_dataset)
    ]


def _problems_in_task(
    agent: Agent, names: set[str], at: int, task: TaskToRun, seeds: Mapping[str, str], of_dataset: bool
) -> Iterator[Problem]:
    text = seeds.get(task.seed_hash, "")
    if not any(f'"{axis}"' in text for axis in AXES):
        return
    body = loads_own(text)
    assert isinstance(body, dict)
    failures = map(rule_from_stored, stored_list(body.get("failure_rules")))
    schema = agent.definition.ledger_schema
    found = {
        "failure_rules": undeclared_names([*failures], tools=names, ledger_schema=schema, path=""),
        RULES: undeclared_tools(stored_list(body.get(RULES)), "", names),
    }
    where = f"row {at}" if of_dataset else f"task {task.id}"
    for axis, problems in found.items():
        column = BY_AXIS[axis].name
        for one in problems:
            path = f"{where}, column {column}, at {one.path}"
            yield replace(one, path=path, row=at if of_dataset else None, column=column)
