"""Records that have to do with another one only through a third: the stays of a keeper's dogs, the tools that
a borrower has (of which lendings tell)."""

from collections.abc import Iterator

from pipelines.core.english.states import FINAL
from pipelines.core.english.words import joined, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.roles import states_of, status_path
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import all_of, arg, compare, constant, entities, entity, is_null
from pipelines.core.simulation.expr.nodes import Compare, Expr
from pipelines.core.simulation.reading.restrictions import stated_in
from pipelines.core.simulation.reading.scope import kind_of_field
from pipelines.core.simulation.reading.steps import dot, refers, some
from pipelines.core.simulation.reading.targets import subject_of
from pipelines.core.simulation.reading.tool_reading import Reading

_EVER = word_set("history ever past all previous")


def through_a_third(reading: Reading, collection: Collection, each: str, argument: Argument) -> Expr | None:
    """That a record called `each` has to do with what the argument picks; None unless one way leads there."""
    found = subject_of(reading.name, [argument], reading.known, reading.service)
    if found is None or found.collection.form != "table" or found.collection == collection:
        return None
    ways = [*_ways(reading, collection, each, found.collection, arg(argument.name))]
    return ways[0] if len(ways) == 1 else None


def _ways(reading: Reading, collection: Collection, each: str, other: Collection, id: Expr) -> Iterator[Expr]:
    for third in reading.known.tables.values():
        if third.entity_type in (collection.entity_type, other.entity_type):
            continue
        ends = [link for link in (*third.links, *third.list_links) if link.entity_type == other.entity_type]
        into = [link for link in collection.links if link.entity_type == third.entity_type]
        if len(ends) == 1 and len(into) == 1:
            yield refers(entity(third.entity_type, dot(each, *into[0].path)), ends[0], id)
        back = [link for link in third.links if link.entity_type == collection.entity_type]
        if len(ends) == 1 and len(back) == 1 and not into:
            both = [
                refers("third", back[0], dot(each, "id")),
                refers("third", ends[0], id),
                *_still(reading, third),
            ]
            yield some(all_of(*both), "third", entities(third.entity_type))


def _still(reading: Reading, third: Collection) -> list[Expr]:
    """Only what goes on, where a record has one time that is blank until it is over."""
    if _EVER & {*tokens(reading.said.summary.lower()), *tokens(reading.tool.name)}:
        return []
    status = status_path(third.fields)
    said = [] if status is None else stated_in(tokens(reading.said.summary.lower()), third, "third")
    place = dot("third", *(status or ()))
    said = [one for one in said if isinstance(one, Compare) and one.first == place]
    over = [one for one in states_of(third.fields, status) if joined(tokens(one)) in FINAL]
    if said or (status is not None and over):
        return said or [compare(place, "not in", constant([*over]))]
    blanks = [
        name for name, one in third.fields.items() if "null" in one.kinds and kind_of_field(one) == "time"
    ]
    return [is_null(dot("third", blanks[0]))] if len(blanks) == 1 else []
