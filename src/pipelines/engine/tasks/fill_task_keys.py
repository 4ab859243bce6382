"""Keys for tasks that were stored by a release that had none, in slices, while the server works.

Their keys are those that the same rows get today, so that runs from before can be compared with new ones.
"""

import asyncio
import logging
from functools import partial

from pipelines.core.tasks.task_key import canonical_hash, content_hash, oracle_hash, tags_text
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.engine.platform import Platform
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import task_keys
from pipelines.storage.tasks.datasets import world_text
from pipelines.storage.tasks.task_keys import TaskName, UnnamedTask
from pipelines.storage.tasks.texts import texts_of

#: A larger world is read by a helper process: see docs/decisions/0013.
READ_HERE = 256 * 1024  # characters
READING_S = 30.0
log = logging.getLogger(__name__)


async def name_every_task(platform: Platform) -> int:
    """All that are left, dataset by dataset; how many datasets there were."""
    named = after = 0
    while True:
        found = await platform.database.read(partial(task_keys.dataset_to_name, after=after))
        if found is None:
            return named
        await name_dataset(platform, found)
        named, after = named + 1, found


async def name_dataset(platform: Platform, dataset_id: int) -> None:
    """Its tasks, a slice at a time, then the dataset itself."""
    worlds: dict[str, str] = {}  # canonical hashes: many tasks start from one world
    is_done = False
    while not is_done:
        tasks = await platform.database.read(partial(task_keys.unnamed_tasks, dataset_id=dataset_id))
        if tasks:
            names = await _names(platform, tasks, worlds)
            await platform.database.write_part(
                partial(task_keys.name_tasks, dataset_id=dataset_id, names=names)
            )
            continue
        content = await platform.database.read(partial(task_keys.content_of, dataset_id=dataset_id))
        change = partial(task_keys.finish_naming, dataset_id=dataset_id, content=content)
        is_done = await platform.database.write_part(change) or not await _is_unfinished(platform, dataset_id)


async def _is_unfinished(platform: Platform, dataset_id: int) -> bool:
    """Another node may have finished it."""
    found = await platform.database.read(partial(task_keys.dataset_to_name, after=dataset_id - 1))
    return found == dataset_id


async def _names(platform: Platform, tasks: list[UnnamedTask], worlds: dict[str, str]) -> list[TaskName]:
    def seeds(connection: Connection) -> dict[str, str]:
        return texts_of(connection, (task.seed_hash for task in tasks))

    for task in tasks:
        if task.world_hash is not None and task.world_hash not in worlds:
            worlds[task.world_hash] = await _world_hash(platform, task.org_id, task.world_hash)
    texts = await platform.database.read(seeds)
    return await asyncio.to_thread(lambda: [_name(task, texts[task.seed_hash], worlds) for task in tasks])


def _name(task: UnnamedTask, text: str, worlds: dict[str, str]) -> TaskName:
    seed = loads_own(text)
    body: JsonObject = seed if isinstance(seed, dict) else {}
    world = worlds[task.world_hash] if task.world_hash is not None else None
    return TaskName(task.id, content_hash(body, world), oracle_hash(body), tags_text(body))


async def _world_hash(platform: Platform, org_id: int, name: str) -> str:
    text = await platform.database.read(partial(world_text, name=name))
    if len(text) <= READ_HERE:
        return canonical_hash(loads_own(text))
    try:
        job = Job("canonical_hash", {}, READING_S, 1024)
        (found,) = await platform.upload_helpers.run(job, text.encode(), owner=org_id)
    except TookTooMuch:  # a world that cannot be read any more is only like itself
        log.warning("a world of %d characters could not be read for the key of its tasks", len(text))
        return name
    return found.decode()
