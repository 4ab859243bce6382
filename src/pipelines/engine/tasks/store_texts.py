"""Texts into the store, in slices that let others through. They are loose until something refers to them."""

from collections.abc import Iterable
from functools import partial

from pipelines.engine.platform import Platform
from pipelines.storage.tasks import texts
from pipelines.storage.tasks.texts import Text


async def store_texts(platform: Platform, bodies: Iterable[Text]) -> list[str]:
    """Those that were not there already: whoever refers to them keeps them (`texts.keep_texts`)."""
    by_hash = {text.hash: text for text in bodies}
    missing = await platform.database.read(partial(texts.missing_texts, hashes=by_hash))
    for slice in texts.slices_of(text for name, text in by_hash.items() if name in missing):
        await platform.database.write_part(partial(texts.add_parts, parts=slice, now=platform.now()))
    return sorted(missing)
