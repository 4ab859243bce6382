"""A number, by what is said around it: what was told, what changed, what is left, what it comes to.

number and the words beside it -> which sums may make it -> is it so, is it disproved, or neither.
What a change comes to, or what each part is, has one right answer: another one is false. What is left or a
total may be reckoned in more ways than are known here, so there a number that fits none is only strange.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

from pipelines.core.english.mentions import MARK, mentions, without_mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.json_text import Json
from pipelines.core.simulation.reading.words import tokens
from pipelines.core.verdict.arithmetic import COMPARED
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.facts import bare
from pipelines.core.verdict.known import numbers_of
from pipelines.core.verdict.periods import Periods
from pipelines.core.verdict.said import NEGATED, Said, named_in
from pipelines.core.verdict.speech import content_stems
from pipelines.core.verdict.things import Place, Thing, Things, said_words

MOST_OPERANDS = 40  # numbers of the things spoken of; nobody reckons with more
MOST_PARTS = 12
LARGEST_PART = 60  # "instalments of 321.00 each": by how many something is divided
NEAR_BEFORE, NEAR_AFTER = 7, 6  # words that say what a number is

_CHANGED = re.compile(
    r"\b(?:more|less|fewer|extra|additional|added|adds?|removed|saved?|saves|saving|cheaper|dearer|higher|lower|by|difference|gained"
    r"|lost|on\s+top|up|down|off|back|increase|decrease|rise|drop|under|over|above|below|short)\b|[-−+]\s*$"
)
_LEFT = re.compile(
    r"\b(?:left|leav\w+|remain\w*|still|open|outstanding|free|available|unused|spare|to\s+go|more|room|short|rest|balance|due|owe\w*"
    r"|unpaid|missing|after\s+yours|over)\b"
)
_SUMMED = re.compile(
    r"\b(?:total\w*|together|altogether|comes?\s+to|came\s+to|makes?|sum|in\s+all|combined|plus|all\s+told|overall|both|brings?)\b|[=×+]"
)
_SHARED = re.compile(r"\b(?:each|per|apiece|every|equal|instalments?)\b")
_AT = re.compile(r"\bat\s*$")
_PAST = re.compile(
    r"\b(?:had|was|were|before|previous(?:ly)?|formerly|originally|used\s+to|out\s+of|of\s+(?:your|the))\b"
)
_BEYOND = re.compile(r"\b(?:short|over|above|below|beyond|under|exceed\w*|more|less|left|leaves|spare)\b")
_WANTED = re.compile(
    r"\b(?:asked|wanted|requested|missing|under|over|above|below|beyond|exceed\w*|more\s+than|less\s+than|too|instead|at)\b"
)
_DEED = re.compile(r"\b(?:i|we)(?:'ve|\s+have|\s+had)?\s+(?:also\s+|now\s+|just\s+)?[a-z]+(?:ed|t|d)\b")
_IN_STEPS = re.compile(rf"\bfrom\s+{MARK}\s+(?:\S+\s+){{0,3}}?to\s+{MARK}|{MARK}\s*(?:→|->)\s*{MARK}")
_FIELD_OF = re.compile(
    r"(?:(?:^|\s)(?:of|is|was|are|now|to|at|for|stands\s+at|remains?|stays?|just|only)|[:=])\s*\(?$"
)
# No plain statement: `about 40`, `if it were 40`, `it may be 40`.
_LIMIT = re.compile(
    r"\b(?:up\s+to|at\s+most|at\s+least|stops?\s+at|limit(?:ed)?\s+(?:of|is|to|at)|maximum\s+(?:of|is)|minimum\s+(?:of|is)|no\s+more\s+than"
    r"|no\s+fewer\s+than|no\s+less\s+than|capped\s+at|not\s+exceed)\s*$"
)
_PRODUCT = re.compile(rf"{MARK}\s*[×*x]\s*{MARK}\s*=\s*{MARK}")
_THERE_ARE = re.compile(r"\b(?:there\s+are|there\s+were|i\s+(?:found|see|saw)|you\s+have)\s*(?:now\s+)?$")
_THAT_COST = re.compile(r"\b(?:that|this|it)(?:'s|\s+has)?\s+(?:cost|costs)\s*(?:you\s*)?$")
_OF_THEM = re.compile(r"^\W*of\s+(?:them|these|those|which|it)\b")
_SETS_APART = re.compile(
    r"\b(?:instead|on\s+top|from|less|off|plus|than|short|new\s+total|adds?|net|altogether|in\s+total|come\s+to)\b|[+×→]"
)
_PARTICIPLE = re.compile(r"\b[a-z]{3,20}ed\b|\b(?:sent|paid|put|made|set|sold|given|taken)\b")
_OF_A_PIECE = frozenset(
    map(
        stem,
        (
            "per",
            "rate",
            "price",
            "daily",
            "monthly",
            "fee",
            "cost",
            "day",
            "unit",
            "each",
            "charge",
            "copay",
            "rent",
            "month",
            "instalment",
        ),
    )
)
_A_PIECE = re.compile(r"^\W*(?:a|an|per|each)\b")
_LEFT_OVER = re.compile(r"\b(?:free|available|unused|outstanding|leaves|left|remain\w*)\b")
_OF_WHAT_IS_LEFT = frozenset(
    map(
        stem,
        (
            "left",
            "free",
            "available",
            "remaining",
            "unused",
            "outstanding",
            "due",
            "balance",
            "stock",
            "arrears",
            "copies",
        ),
    )
)
_ENDING = re.compile(r"\b(?:ending(?:\s+in|\s+with)?|ends\s+(?:in|with)|last\s+(?:four|4)(?:\s+digits)?)\s*$")
LEAST_DIGITS = 4  # of a number that is known by its end
_GUESSED = re.compile(
    r"\b(?:if|would|could|may|might|should|must|usually|normally|typically|about|around|roughly|up\s+to|at\s+least|at\s+most|more\s+than"
    r"|less\s+than|unless|not|no|never|within|expect(?:ed)?|shortly|soon)\b|n't\b|\?"
)
_NO_FIELD = frozenset(map(stem, ("id", "date", "day", "time", "number")))
_YEAR, _MONTHS_OF_YEAR = re.compile(r"\b(?:year|yearly|annual\w*)\b"), 12


class Reading(Enum):
    SO = auto()
    FALSE = auto()
    OPEN = auto()


class _Cell(NamedTuple):
    """A number of a call: what it was given, answered, or wrote."""

    words: frozenset[str]
    number: Decimal
    row: EvidenceRow
    is_argument: bool
    is_money: bool  # has a fraction, or is too large for a count


class _Scope(NamedTuple):
    """The numbers of what a sentence speaks of."""

    after: frozenset[Decimal]
    before: frozenset[Decimal]
    steps: frozenset[Decimal]  # by how much fields changed
    apart: frozenset[Decimal]  # between two numbers of one thing after the run, or of one field of two things
    changed: frozenset[Decimal]  # what fields that changed are now
    told: frozenset[Decimal]  # of calls about it that succeeded
    places: tuple[Place, ...]
    cells: tuple[_Cell, ...]

    @property
    def every(self) -> frozenset[Decimal]:
        return self.after | self.before | self.told


class Figures:
    def __init__(self, evidence: RunEvidence, things: Things) -> None:
        self._evidence = evidence
        self._things = things
        self._facts = things.facts
        self._periods = Periods(evidence, things)
        self._scopes: dict[frozenset[str], _Scope] = {}
        self.numbers_said: frozenset[Decimal] = frozenset()  # of all answers

    def read(self, number: Quantity, said: Said, focus: frozenset[str]) -> Reading:
        self._evidence.keep_going()
        wanted = {abs(value).normalize() for value in number.values}
        around = _around(said, number)
        names = named_in(said.raw, self._facts) or named_in(said.sentence, self._facts) or focus
        if self._is_part_of_a_text(said.sentence, number) or self._is_shown(said.sentence, wanted):
            return Reading.SO
        if number.unit in ("%", "percent"):
            return Reading.OPEN
        if (period := self._periods.read(wanted, number.unit, around.both, names)) is not None:
            return Reading.SO if period else Reading.FALSE
        scope = self._scope(names)
        others = _others(said.sentence, number) & (
            scope.every | self._facts.asked.numbers | self._facts.quotable | scope.steps
        )
        if self._is_right(wanted, number, around, scope, others, said):
            return Reading.SO
        return self._disproved(wanted, number, around, scope, said)

    def miscounts(self, number: Quantity, said: Said, focus: frozenset[str]) -> Reading:
        """`three bags`, of a booking with two: false where the number stands nowhere, else only strange."""
        name = bare(said.sentence[number.start : number.end])
        if not number.currency and (name in self._facts.subjects or name in self._facts.asked_for):
            return Reading.SO  # it names a thing
        names = named_in(said.raw, self._facts) or named_in(said.sentence, self._facts) or focus
        scope = self._scope(names)
        wanted = {abs(value).normalize() for value in number.values}
        near = _around(said, number).both
        if number.unit in COMPARED and scope.steps and not NEGATED.search(said.text):
            others = _others(said.sentence, number)
            right = wanted & (scope.steps | scope.apart | _apart(others) | self._beyond(scope))
            return Reading.SO if right or self._periods.is_time(near) else Reading.OPEN
        if _LEFT_OVER.search(near) and not NEGATED.search(said.text) and not _PAST.search(near):
            others = _others(said.sentence, number)
            fits = scope.apart | self._of_what_is_left(scope) | _apart(others) | self._counts | scope.changed
            is_given = wanted & self._facts.amounts_given and self._tells_deed(_around(said, number).lead)
            if not wanted & fits and not is_given:
                return Reading.OPEN
        if _ENDING.search(_around(said, number).lead):
            return Reading.SO if self._is_an_end(said.sentence, number) else Reading.OPEN
        if self._is_doubtful(number, wanted, said, scope):
            return Reading.OPEN
        if not _counts_another(number, wanted, scope) or _CHANGED.search(near) or NEGATED.search(said.text):
            return Reading.SO
        if (
            wanted & _named_cells(scope, {*said_words(near)} - said_words(number.unit))
            or wanted & scope.apart
        ):
            return Reading.SO
        is_told = bool(wanted & (scope.every | self._facts.asked.numbers | self._facts.quotable))
        return Reading.OPEN if is_told else Reading.FALSE

    def _is_doubtful(self, number: Quantity, wanted: set[Decimal], said: Said, scope: _Scope) -> bool:
        """A number that was told, in a place where another must stand."""
        around = _around(said, number)
        others = _others(said.sentence, number)
        if _is_small(wanted) and not number.currency and not any(value % 1 for value in wanted):
            return bool(wanted & others) and _OF_THEM.search(around.following) is not None
        if wanted & others and _SETS_APART.search(said.sentence.lower()):
            return True  # `41.40 off, new total 41.40`
        if _YEAR.search(around.lead) and scope.steps and "month" in said.sentence.lower():
            return not wanted & _of_a_year(scope.steps | scope.after | others)
        if _A_PIECE.search(around.following) and not NEGATED.search(said.text):
            pieces = {n for place in scope.places if place.words & _OF_A_PIECE for n in place.numbers}
            pieces |= {cell.number for cell in scope.cells if cell.words & _OF_A_PIECE}
            return not wanted & (
                pieces | self._facts.quotable | _shares(scope, others) | self._facts.asked.numbers
            )
        if _THAT_COST.search(around.lead):
            cells = {
                cell.number
                for cell in self._cells
                if cell.row in self._evidence.writes and cell.row.succeeded
            }
            return bool(cells) and not wanted & (cells | scope.steps | scope.changed | _apart(others))
        return self._is_no_amount_of(wanted, around, said)

    def _is_no_amount_of(self, wanted: set[Decimal], around: "_Around", said: Said) -> bool:
        """`£590 recorded`, where another amount was given to the call that did it."""
        low = said.sentence.lower()
        if NEGATED.search(low) or _PAST.search(low) or _SETS_APART.search(low) or self._facts.is_refusal:
            return False
        rows = [row for row in self._evidence.writes if row.succeeded]
        told = [row for row in rows if self._is_told_by(row, said.text)]
        given = {
            cell.number
            for cell in self._cells
            for row in told
            if cell.row is row and cell.is_money and cell.is_argument
        }
        if not told or not given:
            return False
        last = around.lead.split()[-1:]
        if last and any(stem(last[0]) in {stem(word) for word in tokens(row.tool)} for row in told):
            return not wanted & given  # right behind the verb: what it was done with
        allowed = {cell.number for cell in self._cells for row in told if cell.row is row}
        names = {other for word in said_words(around.both) for other in related(word)}
        is_named = any(
            place.numbers & wanted and place.words & names for place in self._scope(frozenset()).places
        )
        return not is_named and not wanted & allowed

    def _is_told_by(self, row: EvidenceRow, clause: str) -> bool:
        names = {stem(word) for word in tokens(row.tool)}
        done = {stem(found[0]) for found in _PARTICIPLE.finditer(clause)}
        return any(not related(word).isdisjoint(names) for word in done)

    def _of_what_is_left(self, scope: _Scope) -> frozenset[Decimal]:
        """Numbers of fields for what is left, and of calls."""
        own = {
            n
            for place in scope.places
            if place.is_so and place.words & _OF_WHAT_IS_LEFT
            for n in place.numbers
        }
        return frozenset(own) | {cell.number for cell in scope.cells if cell.words & _OF_WHAT_IS_LEFT}

    @cached_property
    def _counts(self) -> frozenset[Decimal]:
        """How many things lists have, all together or of one state."""
        found = {Decimal(len(things)) for things in self._facts.lists}
        for things in self._facts.lists:
            words = {word for thing in things for word in thing}
            found |= {Decimal(sum(word in thing for thing in things)) for word in [*words][:MOST_OPERANDS]}
        return frozenset(found)

    def is_limit(self, number: Quantity, said: Said) -> Reading:
        """`at least 60 days`, where the backend said 90: the limit that a refusal gives was told."""
        wanted = {abs(value).normalize() for value in number.values}
        if not _LIMIT.search(_around(said, number).lead) or wanted & self._facts.quotable:
            return Reading.SO
        if wanted & (self._facts.everything.numbers | self._facts.asked.numbers):
            return Reading.SO if wanted & self._scope(frozenset()).after else Reading.OPEN
        return Reading.FALSE if self._facts.refusal_numbers else Reading.OPEN

    def _is_an_end(self, sentence: str, number: Quantity) -> bool:
        """`ending in 4471`: of a number that was told, the last digits."""
        digits = re.sub(r"\D", "", sentence[number.start : number.end])
        told = {
            *self._facts.digits.split(),
            *(str(n) for n in self._facts.everything.fields.get(stem("last4"), ())),
        }
        fields = [place for thing in self._everything for place in self._things.places(thing)]
        told |= {
            str(place.value) for place in fields if "last" in place.key.lower() or "end" in place.key.lower()
        }
        return any(one.endswith(digits) and len(one) >= LEAST_DIGITS for one in told) and len(digits) >= 2

    def _is_right(
        self,
        wanted: set[Decimal],
        number: Quantity,
        around: "_Around",
        scope: _Scope,
        others: frozenset[Decimal],
        said: Said,
    ) -> bool:
        near = around.both
        if wanted & self._facts.amounts_given and self._tells_deed(around.lead):
            return True
        if number.unit == "times" and any(
            b and (a / b).normalize() in wanted for a in others for b in others
        ):
            return True
        if self._is_of_a_named_field(wanted, number, around, scope):
            return True
        if _CHANGED.search(near) and wanted & (scope.steps | _apart(others)):
            return True
        if number.unit in COMPARED and wanted & frozenset(_between(self._everything)):
            return True
        if _counts_another(number, wanted, scope):
            return False
        if _LEFT.search(near) and wanted & scope.apart:
            return True
        if _BEYOND.search(near) and wanted & self._beyond(scope):
            return True
        if _SUMMED.search(near) and wanted & self._totals(scope, others):
            return True
        if (_SHARED.search(near) or _AT.search(around.lead)) and wanted & _shares(scope, others):
            return True
        if _PAST.search(near) and wanted & scope.before:
            return True
        if (
            not _is_small(wanted)
            and wanted & (scope.after | scope.told)
            and not _names_another(wanted, around, scope)
        ):
            return True
        if NEGATED.search(said.text) and wanted & (scope.after | self._facts.quotable):
            return True
        if self._facts.is_refusal and wanted & self._facts.quotable:
            return True
        if any(wanted & {(a * b / 100).normalize()} for a, b in combinations(others, 2)) and "%" in said.raw:
            return True
        if wanted & _of_a_year(scope.steps | others) and _YEAR.search(said.sentence.lower()):
            return True
        return self._is_what_was_wanted(wanted, number, around, said)

    def _tells_deed(self, lead: str) -> bool:
        """Whether the words before a number tell what a call did that it was given to."""
        done = {row.tool for row in self._evidence.writes if row.succeeded}
        names = {stem(word) for tool in done for word in tokens(tool)}
        return any(not related(word).isdisjoint(names) for word in content_stems(lead))

    def _is_of_a_named_field(
        self, wanted: set[Decimal], number: Quantity, around: "_Around", scope: _Scope
    ) -> bool:
        """`9 of them in use`, of `seats_used`: a word beside it is a word of the field."""
        near = {other for word in said_words(f"{around.both} {number.unit}") for other in related(word)}
        holding = [place for place in scope.places if place.is_so and place.numbers & wanted]
        telling = [place for place in holding if place.words & near]
        named = [place for place in scope.places if place.numbers and place.words and place.words <= near]
        if telling and _A_PIECE.search(around.following):
            return True  # `$12 a seat`, of `per_seat`
        if named and not any(place in named for place in holding):
            return False  # a field is named by its whole name, and it is another
        if telling:
            return not _names_another(wanted, around, scope)
        return bool(wanted & _named_cells(scope, near)) and not _names_another(wanted, around, scope)

    def _is_what_was_wanted(
        self, wanted: set[Decimal], number: Quantity, around: "_Around", said: Said
    ) -> bool:
        """What the user asked for, where it is not said to have been done: `eighty was under the minimum`."""
        if not wanted & self._facts.asked.numbers:
            return False
        unit = stem(number.unit) if content_stems(number.unit) else ""
        if unit and wanted & self._facts.asked.fields.get(unit, set()) and not _DEED.search(said.text):
            return True  # `six months`, as the user said
        if not _WANTED.search(around.both):
            return False
        if _DEED.search(said.text) or self._facts.verbs & content_stems(said.text):
            return False
        return any(cell.number in wanted and cell.is_argument for cell in self._cells)

    def _disproved(
        self, wanted: set[Decimal], number: Quantity, around: "_Around", scope: _Scope, said: Said
    ) -> Reading:
        if _GUESSED.search(said.text):
            return Reading.OPEN
        if self._miscounts_a_step(wanted, around, said, scope) or _shares_out_wrongly(wanted, said, scope):
            return Reading.FALSE
        if wanted & (scope.every | self._facts.asked.numbers | self._facts.quotable | scope.steps):
            return Reading.OPEN
        if _counts_another(number, wanted, scope) or _is_no_year_of(wanted, said, scope):
            return Reading.FALSE
        if self._outnumbers(wanted, number, around):
            return Reading.FALSE
        if wanted & self._facts.everything.numbers and _is_small(wanted):
            return Reading.OPEN
        return Reading.FALSE if _contradicts_a_field(number, around, scope) else Reading.OPEN

    def _outnumbers(self, wanted: set[Decimal], number: Quantity, around: "_Around") -> bool:
        """`there are three repairs`, of the only list that was told, with two."""
        lists = [things for things in self._facts.lists if things]
        if not _THERE_ARE.search(around.lead) or len(lists) != 1 or not content_stems(number.unit):
            return False
        return all(value % 1 == 0 and value > len(lists[0]) for value in wanted) and not number.currency

    def _miscounts_a_step(self, wanted: set[Decimal], around: "_Around", said: Said, scope: _Scope) -> bool:
        """`went from 2 to 5, so I added four`."""
        shown = _IN_STEPS.search(without_mentions(said.sentence).lower())
        if shown is None or not _CHANGED.search(around.both):
            return False
        numbers = [abs(value).normalize() for one in mentions(said.sentence).numbers for value in one.values]
        if wanted <= scope.every:
            return False
        steps = {abs(a - b).normalize() for a, b in combinations(numbers, 2) if {a, b} <= scope.every}
        return bool(steps) and not wanted & steps and not wanted & scope.steps

    # What there is to reckon with

    def _scope(self, names: frozenset[str]) -> _Scope:
        if names not in self._scopes:
            bound = self._things.named(names) if names else []
            near = [*bound, *self._things.linked(bound)] if bound else self._everything
            self._scopes[names] = self._of(near, names)
        return self._scopes[names]

    @cached_property
    def _ids(self) -> frozenset[str]:
        """Of all entities that were seen; a reply that names none of them is about none."""
        return frozenset(id.lower() for _, id in self._facts.seen_entities)

    @cached_property
    def _everything(self) -> list[Thing]:
        return self._things.named(frozenset(id.lower() for _, id in self._facts.seen_entities))

    def _of(self, near: list[Thing], names: frozenset[str]) -> _Scope:
        places = [place for thing in near for place in self._things.places(thing)]
        ids = {thing.id.lower() for thing in near} | names
        after = _few(number for place in places if place.is_so for number in place.numbers)
        before = _few(number for place in places if place.was for number in place.numbers)
        stale = {*_stale(near)}  # what a reply said before the run changed it
        cells = [
            cell
            for cell in self._cells
            if cell.row.succeeded
            and (cell.words, cell.number) not in stale
            and (not ids or _is_about(cell.row, ids) or not _is_about(cell.row, self._ids))
        ]
        return _Scope(
            after=after,
            before=before,
            steps=frozenset(_steps(near)),
            apart=frozenset(_within(near)) | frozenset(_between(near)) | _pairs_of_replies(cells),
            changed=_few(n for place in places if place.is_so and not place.was for n in place.numbers),
            told=_few(cell.number for cell in cells),
            places=tuple(places),
            cells=tuple(cells),
        )

    @cached_property
    def _cells(self) -> tuple[_Cell, ...]:
        found: list[_Cell] = []
        for row in self._evidence.calls:
            self._evidence.keep_going()
            for is_argument, value in ((True, row.arguments), (False, row.response)):
                found += [
                    _Cell(words, number, row, is_argument, isinstance(part, float) or number > LARGEST_PART)
                    for words, part in _keyed(value)
                    for number in numbers_of(part)
                ]
        return tuple(found[:2_000])

    def _beyond(self, scope: _Scope) -> frozenset[Decimal]:
        """How far what was asked for lies from what is or may be."""
        given = {cell.number for cell in self._cells if cell.is_argument}
        asked = _few(self._facts.asked.numbers & given) - {Decimal()}
        limits = _few(scope.after | self._facts.quotable | scope.told) - {Decimal()}
        return frozenset(abs(a - b).normalize() for a in asked for b in limits) - {Decimal()}

    def _totals(self, scope: _Scope, others: frozenset[Decimal]) -> set[Decimal]:
        """Two or three numbers of what is spoken of; so many of a price; the numbers of a list."""
        money = {cell.number for cell in scope.cells if cell.is_money}
        few = sorted(
            (money | {n for place in scope.places if place.is_so and place.is_money for n in place.numbers})
            - {Decimal()}
        )[-MOST_PARTS:]
        found = {a + b for a, b in combinations(few, 2)} | {a + b for a, b in combinations(others, 2)}
        found |= {sum(others, Decimal())} if len(others) > 1 else set()
        counts = {cell.number for cell in scope.cells if not cell.is_money} | {
            n for n in others if n % 1 == 0
        }
        found |= _times(few, {n for n in counts if 1 < n <= LARGEST_PART})
        return {value.normalize() for value in found | self._facts.everything.column_sums} - {Decimal()}

    def _is_shown(self, sentence: str, wanted: set[Decimal]) -> bool:
        """`3 × 38.00 = 114.00`: right, and two of the three were told or asked."""
        marked = without_mentions(sentence)
        shown = _PRODUCT.search(marked)
        if shown is None:
            return False
        at = marked.count(MARK, 0, shown.start())
        read = mentions(sentence)
        three = sorted([*read.days, *read.times, *read.numbers])[at : at + 3]
        values = [abs(next(iter(one.values))).normalize() for one in three if isinstance(one, Quantity)]
        if len(values) != 3 or (values[0] * values[1]).normalize() != values[2] or not wanted & {*values}:
            return False
        told = self._facts.everything.numbers | self._facts.asked.numbers | self._facts.quotable
        return sum(value in told for value in values) > 1

    def _is_part_of_a_text(self, sentence: str, number: Quantity) -> bool:
        """`Mill Road 22`, `Acetone 5 L`: the number and a word beside it stand so in a text that was told."""
        if number.currency:
            return False
        written = sentence[number.start : number.end].lower().split()[0]
        before = re.findall(r"[\w']+", sentence[max(0, number.start - 40) : number.start].lower())[-1:]
        after = re.findall(r"[\w']+", sentence[number.end : number.end + 40].lower())[:1]
        pairs = {(word, written) for word in before} | {(written, word) for word in after}
        return not pairs.isdisjoint(self._pairs_in_texts)

    @cached_property
    def _pairs_in_texts(self) -> frozenset[tuple[str, str]]:
        """Two words in a row, one of them a number, of names and other short texts."""
        texts = {id for record in self._facts.records for id in record.ids if " " in id}
        found: set[tuple[str, str]] = set()
        for text in texts:
            words = re.findall(r"[\w']+", text)
            found |= {
                pair
                for pair in pairwise(words)
                if any(part.isdigit() for part in pair) and not all(part.isdigit() for part in pair)
            }
        return frozenset(found)


class _Around(NamedTuple):
    lead: str
    following: str

    @property
    def both(self) -> str:
        return f"{self.lead} {self.following}"


def _around(said: Said, number: Quantity) -> _Around:
    """The words beside a number, as far as the clause goes."""
    starts = [start for start, _ in said.leads]
    at = starts.index(number.start) if number.start in starts else 0
    pieces = said.text.split(MARK)
    before = " ".join(" ".join(pieces[: at + 1]).split()[-NEAR_BEFORE:])
    after = " ".join(" ".join(pieces[at + 1 :]).split()[:NEAR_AFTER])
    return _Around(before, after)


def _others(sentence: str, number: Quantity) -> frozenset[Decimal]:
    """The other numbers of a sentence."""
    every = [one for one in mentions(sentence).numbers if one.start != number.start]
    return frozenset(abs(value).normalize() for one in every[:MOST_PARTS] for value in one.values)


def _names_another(wanted: set[Decimal], around: _Around, scope: _Scope) -> bool:
    """Whether the words right before the number name a field that holds another one."""
    near = {other for word in said_words(" ".join(around.lead.split()[-3:])) for other in related(word)}
    named = [place for place in scope.places if place.numbers and place.words and place.words <= near]
    return bool(named) and not any(place.numbers & wanted for place in named)


def _contradicts_a_field(number: Quantity, around: _Around, scope: _Scope) -> bool:
    """`the daily limit is 12,000`, `a rebooking fee of 25.00`: the field is named, and holds another one."""
    if not _FIELD_OF.search(around.lead):
        return False
    words = said_words(" ".join(around.lead.split()[-5:]))
    near = {other for word in words for other in related(word)}
    named = [place.words for place in scope.places if place.numbers and place.words and place.is_so]
    named += [cell.words for cell in scope.cells if cell.words and not cell.words & _NO_FIELD]
    is_money = number.currency is not None or any(value % 1 for value in number.values)
    return any(field <= near for field in named) and (is_money or not content_stems(number.unit))


def _is_no_year_of(wanted: set[Decimal], said: Said, scope: _Scope) -> bool:
    """`12.50 less each month, over a year that's 125`."""
    if not _YEAR.search(said.text) or "month" not in said.sentence.lower() or len(scope.steps) != 1:
        return False
    return not wanted & _of_a_year(scope.steps | scope.after)


def _shares_out_wrongly(wanted: set[Decimal], said: Said, scope: _Scope) -> bool:
    """`1,284.00 is split into six instalments of 240 each`."""
    if not re.search(r"\beach\b|\bapiece\b", said.sentence.lower()):
        return False
    numbers = {abs(value).normalize() for one in mentions(said.sentence).numbers for value in one.values}
    counts = {n for n in numbers & scope.every if n % 1 == 0 and 1 < n <= LARGEST_PART}
    wholes = {n for n in numbers & scope.every if n > LARGEST_PART}
    shares = {(whole / count).normalize() for whole in wholes for count in counts if count}
    return len(counts) == 1 and len(wholes) == 1 and not any(_is_near(a, b) for a in wanted for b in shares)


def _is_near(one: Decimal, other: Decimal) -> bool:
    return abs(one - other) < Decimal("0.011")


def _shares(scope: _Scope, others: frozenset[Decimal]) -> set[Decimal]:
    """What each part is: of an amount of the records or a change, by a count that is said, or was given."""
    counts = {n for n in others if n % 1 == 0 and 1 < n <= LARGEST_PART}
    counts |= {cell.number for cell in scope.cells if cell.is_argument and not cell.is_money}
    money = {cell.number for cell in scope.cells if cell.is_money} | scope.steps
    wholes = money | {n for place in scope.places if place.is_so and place.is_money for n in place.numbers}
    return {round(whole / count, 2).normalize() for whole in wholes for count in counts if count > 1}


def _named_cells(scope: _Scope, near: set[str]) -> set[Decimal]:
    """Numbers that calls about what is spoken of were given or answered under a name that is said."""
    return {cell.number for cell in scope.cells if cell.words & near}


def _counts_another(number: Quantity, wanted: set[Decimal], scope: _Scope) -> bool:
    """`four nights`, of a stay with three: the word behind the number is the field's own."""
    unit = said_words(number.unit)
    named = [place for place in scope.places if place.numbers and place.words and place.words == unit]
    return bool(named) and not any(place.numbers & wanted for place in named)


def _times(numbers: Iterable[Decimal], counts: Iterable[Decimal]) -> set[Decimal]:
    return {(a * b).normalize() for a in numbers for b in counts}


def _of_a_year(numbers: Iterable[Decimal]) -> set[Decimal]:
    return {(number * _MONTHS_OF_YEAR).normalize() for number in numbers}


def _apart(numbers: Iterable[Decimal]) -> frozenset[Decimal]:
    return frozenset(abs(a - b).normalize() for a, b in combinations(numbers, 2)) - {Decimal()}


def _steps(things: Iterable[Thing]) -> Iterator[Decimal]:
    """By how much each number of the things changed in the run."""
    for thing in things:
        for key, now in thing.after.items():
            was = thing.before.get(key)
            if _is_number(was) and _is_number(now) and was != now:
                yield abs(Decimal(str(now)) - Decimal(str(was))).normalize()


def _stale(things: Iterable[Thing]) -> Iterator[tuple[frozenset[str], Decimal]]:
    """Numbers that the run changed, as they were, by the words of their field."""
    for thing in things:
        for key, was in thing.before.items():
            if _is_number(was) and thing.after.get(key, was) != was:
                yield from ((frozenset(map(stem, tokens(key))), number) for number in numbers_of(was))


def _within(things: Iterable[Thing]) -> Iterator[Decimal]:
    """What lies between two numbers of one thing, as it is."""
    for thing in things:
        numbers = _few(n for value in thing.after.values() if _is_number(value) for n in numbers_of(value))
        yield from _apart(numbers)


def _between(things: list[Thing]) -> Iterator[Decimal]:
    """What lies between the same field of two things of a kind."""
    for one, other in combinations(things[:MOST_PARTS], 2):
        for key, value in one.after.items() if one.entity_type == other.entity_type else ():
            partner = other.after.get(key)
            if _is_number(value) and _is_number(partner) and value != partner:
                yield abs(Decimal(str(value)) - Decimal(str(partner))).normalize()


def _pairs_of_replies(cells: Iterable[_Cell]) -> frozenset[Decimal]:
    """What lies between two numbers of one reply."""
    by_row: dict[int, set[Decimal]] = {}
    for cell in cells:
        if not cell.is_argument:
            by_row.setdefault(cell.row.sequence, set()).add(cell.number)
    return frozenset(number for few in by_row.values() if len(few) <= MOST_PARTS for number in _apart(few))


def _is_about(row: EvidenceRow, ids: frozenset[str] | set[str]) -> bool:
    given = row.arguments.values() if isinstance(row.arguments, dict) else ()
    answered = row.response.values() if isinstance(row.response, dict) else ()
    named = {str(value).lower() for value in (*given, *answered) if isinstance(value, (str, int))}
    return not named.isdisjoint(ids)


def _few(numbers: Iterable[Decimal]) -> frozenset[Decimal]:
    return frozenset(sorted(set(numbers))[-MOST_OPERANDS:])


def _is_small(wanted: set[Decimal]) -> bool:
    return all(value <= LARGEST_PART and value % 1 == 0 for value in wanted)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _keyed(value: Json) -> Iterator[tuple[frozenset[str], Json]]:
    """Numbers by the words of the field they stand in, however deep."""
    pending: list[tuple[frozenset[str], Json]] = [(frozenset(), value)]
    while pending:
        words, node = pending.pop()
        if isinstance(node, dict):
            pending.extend((frozenset(map(stem, tokens(key))), below) for key, below in node.items())
        elif isinstance(node, list):
            pending.extend((words, below) for below in node)
        elif _is_number(node):
            yield words, node
