"""Rules for sentences that nothing reads: a model proposes them, a person accepts or rejects them.

What is proposed is in force nowhere. What is accepted is in force in the runs that are made from then on.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from pipelines.core.authored import Fields
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import World
from pipelines.core.model_question import Purpose
from pipelines.core.problems import Problem, Refused
from pipelines.core.seed import Seed
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.translated.proposal import TriedRule, tried_rule
from pipelines.core.simulation.translated.translation import (
    MOST_SENTENCES,
    translated,
    translation_problems,
    translation_question,
)
from pipelines.engine.live_runs import MOST_READING_S
from pipelines.engine.models import Asked, Asker
from pipelines.engine.name_models import named_for
from pipelines.engine.platform import Platform
from pipelines.engine.register_agent import find_agent
from pipelines.engine.time_limit import has_time
from pipelines.engine.upload_tasks import find_dataset
from pipelines.storage import authored_rules, datasets
from pipelines.storage.agents import Agent
from pipelines.storage.authored_rules import PROPOSED, REFUSED, AuthoredRule, NewRule
from pipelines.storage.connection import Connection
from pipelines.storage.datasets import Dataset
from pipelines.storage.texts import named
from pipelines.wire.errors import Conflict, NotFound

MOST_TASKS = 200  # of a dataset that are looked through for texts
MOST_TEXTS = 5  # asked for at once


class _Text(NamedTuple):
    """One behaviour text of a dataset, and a world that it holds in."""

    text: str
    seed: Seed
    in_force: Mapping[str, Sequence[Json]]

    @property
    def hash(self) -> str:
        return named(self.text.encode()).hash


async def propose_rules(
    platform: Platform, org_id: int, dataset_id: int, body: JsonObject
) -> list[AuthoredRule]:
    """What a model makes of the sentences that are not understood, each tried. Raises ModelNotConfigured."""
    task_id, agent = await _asked_for(platform, org_id, dataset_id, body)
    named_models = await named_for(platform, agent, dataset_id)
    platform.models.needed(Purpose.AUTHOR, named_models)
    asker = Asker(org_id=org_id, subject=f"dataset {dataset_id}", named=named_models)
    texts = await platform.database.read(
        partial(_texts, org_id=org_id, dataset_id=dataset_id, task_id=task_id)
    )
    new: list[NewRule] = []
    for text in texts:
        new += await _proposed(platform, asker, dataset_id, agent, text)
    now = platform.now()
    return await platform.database.write(
        lambda connection: authored_rules.rules_by_id(
            connection, authored_rules.add_proposals(connection, new, now=now)
        )
    )


async def models_for(platform: Platform, dataset: Dataset) -> Mapping[Purpose, str]:
    """What the dataset and its agent name."""
    agent = await find_agent(platform, dataset.org_id, dataset.agent_id) if dataset.agent_id else None
    return await named_for(platform, agent, dataset.id)


async def read_rules(platform: Platform, org_id: int, dataset_id: int) -> list[AuthoredRule]:
    await find_dataset(platform, org_id, dataset_id)
    return await platform.database.read(
        lambda connection: authored_rules.rules_of_dataset(connection, org_id=org_id, dataset_id=dataset_id)
    )


async def accept_rule(
    platform: Platform, org_id: int, dataset_id: int, rule_id: int, by: str
) -> AuthoredRule:
    """From now on it holds in new runs of the dataset."""
    rule = await _found(platform, org_id, dataset_id, rule_id)
    if rule.status != PROPOSED:
        raise Conflict(f"Rule {rule_id} is {rule.status}; only what is proposed can be accepted.")
    now = platform.now()
    done = await platform.database.write(partial(authored_rules.accept, rule=rule, by=by, now=now))
    return await _decided(platform, rule, done)


async def reject_rule(
    platform: Platform, org_id: int, dataset_id: int, rule_id: int, by: str
) -> AuthoredRule:
    """Not in force any more, or never; runs that were made under it keep it."""
    rule = await _found(platform, org_id, dataset_id, rule_id)
    now = platform.now()
    done = await platform.database.write(partial(authored_rules.reject, rule=rule, by=by, now=now))
    return await _decided(platform, rule, done)


async def _found(platform: Platform, org_id: int, dataset_id: int, rule_id: int) -> AuthoredRule:
    rule = await platform.database.read(
        partial(authored_rules.rule_by_id, org_id=org_id, dataset_id=dataset_id, rule_id=rule_id)
    )
    if rule is None:
        raise NotFound(f"Dataset {dataset_id} has no rule {rule_id}.")
    return rule


async def _decided(platform: Platform, rule: AuthoredRule, done: bool) -> AuthoredRule:
    if not done:
        raise Conflict(f"Rule {rule.id} was decided on already.")
    return await _found(platform, rule.org_id, rule.dataset_id, rule.id)


async def _asked_for(
    platform: Platform, org_id: int, dataset_id: int, body: JsonObject
) -> tuple[int | None, Agent]:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("agent_id", "task_id"))
    task_id = fields.id("task_id", "a task") if fields.has("task_id") else None
    agent_id = fields.id("agent_id", "an agent") if fields.has("agent_id") else None
    dataset = await find_dataset(platform, org_id, dataset_id)
    agent_id = agent_id or dataset.agent_id
    if agent_id is None and not problems:
        fields.refuse("agent_id", "the dataset names no agent", "whose tools the text is about")
    if problems or agent_id is None:
        raise Refused(problems, "the request")
    return task_id, await find_agent(platform, org_id, agent_id)


def _texts(connection: Connection, *, org_id: int, dataset_id: int, task_id: int | None) -> list[_Text]:
    tasks = datasets.tasks_of_dataset(connection, dataset_id, limit=MOST_TASKS, after_id=None).items
    if task_id is not None:
        task = datasets.task_by_id(connection, org_id=org_id, task_id=task_id)
        if task is None or task.dataset_id != dataset_id:
            raise NotFound(f"Dataset {dataset_id} has no task {task_id}.")
        tasks = [task]
    found: dict[str, _Text] = {}
    for task in tasks:
        text = task.seed.behavior_instructions
        if text is not None and text not in found and len(found) < MOST_TEXTS:
            in_force = authored_rules.rules_now(connection, dataset_id, text)
            found[text] = _Text(text, datasets.whole_seed(connection, task), in_force)
    return list(found.values())


async def _proposed(
    platform: Platform, asker: Asker, dataset_id: int, agent: Agent, text: _Text
) -> list[NewRule]:
    org_id = asker.org_id
    simulator, unread = await platform.plan_readers.run(partial(_read, agent, text), owner=org_id)
    sentences = unread[:MOST_SENTENCES]
    if not sentences:
        return []
    asked = await platform.models.ask(
        asker,
        translation_question(text.text, sentences, simulator.lexicon),
        check=partial(translation_problems, sentences=sentences, lexicon=simulator.lexicon),
    )
    made = translated(asked.data, sentences)
    tried = await platform.plan_readers.run(partial(_tried, agent, text, simulator, made), owner=org_id)
    return [
        _new(org_id, dataset_id, text, asked, sentence, rules, left_out, tried.get(sentence))
        for sentence, (rules, left_out) in made.items()
    ]


def _new(
    org_id: int,
    dataset_id: int,
    text: _Text,
    asked: Asked,
    sentence: str,
    rules: list[Json],
    left_out: str | None,
    tried: TriedRule | None,
) -> NewRule:
    problem = "no rule came of it" if tried is None else tried.problem
    return NewRule(
        org_id=org_id,
        dataset_id=dataset_id,
        text_hash=text.hash,
        sentence=sentence,
        rules=rules,
        left_out=left_out,
        tried=(tried or TriedRule(problem=problem)).as_json(),
        status=PROPOSED if problem is None else REFUSED,
        model=asked.model,
        exchange_id=asked.exchange_id,
    )


def _tried(
    agent: Agent, text: _Text, without: PlannedSimulator, made: Mapping[str, tuple[list[Json], str | None]]
) -> dict[str, TriedRule]:
    """Each sentence by itself, on top of what is in force."""
    return {
        sentence: tried_rule(sentence, rules, _simulator(agent, text, {sentence: rules}), without)
        for sentence, (rules, _) in made.items()
        if rules
    }


def _read(agent: Agent, text: _Text) -> tuple[PlannedSimulator, tuple[str, ...]]:
    """The text is read when it is looked at: here, in the reader's thread and within its time."""
    simulator = _simulator(agent, text, {})
    return simulator, simulator.unread


def _simulator(agent: Agent, text: _Text, more: Mapping[str, Sequence[Json]]) -> PlannedSimulator:
    definition = agent.definition
    return build_simulator(
        definition.tools,
        ledger_schema=definition.ledger_schema,
        world=World.from_initial_state(text.seed.initial_state),
        behavior=text.text,
        may_read=has_time(MOST_READING_S),
        translated={**text.in_force, **more},
    )
