"""The sentences of behaviour texts, of a task or of a dataset, as an agent's tools read them."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.rules.language.read import sentences_in
from pipelines.core.simulation.sentences import (
    MOST_SHOWN_BY_CALLS,
    MOST_SUGGESTED,
    shown_findings,
    shown_sentences,
)
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_agent, find_dataset, task_in
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.storage.agents import authored_rules
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Task
from pipelines.wire.errors import NotFound

MOST_TASKS = 200  # of a dataset that are looked through for texts
MOST_TEXTS = 5  # of a dataset whose worlds are held at once


class BehaviorText(NamedTuple):
    """One behaviour text of a dataset, a world that it holds in, and the translations in force."""

    text: str
    task_id: int
    seed: Seed
    translated: Mapping[str, Sequence[Json]]
    wanted: tuple[str, ...] = ()  # of its sentences, those that were asked for

    def simulator(self, definition: AgentDefinition, may_read: Callable[[], bool]) -> PlannedSimulator:
        return build_simulator(
            definition.tools,
            ledger_schema=definition.ledger_schema,
            world=World.from_initial_state(self.seed.initial_state),
            behavior=self.text,
            may_read=may_read,
            translated=self.translated,
            rules=active_rules(definition.rules, self.seed.rules),
        )


def behavior_texts(
    connection: Connection,
    *,
    org_id: int,
    dataset_id: int,
    task_id: int | None = None,
    sentences: Collection[str] = (),
) -> list[BehaviorText]:
    """Some of the texts that differ, in the order of the tasks: of one task, those in which some sentences
    stand for the first time, or the first of them."""
    tasks = texts_of_dataset(connection, org_id, dataset_id, task_id)
    selected = (
        _texts_with_sentences(tasks, sentences) if sentences else dict.fromkeys([*tasks][:MOST_TEXTS], ())
    )
    return _with_worlds(connection, dataset_id, tasks, selected)


def _with_worlds(
    connection: Connection,
    dataset_id: int,
    tasks: Mapping[str, Task],
    wanted: Mapping[str, tuple[str, ...]],
) -> list[BehaviorText]:
    return [
        BehaviorText(
            text,
            tasks[text].id,
            datasets.whole_seed(connection, tasks[text]),
            authored_rules.rules_now(connection, dataset_id, text),
            own,
        )
        for text, own in wanted.items()
    ]


def texts_of_dataset(
    connection: Connection, org_id: int, dataset_id: int, task_id: int | None = None
) -> dict[str, Task]:
    """By text, the first task that has it."""
    if task_id is None:
        tasks = datasets.tasks_of_dataset(connection, dataset_id, limit=MOST_TASKS, after_id=None).items
    else:
        task = datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
        if task is None or task.dataset_id != dataset_id:
            raise NotFound(f"Dataset {dataset_id} has no task {task_id}.")
        tasks = [task]
    texts = [(task.seed.behavior_instructions, task) for task in reversed(tasks)]
    found = {text: task for text, task in texts if text is not None}
    return dict(reversed(found.items()))


def _texts_with_sentences(texts: Collection[str], sentences: Collection[str]) -> dict[str, tuple[str, ...]]:
    unread, found = {*sentences}, dict[str, tuple[str, ...]]()
    for text in texts:
        own = tuple(one for one in dict.fromkeys(sentences_in(text)) if one in unread)
        unread -= {*own}
        found |= {text: own} if own else {}
    return found


async def sentences_of_task(
    platform: Platform, org_id: int, task_id: int, agent_id: int | None, *, with_examples: bool
) -> JsonObject:
    """Read by the tools of this agent, else of the dataset's."""
    task = await platform.database.read(lambda connection: task_in(connection, org_id, task_id))
    by = agent_id or (await find_dataset(platform, org_id, task.dataset_id)).agent_id
    return await _read_sentences(platform, org_id, task.dataset_id, by, task_id, with_examples=with_examples)


async def sentences_of_dataset(
    platform: Platform, org_id: int, dataset_id: int, agent_id: int | None, *, with_examples: bool
) -> JsonObject:
    """Of its texts, as many as there is time for, each sentence once."""
    dataset = await find_dataset(platform, org_id, dataset_id)
    by = agent_id or dataset.agent_id
    return await _read_sentences(platform, org_id, dataset_id, by, None, with_examples=with_examples)


async def _read_sentences(
    platform: Platform,
    org_id: int,
    dataset_id: int,
    agent_id: int | None,
    task_id: int | None,
    *,
    with_examples: bool,
) -> JsonObject:
    if agent_id is None:
        message, hint = "the dataset names no agent", "whose tools read the text"
        raise Refused([Problem(path="/agent_id", message=message, hint=hint)], "the request")
    agent = await find_agent(platform, org_id, agent_id)
    tasks = await platform.database.read(
        lambda connection: texts_of_dataset(connection, org_id, dataset_id, task_id)
    )
    remaining, read = MOST_READING_S, _SentencesRead({}, {})
    texts = [*tasks]
    while texts and remaining > 0:
        sentences_by_text, texts = dict.fromkeys(texts[:MOST_TEXTS], ()), texts[MOST_TEXTS:]
        some = await platform.database.read(
            partial(_with_worlds, dataset_id=dataset_id, tasks=tasks, wanted=sentences_by_text)
        )
        more = partial(_read_texts, read, agent.definition, some, remaining, with_examples=with_examples)
        remaining, late = await platform.plan_readers.run(more, owner=org_id)
        texts = [*late, *texts]
    items, findings = read
    return {"items": [*items.values()], "findings": [*findings.values()], "texts_not_read": len(texts)}


class _SentencesRead(NamedTuple):
    items: dict[str, JsonObject]  # by sentence
    findings: dict[str, Json]  # by what is said

    def count(self, name: str) -> int:
        """How many of the sentences have this field."""
        return sum(one.get(name) is not None for one in self.items.values())


def _read_texts(
    read: _SentencesRead,
    definition: AgentDefinition,
    texts: Sequence[BehaviorText],
    most_s: float,
    *,
    with_examples: bool,
) -> tuple[float, list[str]]:
    """Reads texts; how much of the time is left, and which of them were not read."""
    may_read, began = has_time(most_s), time.thread_time()
    for number, text in enumerate(texts):
        if number and not may_read():  # of one text as much is read as can be
            return 0, [one.text for one in texts[number:]]
        simulator = text.simulator(definition, may_read)
        sentences = shown_sentences(
            simulator,
            may_read=may_read,
            most_suggested=MOST_SUGGESTED - read.count("not_read"),
            most_by_calls=MOST_SHOWN_BY_CALLS - read.count("examples") if with_examples else 0,
            now=text.seed.now,
        )
        for report in sentences:
            read.items.setdefault(str(report["sentence"]), {**report, "task_id": text.task_id})
        for one in shown_findings(simulator):
            read.findings.setdefault(str(one["says"]), {**one, "task_id": text.task_id})
    return most_s - (time.thread_time() - began), []
