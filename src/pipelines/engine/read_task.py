"""One task as people read it: its world, what its rules will hit, what was understood, what is lacking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.agent_definition import AgentDefinition
from pipelines.core.failure_rules import Randomly, chance_of
from pipelines.core.failure_words import Mark, forecast, rule_in_words
from pipelines.core.json_text import JsonObject
from pipelines.core.ledger import World
from pipelines.core.problems import Problem
from pipelines.core.run_moment import seed_name
from pipelines.core.seed import Seed
from pipelines.core.simulation.behavior import Rule
from pipelines.core.simulation.build import build_simulator
from pipelines.core.verdict.lint import lint_seed
from pipelines.core.verdict.oracle_words import OracleInWords, oracle_in_words
from pipelines.engine.live_runs import MOST_READING_S
from pipelines.engine.platform import Platform
from pipelines.engine.time_limit import has_time
from pipelines.engine.upload_tasks import find_dataset
from pipelines.storage import agents, datasets, oracles
from pipelines.storage.connection import Connection
from pipelines.storage.datasets import Dataset, Task
from pipelines.wire.errors import NotFound

LARGEST_WORLD = 4 * 1024 * 1024  # characters: a larger one is told by its size, and is in the export


class RuleInWords(NamedTuple):
    sentence: str
    tool: str
    marks: tuple[Mark, ...]  # what it does on the first calls of its tool
    is_random: bool


class Understood(NamedTuple):
    """A sentence of the behaviour text, and the tools that keep to it."""

    sentence: str
    tools: tuple[str, ...]
    note: str | None
    without_effect: str | None  # why it changes nothing in this world


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What an agent's tools make of the task."""

    agent_id: int
    agent_name: str
    understood: tuple[Understood, ...]
    not_understood: tuple[str, ...]
    without_effect: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInWords:
    task: Task
    dataset: Dataset | None  # None of a task that a matrix made
    oracle_version: int
    seed: Seed
    world: JsonObject | None  # None where it is too large to be looked at
    world_size: int
    rules: tuple[RuleInWords, ...]
    oracle: tuple[OracleInWords, ...]
    findings: tuple[Problem, ...]
    reading: Reading | None


class _Stored(NamedTuple):
    task: Task
    world: JsonObject | None
    world_size: int
    oracle_version: int
    agent: agents.Agent | None


async def read_task(platform: Platform, org_id: int, task_id: int, agent_id: int | None) -> TaskInWords:
    """Read by the tools of an agent: of this one, else of the dataset's, else of none."""
    task = await platform.database.read(
        lambda connection: datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
    )
    if task is None:
        raise NotFound(f"There is no task {task_id}.")
    dataset: Dataset | None
    try:
        dataset = await find_dataset(platform, org_id, task.dataset_id)
    except NotFound:
        dataset = None
    by = agent_id or (dataset.agent_id if dataset is not None else None)
    stored = await platform.database.read(lambda connection: _stored(connection, org_id, task, by))
    return await platform.plan_readers.run(lambda: _in_words(stored, dataset), owner=org_id)


def _stored(connection: Connection, org_id: int, task: Task, agent_id: int | None) -> _Stored:
    size = datasets.world_size(connection, task.world_hash)
    agent = agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id) if agent_id is not None else None
    world = datasets.world_by_hash(connection, task.world_hash) if size <= LARGEST_WORLD else None
    return _Stored(task, world, size, oracles.present_version(connection, task.id), agent)


def _in_words(stored: _Stored, dataset: Dataset | None) -> TaskInWords:
    body = stored.task.odyssey_seed()
    seed = Seed.from_stored(body | ({"initial_state": stored.world} if stored.world else {}))
    agent = stored.agent
    definition = agent.definition if agent is not None else None
    findings = (
        lint_seed(
            seed,
            tools=definition.tools if definition is not None else None,
            ledger_schema=definition.ledger_schema if definition is not None else None,
        )
        if stored.world is not None
        else []
    )
    return TaskInWords(
        task=stored.task,
        dataset=dataset,
        oracle_version=stored.oracle_version,
        seed=seed,
        world=stored.world,
        world_size=stored.world_size,
        rules=_rules(seed, chance_of(seed_name(body, stored.task.world_hash), 0)),
        oracle=oracle_in_words(seed),
        findings=tuple(findings),
        reading=_reading(agent.id, agent.definition, seed) if agent is not None else None,
    )


def _rules(seed: Seed, chance: str) -> tuple[RuleInWords, ...]:
    flags = World.from_initial_state(seed.initial_state).flags
    marks = forecast(seed.failure_rules, chance=chance, is_flagged=lambda flag: flag in flags)
    return tuple(
        RuleInWords(rule_in_words(rule), rule.tool, marks[index], isinstance(rule, Randomly))
        for index, rule in enumerate(seed.failure_rules)
    )


def _reading(agent_id: int, definition: AgentDefinition, seed: Seed) -> Reading:
    simulator = build_simulator(
        definition.tools,
        ledger_schema=definition.ledger_schema,
        world=World.from_initial_state(seed.initial_state),
        behavior=seed.behavior_instructions,
        may_read=has_time(MOST_READING_S),
    )
    rules = simulator.enforced if seed.behavior_instructions else ()
    understood = tuple(_understood(rules, simulator.without_effect))
    return Reading(
        agent_id=agent_id,
        agent_name=definition.name,
        understood=understood,
        not_understood=simulator.not_understood,
        without_effect=tuple(
            said
            for said in simulator.without_effect
            if not any(said.startswith(one.sentence) for one in understood)
        ),
    )


def _understood(rules: Sequence[Rule], without_effect: Sequence[str]) -> Iterator[Understood]:
    """By sentence: one may have become several rules."""
    of_sentence: dict[str, list[Rule]] = {}
    for rule in rules:
        of_sentence.setdefault(rule.sentence, []).append(rule)
    for sentence, read in of_sentence.items():
        tools = dict.fromkeys(tool for rule in read for tool in rule.tools)
        note = next((rule.note for rule in read if rule.note is not None), None)
        idle = next((said for said in without_effect if said.startswith(sentence)), None)
        reason = (
            idle.removeprefix(sentence).strip(" ()") or "it changes nothing in this world" if idle else None
        )
        yield Understood(sentence, tuple(tools), note, reason)
