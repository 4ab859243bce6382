"""Everything an answer says, looked up: what is not in the run, and not excused, is left for a person.

sentence -> clauses -> what each speaks of -> each mention bound to cells of that -> the words that are left.
A clause is borne out when every mention in it is bound and every word is known of what it speaks of.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.mentions import MARK, without_mentions
from pipelines.core.english.numbers import Quantity
from pipelines.core.english.stems import stem
from pipelines.core.verdict.amounts import Amounts
from pipelines.core.verdict.beside import Mention
from pipelines.core.verdict.borne_out import (
    SUPPOSED,
    Looked,
    explains,
    is_borne_out,
    is_excused,
)
from pipelines.core.verdict.bound import Bound, Reading
from pipelines.core.verdict.cells import Cells, Scope
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts
from pipelines.core.verdict.leftovers import as_it_was, costs_nothing, left_to_pay, used_up
from pipelines.core.verdict.lists import Lists
from pipelines.core.verdict.moments import Moments, right_moves, wrong_moves
from pipelines.core.verdict.reckoning import is_telling
from pipelines.core.verdict.references import (
    strange_partners,
    strange_references,
    unknown_ids,
)
from pipelines.core.verdict.said import QUESTION, Said, is_foreign, named_in, spoken_of, statements
from pipelines.core.verdict.speech import LONGEST_SENTENCE, sentences
from pipelines.core.verdict.sums import Sums
from pipelines.core.verdict.unheard import (
    is_too_soon,
    unheard_cause,
    unheard_deed,
)
from pipelines.core.verdict.values import Strange, strange_plurals, strange_values

MOST_LEFT_OVER = 5
# A rule, a condition, a sum over several things, or what is said of one in passing: a value that the run has
# otherwise does not disprove it.
_NOT_OF_ONE = re.compile(
    r"\b(?:can|cannot|can't|could|couldn't|may|might|must|should|would|only|unless|without|while|until(?!\s+(?:the\s+)?§)|once"
    r"|altogether|overall|together|in\s+(?:total|all)|comes?\s+to|adds?\s+up|average|(?:who|which)\s+(?:is|are|was|were))\b"
)
_CONDITIONS = frozenset(("while", "until", "once", "unless", "if", "when", "whenever", "before", "after"))
_DENIED_TWICE = re.compile(r"\b(?:nothing|none|nobody)\s+(?:\w+\s+){0,3}(?:not\b|\w+n't\b)")


# Who is spoken to is not who is spoken of: `Hi Felix!`, `Done, Marek:`
_VOCATIVE = re.compile(r"(?:^(?:[A-Z][a-z']+\W+){0,3}|,\s+)(?P<who>[A-Z][a-z]+)(?=[!,:]|\.$)")


class LeftOver(NamedTuple):
    """Something an answer says that nothing in the run bears out."""

    phrase: str
    sentence: str
    instead: str = ""  # what the run says in its place
    is_false: bool = False  # the run says otherwise: not only strange
    is_of_nothing: bool = False  # false of whatever it is said


class _Focus(NamedTuple):
    """What is spoken of: by its name, or else by words that describe it."""

    named: frozenset[str]
    described: frozenset[str]


def left_over(evidence: RunEvidence, facts: Facts, verified: Collection[str] = ()) -> list[LeftOver]:
    """What remains of the answers when all that can be looked up is taken away; `verified` are clauses that
    were borne out elsewhere, of which only the rest is looked at."""
    reader = _Reader(evidence, facts, {without_mentions(clause) for clause in verified})
    found: dict[tuple[str, _Focus], tuple[LeftOver, ...]] = {}  # what is repeated is read once
    for text in evidence.responses:
        focus = _Focus(*(2 * (named_in(evidence.user_instruction, facts),)))
        for sentence in sentences(text):
            evidence.keep_going()
            focus = reader.focus(sentence, focus)
            if (sentence, focus) not in found:
                found[sentence, focus] = tuple(reader.read(sentence, focus))
    sums = Sums(evidence.responses, facts.everything.numbers)
    every = dict.fromkeys(one for ones in found.values() for one in ones)
    return [one for one in every if not sums.show(one.phrase, one.sentence)]


class _Reader:
    def __init__(self, evidence: RunEvidence, facts: Facts, verified: Collection[str]) -> None:
        self._facts = facts
        self._verified = verified
        self._cells = Cells(evidence, facts)
        self._amounts = Amounts(self._cells)
        self._moments = Moments(self._cells, self._amounts)
        self._lists = Lists(self._cells)
        self._named: dict[str, _Focus] = {}

    def focus(self, sentence: str, before: _Focus) -> _Focus:
        """What a sentence speaks of; where it names nothing, what was spoken of before."""
        if sentence not in self._named:
            spoken = _VOCATIVE.sub(" ", sentence)
            self._named[sentence] = _Focus(named_in(spoken, self._facts), self._cells.described(spoken))
        own = self._named[sentence]
        return _Focus(own.named or before.named, own.named or own.described or before.described)

    def read(self, sentence: str, focus: _Focus) -> Iterator[LeftOver]:
        if QUESTION.search(sentence):
            return
        if is_foreign(sentence):
            yield LeftOver("", sentence)
            return
        if len(sentence) > LONGEST_SENTENCE:
            yield LeftOver(sentence[:LONGEST_SENTENCE], sentence)
            return
        scope = self._cells.scope(focus.described)
        for strange in strange_references(sentence, scope, self._cells):
            yield _left(strange, sentence)
        yield from (_left(one, sentence) for one in strange_plurals(sentence, self._cells))
        if _DENIED_TWICE.search(sentence.lower()):
            yield LeftOver(sentence, sentence)
        for move in wrong_moves(sentence, scope):
            is_false = move.is_turned or (move.is_from and not move.is_told)
            yield LeftOver(move.written, sentence, move.instead, is_false)
        used: dict[object, list[frozenset[str]]] = {}
        for said in statements(sentence):
            if not SUPPOSED.search(said.text):
                yield from self._of_clause(said, focus, used)

    def _of_clause(
        self, said: Said, focus: _Focus, used: dict[object, list[frozenset[str]]]
    ) -> Iterator[LeftOver]:
        strange = [_left(one, said.sentence) for one in unknown_ids(said, self._cells)]
        of_lists = self._lists.read(said, focus.named)
        strange += [_left(one, said.sentence) for one in of_lists.strange]
        strange += self._of_mentions(said, focus, used, of_lists.numbers) if not strange else []
        scope = self._cells.scope(
            named_in(said.raw, self._facts) or named_in(said.sentence, self._facts) or focus.described
        )
        standing = [check(said, scope) for check in (used_up, as_it_was, costs_nothing, left_to_pay)]
        strange += [_left(one, said.sentence) for each in standing for one in each.strange]
        if _lead_in(said) not in _CONDITIONS:
            strange += [_left(one, said.sentence) for one in strange_values(said, scope, self._cells)]
        strange += [_left(one, said.sentence) for one in strange_partners(said, self._cells)]
        settled = of_lists.words.union(*(each.words for each in standing))
        addressed = self._addressed(said.sentence)
        settled |= addressed
        strange = [one for one in strange if stem(one.phrase) not in (addressed if one.is_false else settled)]
        is_plain = _NOT_OF_ONE.search(said.text) is None and _lead_in(said) not in _CONDITIONS
        yield from dict.fromkeys(
            one._replace(is_false=one.is_of_nothing or (one.is_false and is_plain)) for one in strange
        )
        # Why a refusal was made is judged with the refusal.
        is_passed_over = is_excused(said) or (self._facts.is_refusal and explains(said, self._facts))
        if strange or is_passed_over:
            return
        known = self._facts.about(focus.named) if focus.named else self._facts.everything
        looked = Looked(
            said.written in self._verified,
            settled,
        )
        if is_too_soon(said, scope, self._facts):
            yield LeftOver(said.written.replace(MARK, "…"), said.sentence)
        elif not is_borne_out(_without_quotes(said, scope), known, self._facts, looked):
            is_false = is_plain and unheard_deed(said, self._facts)
            is_false = is_false or unheard_cause(said, _lead_in(said), self._facts)
            yield LeftOver(said.written.replace(MARK, "…"), said.sentence, is_false=is_false)

    def _addressed(self, sentence: str) -> frozenset[str]:
        """Stems of the names by which an answer speaks to somebody who is known."""
        names = {stem(found["who"].lower()) for found in _VOCATIVE.finditer(sentence)}
        return frozenset(names & (self._facts.asked.stems | self._facts.everything.stems))

    def _of_mentions(
        self,
        said: Said,
        focus: _Focus,
        used: dict[object, list[frozenset[str]]],
        counted: frozenset[int],
    ) -> Iterator[LeftOver]:
        every: list[Mention] = sorted([*said.days, *said.times, *said.numbers], key=lambda one: one.start)
        told = right_moves(said.sentence, self._cells.scope(frozenset())) if len(every) > 1 else frozenset()
        for one in every:
            if one.start in told or one.start in counted:
                continue
            scope = self._cells.scope(spoken_of(said, one.start, focus.described, self._facts))
            if isinstance(one, Quantity):
                bound = self._amounts.read(one, said, scope)
                bound = _unless_used_up(one, bound, used)
            else:
                bound = self._moments.read(one, said, scope)
                bound = _unless_used_up(one, bound, used)
            if bound.reading is not Reading.SO:
                written = said.sentence[one.start : one.end]
                is_false = bound.reading is Reading.FALSE
                yield LeftOver(written, said.sentence, bound.instead, is_false, bound.is_of_nothing)


def _lead_in(said: Said) -> str:
    """The word that a clause hangs on: "while" of "… only while they are paid"."""
    before = said.sentence.lower().partition(said.raw.strip())[0].split()
    return before[-1] if before else ""


def _unless_used_up(one: Mention, bound: Bound, used: dict[object, list[frozenset[str]]]) -> Bound:
    """An amount, day or time that a sentence gives twice stands for two things: each needs its own cell."""
    if not bound.cells:
        return bound
    if isinstance(one, Quantity) and not is_telling(one.values):
        return bound
    fields = frozenset(f"{cell.record}/{cell.field}/{cell.value}" for cell in bound.cells)
    values: Iterable[object] = one.values if isinstance(one, Quantity) else ()
    if isinstance(one, Timed):
        values = (one.minutes,)
    elif isinstance(one, Dated):
        values = {(day.month, day.day) for day in one.days}
    for value in values:
        before = used.setdefault(value, [])
        before.append(fields)
        if len(before) > len(frozenset().union(*before)):
            return Bound(Reading.OPEN)
    return bound


def _without_quotes(said: Said, scope: Scope) -> Said:
    """Without what it quotes of a record: `Subject: projector shows no picture` denies nothing."""
    texts = {str(c.value).lower() for c in scope.cells if isinstance(c.value, str) and c.value.count(" ") > 1}
    quoted = max((text for text in texts if text in said.text), key=len, default="")
    return said._replace(text=said.text.replace(quoted, " ")) if quoted else said


def _left(strange: Strange, sentence: str) -> LeftOver:
    return LeftOver(strange.phrase, sentence, strange.instead, strange.reading is Reading.FALSE)
