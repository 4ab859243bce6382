"""The record a tool works on: found by its id, and checked against whatever other ids are given."""

from collections.abc import Sequence
from typing import Any

from pipelines.core.english.verbs import DONE_TO_OTHERS
from pipelines.core.english.words import singular
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.roles import field_at
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import arg
from pipelines.core.simulation.expr.nodes import Expr, Name
from pipelines.core.simulation.reading.replies import Source, find_path
from pipelines.core.simulation.reading.steps import (
    Bound,
    Step,
    bind,
    dot,
    find_reference,
    name_for,
    not_found,
    refers,
    require,
    same_id,
)
from pipelines.core.simulation.reading.targets import CONTAINER_WORDS, subject_of
from pipelines.core.simulation.reading.tool_reading import Reading


def record_of(reading: Reading) -> Bound | None:
    """The record that a tool's id argument picks."""
    found = reading.subject
    if found is None:
        return None
    return bind(found.collection, arg(found.id_argument.name), noun_of(found.collection))


def others_of(reading: Reading) -> list[Argument]:
    """The arguments beside the one that picks the record."""
    found = reading.subject
    return [one for one in reading.arguments if found is None or one is not found.id_argument]


def noun_of(collection: Collection) -> str:
    """What one record of a collection is called: order, job for a job_queue."""
    words = [word for word in collection.words if word not in CONTAINER_WORDS]
    return name_for(singular(words[-1]) if words else collection.name)


def source_of(collection: Collection, value: str | Expr, noun: str, id: Expr | None, **more: Any) -> Source:
    """A record of a collection, or a list of them, as what a reply is made of."""
    return Source(
        value=Name(value) if isinstance(value, str) else value,
        noun=noun,
        fields=collection.fields,
        id=id,
        own_names=collection.own_names,
        id_words=collection.id_words,
        id_is_number=collection.whole_number_keys,
        **more,
    )


def ownership(bound: Bound, others: Sequence[Argument], reading: Reading) -> list[Step]:
    """Further ids must belong together: get_line(customer_id, line_id) is refused for another's line."""
    steps: list[Step] = []
    for argument in others:
        if not (argument.id_noun and argument.is_scalar and argument.is_required):
            continue
        path = find_path(bound.collection.fields, argument.name)
        kept = field_at(bound.collection.fields, path) if path is not None else None
        if kept is not None and not reading.name.reads() and "null" in kept.kinds:
            # What may be there or not is what is being set: dispatch_crew(request_id, crew_id).
            steps += _there(reading, argument, bound)
            continue
        if path is not None and not bound.collection.fields[path[0]].keeps:
            if (
                reading.name.verb in DONE_TO_OTHERS
            ):  # like_post(post_id, user_id): whose post it is matters not
                steps += _there(reading, argument, bound)
                continue
            owned = same_id(dot(bound.noun, *path), arg(argument.name))
            steps.append(require(owned, not_found(bound.noun, bound.id)))
        else:
            steps += _there(reading, argument, bound)
    return steps


def _there(reading: Reading, argument: Argument, bound: Bound) -> list[Step]:
    other = subject_of(reading.name, [argument], reading.known, reading.service)
    if other is None or other.collection.form != "table" or other.collection.is_empty:
        return []
    if other.collection == bound.collection:
        return []  # ship(order_id, tracking_code): no order has that id
    noun = name_for(noun_of(other.collection), avoid=(bound.noun,))
    # A customer that lists its lines has no other: suspend_line(customer_id, line_id).
    lists = [link for link in other.collection.list_links if link.entity_type == bound.collection.entity_type]
    held = [require(refers(noun, one, bound.id), not_found(bound.noun, bound.id)) for one in lists[:1]]
    return [find_reference(noun, other.collection.entity_type, arg(argument.name)), *held]
