"""Large changes that were cut off between two of their slices: finished, or taken back.

An upload or a batch of which nobody was told is removed; a batch that was cancelled is cancelled to its end.
"""

from datetime import datetime, timedelta
from functools import partial

from pipelines.engine.change_batch import cancel_runs, remove_batch
from pipelines.engine.platform import Platform, timestamp
from pipelines.storage import batches, texts
from pipelines.storage.connection import Connection
from pipelines.storage.runs import NEVER
from pipelines.storage.texts import REMOVED_AT_ONCE

#: Without a slice for so long, whoever stored them is gone. Should it not be, it is told to try again.
SILENT_S = 600


async def finish_changes(platform: Platform, *, at_start: bool) -> None:
    """At a start everything is looked for; later, on a database that many share, what others left."""
    alone = platform.database.is_alone
    if alone and not at_start:
        return
    before = NEVER if alone else _ago(platform)
    for batch_id in await platform.database.read(partial(batches.half_stored_batches, before=before)):
        await remove_batch(platform, batch_id, before=before)
    if at_start:
        await _remove_texts(platform, before)
        for batch_id in await platform.database.read(batches.half_cancelled_batches):
            async for _ in cancel_runs(platform, batch_id):
                pass


async def _remove_texts(platform: Platform, before: str) -> None:
    loose = await platform.database.read(partial(texts.loose_texts, before=before))
    for start in range(0, len(loose), REMOVED_AT_ONCE):
        some = loose[start : start + REMOVED_AT_ONCE]

        def remove(connection: Connection, some: list[str] = some) -> None:
            texts.remove_loose(connection, some, before=before)

        await platform.database.write_part(remove)


def _ago(platform: Platform) -> str:
    return timestamp(datetime.fromisoformat(platform.now()) - timedelta(seconds=SILENT_S))
