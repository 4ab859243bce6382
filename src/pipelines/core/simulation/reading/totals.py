"""Numbers over several records: "Number of applications for an opening", "Total hours somebody has logged".

Nothing is added up that a record keeps itself; and where no number of the records answers to the words, the
sum is not made up here.
"""

from collections.abc import Mapping
from itertools import pairwise

from pipelines.core.english.stems import stem
from pipelines.core.english.words import singular, tokens, word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.reading.asked import asked_collection, is_spoken_of
from pipelines.core.simulation.reading.differences import differences
from pipelines.core.simulation.reading.listing import gathered
from pipelines.core.simulation.reading.lookup import part_asked
from pipelines.core.simulation.reading.records import record_of
from pipelines.core.simulation.reading.replies import Source, find_path, properties_of, reply
from pipelines.core.simulation.reading.steps import Drafted, dot
from pipelines.core.simulation.reading.tool_reading import Reading

_COUNTS = word_set("count headcount tally")
_HOW_MANY = {("number", "of"), ("how", "many")}
_SUMS = word_set("sum total totals altogether overall combined adds add up")
_MEANS = word_set("average mean")
_NUMBERS = ("integer", "number")
_GENERIC = word_set("total sum count number amount value all over")


def read_total(reading: Reading) -> Drafted | None:
    how = _asked_how(reading)
    if how is None or _is_kept(reading):
        return None
    collection = asked_collection(reading, of_many=True)
    if (
        collection is None
        or collection.form != "table"
        or collection.is_empty
        or _is_picked(reading, collection)
    ):
        return None
    if how == "count" and not is_spoken_of(reading, collection):
        return None  # "How many times the member came in": of what there would be many is not said
    name = _answered_in(reading)
    if reading.output and name is None:
        return None
    steps, found, asked = gathered(reading, collection)
    value = f"len({found})"
    if how != "count":
        field = _summed(reading, collection, name)
        if field is None:
            return None
        numbers = f"[{dot('each', field)} for each in {found} if {dot('each', field)} != null]"
        value = f"round({'mean' if how == 'mean' else 'sum'}({numbers}), 2)"
    answer: Json = {"count" if how == "count" else "total": value}
    if reading.output and name is not None:
        source = Source(value=value, noun="result", fields={}, extra={name: value})
        answer = reply(source, reading.output, reading.arguments)
    confidence = 0.8 if not asked.ignored else 0.6
    return Drafted(steps=(*steps, {"return": answer}), notes=asked.notes(), confidence=confidence)


def _asked_how(reading: Reading) -> str | None:
    """By the name, then by how the description begins."""
    if reading.name.op == "count":
        return "count"
    for words in (tokens(reading.tool.name), tokens(reading.said.summary)[:6]):
        spoken = {*words}
        if spoken & _MEANS:
            return "mean"
        if spoken & _SUMS - {"up", "add", "adds"} or {"up"} < spoken & {"add", "adds", "up"}:
            return "sum"
        if spoken & _COUNTS or _HOW_MANY & {*pairwise(words)}:
            return "count"
    return None


def _is_kept(reading: Reading) -> bool:
    """The record that an id picks has the number itself: order_total(order_id)."""
    bound = record_of(reading)
    if bound is None:
        return False
    fields = bound.collection.fields
    if differences(reading, bound):
        return True
    if not reading.output:
        return part_asked(reading, bound) is not None
    return all(find_path(fields, name) is not None for name in _numbers(reading.output))


def _is_picked(reading: Reading, collection: Collection) -> bool:
    bound = record_of(reading)
    return bound is not None and bound.collection == collection and reading.picks_own()


def _numbers(output: Mapping[str, Json]) -> list[str]:
    return [
        name
        for name, part in properties_of(output).items()
        if isinstance(part, dict) and part.get("type") in _NUMBERS
    ]


def _answered_in(reading: Reading) -> str | None:
    """The property of the reply that is the number: the one that no argument gives back."""
    given = {one.name for one in reading.arguments}
    open_ones = [name for name in _numbers(reading.output or {}) if name not in given]
    return open_ones[0] if len(open_ones) == 1 else None


def _summed(reading: Reading, collection: Collection, name: str | None) -> str | None:
    """The number of each record that the words name; the only one, if there is but one."""
    numbers = [
        field
        for field, one in collection.fields.items()
        if "number" in one.kinds and not one.keeps and all(link.path != (field,) for link in collection.links)
    ]
    spoken = (*tokens(name or ""), *tokens(reading.tool.name), *tokens(reading.said.summary))
    stems = {stem(singular(word)) for word in spoken if word not in _GENERIC}
    scored = [(sum(stem(singular(part)) in stems for part in tokens(field)), field) for field in numbers]
    best = max((score for score, _ in scored), default=0)
    fit = [field for score, field in scored if score == best]
    return fit[0] if len(fit) == 1 else None
