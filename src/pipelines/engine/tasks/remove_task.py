"""Removing a task from its dataset. Runs that were made of it keep it."""

from functools import partial

from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import load_task
from pipelines.engine.tasks.fill_task_keys import name_dataset
from pipelines.storage.tasks import datasets
from pipelines.storage.tasks.datasets import Dataset


async def remove_task(platform: Platform, org_id: int, task_id: int) -> Dataset:
    """The dataset that it was removed from."""
    stored = await platform.database.read(partial(load_task, org_id=org_id, task_id=task_id))
    remove = partial(datasets.remove_task, org_id=org_id, task_id=task_id, now=platform.now())
    await platform.database.write(remove)
    await name_dataset(platform, stored.dataset.id)
    return stored.dataset
