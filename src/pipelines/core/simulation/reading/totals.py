"""Numbers over records: how many there are, in all or of those asked for, and what one of their numbers adds
up to, or is on average. Which records, the listing says; which number, the words do."""

from itertools import pairwise

from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import NULL, call, listed
from pipelines.core.simulation.expr.nodes import Constant, Expr, Name
from pipelines.core.simulation.reading.listing import asked_collection, gathered
from pipelines.core.simulation.reading.records import nouns_of, stems
from pipelines.core.simulation.reading.replies import Source, properties_of, reply
from pipelines.core.simulation.reading.steps import Drafted, dot
from pipelines.core.simulation.reading.tool_reading import Reading

_COUNTS = word_set("count headcount tally")
_HOW_MANY = {("number", "of"), ("how", "many"), ("how", "often")}
_SUMS = word_set("sum total totals altogether overall combined")
_MEANS = word_set("average mean")
_OPENING = 6  # words of a description in which it says that something is counted or added up
_ECHOED = ("string",)
_SAYS_LITTLE = word_set("total sum count number amount value all over result answer average mean of the")


def read_total(reading: Reading) -> Drafted | None:
    how = _asked_how(reading)
    slot = _slot(reading)
    collection = asked_collection(reading, of_many=True) if how is not None and slot is not None else None
    if collection is None or slot is None or not collection.of_records:
        return None
    if reading.subject is not None and reading.subject.collection == collection:
        return None
    steps, found, conditions = gathered(reading, collection)
    value: Expr = call("len", Name(found))
    if how != "count":
        number = _number_of(reading, collection, slot)
        if number is None:
            return None
        each = listed(dot("each", *number), "each", Name(found))
        value = call("round", call("mean" if how == "mean" else "sum", each), Constant(2))
    source = Source(value=NULL, noun="result", fields={}, extra={slot: value})
    answer = reply(source, reading.output, reading.arguments) if reading.output else {slot: value}
    note = f"`{slot}` is worked out as `{value}`, by the words of its name and description"
    return Drafted(
        steps=(*steps, {"return": answer}),
        notes=(*conditions.notes(), note),
        confidence=0.8 if not conditions.ignored else 0.4,
    )


def _asked_how(reading: Reading) -> str | None:
    """A count, a sum or a mean: by the name, then by how the description begins."""
    if reading.name.op == "count":
        return "count"
    if reading.name.op in ("list", "search"):
        return None
    for words in (tokens(reading.tool.name), tokens(reading.said.summary.lower())[:_OPENING]):
        if _MEANS & {*words}:
            return "mean"
        if _COUNTS & {*words} or _HOW_MANY & {*pairwise(words)}:
            return "count"
        if _SUMS & {*words}:
            return "sum"
    return None


def _slot(reading: Reading) -> str | None:
    """The one number that the reply asks for beside what is given back."""
    if not reading.output:
        return "count" if _asked_how(reading) == "count" else "_".join(reading.name.nouns) or "result"
    given = {one.name for one in reading.arguments}
    properties = properties_of(reading.output)
    slots = {name: one for name, one in properties.items() if name not in given and isinstance(one, dict)}
    numbers = [name for name, one in slots.items() if one.get("type") in ("integer", "number")]
    others = [name for name, one in slots.items() if name not in numbers and one.get("type") not in _ECHOED]
    return numbers[0] if len(numbers) == 1 and not others else None


def _number_of(reading: Reading, collection: Collection, slot: str) -> tuple[str, ...] | None:
    """The number of each that the words name, or the only one there is."""
    links = {link.path for link in collection.links}
    numbers = [
        (name,)
        for name, one in collection.fields.items()
        if "number" in one.kinds and (name,) not in links and name != collection.id_field
    ]
    words = (*tokens(slot), *tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
    spoken = stems(word for word in words if word not in _SAYS_LITTLE)
    met = {path: len(stems(tokens(path[0])) & spoken) / len(stems(tokens(path[0]))) for path in numbers}
    best = max(met.values(), default=0.0)
    fit = [path for path, share in met.items() if share == best]
    is_plain = best > 0 or bool(nouns_of(collection) & spoken)
    return fit[0] if len(fit) == 1 and is_plain else None
