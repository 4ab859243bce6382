"""The next free id of each type, as a plan that adds a record would draw it."""

from pipelines.core.ledger.ledger import Ledger
from pipelines.core.simulation.by_model.relevant import LARGEST_INDEXED, MOST_TYPES
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.library.world import next_id
from pipelines.core.simulation.simulator import Moment
from pipelines.core.text.json_text import JsonObject


def next_ids(arguments: JsonObject, ledger: Ledger, moment: Moment) -> JsonObject:
    """Not of a type so large that reading its ids would hold up other calls."""
    kinds = ledger.entity_types()[:MOST_TYPES]
    return {
        kind: next_id(Call(arguments, ledger, moment), kind)
        for kind in kinds
        if len(ledger.world.entities.get(kind, ())) <= LARGEST_INDEXED
    }
