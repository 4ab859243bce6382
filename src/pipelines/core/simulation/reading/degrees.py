"""Which of several records is meant by "the latest test", "cheapest first", "most downloaded": by what they
are ordered, as a field of theirs with its sign."""

from collections.abc import Mapping, Sequence

from pipelines.core.english.measures import Degree, degree_in
from pipelines.core.english.words import tokens
from pipelines.core.simulation.domain.shapes import Collection, Field
from pipelines.core.simulation.expr.nodes import path_of
from pipelines.core.simulation.reading.scope import Term, alike, each_of, kind_of_field, of_record
from pipelines.core.simulation.reading.tool_reading import Reading

_BEGINS = ("date", "created", "start", "at", "on", "from", "time")


def order_of(reading: Reading, collection: Collection) -> str | None:
    """A field as `sort` takes it, `-date` for the latest first; by the name before the description."""
    for words in (tokens(reading.tool.name), tokens(reading.said.summary.lower())):
        degree = degree_in(words)
        field = measured(degree, collection, words) if degree is not None else None
        if degree is not None and field is not None:
            return f"-{field}" if degree.sign == "+" else field
    return None


def measured(degree: Degree, collection: Collection, words: Sequence[str] = ()) -> str | None:
    """The one field that the degree is of; of several times the one that the words name."""
    kind = "time" if degree.is_time else "number"
    terms = [term for term in of_record(each_of(collection)) if term.kind == kind]
    paths = [_path(term) for term in terms]
    if degree.is_time:
        told = [path for path in paths if {*tokens(path)} <= {*words}]
        return told[0] if len(told) == 1 else _time(paths, collection)
    scored = [(_fit(term, degree), path) for term, path in zip(terms, paths, strict=True) if path]
    best = max((score for score, _ in scored), default=0.0)
    fit = [path for score, path in scored if score == best]
    return fit[0] if best > 0 and len(fit) == 1 else None


def _path(term: Term) -> str:
    place = path_of(term.value)
    return ".".join(place.keys) if place is not None else ""


def _fit(term: Term, degree: Degree) -> float:
    """How much of the field the words say, and how much of the words is the field's."""
    if not degree.measures:
        return 0.0
    said = sum(max((alike(word, part) for word in degree.measures), default=0.0) for part in term.own)
    met = sum(max((alike(word, part) for part in term.own), default=0.0) for word in degree.measures)
    return said / len(term.own) + met / len(degree.measures)


def _time(paths: list[str], collection: Collection) -> str | None:
    if len(paths) == 1:
        return paths[0]
    begins = [path for path in paths if {*tokens(path)} & {*_BEGINS}]
    plain = [path for path in begins if tokens(path)[0] in ("date", "created", "start", "starts")]
    found = begins if len(begins) == 1 else plain
    return (
        found[0] if len(found) == 1 else paths[0] if paths and _all_given(collection.fields, paths) else None
    )


def _all_given(fields: Mapping[str, Field], paths: list[str]) -> bool:
    first = fields.get(paths[0])
    return first is not None and kind_of_field(first) == "time" and "null" not in first.kinds
