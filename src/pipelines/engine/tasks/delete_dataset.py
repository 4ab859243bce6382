"""Deleting a dataset with its tasks. Batches and runs that were made of them stay, and keep what they were
given."""

from functools import partial

from pipelines.engine.find import find_dataset
from pipelines.engine.platform import Platform
from pipelines.storage.tasks import datasets


async def delete_dataset(platform: Platform, org_id: int, dataset_id: int) -> None:
    await find_dataset(platform, org_id, dataset_id)
    delete = partial(datasets.delete_dataset, dataset_id=dataset_id, now=platform.now())
    await platform.database.write(delete)
