"""Questions with yes or no for an answer: verify_identity, check_password."""

from pipelines.core.english.inflection import participle
from pipelines.core.json_text import Json
from pipelines.core.simulation.reading.filters import condition_of, field_for
from pipelines.core.simulation.reading.records import others_of, record_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading


def read_check(reading: Reading) -> Drafted | None:
    """A record by id, and whether what else is given is true of it."""
    if reading.name.op != "check" or reading.name.verb == "check":
        return None
    bound = record_of(reading)
    if bound is None:
        return None
    said = [one for one in others_of(reading) if field_for(one, bound.collection) is not None]
    conditions = [found for one in said if (found := condition_of(one, bound.noun, bound.collection))]
    if not conditions:
        return None
    held = " and ".join(conditions)
    done = participle(reading.name.verb)
    answer: Json = {done: held}
    if reading.output:
        extra = dict.fromkeys((done, "valid", "result", "match", "matches", "success"), held)
        answer = reply(
            Source(value=held, noun=bound.noun, fields={}, id=bound.id, extra=extra),
            reading.output,
            reading.arguments,
        )
    return Drafted(steps=(*bound.steps, {"return": answer}), confidence=0.75)
