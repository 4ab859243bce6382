"""Changes that were drafted and are too far-fetched to be made: what the tool changes is then not clear."""

from collections.abc import Iterator, Sequence

from pipelines.core.english.stems import stem
from pipelines.core.english.words import is_plural, tokens
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.expr.make import Draft, arg
from pipelines.core.simulation.expr.nodes import path_of
from pipelines.core.simulation.reading.lookup import is_only_spoken_of
from pipelines.core.simulation.reading.steps import Step
from pipelines.core.simulation.reading.tool_reading import Reading


def is_doubtful(reading: Reading, steps: Sequence[Step]) -> bool:
    """A new record of which the call says nothing, or one where the call names several; a change of nothing
    but one record, where the call need not say which, or into a place that no record has and no word of the
    tool speaks of (`advance_case(case_id, step)`, where cases have no step)."""
    if not reading.arguments and _adds_to_others(reading, steps):
        return True
    if any(_is_several_in_one(reading, step) for step in steps):
        return True
    about = reading.subject
    written = dict(_written(steps))
    if about is None or not written or reading.name.reads():
        return False
    if is_only_spoken_of(about.collection) and not reading.known.is_empty:
        return True  # nothing of the kind is there, and no tool makes any
    if any(op in step for step in steps for op in ("add", "append", "remove", "for")):
        return False
    if not about.id_argument.is_required and any(one.is_required for one in reading.arguments):
        return True
    given = {arg(one.name) for one in reading.arguments}
    said = set(map(stem, tokens(f"{reading.tool.name} {reading.tool.description or ''}")))
    return all(
        value in given
        and place[0] not in about.collection.fields
        and said.isdisjoint(stem(word) for name in place for word in tokens(name))
        for place, value in written.items()
    )


def _adds_to_others(reading: Reading, steps: Sequence[Step]) -> bool:
    """One more of what is there already, of which nothing is known."""
    added = [step["add"] for step in steps if "add" in step]
    tables = (reading.known.tables.get(str(one.get("in"))) for one in added if isinstance(one, dict))
    return any(table is not None and not table.is_empty and len(table.fields) > 1 for table in tables)


def _is_several_in_one(reading: Reading, step: Step) -> bool:
    """`open_nodes(names)`: one node whose name is a list of names. What is picked by them is not made."""
    added = step.get("add")
    attrs = added.get("attrs") if isinstance(added, dict) else None
    if not isinstance(attrs, dict) or not (reading.name.nouns and is_plural(reading.name.nouns[-1])):
        return False
    taken = [one for one in reading.arguments if any(value == arg(one.name) for value in attrs.values())]
    return bool(taken) and all(one.kind == "list" and _holds_scalars(one) for one in taken)


def _holds_scalars(argument: Argument) -> bool:
    items = argument.schema.get("items")
    return isinstance(items, dict) and items.get("type") in ("string", "integer", "number")


def _written(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, ...], Draft]]:
    """Places of the record, and what is set there."""
    for step in steps:
        sets = step.get("set")
        for name, value in sets.items() if isinstance(sets, dict) else ():
            place = path_of(name)
            yield place.keys if place is not None and place.keys else ("",), value
