"""Handing over to people: nothing in the world changes, the caller is told it was done."""

from pipelines.core.english.words import word_set
from pipelines.core.simulation.expr.make import NULL, TRUE, Draft, constant
from pipelines.core.simulation.reading.records import record_of
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import Drafted
from pipelines.core.simulation.reading.tool_reading import Reading

_PEOPLE = word_set(
    "human agent agents humans operator representative support person supervisor specialist staff"
)


def read_handoff(reading: Reading) -> Drafted | None:
    """`transfer_to_human(summary)`, `escalate_to_operator`."""
    to = {*reading.name.complement("to"), *reading.name.nouns}
    people = to & _PEOPLE
    is_handoff = reading.name.op == "handoff" or (
        reading.name.verb in ("transfer", "escalate", "forward", "connect", "route")
        and people & {"human", "humans", "operator", "representative", "agent", "agents", "person"}
    )
    if not is_handoff or reading.collection is not None:
        return None
    done = constant(f"{reading.name.verb.capitalize()} successful")
    if reading.output:
        extra = {"status": done, "message": done, "result": done}
        value = reply(
            Source(value=done, noun="handoff", fields={}, extra=extra), reading.output, reading.arguments
        )
    else:
        value = {"status": done} if reading.answers_in_objects else done
    return Drafted(steps=({"return": value},), confidence=0.8)


_TOLD = "the reply says that it was sent: nothing is kept of it, since the world has no place for it"


def read_told(reading: Reading) -> Drafted | None:
    """`notify_client(client_id, message)`: somebody who is there is told something; nothing is kept of it."""
    bound = record_of(reading)
    if bound is None:
        return None
    sent = constant("sent")
    slots = {"status": sent, "message": sent, "success": TRUE, "sent": TRUE}
    source = Source(value=NULL, noun="result", fields={}, extra=slots)
    answer: Draft = {"status": sent}
    if reading.output:
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(*bound.steps, {"return": answer}), notes=(_TOLD,), confidence=0.8)
