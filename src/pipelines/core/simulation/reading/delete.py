"""Records that leave: delete, remove, clear."""

from dataclasses import replace

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import singulars, tokens
from pipelines.core.json_text import Json
from pipelines.core.simulation.reading.records import others_of, ownership, record_of, source_of
from pipelines.core.simulation.reading.replies import reply
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step, dot
from pipelines.core.simulation.reading.tool_reading import Reading


def read_delete(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None:
        return None
    unlisted = _unlisted(reading, bound)
    notes = ("whatever lists the id of the record no longer does",) if unlisted else ()
    steps: list[Step] = [
        *bound.steps,
        *ownership(bound, others_of(reading), reading),
        {"let": {"gone_id": bound.id}},
        *unlisted,
        {"remove": bound.noun},
        {"return": _reply(reading, bound)},
    ]
    return Drafted(steps=tuple(steps), notes=notes, confidence=0.85)


def _unlisted(reading: Reading, bound: Bound) -> list[Step]:
    """Whoever lists the record's id no longer does: user.orders when an order goes."""
    for name in bound.collection.fields:
        owner = next(
            (table for table in reading.known.tables.values() if _refers_to(name, table.words)), None
        )
        if owner is None or owner == bound.collection:
            continue
        listed = next(
            (
                field
                for field, shape in owner.fields.items()
                if shape.keeps == "list" and not shape.of_records and bound.noun in singulars(tokens(field))
            ),
            None,
        )
        if listed is not None:
            holder = f"its_{singulars(owner.words)[-1]}"
            place = dot(holder, listed)
            return [
                {
                    "find": {
                        "as": holder,
                        "in": owner.entity_type,
                        "id": dot(bound.noun, name),
                        "optional": True,
                    }
                },
                {
                    "if": f"{holder} != null",
                    "then": [{"set": {place: f"[one for one in {place} if one != gone_id]"}}],
                },
            ]
    return []


def _refers_to(name: str, words: tuple[str, ...]) -> bool:
    return singulars(tokens(name)) == (*words[-1:], "id")


def _reply(reading: Reading, bound: Bound) -> Json:
    key = bound.collection.id_field or f"{bound.noun}_id"
    key = key if key != "id" else f"{bound.noun}_id"
    done = participle(reading.name.verb)
    if reading.output:
        extra = {done: "true", "status": repr(done), key: "gone_id", "id": "gone_id"}
        source = replace(
            source_of(bound.collection, "gone_id", bound.noun, "gone_id", extra=extra), fields={}
        )
        return reply(source, reading.output, reading.arguments)
    return {key: "gone_id", "status": repr(done)}
