"""Numbers over several records: how many there are, in all or in a state, and what one of their numbers, or
something worked out of each, adds up to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import NamedTuple

from pipelines.core.english.words import is_plural, tokens, word_set
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import call
from pipelines.core.simulation.expr.nodes import Constant, Expr, Name
from pipelines.core.simulation.reading.arithmetic import with_more, worked_out
from pipelines.core.simulation.reading.asked import asked_collection
from pipelines.core.simulation.reading.filters import narrowing
from pipelines.core.simulation.reading.limits import what_is_left
from pipelines.core.simulation.reading.listing import gathered
from pipelines.core.simulation.reading.restrictions import restrictions, stated_in
from pipelines.core.simulation.reading.scope import Many, Scope, Slot, Term, each_of, nouns_of, stems
from pipelines.core.simulation.reading.steps import Step, dot, is_part_of
from pipelines.core.simulation.reading.tool_reading import Reading

COUNTS = word_set("count headcount tally")
_HOW_MANY = {("number", "of"), ("how", "many"), ("how", "often")}
_SUMS = word_set("sum total totals altogether overall combined")
_IN_ALL = word_set("altogether overall combined together whole")
_OVER_ALL = {
    ("in", "total"),
    ("over", "all"),
    ("over", "its"),
    ("in", "all"),
    ("added", "up"),
    ("summed", "up"),
}
MEANS = word_set("average mean")
_OPENING = 6  # words of a description in which it says that something is counted or added up
_COUNTED = word_set("size count total times")
_REST = 8.0
_UNSPOKEN, _ONLY_NUMBER = 0.9, 0.5  # of records that nobody speaks of; of a number that nobody names
GENERIC = word_set("total sum count number amount value all over result answer")


class Found(NamedTuple):
    """A number, and the steps that gather what it is of."""

    steps: tuple[Step, ...]
    value: Expr


_OF = {("number", "of")}


def _is_of_many(words: Sequence[str]) -> bool:
    """ "number of visits", but not "phone number of the carer"."""
    behind = words[words.index("number") + 2 :] if "number" in words else ()
    return any(is_plural(word) for word in takewhile(lambda one: one not in ("of", "in", "for"), behind))


def asked_how(reading: Reading) -> str | None:
    """A count, a sum or a mean: by the name, then by how the description begins."""
    if reading.name.op == "count":
        return "count"
    if reading.name.op in ("list", "search"):
        return None
    summary = tokens(reading.said.summary.lower())
    named = {tokens(name) for table in reading.known.tables.values() for name in table.fields}
    for said in (tokens(reading.tool.name), summary[:_OPENING]):
        # A word count is a number that records have, and nothing that is counted.
        words = tuple(word for at, word in enumerate(said) if not at or said[at - 1 : at + 1] not in named)
        spoken = {*words}
        if spoken & MEANS:
            return "mean"
        if spoken & COUNTS or _HOW_MANY & {*pairwise(words)} - (set() if _is_of_many(summary) else _OF):
            return "count"
        if spoken & _SUMS or ({"up"} < spoken & {"add", "adds", "up"}):
            return "sum"
    return "sum" if _IN_ALL & {*summary} or _OVER_ALL & {*pairwise(summary)} else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What one property of a reply asks of the records around those at hand."""

    reading: Reading
    scope: Scope
    slot: Slot
    is_only: bool  # no other number is asked for

    @property
    def spoken(self) -> frozenset[str]:
        said = tokens(self.reading.said.summary.lower())
        return stems((*self.slot.words, *said, *tokens(self.reading.tool.name)))

    def records(self) -> list[Term]:
        """Those that the records at hand list, or that refer to them."""
        return [term for term in self.scope.of_kind("many") if term.many is not None]

    def apart(self) -> tuple[tuple[Step, ...], Many] | None:
        """All records of the type that is asked for, as the arguments narrow them."""
        collection = asked_collection(self.reading, of_many=True)
        if collection is None or collection.form != "table" or collection.is_empty:
            return None
        if any(one.collection == collection for one in self.scope.things):
            return None
        # Of several numbers each says itself which records it is of.
        steps, found, _ = gathered(self.reading, collection, in_any_state=not self.is_only)
        return tuple(steps), Many(collection=collection, source=Name(found))


def given_of(scope: Scope, collection: Collection) -> list[Expr]:
    """What the arguments that pick nothing ask of each: count_guests(wedding_id, answer)."""
    return [*narrowing("each", collection, scope.arguments).conditions]


# -- sums


def sum_of(asked: Asked, how: str, *, of_rests: bool = False) -> Found | None:
    """`of_rests`: only of what is left of each, or of what is worked out of it."""
    total = "mean" if how == "mean" else "sum"
    best: tuple[float, Found] | None = None
    for steps, many, is_spoken in _sets(asked):
        if many.collection is None or (best is not None and best[0] >= _UNSPOKEN and not is_spoken):
            continue
        fit, value = _element(asked, replace(asked.scope, things=(each_of(many.collection),)))
        if fit == _REST and best is not None and not is_spoken:
            continue  # what is left of records that nobody speaks of
        fit = fit if is_spoken else min(fit, _UNSPOKEN)
        if of_rests and (fit < _REST or not is_spoken):
            continue
        if value is not None and (best is None or fit > best[0]):
            summed = call(total, many.listed(value))
            whole = with_more(summed, asked.reading.tool.description or "", asked.scope)
            if whole is None:
                return None
            best = fit, Found(steps, call("round", whole, Constant(2)))
    return best[1] if best is not None else None


def _sets(asked: Asked) -> Iterator[tuple[tuple[Step, ...], Many, bool]]:
    """Those that are spoken of first."""
    for is_spoken in (True, False):
        for term in asked.records():
            heads = _heads(term.many.collection) if term.many and term.many.collection else frozenset()
            if bool(heads & asked.spoken) == is_spoken and term.many and term.many.collection:
                such = restrictions(asked.reading, term.many.collection, "each")
                yield (), term.many.narrowed(*such, *given_of(asked.scope, term.many.collection)), is_spoken
    apart = asked.apart()
    if apart is not None and apart[1].collection is not None:
        yield *apart, bool(_heads(apart[1].collection) & asked.spoken)


def _heads(collection: Collection) -> frozenset[str]:
    """What one of them is, without what is said of it: a key, of `api_key`."""
    return stems(noun[-1] for noun in (collection.words, *collection.called))


def _element(asked: Asked, scope: Scope) -> tuple[float, Expr | None]:
    """What of each record is added up, and how plainly the words say so: a formula, what is left of it, or
    the number that they name."""
    reading = asked.reading
    formula = worked_out(reading.tool.description or "", scope)
    if formula is not None:
        return 9.0, formula
    said = (*asked.slot.words, *tokens(reading.tool.name), *tokens(reading.said.summary.lower()))
    left = what_is_left(scope.things, said)
    if left is not None:
        return _REST, left
    base = scope.things[0].value
    own = [term for term in scope.of_kind("number") if is_part_of(term.value, base)]
    spoken = stems(word for word in said if word not in GENERIC)
    met = [(len(stems(term.own) & spoken) / len(stems(term.own)), term) for term in own]
    best = max((score for score, _ in met), default=0.0)
    fit = [term for score, term in met if score == best]
    is_plain = best > 0 or (len(own) == 1 and bool(scope.things[0].called & spoken))
    return max(best, _ONLY_NUMBER), fit[0].value if len(fit) == 1 and is_plain else None


# -- counts


def count_of(asked: Asked) -> Found | None:
    """How many there are; of several numbers that are asked for, each is of those in the state it names."""
    if (asked_how(asked.reading) != "count" or not asked.is_only) and not _asks_count(asked):
        return None
    many = _listed(asked)
    if many is not None:
        return Found((), many.narrowed(*_such(asked, many.collection)).counted())
    apart = asked.apart()
    if apart is None or apart[1].collection is None:
        return None
    steps, found = apart
    inner = [
        link.path[0]
        for link in apart[1].collection.list_links
        if stems(tokens(link.path[0])) & stems(asked.slot.words)
    ]
    if inner:  # pupils, over all lessons of the day
        return Found(steps, call("sum", found.listed(call("len", dot("each", inner[0])))))
    if not (nouns_of(apart[1].collection) | _values(apart[1].collection)) & asked.spoken:
        return None
    such = [] if asked.is_only else stated_in(asked.slot.words, apart[1].collection, "each")
    return Found(steps, found.narrowed(*such).counted())


def _listed(asked: Asked) -> Many | None:
    """Of the records around, those that are spoken of: by the property's own name before anything else."""
    records = asked.records()
    own = stems(asked.slot.words)
    in_lists = [term for term in records if term.many is not None and not term.many.where]
    for fit in (
        [term for term in records if stems(term.own) & own],
        in_lists if "size" in asked.slot.words else [],
        [term for term in records if stems(term.own) & asked.spoken],
        [term for term in records if _is_spoken_of(term, asked.spoken)],
    ):
        if len({term.value for term in fit}) == 1:
            return fit[0].many
    return None


def _such(asked: Asked, collection: Collection | None) -> list[Expr]:
    if collection is None:
        return []
    given = given_of(asked.scope, collection)
    if asked.is_only:
        return [*restrictions(asked.reading, collection, "each"), *given]
    return [*stated_in(asked.slot.words, collection, "each"), *given]


def _asks_count(asked: Asked) -> bool:
    """`stays`, `size`, `occupied`: a whole number, named after what there are so many of, or a state."""
    slot, known = asked.slot, asked.reading.known
    if slot.schema.get("type") != "integer" or tokens(slot.name)[-1] in ("id", "no", "number"):
        return False
    nouns = {noun for table in known.tables.values() for noun in nouns_of(table)}
    states = stems(word for state in known.states for word in tokens(state))
    is_of_many = any(is_plural(word) and stems((word,)) & nouns for word in slot.words)
    return is_of_many or bool(stems(slot.words) & states) or bool({*slot.words} & _COUNTED)


def _is_spoken_of(term: Term, spoken: frozenset[str]) -> bool:
    """By what they are called, or can be: "How many drafts a show has"."""
    collection = term.many.collection if term.many is not None else None
    return collection is not None and bool((nouns_of(collection) | _values(collection)) & spoken)


def _values(collection: Collection) -> frozenset[str]:
    held = (one.values for one in collection.fields.values() if "text" in one.kinds)
    texts = (value for values in held for value in values if isinstance(value, str))
    return stems(word for value in texts for word in tokens(value))
