"""Parts of a record that arguments name by id: the items of an order, the passengers of a booking."""

from pipelines.core.english.words import singulars, tokens
from pipelines.core.simulation.domain.arguments import Argument, is_list_of_ids, part_noun
from pipelines.core.simulation.domain.shapes import Field
from pipelines.core.simulation.reading.steps import Bound, Step, arg, dot, not_found, require
from pipelines.core.simulation.reading.tool_reading import Reading


def known_parts(reading: Reading, bound: Bound) -> list[Step]:
    """Ids of parts must be parts of this very record: unknown ones are a 404."""
    steps: list[Step] = []
    for argument in reading.arguments:
        found = parts_named(argument, bound)
        if found is None or argument.words[0] in ("new", "replacement", "added"):
            continue
        name, field, key = found
        ids = arg(argument.name)
        held = dot(bound.noun, name)
        ids_held = f"keys({held})" if field.keeps == "map" else f"[part.{key} for part in {held}]"
        condition = f"all(count({ids}, id) <= count({ids_held}, id) for id in {ids})"
        steps.append(require(condition, not_found(part_noun(argument))))
    return steps


def parts_named(argument: Argument, bound: Bound) -> tuple[str, Field, str] | None:
    """The collection inside the record that a list of ids names: (field, its shape, the id's field)."""
    if not is_list_of_ids(argument):
        return None
    noun = part_noun(argument)
    for name, field in bound.collection.fields.items():
        if field.keeps is not None and field.of_records and noun in singulars(tokens(name)):
            key = f"{noun}_id" if f"{noun}_id" in field.parts else field.id_field
            if key is not None or field.keeps == "map":
                return name, field, key or "id"
    return None
