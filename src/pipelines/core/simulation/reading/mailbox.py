"""Messages that a service keeps as pairs of who and what: `inbox: [{"U7": "Hello"}, …]`."""

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Singleton
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    arg,
    dot,
    find_one,
    name_for,
    text,
)
from pipelines.core.simulation.reading.tool_reading import Reading
from pipelines.core.simulation.reading.writing import counter_for

_BOXES = word_set("inbox outbox mailbox message sent mail")
_MESSAGES = word_set("message mail email text note")


def read_mailbox(reading: Reading) -> Drafted | None:
    """Sending and viewing messages of a service with such a box; None for any other tool."""
    service = reading.service
    spoken = {singular(word) for word in reading.name.nouns}
    if service is None or not spoken & _MESSAGES:
        return None
    box = _box(service)
    if box is None:
        return None
    holder = name_for(service.entity_type)
    into = find_one(holder, service.entity_type, text(service.id))
    place = dot(holder, box)
    if reading.name.op == "notify":
        return _sent(reading, service, into, place)
    if reading.name.reads() and not reading.arguments:
        return _viewed(reading, into, place)
    return None


def _box(service: Singleton) -> str | None:
    """A list of pairs; an empty one if it is called as a mailbox is."""
    return next(
        (
            name
            for name, field in service.fields.items()
            if field.keeps == "list"
            and (field.of_pairs or (field.is_empty and singular(tokens(name)[-1]) in _BOXES))
        ),
        None,
    )


def _receiver(reading: Reading) -> Argument | None:
    return next((one for one in reading.arguments if one.is_required and one.id_noun is not None), None)


def _sent(reading: Reading, service: Singleton, into: Step, place: str) -> Drafted | None:
    receiver = _receiver(reading)
    said = next((one for one in reading.arguments if one.is_required and one is not receiver), None)
    if receiver is None or said is None:
        return None
    steps: list[Step] = [into, {"append": {place: {f"[{arg(receiver.name)}]": arg(said.name)}}}]
    counted = counter_for(singular(reading.thing[-1]), service)
    if counted is not None:
        count = dot(name_for(service.entity_type), counted[0])
        steps.append({"set": {count: f"{count} + 1"}})
    done = participle(reading.name.verb)
    answer: Json = {f"{done}_status": True, receiver.name: arg(receiver.name)}
    if reading.output:
        extra = {"status": text(done), f"{done}_status": "true"}
        source = Source(value="null", noun="message", fields={}, extra=extra)
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(*steps, {"return": answer}), confidence=0.6)


def _viewed(reading: Reading, into: Step, place: str) -> Drafted:
    """What was sent to whom, by receiver."""
    to = "first(keys(entry))"
    sent = f"[entry[who] for entry in {place} if {to} == who]"
    grouped = f"{{who: {sent} for who in unique([{to} for entry in {place}])}}"
    name = next(word for word in reading.name.nouns if singular(word) in _MESSAGES)
    answer: Json = {name: grouped}
    if reading.output:
        source = Source(value=grouped, noun="message", fields={}, extra={name: grouped})
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(into, {"return": answer}), confidence=0.6)
