"""What is tried for a value of each kind, in order."""

from collections.abc import Mapping, Sequence

from pipelines.core.simulation.learning.drawn import drawn_number, drawn_text
from pipelines.core.simulation.learning.lists import appended, looked_through, single_elements
from pipelines.core.simulation.learning.numbers import arithmetic
from pipelines.core.simulation.learning.records import entries_given, field_by_field, from_another
from pipelines.core.simulation.learning.search import Maker
from pipelines.core.simulation.learning.texts import template, written_out

MAKERS: Mapping[str, Sequence[Maker]] = {
    "number": (arithmetic, drawn_number),
    "text": (written_out, template, drawn_text),
    "record": (field_by_field, from_another, entries_given),
    "list": (appended, looked_through, single_elements),
}
