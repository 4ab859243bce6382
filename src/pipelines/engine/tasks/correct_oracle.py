"""Correcting a task's oracle: a new version of the task, checked whole as an upload is. Runs that were made
keep theirs, and can be judged by the new one."""

from functools import partial
from typing import NamedTuple

from pipelines.core.tasks.oracle_axes import Correction, oracle_in, read_correction
from pipelines.core.text.json_text import JsonObject
from pipelines.engine.find import task_in
from pipelines.engine.platform import Platform
from pipelines.engine.tasks.check_oracle import CheckedOracle, check_oracle
from pipelines.engine.tasks.fill_task_keys import name_dataset
from pipelines.engine.tasks.store_texts import store_texts
from pipelines.storage.database.connection import Connection
from pipelines.storage.tasks import oracles, texts
from pipelines.wire.errors import StorageUnavailable

MOST_TRIES = 5  # at a task whose oracle others keep changing


class Corrected(NamedTuple):
    version: int
    warnings: list[JsonObject]


async def correct_oracle(
    platform: Platform, org_id: int, task_id: int, who: str, body: JsonObject
) -> Corrected:
    """The version that the task has now. One that changes nothing makes no new version."""
    correction = read_correction(body)
    for _ in range(MOST_TRIES):
        checked = await check_oracle(platform, org_id, task_id, correction)
        found = checked.stored
        if checked.text.hash == found.task.seed_hash:
            return Corrected(found.version, checked.warnings)
        version = await _store(platform, checked, correction, correction.by or who)
        if version is not None:
            await name_dataset(platform, found.dataset.id)
            return Corrected(version, checked.warnings)
    raise StorageUnavailable("Others keep changing this oracle; try again.")


async def read_oracles(platform: Platform, org_id: int, task_id: int) -> list[JsonObject]:
    """Every version, newest first, with who changed it and why."""

    def read(connection: Connection) -> list[JsonObject]:
        task_in(connection, org_id, task_id)
        versions = oracles.versions_of_task(connection, task_id)
        seeds = texts.texts_of(connection, {version.seed_hash for version in versions})
        return [
            {
                "version": version.version,
                "by": version.changed_by,
                "note": version.note,
                "created_at": version.created_at,
                **oracle_in(seeds[version.seed_hash]),
            }
            for version in versions
        ]

    return await platform.database.read(read)


async def _store(platform: Platform, checked: CheckedOracle, asked: Correction, by: str) -> int | None:
    database, task = platform.database, checked.stored.task
    missing = await store_texts(platform, [checked.text])
    change = partial(
        oracles.add_version,
        task_id=task.id,
        before=task.seed_hash,
        after=checked.text.hash,
        oracle_hash=checked.oracle_hash,
        note=asked.note,
        by=by,
        now=platform.now(),
    )
    version = await database.write(change)
    if missing and version is not None:
        await database.write_part(partial(texts.keep_texts, hashes=missing))
    return version
