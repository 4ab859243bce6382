"""Records that leave: delete, remove, clear."""

from dataclasses import replace

from pipelines.core.english.inflection import participle
from pipelines.core.simulation.expr.make import TRUE, Draft, constant
from pipelines.core.simulation.expr.nodes import Name
from pipelines.core.simulation.reading.records import others_of, ownership, record_of, source_of
from pipelines.core.simulation.reading.replies import reply
from pipelines.core.simulation.reading.steps import Bound, Drafted, Step
from pipelines.core.simulation.reading.tool_reading import Reading


def read_delete(reading: Reading) -> Drafted | None:
    bound = record_of(reading)
    if bound is None:
        return None
    steps: list[Step] = [
        *bound.steps,
        *ownership(bound, others_of(reading), reading),
        {"let": {"gone_id": bound.id}},
        {"remove": bound.noun},
        {"return": _reply(reading, bound)},
    ]
    return Drafted(steps=tuple(steps), confidence=0.85)


def _reply(reading: Reading, bound: Bound) -> Draft:
    key = bound.collection.id_field or f"{bound.noun}_id"
    key = key if key != "id" else f"{bound.noun}_id"
    done, gone_id = participle(reading.name.verb), Name("gone_id")
    if reading.output:
        extra = {done: TRUE, "status": constant(done), key: gone_id, "id": gone_id}
        source = replace(source_of(bound.collection, gone_id, bound.noun, gone_id, extra=extra), fields={})
        return reply(source, reading.output, reading.arguments)
    return {key: gone_id, "status": constant(done)}
