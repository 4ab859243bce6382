"""Which records an answer is about that its model was not shown: it changes one, describes one, or gives the
id of one that stands nowhere in what it was shown. A change counts only where the call has to do with the
type: any other is refused, since nobody asked for it.
"""

from collections.abc import Iterator
from itertools import islice

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.by_model.relevant import MOST_TYPES, EntityKey, ShownWorld
from pipelines.core.simulation.reply_check import described_records
from pipelines.core.text.json_text import Json, JsonObject

MOST_FOUND = 50  # more would not fit in one question
MOST_VALUES = 500  # of a reply: each is looked up in every type


def unshown_records(
    data: JsonObject, arguments: JsonObject, ledger: Ledger, shown: ShownWorld
) -> tuple[EntityKey, ...]:
    if shown.is_whole:
        return ()
    keys = [key for key in _updated(data["updates"]) if key[0] in shown.related]
    keys += [*described_records(data["response"], ledger)]
    keys += _newly_named(data["response"], arguments, ledger, shown)
    hidden = (key for key in dict.fromkeys(keys) if key not in shown.entities)
    return tuple(islice((key for key in hidden if ledger.get(*key) is not None), MOST_FOUND))


def _updated(updates: Json) -> Iterator[EntityKey]:
    for update in updates if isinstance(updates, list) else ():
        if isinstance(update, dict) and "id" in update:
            yield str(update["entity_type"]), str(update["id"])


def _newly_named(
    response: Json, arguments: JsonObject, ledger: Ledger, shown: ShownWorld
) -> Iterator[EntityKey]:
    """A reply may repeat the ids that its model read. Only texts: a number is seldom an id."""
    known = {*_texts(shown.world), *_texts(arguments)}
    types = ledger.entity_types()[:MOST_TYPES]
    for text in islice(_texts(response), MOST_VALUES):
        if text not in known:
            yield from ((kind, text) for kind in types)


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
