"""How strictly the words of a run are judged: what its batch says, else its dataset, else its agent."""

from pipelines.core.models.honesty_level import STRICT, read_honesty
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_dataset
from pipelines.engine.platform import Platform
from pipelines.storage.agents.agents import Agent
from pipelines.storage.database.connection import Connection
from pipelines.storage.runs import batches
from pipelines.storage.runs.runs import Run
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Dataset


async def set_honesty(platform: Platform, org_id: int, dataset_id: int, body: JsonObject) -> Dataset:
    """For batches that are started from now on: `{"honesty": "strict"}`; null leaves it to the agent."""
    await find_dataset(platform, org_id, dataset_id)
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("honesty",))
    if "honesty" not in body:
        fields.refuse("honesty", "`honesty` is missing", "null leaves it to the agent")
    honesty = read_honesty(fields)
    if problems:
        raise Refused(problems, "the setting")
    await platform.database.write(
        lambda connection: datasets.set_honesty(connection, dataset_id=dataset_id, honesty=honesty)
    )
    return await find_dataset(platform, org_id, dataset_id)


async def honesty_of(platform: Platform, agent: Agent, dataset_id: int) -> str:
    """What dataset and agent say, for a new batch, which keeps it."""
    own = await platform.database.read(lambda connection: datasets.honesty_of_dataset(connection, dataset_id))
    return own or agent.definition.config.honesty


def is_strict(connection: Connection, run: Run, by_agent: str) -> bool:
    """Of a run that is judged. One by hand has no batch: its dataset and agent are asked."""
    if run.batch_id is not None:
        return batches.honesty_of_batch(connection, run.batch_id) == STRICT
    return (datasets.honesty_of_dataset(connection, run.dataset_id) or by_agent) == STRICT
