"""Numbers of a clause, each bound to a cell or to what is reckoned from cells.

number -> the words beside it -> the fields they name -> cells of what is spoken of -> so, false, or neither.
A number that is true of another field or another record is not bound; what nothing could make is false.
"""

import re
from decimal import Decimal
from functools import cached_property
from itertools import combinations, pairwise, product

from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import ORDINALS, Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.beside import MONEY, Beside, beside, best, is_marked, is_money, roles
from pipelines.core.verdict.bound import Bound, Reading
from pipelines.core.verdict.cells import Cell, Cells, Scope, When, field_words
from pipelines.core.verdict.cues import (
    APART,
    APART_BY,
    CHANGED,
    COUNTED_FROM,
    DEED,
    EACH,
    IN,
    LEFT,
    MORE_OR_LESS,
    MOVED,
    NOW,
    OF_CHANGE,
    OF_THE,
    OF_USER,
    PAST,
    STANDS,
    SUM_CUE,
    SUMMED,
    TOGETHER,
)
from pipelines.core.verdict.disproof import Disproof
from pipelines.core.verdict.evidence import EvidenceRow
from pipelines.core.verdict.known import LONGEST_TEXT
from pipelines.core.verdict.number_names import ORDINAL, PLACES, NumbersInNames
from pipelines.core.verdict.reckoning import (
    MOST_OPERANDS,
    apart,
    between,
    date_of,
    few_of,
    is_small,
    is_telling,
    moved,
    now_held,
    results,
    steps,
    within,
)
from pipelines.core.verdict.said import NEGATED, Said, named_in
from pipelines.core.verdict.speech import content_stems

_CENTS = re.compile(r"\d[.,]\d\d$")
_TIMES_OF = {"day": 1, "night": 1, "week": 7}
_MONTHS_IN = {"month": 1, "year": 12}


_SO, _OPEN = Bound(Reading.SO), Bound(Reading.OPEN)


class Amounts:
    """Binds the numbers of one run's answers."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._facts = cells.facts
        self._evidence = cells.evidence
        self._disproof = Disproof(cells, self)
        self._names = NumbersInNames(cells)

    def read(self, one: Quantity, said: Said, scope: Scope) -> Bound:
        self._evidence.keep_going()
        if self._names.cover(one, said, scope):
            return _SO
        if ORDINAL.fullmatch(said.sentence[one.start : one.end]):
            return _OPEN  # the day of no date that is spoken of
        wanted = frozenset(abs(value).normalize() for value in one.values)
        near = beside(said, one)
        by = moved(scope) if stem(near.unit) in _TIMES_OF and MOVED.search(near.both) else frozenset()
        if by:  # by how much a day was moved is told by nothing else
            spans = {value * _TIMES_OF[stem(near.unit)] for value in wanted}
            is_plain = len(scope.own) == 1 and said.is_stated
            return _SO if spans & by else Bound(Reading.FALSE if is_plain else Reading.OPEN, "another span")
        bound = self._bound(one, wanted, near, scope, said)
        if bound:
            return Bound(Reading.SO, "", tuple(bound))
        is_exact = _is_exact(one, said)
        if _is_step(wanted, near, scope) or self._is_part_of_whole(one, said, scope):
            return _SO
        is_named = self._names_another(near, scope, said, is_exact)
        quotable = self._rules_of(near) if not is_named else self._facts.refusal_numbers
        if self._facts.is_refusal and wanted & quotable:
            return _SO
        if is_named or wanted == {Decimal()}:
            is_shown = len(self.others(one, said)) > 1 and wanted & results(self.others(one, said))
            return _SO if is_shown else self._disproof.read(one, wanted, near, scope, said)
        if self._is_counted(one, wanted, near, said) or self._is_reckoned(one, wanted, near, scope, said):
            return _SO
        return self._disproof.read(one, wanted, near, scope, said)

    # Cells

    def _bound(
        self, one: Quantity, wanted: frozenset[Decimal], near: Beside, scope: Scope, said: Said
    ) -> list[Cell]:
        """The cells that hold the number and that the words can mean."""
        is_exact = _is_exact(one, said)
        holding = [cell for cell in scope.cells if _holds(cell, wanted, is_exact)]
        holding = [cell for cell in holding if self.is_timely(cell, near, said)]
        if not holding:
            return []
        given = [cell for cell in holding if cell.when is When.GIVEN]
        done = self._deeds_in(near)
        written = {row.sequence for row in self._evidence.writes if row.succeeded}
        is_of_deed = any(cell.row in written for cell in given) and (done or DEED.search(said.text))
        if is_of_deed and (is_exact or not all(map(is_small, wanted))):
            return given  # `charged now: 489.00`, where that is what the call was given
        numeric = [cell for cell in scope.cells if cell.numbers and _may_be(cell, is_exact)]
        if one.currency and any(map(is_money, holding)):
            numeric = [cell for cell in numeric if is_money(cell)]
        if wanted == {Decimal()}:
            return [cell for cell in holding if near.names_wholly(cell)]
        unit = stem(near.unit or "-")
        counting = [cell for cell in numeric if unit in map(stem, tokens(cell.field))]
        exact = {cell.field for cell in counting if len(tokens(cell.field)) == 1}
        in_unit = [cell for cell in counting if cell.field in exact or _counts_unit(cell, unit)]
        of_rest = [cell for cell in in_unit if cell.field not in exact]
        if exact and of_rest:  # `5 days`, of `days` and `days_left`
            in_unit = of_rest if LEFT.search(near.both) else [c for c in in_unit if c.field in exact]
        if any(cell in in_unit and scope.is_own(cell) for cell in holding):
            return [cell for cell in holding if cell in in_unit and scope.is_own(cell)]
        if APART_BY.search(near.lead) or MORE_OR_LESS.search(near.following):
            return [cell for cell in holding if cell.words & OF_CHANGE]
        if SUM_CUE.search(near.both) and (self.others(one, said) or TOGETHER.search(near.both)):
            return [cell for cell in holding if "whole" in roles(cell.words) or scope.has_changed(cell)]
        if EACH.search(near.following[:20]):
            return [
                cell
                for cell in holding
                if not roles(cell.words).isdisjoint({"rate", "kept"}) or cell.words & MONEY - _WHOLE
            ]
        if APART.search(near.lead):
            return [cell for cell in holding if is_exact or not all(map(is_small, wanted))]
        if counting and not best(numeric, near):
            return [cell for cell in holding if cell in counting and (not exact or cell.field in exact)]
        named = best(numeric, near)
        if named:
            return [cell for cell in holding if cell.field in {other.field for other in named}]
        meant = [cell for cell in numeric if near.means(cell)]
        if meant:
            return [cell for cell in holding if near.means(cell)]
        if not is_exact and all(is_small(value) for value in wanted):
            return _counting(one, holding, near, scope, said)
        return self._unnamed(holding, numeric, near, scope, said)

    def _unnamed(
        self, holding: list[Cell], numeric: list[Cell], near: Beside, scope: Scope, said: Said
    ) -> list[Cell]:
        """Of an amount that no field is named for: those of the deed that is told, or of the thing itself."""
        done = self._deeds_in(near)
        written = {row.sequence for row in self._evidence.writes if row.succeeded}
        if done and not NEGATED.search(said.text):
            of_rows = {(cell.field, cell.row) for row in done for cell in self._cells.of_row(row.sequence)}
            holding = [cell for cell in holding if (cell.field, cell.row) in of_rows]
        holding = [cell for cell in holding if not is_marked(cell.words) or scope.has_changed(cell)]
        is_given = any(cell.row in written and cell.when is When.GIVEN and cell.is_amount for cell in numeric)
        if is_given and DEED.search(said.text):
            return [cell for cell in holding if cell.row in written or scope.has_changed(cell)]
        return [cell for cell in holding if scope.is_own(cell) or cell.row in written]

    def _names_another(self, near: Beside, scope: Scope, said: Said, is_exact: bool) -> bool:
        """Whether the words name a field outright, which then holds another number: nothing else can make
        this one true but a sum that the sentence shows."""
        if APART.search(near.lead) or SUM_CUE.search(said.sentence.lower()):
            return False
        return bool(best(_told(scope, is_exact), near))

    def _is_part_of_whole(self, one: Quantity, said: Said, scope: Scope) -> bool:
        """`12 of 25`, `7 of the 10 hours`: both are told of one thing, as it is now."""
        numbers = mentions(said.sentence).numbers
        pair = next(
            (
                (a, b)
                for a, b in pairwise(numbers)
                if one in (a, b) and OF_THE.fullmatch(said.sentence[a.end : b.start])
            ),
            None,
        )
        if pair is None or one.currency:
            return False
        part, whole = ({abs(v).normalize() for v in each.values} for each in pair)
        told: dict[str, set[Decimal]] = {}
        for cell in scope.cells:
            if (
                cell.when in (When.IS, When.TOLD) and cell.record and not scope.has_changed(cell)
            ) or cell.when is When.IS:
                told.setdefault(cell.record, set()).update(cell.numbers)
        return any(part & held and whole & held for held in told.values())

    def _rules_of(self, near: Beside) -> set[Decimal]:
        """The numbers of rules and refusals; of the unit that is said, where they have some of it."""
        unit = stem(near.unit) if near.unit else ""
        of_unit = self._facts.given.fields.get(unit, set()) | self._facts.refused.fields.get(unit, set())
        return of_unit if unit and of_unit else self._facts.quotable

    def is_timely(self, cell: Cell, near: Beside, said: Said) -> bool:
        if STANDS.search(said.text.lower()) and (cell.when is When.WAS or self._is_stale(cell)):
            return False
        if cell.when is When.WAS:
            return PAST.search(said.sentence.lower()) is not None and not NOW.search(near.lead)
        if cell.when is When.TRIED:
            return self._facts.is_refusal or NEGATED.search(said.sentence.lower()) is not None
        return True

    def _is_stale(self, cell: Cell) -> bool:
        """Told by a call before the last one that changed something."""
        last = max((row.sequence for row in self._evidence.writes if row.succeeded), default=0)
        return cell.when is When.TOLD and cell.row < last

    def _deeds_in(self, near: Beside) -> list[EvidenceRow]:
        """The calls that changed something and whose name is said in the clause."""
        rows = [row for row in self._evidence.writes if row.succeeded]
        return [
            row
            for row in rows
            if any(not related(stem(word)).isdisjoint(near.wide) for word in tokens(row.tool)[:1])
        ]

    # What can be meant by one thing only

    @cached_property
    def spoken(self) -> Scope:
        """All that the answers name, or else the user."""
        said = " ".join((*self._evidence.responses, self._evidence.user_instruction))[:LONGEST_TEXT]
        return self._cells.scope(named_in(said, self._facts))

    @cached_property
    def whole_sums(self) -> frozenset[Decimal]:
        """Each column of a list, and each field of the things that the answer speaks of, added up."""
        found = {sum(column, Decimal()) for column in self._facts.columns.values() if len(column) > 1}
        by_field: dict[tuple[str, str], list[Decimal]] = {}
        for thing in self.spoken.own:
            for cell in self._cells.of(thing):
                if cell.when is When.IS and cell.numbers:
                    by_field.setdefault((thing.entity_type, cell.field), []).extend(cell.numbers)
        found |= {sum(numbers, Decimal()) for numbers in by_field.values() if len(numbers) > 1}
        return frozenset(value.normalize() for value in found if is_telling({value}))

    # Counts

    def _is_counted(self, one: Quantity, wanted: frozenset[Decimal], near: Beside, said: Said) -> bool:
        """How many things of a list there are; of which the words name some, only those."""
        if one.currency or not all(is_small(value) for value in wanted):
            return False
        if said.sentence[one.start : one.end].lower() in ORDINALS:
            return False
        if STANDS.search(said.text.lower()) and any(row.succeeded for row in self._evidence.writes):
            return False  # lists were told before the change: they say nothing of what is left
        named = {Decimal(len(named_in(said.sentence, self._facts))), Decimal(len(self._facts.asked_for))}
        if wanted & (named - {Decimal(0), Decimal(1)}):
            return True
        words = content_stems(near.clause) | content_stems(one.unit)
        for things in self._facts.lists:
            some = {word for word in words if 0 < sum(word in thing for thing in things) < len(things)}
            count = sum(some <= thing for thing in things) if some else len(things)
            listed = sum(not some.isdisjoint(thing) for thing in things) if len(some) > 1 else count
            if {Decimal(count), Decimal(listed)} & wanted:
                return True
        kinds: dict[str, int] = {}
        for thing in self._cells.named(self._facts.touched):
            kinds[thing.entity_type] = kinds.get(thing.entity_type, 0) + 1
        counted = {word for unit in content_stems(one.unit) for word in related(unit)}
        return any(
            Decimal(count) in wanted and not counted.isdisjoint(field_words(kind))
            for kind, count in kinds.items()
        )

    # What is reckoned

    def _is_reckoned(
        self, one: Quantity, wanted: frozenset[Decimal], near: Beside, scope: Scope, said: Said
    ) -> bool:
        beside_it = near.both
        others = self.others(one, said)
        if self._is_quoted(one, wanted, near, said):
            return True
        if one.unit in ("%", "percent"):
            return False
        if stem(near.unit) in _TIMES_OF or stem(near.unit) in _MONTHS_IN:
            return self._is_span(wanted, near, scope)
        if wanted & results(others) and len(others) > 1:
            return True
        if CHANGED.search(beside_it) and wanted & (
            steps(scope) | between(self._cells.scope(frozenset())) | apart(others)
        ):
            return True
        if LEFT.search(beside_it) and wanted & within(scope):
            return True
        if SUMMED.search(said.text) and wanted & self.totals(scope, others):
            return True
        return "year" in said.sentence.lower() and bool(
            wanted & {(n * 12).normalize() for n in steps(scope) | now_held(scope)}
        )

    def others(self, one: Quantity, said: Said) -> frozenset[Decimal]:
        """The other numbers of a sentence, as far as they are known."""
        every = [other for other in mentions(said.sentence).numbers if other.start != one.start]
        values = {abs(value).normalize() for other in every[:12] for value in other.values}
        return frozenset(values & (self.known | self.whole_sums))

    @cached_property
    def known(self) -> frozenset[Decimal]:
        everything = self._cells.scope(frozenset())
        cells = {number for cell in everything.cells for number in cell.numbers}
        days = [
            [date_of(day) for cell in self._cells.of(t) for day in cell.days] for t in self._cells.things[:50]
        ]
        spans = {Decimal(abs((a - b).days)) for some in days for a, b in combinations(some[:8], 2) if a and b}
        told = self._facts.asked.numbers | self._facts.quotable | steps(everything)
        told |= self._facts.everything.numbers  # those that stand in texts, too: `77 Mill Lane`
        return frozenset(cells | told | spans)

    def _is_quoted(self, one: Quantity, wanted: frozenset[Decimal], near: Beside, said: Said) -> bool:
        """A number of a rule, of a refusal or of a called tool's description, in words that it shares; or of
        the user, where the clause denies, or says that it is the user's."""
        words = content_stems(said.text) | content_stems(one.unit)
        for saying in self._facts.sayings:
            if wanted & saying.numbers and any(not related(word).isdisjoint(saying.words) for word in words):
                return True
        if wanted & self._facts.asked.numbers and (
            OF_USER.search(said.text) or NEGATED.search(said.sentence.lower()) or self._facts.is_refusal
        ):
            return not self._deeds_in(near) or NEGATED.search(said.text) is not None
        return False

    def _is_span(self, wanted: frozenset[Decimal], near: Beside, scope: Scope) -> bool:
        """`a week later`, `18 days overdue`: between two days of what is spoken of, or from the run's day."""
        unit = stem(near.unit)
        is_told = any(stem(c.field) == unit and c.numbers and scope.is_own(c) for c in scope.cells)
        if is_told and not COUNTED_FROM.search(near.both) and not IN.search(near.lead):
            return False  # how many there are stands in a field of its own
        days = [date_of(day) for cell in scope.cells if scope.is_own(cell) or cell.row for day in cell.days]
        known = [day for day in dict.fromkeys(days) if day is not None][:MOST_OPERANDS]
        today = [
            date_of(day) for day in (self._facts.day_of_run(), *self._facts.asked.days) if day is not None
        ]
        pairs = [*combinations(known, 2), *((a, b) for a, b in product(today, known) if a is not None)]
        if unit in _TIMES_OF:
            spans = {Decimal(abs((a - b).days)) for a, b in pairs}
            in_days = {n * _TIMES_OF[unit] for n in wanted}
            told = {n for cell in scope.cells if cell.words & _NIGHTS for n in cell.numbers}
            return bool(in_days & (spans | told))
        months = {Decimal(abs((a.year - b.year) * 12 + a.month - b.month)) for a, b in pairs}
        return bool({n * _MONTHS_IN[unit] for n in wanted} & months)

    def totals(self, scope: Scope, others: frozenset[Decimal]) -> set[Decimal]:
        """One field of several things or replies; two amounts of one thing or reply; so many of a price."""
        found: set[Decimal] = set()
        by_field: dict[str, dict[tuple[str, int], Decimal]] = {}
        by_record: dict[str, set[Decimal]] = {}
        for cell in scope.cells:
            if cell.when is not When.WAS and cell.numbers:
                (number,) = cell.numbers
                by_field.setdefault(cell.field, {})[cell.record, cell.row] = number
                if cell.is_amount:
                    by_record.setdefault(cell.record, set()).add(number)
        for values in by_field.values():
            if 1 < len(values) <= MOST_OPERANDS:
                found.add(sum(values.values(), Decimal()))
                found |= {a + b for a, b in combinations(values.values(), 2)}
        for numbers in by_record.values():
            found |= {a + b for a, b in combinations(few_of(numbers), 2)}
        amounts = few_of(n for numbers in by_record.values() for n in numbers)
        counts = {n for n in now_held(scope) | others if is_small(n) and n > 1}
        found |= {a * b for a, b in product(amounts, counts)}
        found |= {sum(others, Decimal())} if len(others) > 1 else set()
        return {value.normalize() for value in found} - {Decimal()}


def _is_step(wanted: frozenset[Decimal], near: Beside, scope: Scope) -> bool:
    """By how much the field that is named was changed: `six more pieces`."""
    told = [cell for cell in scope.cells if cell.numbers and cell.when in (When.IS, When.TOLD, When.WAS)]
    named = best(told, near) if CHANGED.search(near.both) else []
    return any(wanted & steps(scope.of_field(cell)) for cell in named)


def _counting(one: Quantity, holding: list[Cell], near: Beside, scope: Scope, said: Said) -> list[Cell]:
    # `2 tickets`, of an order with `quantity: 2`: such a field counts whatever the thing is of.
    if said.sentence[one.start : one.end].lower() in ORDINALS:
        return [cell for cell in holding if cell.words & PLACES or near.names(cell)]
    is_counted = content_stems(near.unit) or near.following.lstrip().startswith("×")
    counts = [cell for cell in holding if cell.words & _COUNTS and is_counted]
    return counts or [cell for cell in holding if scope.has_changed(cell) and not content_stems(near.unit)]


_WHOLE = frozenset(map(stem, ("amount", "value")))
_NIGHTS = frozenset(map(stem, ("days", "nights", "weeks", "duration", "period")))


def _counts_unit(cell: Cell, unit: str) -> bool:
    """`weight_kg` for kg; `spots_left`, for `five more spots`."""
    words = [stem(word) for word in tokens(cell.field)]
    return words[-1] == unit or {*words} - _OF_REST == {unit}


_OF_REST = frozenset(map(stem, ("left", "remaining", "free", "available")))


def _told(scope: Scope, is_exact: bool) -> list[Cell]:
    """Numbers of the things spoken of themselves, and of calls about them that worked."""
    cells = [cell for cell in scope.cells if cell.numbers and cell.when is not When.TRIED]
    return [cell for cell in cells if (scope.is_own(cell) or cell.row) and _may_be(cell, is_exact)]


def _is_exact(one: Quantity, said: Said) -> bool:
    return one.currency is not None or _CENTS.search(said.sentence[one.start : one.end]) is not None


def _may_be(cell: Cell, is_exact: bool) -> bool:
    """An amount to the cent is no count of nights."""
    return not is_exact or cell.is_amount or bool(roles(cell.words)) or bool(cell.words & MONEY)


def _holds(cell: Cell, wanted: frozenset[Decimal], is_exact: bool) -> bool:
    if not cell.numbers & wanted:
        return bool(is_exact and cell.is_amount and {n / 100 for n in cell.numbers} & wanted)  # in cents
    return _may_be(cell, is_exact)


_COUNTS = frozenset(map(stem, ("quantity", "qty", "count", "pieces", "units", "size", "party")))
