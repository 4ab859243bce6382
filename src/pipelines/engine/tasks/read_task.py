"""One task as people read it: its world, what its rules will hit, how its text is read, what is lacking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.calls.run_moment import seed_name
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import build_simulator
from pipelines.core.simulation.rules.axis import active_rules
from pipelines.core.simulation.sentences import MOST_SHOWN_BY_CALLS, shown_findings, shown_sentences
from pipelines.core.tasks.rule_warnings import rule_warnings
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.core.tools.failure_rules import Randomly, chance_of
from pipelines.core.tools.failure_words import Mark, forecast, rule_in_words
from pipelines.core.verdict.lint.lint import lint_seeds
from pipelines.core.verdict.oracle_words import OracleInWords, oracle_in_words
from pipelines.engine.find import find_dataset, task_in
from pipelines.engine.live.live_runs import MOST_READING_S
from pipelines.engine.live.time_limit import has_time
from pipelines.engine.platform import Platform
from pipelines.storage.agents import agents
from pipelines.storage.agents.authored_rules import rules_now
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets, oracles
from pipelines.storage.tasks.datasets import Dataset, Task
from pipelines.wire.errors import NotFound

LARGEST_WORLD = 4 * 1024 * 1024  # characters: a larger one is told by its size, and is in the export


class RuleInWords(NamedTuple):
    sentence: str
    tool: str
    marks: tuple[Mark, ...]  # what it does on the first calls of its tool
    is_random: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What an agent's tools make of the task."""

    agent_id: int
    agent_name: str
    sentences: tuple[JsonObject, ...]  # of the behaviour text, as `shown_sentences` has them
    findings: tuple[JsonObject, ...]
    rules: tuple[JsonObject, ...]  # typed ones of the agent, as written


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


class _StoredTask(NamedTuple):
    task: Task
    world: JsonObject | None
    world_size: int
    oracle_version: int
    agent: agents.Agent | None
    translated: Mapping[str, Sequence[Json]]  # rules that are in force for sentences of its text


async def read_task(platform: Platform, org_id: int, task_id: int, agent_id: int | None) -> TaskInWords:
    """Read by the tools of an agent: of this one, else of the dataset's, else of none."""
    task = await platform.database.read(lambda connection: task_in(connection, org_id, task_id))
    dataset: Dataset | None
    try:
        dataset = await find_dataset(platform, org_id, task.dataset_id)
    except NotFound:
        dataset = None
    by = agent_id or (dataset.agent_id if dataset is not None else None)
    stored = await platform.database.read(lambda connection: _load_task(connection, org_id, task, by))
    return await platform.plan_readers.run(lambda: _describe_task(stored, dataset), owner=org_id)


def _load_task(connection: Connection, org_id: int, task: Task, agent_id: int | None) -> _StoredTask:
    size = datasets.world_size(connection, task.world_hash)
    agent = agents.agent_by_id(connection, org_id=org_id, agent_id=agent_id) if agent_id is not None else None
    world = datasets.world_by_hash(connection, task.world_hash) if size <= LARGEST_WORLD else None
    translated = rules_now(connection, task.dataset_id, task.seed.behavior_instructions)
    return _StoredTask(task, world, size, oracles.present_version(connection, task.id), agent, translated)


def _describe_task(stored: _StoredTask, dataset: Dataset | None) -> TaskInWords:
    body = stored.task.odyssey_seed()
    seed = Seed.from_stored(body | ({"initial_state": stored.world} if stored.world else {}))
    agent = stored.agent
    definition = agent.definition if agent is not None else None
    findings = _findings(seed, definition) if stored.world is not None else []
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
        # Without its world the text would be read for another task than this.
        reading=_reading(agent, seed, stored.translated)
        if agent is not None and stored.world is not None
        else None,
    )


def _findings(seed: Seed, definition: AgentDefinition | None) -> list[Problem]:
    tools = definition.tools if definition is not None else None
    schema = definition.ledger_schema if definition is not None else None
    rules = definition.rules if definition is not None else ()
    return [
        *rule_warnings([seed], tools=tools, ledger_schema=schema, rules=rules),
        *lint_seeds([seed], may_read=has_time(MOST_READING_S), tools=tools, ledger_schema=schema),
    ]


def _rules(seed: Seed, chance: str) -> tuple[RuleInWords, ...]:
    flags = World.from_initial_state(seed.initial_state).flags
    marks = forecast(seed.failure_rules, chance=chance, is_flagged=lambda flag: flag in flags)
    return tuple(
        RuleInWords(rule_in_words(rule), rule.tool, marks[index], isinstance(rule, Randomly))
        for index, rule in enumerate(seed.failure_rules)
    )


def _reading(agent: agents.Agent, seed: Seed, translated: Mapping[str, Sequence[Json]]) -> Reading:
    definition, may_read = agent.definition, has_time(MOST_READING_S)
    simulator = build_simulator(
        definition.tools,
        ledger_schema=definition.ledger_schema,
        world=World.from_initial_state(seed.initial_state),
        behavior=seed.behavior_instructions,
        may_read=may_read,
        translated=translated,
        rules=active_rules(definition.rules, seed.rules),
    )
    return Reading(
        agent_id=agent.id,
        agent_name=definition.name,
        rules=definition.rules,
        sentences=tuple(
            shown_sentences(simulator, may_read=may_read, most_by_calls=MOST_SHOWN_BY_CALLS, now=seed.now)
        ),
        findings=tuple(shown_findings(simulator)),
    )
