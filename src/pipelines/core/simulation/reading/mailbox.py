"""Messages that a service keeps as pairs of who and what: `inbox: [{"U7": "Hello"}, …]`."""

from pipelines.core.english.inflection import participle
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.shapes import Singleton
from pipelines.core.simulation.expr.make import (
    NULL,
    TRUE,
    Draft,
    arg,
    arithmetic,
    call,
    constant,
    is_equal,
    listed,
)
from pipelines.core.simulation.expr.nodes import Comprehension, Constant, Expr, Item, ListOf, Loop, Name
from pipelines.core.simulation.reading.replies import Source, reply
from pipelines.core.simulation.reading.steps import (
    Drafted,
    Step,
    dot,
    find_one,
    name_for,
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
    into = find_one(holder, service.entity_type, constant(service.id))
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


def _sent(reading: Reading, service: Singleton, into: Step, place: Expr) -> Drafted | None:
    receiver = _receiver(reading)
    said = next((one for one in reading.arguments if one.is_required and one is not receiver), None)
    if receiver is None or said is None:
        return None
    to = ListOf((arg(receiver.name),))  # as a key, `[args.receiver]` is the value and not the name
    steps: list[Step] = [into, {"append": {place: {to: arg(said.name)}}}]
    counted = counter_for(singular(reading.thing[-1]), service)
    if counted is not None:
        count = dot(name_for(service.entity_type), counted[0])
        steps.append({"set": {count: arithmetic(count, "+", Constant(1))}})
    done = participle(reading.name.verb)
    answer: Draft = {f"{done}_status": True, receiver.name: arg(receiver.name)}
    if reading.output:
        extra = {"status": constant(done), f"{done}_status": TRUE}
        source = Source(value=NULL, noun="message", fields={}, extra=extra)
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(*steps, {"return": answer}), confidence=0.6)


def _viewed(reading: Reading, into: Step, place: Expr) -> Drafted:
    """What was sent to whom, by receiver."""
    entry, who = Name("entry"), Name("who")
    to = call("first", call("keys", entry))
    sent = listed(Item(entry, who), "entry", place, is_equal(to, who))
    everyone = call("unique", listed(to, "entry", place))
    grouped = Comprehension("mapping", (who, sent), (Loop(("who",), everyone),))
    name = next(word for word in reading.name.nouns if singular(word) in _MESSAGES)
    answer: Draft = {name: grouped}
    if reading.output:
        source = Source(value=grouped, noun="message", fields={}, extra={name: grouped})
        answer = reply(source, reading.output, reading.arguments)
    return Drafted(steps=(into, {"return": answer}), confidence=0.6)
