"""Dates as arguments of a search: `jobs_due_before(date)`, `arrivals_on(day)`, `events_between(from, to)`.

Which field a date is held against is told by the records (which fields hold dates at all) and by the words
of the tool (due, expiring, begin); before or after, by the argument's own words, then by the tool's.
"""

import re
from collections.abc import Mapping, Sequence

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import tokens, word_set
from pipelines.core.simulation.domain.arguments import Argument
from pipelines.core.simulation.domain.fields import Field
from pipelines.core.simulation.domain.shapes import Collection
from pipelines.core.simulation.expr.make import all_of, arg, call, compare, is_equal, is_given
from pipelines.core.simulation.expr.nodes import ComparisonSign, Constant, Expr, Slice
from pipelines.core.simulation.reading.steps import dot

_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?(?:$|[T ])")
_ASKS_DATE = word_set("date day when until before after since from to start end time month by on")
_BEFORE = word_set("before until till prior to end latest max by")
_AFTER = word_set("after since from start begin earliest min")
_STARTS = word_set("start begin arrival from date check")


def date_condition(
    argument: Argument, collection: Collection, each: str, said: Sequence[Sequence[str]]
) -> Expr | None:
    """The condition of one date; `said` are the words of the tool's name and of its description."""
    if argument.kind not in ("text", "any") or not _ASKS_DATE & {*argument.words}:
        return None
    name = _field(collection.fields, said)
    if name is None:
        return None
    place, given = dot(each, name), arg(argument.name)
    side = _side(argument.words, said)
    if side == "before":
        return all_of(is_given(place), call("is_before", place, given))
    if side in ("until", "after"):
        sign: ComparisonSign = "<=" if side == "until" else ">="
        return all_of(is_given(place), compare(_day(place), sign, _day(given)))
    shown = call("str", given)
    return is_equal(Slice(call("str", place), None, call("len", shown)), shown)


def _day(time: Expr) -> Expr:
    return Slice(call("str", time), None, Constant(10))


def _side(words: Sequence[str], said: Sequence[Sequence[str]]) -> str:
    own = {*words}
    if own & _AFTER:
        return "after"
    if (own & _BEFORE and len(words) > 1) or own & {"until", "to", "end"}:
        return "before" if "before" in own else "until"
    for spoken in said:
        if {"before", "prior"} & {*spoken}:
            return "before"
        if {"until", "till"} & {*spoken}:
            return "until"
        if {"after", "since"} & {*spoken}:
            return "after"
    return "on"


def is_range(arguments: Sequence[Argument]) -> bool:
    """A first and a last date, which bound one field between them."""
    texts = [one for one in arguments if one.kind in ("text", "any") and _ASKS_DATE & {*one.words}]
    return any({*one.words} & _AFTER for one in texts) and any(
        {*one.words} & {"to", "end", "until", "last"} for one in texts
    )


def _field(fields: Mapping[str, Field], said: Sequence[Sequence[str]]) -> str | None:
    """Of the fields that hold dates, the one that the tool speaks of; else one that something begins with."""
    dated = [
        name for name, one in fields.items() if isinstance(one.example, str) and _DATE.match(one.example)
    ]
    if len(dated) < 2:
        return dated[0] if dated else None
    for spoken in said:
        stems = {other for word in spoken if len(word) > 2 for other in related(stem(word))}
        fit = [name for name in dated if stems & {stem(part) for part in tokens(name) if len(part) > 2}]
        if len(fit) == 1:
            return fit[0]
    begins = [name for name in dated if _STARTS & {*tokens(name)}]
    return begins[0] if begins else dated[0]
