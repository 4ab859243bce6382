"""Large changes that were cut off between two of their slices: finished, or taken back.

An upload or a batch of which nobody was told is removed; a batch that was cancelled is cancelled to its end,
and an import that was stored is judged.
"""

from datetime import datetime, timedelta
from functools import partial

from pipelines.engine.batches.change_batch import cancel_runs, remove_batch
from pipelines.engine.batches.import_runs import judge_unjudged
from pipelines.engine.batches.store_matrix import remove_half_stored
from pipelines.engine.endpoints.prepare_cassette import remove_cassette
from pipelines.engine.platform import Platform, timestamp
from pipelines.storage.agents import cassettes
from pipelines.storage.database.database import Database
from pipelines.storage.runs import batches
from pipelines.storage.runs.runs import NEVER
from pipelines.storage.tasks import texts
from pipelines.storage.tasks.texts import SLICE_ROWS

#: Without a slice for so long, whoever stored a batch is gone. Should it not be, it is told to try again.
BATCH_SILENT_S = 600
#: Of an upload's texts nobody is told so: hence longer than any upload takes, also by clocks that differ.
TEXTS_SILENT_S = 24 * 3600


async def finish_changes(platform: Platform, *, at_start: bool) -> None:
    """At a start everything is looked for; later, on a database that many share, what others left."""
    alone = platform.database.is_alone
    if alone and not at_start:
        return
    before = NEVER if alone else _ago(platform, BATCH_SILENT_S)
    for batch_id in await platform.database.read(partial(batches.half_stored_batches, before=before)):
        await remove_batch(platform, batch_id, before=before)
    await remove_half_stored(platform, before=before)
    for cassette_id in await platform.database.read(partial(cassettes.nameless_cassettes, before=before)):
        await remove_cassette(platform, cassette_id)
    if at_start:
        await remove_loose_texts(platform.database, NEVER if alone else _ago(platform, TEXTS_SILENT_S))
        await judge_unjudged(platform)
        for batch_id in await platform.database.read(batches.half_cancelled_batches):
            async for _ in cancel_runs(platform, batch_id):
                pass


async def remove_loose_texts(database: Database, before: str) -> None:
    """What uploads left behind; of one that had only to say that its texts stay, they stay."""
    loose = await database.read(partial(texts.loose_texts, before=before))
    for start in range(0, len(loose), SLICE_ROWS):
        some = loose[start : start + SLICE_ROWS]
        kept = await database.read(partial(texts.texts_in_use, hashes=some))
        await database.write_part(partial(texts.keep_texts, hashes=sorted(kept)))
        unused = [name for name in some if name not in kept]
        await database.write_part(partial(texts.remove_texts, hashes=unused, before=before))


def _ago(platform: Platform, seconds: float) -> str:
    return timestamp(datetime.fromisoformat(platform.now()) - timedelta(seconds=seconds))
