"""Tools whose effect is not clear: they are answered as reads, change nothing, and say so."""

from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.clauses import claim_of
from pipelines.core.simulation.reading.lookup import read_lookup
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading

SURENESS = 0.3  # below every threshold: each call of such a tool is a guess


def read_unclear(reading: Reading) -> Drafted:
    """The record that an id picks, where one is given; else no more than that the call came in."""
    is_told = claim_of(reading.tool.description).kind == "reads"
    picks = is_told or any(one.id_noun is not None for one in reading.arguments)
    found = read_lookup(reading) if picks else None
    steps = found.steps if found is not None else ({"return": _acknowledged(reading)},)
    note = (
        f"what `{reading.tool.name}` changes is not clear from its name and description: it changes nothing"
    )
    return Drafted(steps=steps, notes=(note,), confidence=SURENESS)


def _acknowledged(reading: Reading) -> Json:
    if not reading.output:
        return {"status": "'accepted'"}
    extra = {"status": "'accepted'", "message": "'accepted'"}  # not `success`: nothing was done
    source = Source(value="null", noun="result", fields={}, extra=extra)
    return reply(source, reading.output, reading.arguments)
