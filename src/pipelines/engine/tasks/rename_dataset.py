"""Giving a dataset another name."""

from functools import partial

from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.find import find_dataset
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.upload_tasks import name_problems
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Dataset


async def rename_dataset(platform: Platform, org_id: int, dataset_id: int, body: JsonObject) -> Dataset:
    """Tasks, keys and runs stay as they are: nothing is known by the name of its dataset."""
    await find_dataset(platform, org_id, dataset_id)
    problems: list[Problem] = []
    Fields(body, "", problems).refuse_unknown(("name",))
    name = body.get("name")
    problems += name_problems(name)
    if problems:
        raise Refused(problems, "the name")
    rename = partial(datasets.rename_dataset, dataset_id=dataset_id, name=str(name))
    await platform.database.write(rename)
    return await find_dataset(platform, org_id, dataset_id)
