"""Which models are asked for a run: what its dataset names, else its agent, else the server's settings."""

from pipelines.core.models.model_names import models_json, read_models
from pipelines.core.models.model_question import Purpose
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_dataset
from pipelines.engine.model_calls.ask_models import Asker
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Dataset


async def name_models(platform: Platform, org_id: int, dataset_id: int, body: JsonObject) -> Dataset:
    """The models of a dataset, all anew: `{"judge": "openai:gpt-5-mini"}`. Those of none are the agent's."""
    await find_dataset(platform, org_id, dataset_id)
    problems: list[Problem] = []
    named = read_models(Fields({"models": body}, "", problems))
    problems += platform.models.naming_problems(named, "/models")
    if problems:
        raise Refused(problems, "the models")
    written = models_json(named)
    await platform.database.write(
        lambda connection: datasets.name_models(connection, dataset_id=dataset_id, models=written)
    )
    return await find_dataset(platform, org_id, dataset_id)


async def models_named_for(
    platform: Platform, agent: Agent | None, dataset_id: int | None
) -> dict[Purpose, str]:
    """What the two name, for `Asker.named`."""
    named = dict(agent.definition.config.models) if agent is not None else {}
    if dataset_id is not None:
        own = await platform.database.read(
            lambda connection: datasets.models_of_dataset(connection, dataset_id)
        )
        named |= {Purpose(purpose): str(model) for purpose, model in own.items()}
    return named


async def asker_of_run(
    platform: Platform,
    *,
    org_id: int,
    run_id: int,
    batch_id: int | None,
    agent: Agent | None,
    dataset_id: int | None,
) -> Asker:
    """Who asks for a run: its batch pays, and what is asked is shown with it."""
    named = await models_named_for(platform, agent, dataset_id)
    return Asker(org_id=org_id, run_id=run_id, batch_id=batch_id, named=named)
