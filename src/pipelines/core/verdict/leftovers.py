"""Whether something is used up (`none remain`, `it's now full`, `that was the last place`) or as it was
(`the price stays the same`).

clause -> what is said to be gone -> the fields for what is left of it, or of how many there are and how many
are used -> so, false, or not known. clause -> the fields that it names -> whether the run changed them.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.bound import Reading
from pipelines.core.verdict.cells import Cell, Scope, When, said_words
from pipelines.core.verdict.cues import OWED
from pipelines.core.verdict.reckoning import owed
from pipelines.core.verdict.said import Said, is_stated
from pipelines.core.verdict.values import CHARGED, FREE, Strange

_LEFT = r"(?:left|remain(?:s|ing)?|free|available|open|to\s+spare)"
_GONE = re.compile(
    rf"\bnone\s+(?:of\s+(?:them|these|the\s+\w+)\s+)?(?:(?:is|are|was|were)\s+)?{_LEFT}\b"
    rf"|\bno\s+(?:more\s+|free\s+|open\s+)?(?P<no>[a-z]+)\s+(?:(?:is|are|were|was)\s+)?{_LEFT}\b"
    r"|\b(?P<of>[a-z]+)\s*:\s*none\b"
    rf"|(?:\bnot|n't)\s+(?:got\s+)?(?:a\s+single|one|§)\s+(?:(?P<single>[a-z]+)\s+{_LEFT}\b|§|one\b)|\bexhausted\s+of\b"
    r"|\b(?:is|are|'s|was|were)\s+(?:now\s+|already\s+|currently\s+|all\s+)*(?P<full>full|unavailable|exhausted)\b(?!\s+(?:of|price|amount|pass|day|refund))"
    r"|\b(?:was|is|got|took|the)\s+(?:the\s+)?(?:very\s+)?last\s+(?:free\s+|open\s+|remaining\s+|available\s+)?(?P<last>one|[a-z]+)\b"
)
_OF_REST = frozenset(
    map(stem, ("left", "remaining", "free", "available", "stock", "vacancies", "unused", "spare"))
)
_OF_ALL = frozenset(map(stem, ("capacity", "max", "limit", "total", "size", "seats", "places", "copies")))
_OF_USED = frozenset(
    map(
        stem,
        ("used", "taken", "booked", "sold", "enrolled", "registered", "participants", "filled", "occupied"),
    )
)
_WORDS = frozenset(
    map(stem, ("none", "last", "full", "unavailable", "exhausted", "one", "single", "got", "left", "remain"))
)


_KEPT = re.compile(
    r"\b(?:the\s+same|unchanged|as\s+before|no\s+change|at\s+the\s+(?:old|previous|usual))\b"
    r"|(?:\bnot|n't)\s+(?:been\s+)?(?:chang|affect|alter|touch)\w*"
)
_OF_CHANGE = frozenset(
    map(
        stem, ("same", "unchanged", "before", "change", "changed", "affect", "affected", "altered", "touched")
    )
)


_CHARGED = CHARGED | {stem("kept"), stem("deducted")}
_OF_DEBT = frozenset(
    map(stem, ("open", "due", "unpaid", "remaining", "outstanding", "owe", "balance", "pay"))
)
_OF_COST = _CHARGED | frozenset(map(stem, ("free", "pay", "cost", "cent", "penny", "thing", "nothing")))


_NOT = re.compile(r"\bnot\b|n't\b|\bnever\b")


class Gone(NamedTuple):
    """What was settled of a clause, and what is against it."""

    words: frozenset[str] = frozenset()  # stems that need nothing else to bear them out
    strange: tuple[Strange, ...] = ()


def used_up(said: Said, scope: Scope) -> Gone:
    found = _GONE.search(said.text)
    if found is None or _NOT.search(said.text, 0, found.start()):
        return Gone()
    thing = found["no"] or found["last"] or found["of"] or ""
    left = {cell: rest for cell, rest in _rests(scope) if not thing or thing == "one" or _is_of(cell, thing)}
    exact = {cell: rest for cell, rest in left.items() if stem(thing) in map(stem, tokens(cell.field))}
    left = exact or left  # `seats` are none of the `car_places`, where there are `seats`
    if not left:
        return Gone()
    if any(rest == 0 for rest in left.values()):
        return Gone(_WORDS | _OF_REST | related(stem(thing)))
    if is_stated(said.text) and len(scope.own) <= 1:
        cell, rest = next(iter(left.items()))
        return Gone(strange=(Strange(found[0], Reading.FALSE, f"{cell.field}: {rest} left"),))
    return Gone(strange=(Strange(found[0], Reading.OPEN),))


def as_it_was(said: Said, scope: Scope) -> Gone:
    found = _KEPT.search(said.text)
    if found is None or _NOT.search(said.text, 0, found.start()):
        return Gone()
    words = frozenset(other for word in said_words(said.text) for other in related(word))
    named = [cell for cell in scope.cells if cell.when is When.IS and cell.words and cell.words <= words]
    changed = [cell for cell in named if scope.has_changed(cell)]
    if not named:
        return Gone()
    if not changed:
        return Gone(_OF_CHANGE | frozenset(word for cell in named for word in cell.words))
    is_called_so = changed[0].words <= said_words(said.text)  # `the lease is unchanged` is not of the rent
    is_false = is_stated(said.text) and scope.is_own(changed[0]) and len({cell.field for cell in named}) == 1
    is_false = is_false and is_called_so
    reading = Reading.FALSE if is_false else Reading.OPEN
    return Gone(strange=(Strange(found[0], reading, changed[0].told()),))


def left_to_pay(said: Said, scope: Scope) -> Gone:
    """`90.00 are still open`, where that is what is not paid of a price."""
    if OWED.search(said.text) is None:
        return Gone()
    rest = owed(scope)
    is_so = any(not rest.isdisjoint(abs(value).normalize() for value in one.values) for one in said.numbers)
    return Gone(_OF_DEBT if is_so else frozenset())


def costs_nothing(said: Said, scope: Scope) -> Gone:
    """`free of charge`, where a call told of a fee, and that it is 0."""
    free = FREE.search(said.text)
    if free is None or free[0].split()[-1] == "free":  # `is free` may be said of a morning
        return Gone()
    told = [cell for cell in scope.cells if cell.row and cell.numbers and cell.words & _CHARGED]
    is_free = bool(told) and all(number == 0 for cell in told for number in cell.numbers)
    return Gone(_OF_COST if is_free else frozenset())


def _is_of(cell: Cell, thing: str) -> bool:
    words = frozenset(map(stem, tokens(cell.field)))
    return not related(stem(thing)).isdisjoint(words) or words <= _OF_REST | _OF_ALL | _OF_USED


def _rests(scope: Scope) -> Iterator[tuple[Cell, Decimal]]:
    """What is left of each thing that is spoken of, as it is now."""
    now = [cell for cell in scope.cells if cell.when is When.IS and cell.numbers]
    for cell in now:
        words = frozenset(map(stem, tokens(cell.field)))
        (number,) = cell.numbers
        if words & _OF_REST:
            yield cell, number
        for other in now:
            used = frozenset(map(stem, tokens(other.field)))
            is_of_it = other.record == cell.record and not words & _OF_USED and used & _OF_USED
            if is_of_it and (words & used or words & _OF_ALL):
                yield cell, number - next(iter(other.numbers))
