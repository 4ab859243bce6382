"""Editing a task: another task takes its place in the dataset. The edited one is removed, and its runs keep
it, so that no run belongs to a request that it was not given."""

from functools import partial

from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import load_task
from pipelines.engine.tasks.fill_task_keys import name_dataset
from pipelines.engine.tasks.upload_tasks import Rows, UploadedDataset, check_rows, context_of, store_tasks
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import datasets
from pipelines.wire.errors import Conflict


async def replace_task(platform: Platform, org_id: int, task_id: int, rows: Rows) -> UploadedDataset:
    """By one row, checked as an upload is. The new task stands at the end of the dataset."""
    stored = await platform.database.read(partial(load_task, org_id=org_id, task_id=task_id))
    dataset = stored.dataset
    checked = await check_rows(platform, org_id, rows, await context_of(platform, dataset), [])
    if len(checked.seeds) != 1:
        problem = Problem(path="/rows", message=f"must be one row, not {len(checked.seeds)}")
        raise Refused([problem], "the task")
    now = platform.now()

    def remove_first(connection: Connection) -> int:
        if not datasets.remove_task(connection, org_id=org_id, task_id=task_id, now=now):
            raise Conflict(f"Somebody else has just changed or removed task {task_id}. Look at it again.")
        return dataset.id

    dataset, task_ids = await store_tasks(platform, org_id, checked.seeds, remove_first, now)
    await name_dataset(platform, dataset.id)
    return checked.as_uploaded(dataset, task_ids)
