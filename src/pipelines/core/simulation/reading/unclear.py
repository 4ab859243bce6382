"""Tools whose effect is not clear: they are answered as reads, change nothing, and say so."""

from dataclasses import replace

from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.expr.make import NULL, Draft, constant
from pipelines.core.simulation.reading.lookup import read_lookup
from pipelines.core.simulation.reading.records import is_only_spoken_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading

SURENESS = 0.3  # below every threshold: each call of such a tool is a guess


def read_unclear(reading: Reading) -> Drafted:
    """The record that an id picks, where one is given; else no more than that the call came in."""
    about = reading.subject
    if about is not None and is_only_spoken_of(about.collection) and about.id_argument.words[-1] != "id":
        # chart_action(patient_id, action_code): a code of nothing that is there picks no record.
        rest = tuple(one for one in reading.arguments if one is not about.id_argument)
        reading = replace(reading, arguments=rest)
    is_told = claim_of(reading.tool.description).kind == "reads"
    picks = is_told or any(one.id_noun is not None for one in reading.arguments)
    found = read_lookup(reading) if picks else None
    steps = found.steps if found is not None else ({"return": _acknowledged(reading)},)
    note = (
        f"what `{reading.tool.name}` changes is not clear from its name and description: it changes nothing"
    )
    return Drafted(steps=steps, notes=(note,), confidence=SURENESS)


def _acknowledged(reading: Reading) -> Draft:
    accepted = constant("accepted")
    if not reading.output:
        return {"status": accepted}
    extra = {"status": accepted, "message": accepted}  # not `success`: nothing was done
    source = Source(value=NULL, noun="result", fields={}, extra=extra)
    return reply(source, reading.output, reading.arguments)
