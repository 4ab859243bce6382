"""Numbers that nothing bears out: which of them the run disproves.

False is what a field holds otherwise that is named right beside the number, or in plain words of a single
thing; an amount that no simple sum of anything known makes.
"""

import re
from collections.abc import Set
from decimal import Decimal
from functools import cached_property
from itertools import combinations, product
from typing import Protocol

from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.beside import Beside, best, is_money, roles
from pipelines.core.verdict.bound import Bound, Reading
from pipelines.core.verdict.cells import Cell, Cells, Scope, When, said_words
from pipelines.core.verdict.cues import (
    CHANGED,
    EACH,
    OF_CHANGE,
    OWED,
    PAST,
    SHARES,
    SPANS,
    SUM_CUE,
    SUMMED,
)
from pipelines.core.verdict.known import LARGEST_COUNT
from pipelines.core.verdict.reckoning import (
    LARGEST_PART,
    between,
    few_of,
    is_telling,
    owed,
    parts_of,
    results,
    steps,
    within,
)
from pipelines.core.verdict.said import NEGATED, Said, is_stated
from pipelines.core.verdict.speech import content_stems

_OPEN = Bound(Reading.OPEN)
_WRITTEN_CENTS = re.compile(r"\d[.,]\d\d$")
_RATE = re.compile(r"\b(?:per|each|every)\b")  # here it is no hedge: `52.00 per hour`
_IN_STOCK = re.compile(r"\b(?:left|in\s+stock|available|remaining|on\s+hand)\b")
_OF_STOCK = frozenset(map(stem, ("stock", "available", "left", "remaining")))
_STEP = re.compile(
    r"\b(?:adds|(?:up|down|more|less)\s+by|(?:rises?|rose|increase[sd]?|drops?|goes\s+up|went\s+up)\s+by)\s*$"
)
_FIELD_OF = re.compile(
    r"(?:(?:^|\s)(?:of|is|was|are|now|to|at|has|have|for|stands\s+at|remains?|stays?|just|only)|[:=])\s*\(?$"
)
_SUPPOSES = re.compile(
    r"\b(?:if|would|could|can|may|might|should|must|usually|normally|typically|unless|otherwise)\b|'d\b"
)
_NEARLY = re.compile(
    r"\b(?:about|around|roughly|approximately|some|almost|nearly|up\s+to|at\s+least|at\s+most|over|under|below|above"
    r"|more\s+than|less\s+than|short\s+of|just\s+\w+)\s*$"
)
_OF_MONEY = frozenset(
    map(stem, ("save", "pay", "cost", "price", "premium", "total", "fee", "refund", "owe", "charge", "rent"))
)
_FACTORS = tuple(map(Decimal, (7, 12, 24, 60, 100)))
_REST = re.compile(
    r"\b(?:left|remain\w*|still|free|available|open|outstanding|due|owe\w*|unused|balance|to\s+go)\b"
)
_PARTITIVE = re.compile(
    r"\b(?:of|out\s+of|for|from|than|by|instead\s+of|above|below|over|under|about|around|only)\s+(?:the\s+|your\s+)?$"
)
_LINKS = re.compile(
    r"(?:\s*(?:\b(?:is|was|are|were|of|to|at|now|has|been|have|just|exactly|you|us|me|a|an|the)\b|[:=(]))*\s*$"
)

MOST_TIMES = 12  # of which every two are held against each other


class Reckoner(Protocol):
    """What is known of a run's numbers, and what they come to."""

    @property
    def known(self) -> frozenset[Decimal]: ...

    def others(self, one: Quantity, said: Said) -> frozenset[Decimal]: ...

    @property
    def spoken(self) -> Scope: ...

    @property
    def whole_sums(self) -> frozenset[Decimal]: ...

    def totals(self, scope: Scope, others: frozenset[Decimal]) -> Set[Decimal]: ...


class Disproof:
    def __init__(self, cells: Cells, amounts: Reckoner) -> None:
        self._cells = cells
        self._facts = cells.facts
        self._amounts = amounts

    def read(
        self, one: Quantity, wanted: frozenset[Decimal], near: Beside, scope: Scope, said: Said
    ) -> Bound:
        """False of a field that is named, of a single thing, in plain words; or where nothing makes it."""
        is_said_so = is_stated(_RATE.sub(" ", said.text)) and NEGATED.search(said.text) is None
        if one.unit == "%" or NEGATED.search(said.text):
            return _OPEN
        if self._is_of_nothing(one, wanted, near, said):
            return Bound(Reading.FALSE, "another amount", is_of_nothing=True)
        if not is_said_so:
            return _OPEN
        rest = owed(scope)
        is_rest = OWED.search(near.both) is not None and (one.currency or max(wanted) > LARGEST_COUNT)
        if len(rest) == len(scope.own) == 1 and is_rest:
            is_told = any(cell.numbers & wanted for cell in scope.cells if cell.when is not When.WAS)
            is_of_other = is_told or wanted & owed(self._cells.scope(frozenset()))
            told = f"{next(iter(rest)):f} left to pay"
            return _OPEN if is_of_other else Bound(Reading.FALSE, told)
        stock = _stock_of(scope) if _IN_STOCK.search(said.text) and one is said.numbers[0] else None
        if stock is not None and not one.currency:
            return Bound(Reading.FALSE, stock.told())
        by = {n for cell in scope.cells if cell.is_amount for n in steps(scope.of_field(cell))}
        if one.currency and len(by) == 1 and _STEP.search(near.lead) and len(scope.own) == 1:
            return Bound(Reading.FALSE, f"{next(iter(by)):f} more or less")
        outright = self._outright(one, wanted, near, scope, said)
        if outright:
            return Bound(Reading.FALSE, " and ".join(dict.fromkeys(cell.told() for cell in outright[:2])))
        if PAST.search(near.lead):
            return _OPEN
        own = [cell for cell in scope.cells if cell.numbers and cell.when is When.IS and scope.is_own(cell)]
        unit = said_words(one.unit)
        is_of_unit = bool(unit) and any(cell.words == unit for cell in own)
        named = best(own, near) if _FIELD_OF.search(near.lead) or is_of_unit else []
        if is_of_unit:
            named = [cell for cell in own if cell.words == unit]
        elsewhere = {
            n
            for c in self._cells.scope(frozenset()).cells
            if c.field in {o.field for o in named}
            for n in c.numbers
        }
        is_plain = len(scope.own) == 1 and not CHANGED.search(near.both)
        named = [] if any(cell.numbers & wanted for cell in named) else named  # as it was told
        is_other = bool(wanted & elsewhere) or not wanted & self._may_come_of(scope, said)
        if is_of_unit:
            is_other = not wanted & (steps(scope) | within(scope))
        if named and is_plain and is_other:
            return Bound(Reading.FALSE, " and ".join(dict.fromkeys(cell.told() for cell in named[:2])))
        other = self._of_another_thing(wanted, own, scope)
        if other is not None and is_plain and not PAST.search(said.text):
            return Bound(Reading.FALSE, other)
        if is_telling(wanted) and self._amounts.known and not wanted & self._could_be(one, said):
            return Bound(Reading.FALSE, "another number")
        return _OPEN

    def _outright(
        self, one: Quantity, wanted: frozenset[Decimal], near: Beside, scope: Scope, said: Said
    ) -> list[Cell]:
        """The cells of a field that is named right beside the number, in all its words (`the surcharge was
        10.00`, `two refills left`), where all of them hold one other number."""
        if stem(near.unit) in SPANS:
            return []  # days may be counted from anything
        written = {row.sequence for row in self._cells.evidence.writes}
        every = [
            cell
            for cell in scope.cells
            if cell.numbers
            and cell.when is not When.WAS
            and (cell.record in scope.ids or cell.row in written)
        ]
        named = [cell for cell in best(every, near) if _is_right_beside(cell, near)]
        if not named and content_stems(near.unit):  # `140 points`, of `loyalty_points`
            named = [cell for cell in every if stem(tokens(cell.field)[-1]) == stem(near.unit)]
        told = {n for cell in named for n in cell.numbers}
        if len(told) != 1 or wanted & told or _PARTITIVE.search(said.sentence[: one.start]):
            return []
        is_cued = CHANGED.search(near.both) or SUM_CUE.search(said.text) or EACH.search(near.following[:20])
        is_rest = _REST.search(near.both) is not None
        of_rest = {"left" in roles(cell.words) or (is_rest and scope.has_changed(cell)) for cell in named}
        if (is_cued and not any(cell.words & OF_CHANGE for cell in named)) or of_rest != {is_rest}:
            return []
        reckoned = {*steps(scope)}
        if len(scope.own) != 1 or SUMMED.search(said.text):
            reckoned |= self._amounts.totals(scope, self._amounts.others(one, said))
        return [] if wanted & reckoned else named

    def _of_another_thing(self, wanted: frozenset[Decimal], own: list[Cell], scope: Scope) -> str | None:
        """What the one thing spoken of has in the field where another of its kind has this amount."""
        kinds = {thing.entity_type for thing in scope.own}
        others = [
            thing for thing in self._cells.things if thing.entity_type in kinds and thing not in scope.own
        ]
        for thing in others:
            for cell in self._cells.of(thing):
                mine = [each for each in own if each.field == cell.field and not each.numbers & wanted]
                if cell.is_amount and cell.numbers & wanted and mine and cell.when is When.IS:
                    return mine[0].told()
        return None

    def _may_come_of(self, scope: Scope, said: Said) -> set[Decimal]:
        """What is reckoned of a thing in the ways that are known here."""
        others = frozenset(abs(v).normalize() for n in mentions(said.sentence).numbers[:12] for v in n.values)
        everything = self._cells.scope(frozenset())
        found = {*steps(scope), *within(scope), *parts_of(scope, others), *between(everything)}
        return found | self._amounts.totals(scope, others) | self._amounts.totals(everything, others)

    def _is_of_nothing(self, one: Quantity, wanted: frozenset[Decimal], near: Beside, said: Said) -> bool:
        """An exact sum of money that nothing which was told, added up or compared comes to."""
        if not self._amounts.known or _SUPPOSES.search(said.text) or _NEARLY.search(near.lead):
            return False
        is_cents = _WRITTEN_CENTS.search(said.sentence[one.start : one.end]) is not None
        is_bare = not content_stems(near.unit) and is_telling(wanted) and bool(near.near & _OF_MONEY)
        if one.currency is None and not is_cents and not is_bare:
            return False
        return not wanted & self._may_amount_to(one, said)

    def _may_amount_to(self, one: Quantity, said: Said) -> frozenset[Decimal]:
        """What somebody who adds up, compares, shares out or multiplies can come to in money."""
        others = [other for other in mentions(said.sentence).numbers[:12] if other.start != one.start]
        shown = results(frozenset(abs(v).normalize() for n in others for v in n.values))
        return self._plausible | shown

    @cached_property
    def _plausible(self) -> frozenset[Decimal]:
        everything = self._cells.scope(frozenset())
        amounts = {n for cell in everything.cells if cell.numbers for n in cell.numbers}
        few = few_of(amounts | self._facts.asked.numbers | self._facts.quotable)
        counts = [n for n in few_of(self._amounts.known) if 1 < n <= LARGEST_PART and n % 1 == 0]
        found = {*self._amounts.known, *between(everything), *within(everything), *steps(everything)}
        found |= self._amounts.totals(everything, frozenset()) | self._amounts.whole_sums
        found |= {a * b for a, b in product(few, [*counts, Decimal(12)])}
        found |= {a * b / 1000 for a, b in combinations(few, 2)}  # a price per thousand
        found |= {round(a / b, 2) for a, b in product(few, [*counts, Decimal(2), Decimal(12)])}
        found |= {part for a, b in product(few, self._shares) for part in (a * b / 100, a - a * b / 100)}
        spoken = self._amounts.spoken.cells
        money = few_of(n for cell in spoken if is_money(cell) for n in cell.numbers)
        found |= {c for a, b in combinations(money, 2) for c in (a + b, abs(a - b), (a + b) / 2)}
        rests = owed(everything)
        return frozenset(value.normalize() for value in found | rests | {sum(rests, Decimal())})

    @cached_property
    def _shares(self) -> list[Decimal]:
        told = {n for saying in self._facts.sayings for n in saying.percents}
        cells = self._cells.scope(frozenset()).cells
        return few_of(told | {n for cell in cells if cell.words & SHARES for n in cell.numbers})

    def _could_be(self, one: Quantity, said: Said) -> frozenset[Decimal]:
        """All that simple sums make of two or three numbers of the run, the rules, the user, the answer."""
        others = [other for other in mentions(said.sentence).numbers[:12] if other.start != one.start]
        return self._conceivable | results(frozenset(abs(v).normalize() for n in others for v in n.values))

    @cached_property
    def _conceivable(self) -> frozenset[Decimal]:
        few = few_of(self._amounts.known)
        small = [n for n in few if 1 < n <= LARGEST_PART and n % 1 == 0]
        found = {*self._amounts.known, *map(Decimal, self._facts.everything.years)}
        found |= {Decimal(round(n)) for n in few} | {n * 100 for n in few}
        found |= {a + b for a, b in combinations(few, 2)} | {abs(a - b) for a, b in combinations(few, 2)}
        found |= {a * b for a, b in product(few, [*small, *_FACTORS])}
        found |= {round(a / b, 2) for a, b in product(few, [*small, *_FACTORS, Decimal(2)])}
        found |= {part for a, b in product(few, self._shares) for part in (a * b / 100, a - a * b / 100)}
        found |= {a + b + c for a, b, c in combinations(few[-12:], 3)}
        found |= {round(n / 1000, 1) for n in few}  # in the next larger unit: 3.1 GB
        minutes = {minute for cell in self._cells.scope(frozenset()).cells for minute in cell.minutes}
        spans = [abs(a - b) for a, b in combinations(sorted(minutes)[:MOST_TIMES], 2)]
        found |= {Decimal(span) / unit for span in spans for unit in (1, 60)}
        return frozenset(value.normalize() for value in found)


def _stock_of(scope: Scope) -> Cell | None:
    """How much there is of the one thing that is spoken of."""
    now = [cell for cell in scope.cells if cell.numbers and cell.when is When.IS and scope.is_own(cell)]
    stock = [cell for cell in now if cell.words & _OF_STOCK]
    return stock[0] if len(stock) == len(scope.own) == 1 else None


def _is_right_beside(cell: Cell, near: Beside) -> bool:
    """The last word before the number, but for words that only link it, or the first ones after it."""
    before = re.findall(r"[a-z]+", _LINKS.sub("", near.lead))[-1:]
    after = re.findall(r"[a-z]+", f"{near.unit} {near.following}")[:2]
    beside_it = {other for word in (*before, *after) for other in related(stem(word))}
    return not beside_it.isdisjoint(cell.words)
