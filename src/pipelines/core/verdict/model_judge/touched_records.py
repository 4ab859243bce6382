"""The records that a run changed, or that its calls and replies name: as they were before, and after.

A reader needs both sides: a reply tells what a backend chose to say, a record tells what was so.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from pipelines.core.ledger.ledger import Attributes
from pipelines.core.text.json_text import Json
from pipelines.core.verdict.changes import changes
from pipelines.core.verdict.evidence import RunEvidence

MOST_TOUCHED = 200
MOST_VALUES = 2_000  # of all calls and replies that are looked up as ids
LONGEST_ID = 200
MOST_TYPES = 100


class TouchedRecord(NamedTuple):
    kind: str
    id: str
    before: Attributes | None
    after: Attributes | None

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


def touched_records(evidence: RunEvidence) -> list[TouchedRecord]:
    """Those that changed first, then in the order in which the run names them."""
    changed = ((change.path[0], change.path[1]) for change in changes(evidence) if len(change.path) > 1)
    keys = dict.fromkeys([*changed, *_named_records(evidence)])
    found = (
        TouchedRecord(kind, id, evidence.world.entities.get(kind, {}).get(id), evidence.after.get(kind, id))
        for kind, id in keys
    )
    return [*islice(found, MOST_TOUCHED)]


def _named_records(evidence: RunEvidence) -> Iterator[tuple[str, str]]:
    types = evidence.after.entity_types()[:MOST_TYPES]
    for value in islice(_values_of_calls(evidence), MOST_VALUES):
        if len(value) <= LONGEST_ID:
            yield from (
                (kind, id) for kind in types if (id := evidence.after.resolve_id(kind, value)) is not None
            )
            yield from ((kind, value) for kind in types if value in evidence.world.entities.get(kind, ()))


def _values_of_calls(evidence: RunEvidence) -> Iterator[str]:
    """Arguments as text: an id may be given as a number. Of a reply only texts: its numbers are amounts."""
    for row in evidence.calls:
        evidence.keep_going()
        yield from (str(value) for value in _scalars(row.arguments))
        yield from (value for value in _scalars(row.response) if isinstance(value, str))


def _scalars(value: Json) -> Iterator[str | int]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _scalars(part)
    elif isinstance(value, list):
        for part in value:
            yield from _scalars(part)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield value
