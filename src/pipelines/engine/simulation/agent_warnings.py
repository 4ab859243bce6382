"""What is taken of an agent, but may not do what its author hopes: rules that name a tool or an argument
which this version has not, or no longer has. They are its own, those of tasks in its datasets, or accepted
translations of sentences there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.core.agents.agent_definition import AgentDefinition
from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import survey_for
from pipelines.core.simulation.rules import axis
from pipelines.core.simulation.rules.check import check
from pipelines.core.simulation.rules.vocabulary import Vocabulary, build_vocabulary
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.agents.authored_rules import AuthoredRule, accepted_for_agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks.ruled_tasks import RuledTask, ruled_tasks

MOST_WARNINGS = 100
LONGEST_QUOTED = 200  # characters of a sentence


async def with_warnings(platform: Platform, agent: Agent, *, has_tasks: bool) -> JsonObject:
    """The agent as it is answered, and `warnings` where there is something to tell. `has_tasks`: rules of its
    datasets are looked at, too."""
    tasks: Sequence[RuledTask] = ()
    accepted: Sequence[AuthoredRule] = ()
    if has_tasks:
        tasks, accepted = await platform.database.read(
            lambda connection: _load_dataset_rules(connection, agent)
        )
    if not tasks and not accepted and not agent.definition.rules:
        return agent.as_json()
    found = await platform.plan_readers.run(
        lambda: _warnings(agent.definition, tasks, accepted), owner=agent.org_id
    )
    listed: list[Json] = [problem.as_json() for problem in found[:MOST_WARNINGS]]
    return agent.as_json() | ({"warnings": listed} if listed else {})


def _load_dataset_rules(connection: Connection, agent: Agent) -> tuple[list[RuledTask], list[AuthoredRule]]:
    return (
        ruled_tasks(connection, org_id=agent.org_id, agent_id=agent.id),
        accepted_for_agent(connection, org_id=agent.org_id, agent_id=agent.id),
    )


def _warnings(
    definition: AgentDefinition, tasks: Sequence[RuledTask], accepted: Sequence[AuthoredRule]
) -> list[Problem]:
    vocabulary = _vocabulary(definition)
    return [
        *_rule_problems(definition.rules, vocabulary, "/rules"),
        *(one for task in tasks for one in _rule_problems(task.rules, vocabulary, f"task {task.id}, /rules")),
        *(one for rule in accepted for one in _translation_problems(rule, vocabulary)),
    ]


def _translation_problems(rule: AuthoredRule, vocabulary: Vocabulary) -> Iterator[Problem]:
    bodies = [body for body in rule.rules if isinstance(body, dict)] if isinstance(rule.rules, list) else []
    for problem in _rule_problems(bodies, vocabulary, f"dataset {rule.dataset_id}, rule {rule.id}, /rules"):
        complaint = f"translation of “{rule.sentence[:LONGEST_QUOTED]}”: {problem.message}"
        yield replace(problem, message=complaint)


def _rule_problems(entries: Sequence[JsonObject], vocabulary: Vocabulary, path: str) -> Iterator[Problem]:
    rules = axis.authored_rules(entries).rules
    yield from check(rules, vocabulary, path, places=axis.places_of(entries), has_world=False)


def _vocabulary(definition: AgentDefinition) -> Vocabulary:
    world = World.from_initial_state({})
    tools = list(definition.tools)
    return build_vocabulary(tools, survey_for(tools, world=world, ledger_schema=definition.ledger_schema))
