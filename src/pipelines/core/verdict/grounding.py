"""Everything an answer says, looked up: what is not in the log, and not excused, is left for a person.

sentence -> clauses -> is it a statement at all; its numbers, days, ids and states; the words that are left.
A statement is borne out by the records of the things it speaks of, not by anything that happens to be known.
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from pipelines.core.english.mentions import MARK, mentions, without_mentions
from pipelines.core.verdict.belonging import strange_for_all, strange_partners, strange_states, strange_values
from pipelines.core.verdict.borne_out import SUPPOSED, explains, is_borne_out, is_excused, telling_words
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.facts import Facts, bare
from pipelines.core.verdict.figures import Figures, Reading
from pipelines.core.verdict.known import Known
from pipelines.core.verdict.looked_up import LeftOver, strange_addresses, strange_mentions, strange_references
from pipelines.core.verdict.moves import wrong_moves
from pipelines.core.verdict.other_values import other_references, other_values
from pipelines.core.verdict.placed import misplaced, unfitting
from pipelines.core.verdict.said import QUESTION, Said, is_foreign, named_in, statements
from pipelines.core.verdict.speech import LONGEST_READ, LONGEST_SENTENCE, sentences
from pipelines.core.verdict.sums import Sums, numbers_in, wrong_sums
from pipelines.core.verdict.things import Things

MOST_LEFT_OVER = 5


class _Focus(NamedTuple):
    """What is spoken of: by its name, or else by words that describe it."""

    named: frozenset[str]
    described: frozenset[str]


def left_over(evidence: RunEvidence, facts: Facts, verified: Collection[str] = ()) -> list[LeftOver]:
    """What remains of the answers when all that can be looked up is taken away; `verified` are clauses that
    were borne out elsewhere, of which only the rest is looked at."""
    found: dict[tuple[str, _Focus], tuple[LeftOver, ...]] = {}  # what is repeated is read once
    verified = {without_mentions(clause) for clause in verified}
    named: dict[str, _Focus] = {}
    things = Things(evidence, facts)
    figures = Figures(evidence, things)
    figures.numbers_said = frozenset(
        value for text in evidence.responses for value in numbers_in(text[:LONGEST_READ])
    )
    for text in evidence.responses:
        focus = _Focus(*(2 * (named_in(evidence.user_instruction, facts),)))
        for sentence in sentences(text):
            evidence.keep_going()
            if sentence not in named:
                named[sentence] = _Focus(named_in(sentence, facts), things.described(sentence))
            own = named[sentence]
            focus = _Focus(own.named or focus.named, own.named or own.described or focus.described)
            if (sentence, focus) not in found:
                found[sentence, focus] = tuple(_of_sentence(sentence, focus, things, verified, figures))
    sums = Sums(evidence.responses, facts.everything.numbers)
    every = dict.fromkeys(one for ones in found.values() for one in ones)
    return [one for one in every if not sums.show(one.phrase, one.sentence)]


def _of_sentence(
    sentence: str, spoken_of: _Focus, things: Things, verified: Collection[str], figures: Figures
) -> Iterator[LeftOver]:
    facts = things.facts
    focus = spoken_of.described
    if QUESTION.search(sentence):
        return
    if is_foreign(sentence):
        yield LeftOver("", sentence)
        return
    if len(sentence) > LONGEST_SENTENCE:
        yield LeftOver(sentence[:LONGEST_SENTENCE], sentence)
        return
    known = facts.about(spoken_of.named) if spoken_of.named else facts.everything
    yield from strange_references(sentence, facts)
    yield from strange_addresses(sentence, facts)
    yield from other_references(sentence, focus, things)
    yield from (LeftOver(value, sentence) for value in strange_values(sentence, things))
    yield from (LeftOver(id, sentence) for id in unfitting(sentence, statements(sentence), things))
    yield from (LeftOver(one, sentence) for one in wrong_sums(sentence, figures.numbers_said))
    figured = _figured(sentence, facts)
    moves = wrong_moves(sentence, focus, things)
    yield from (LeftOver(one.written, sentence, one.instead, figured <= _OF_A_MOVE) for one in moves)
    for said in statements(sentence):
        if SUPPOSED.search(said.text):
            continue
        strange = [*strange_mentions(said, known, facts)]
        if strange and not any(one.is_false for one in strange) and _is_of_one_record(said, facts):
            strange = []
        if not any(one.is_false for one in strange):
            strange += _misplaced(said, focus, things)
        strange = [*_settled(strange, said, focus, figures)]
        strange += _miscounted(said, focus, figures) if not strange else []
        strange += _of_limits(said, figures) if facts.is_refusal else []
        others = [*other_values(said, focus, things)]
        strange += [LeftOver(one.said, sentence, one.instead, True) for one in others]
        yield from (_doubted(one) if figured > 1 and numbers_in(one.phrase) else one for one in strange)
        if not strange and _mixes_things(said, facts):
            yield LeftOver(said.written.replace(MARK, "…"), sentence)
            continue
        # Why a refusal was made is judged with the refusal.
        is_passed_over = is_excused(said.text) or (facts.is_refusal and explains(said, facts))
        if (
            not strange
            and not is_passed_over
            and not is_borne_out(said, known, facts, said.written in verified)
        ):
            yield LeftOver(said.written.replace(MARK, "…"), sentence)


_OF_A_MOVE = 2  # numbers: `from 3 to 5`


def _figured(sentence: str, facts: Facts) -> int:
    """How many numbers a sentence gives that are no ids."""
    every = ((sentence[one.start : one.end], one) for one in mentions(sentence).numbers)
    return sum(one.currency is not None or bare(written) not in facts.subjects for written, one in every)


def _doubted(one: LeftOver) -> LeftOver:
    """Of a sentence with several numbers nobody here can tell for sure what each is said of: one that does
    not fit may be a step of a sum, a rule, or of another thing."""
    return one._replace(is_false=False)


def _miscounted(said: Said, focus: frozenset[str], figures: Figures) -> Iterator[LeftOver]:
    for number in said.numbers:
        reading = figures.miscounts(number, said, focus)
        if reading is not Reading.SO:
            written = f"{said.sentence[number.start : number.end]} {number.unit}"
            yield LeftOver(
                written, said.sentence, f"another number of {number.unit}", reading is Reading.FALSE
            )


def _of_limits(said: Said, figures: Figures) -> Iterator[LeftOver]:
    for number in said.numbers:
        reading = figures.is_limit(number, said)
        if reading is not Reading.SO:
            written = said.sentence[number.start : number.end]
            yield LeftOver(written, said.sentence, "another limit", reading is Reading.FALSE)


def _settled(
    strange: list[LeftOver], said: Said, focus: frozenset[str], figures: Figures
) -> Iterator[LeftOver]:
    """The numbers among what is strange, reckoned: what is right is left out, what is disproved is false."""
    numbers = {}
    for number in said.numbers:
        written = said.sentence[number.start : number.end]
        numbers[written] = numbers[f"{written} {number.unit}"] = number
    for one in strange:
        meant = numbers.get(one.phrase)
        reading = figures.read(meant, said, focus) if meant is not None else Reading.OPEN
        if reading is Reading.FALSE and not one.is_false:
            yield one._replace(instead=one.instead or "another number", is_false=True)
        elif one.is_false or reading is not Reading.SO:
            yield one


def _misplaced(said: Said, focus: frozenset[str], things: Things) -> list[LeftOver]:
    """What is told, but not of this record or not of this field."""
    found = misplaced(said, focus, things)
    given = things.facts.amounts_given
    left = [
        LeftOver(
            one.written,
            said.sentence,
            one.instead,
            # What a call was given may be told by any word for it: "charged now", of a record with `paid`.
            one.is_false and _is_stated(said) and not given & {*numbers_in(one.written)},
        )
        for one in found
    ]
    bound = things.named(named_in(said.raw, things.facts) or focus)
    states = [*strange_states(said, bound, things), *strange_for_all(said, things)]
    left += [LeftOver(word, said.sentence) for word in dict.fromkeys(states)]
    return left + [LeftOver(id, said.sentence) for id in strange_partners(said, things)]


_SHOULD = re.compile(r"\bshould\s+(?=(?:be|arrive|come|land|start|end|leave|reach)\b)")


def _is_stated(said: Said) -> bool:
    """`should arrive at 19:40` gives the time as plainly as `arrives`."""
    return said._replace(text=_SHOULD.sub(" ", said.text)).is_stated


def _mixes_things(said: Said, facts: Facts) -> bool:
    """Whether a clause gives facts of several things of a list as if they were of one."""
    if _OF_SEVERAL.search(said.text):
        return False
    for things in facts.list_things:
        held = [_held(said, thing) for thing in things]
        telling = {each for one in held for each in one if not all(each in other for other in held)}
        if len(telling) > 1 and not any(telling <= one for one in held):
            return True
    return False


def _held(said: Said, thing: Known) -> set[str]:
    """What of a clause one thing of a list holds."""
    found = {str(day.start) for day in said.days if thing.has_day(day.days)}
    found |= {str(number.start) for number in said.numbers if thing.has_number(number)}
    return found | {word for word in telling_words(said.text) if word in thing.stems}


_OF_SEVERAL = re.compile(
    r"\b(?:and|both|all|each|two|three|four|total|together|or|only|other|while|from)\b|[+×→]"
)


def _is_of_one_record(said: Said, facts: Facts) -> bool:
    """Whether one record holds all that a clause mentions: then it speaks of that one without naming it."""
    words = telling_words(said.text)
    if said.numbers or not said.days:
        return False  # many records hold the same numbers, and many days are told only once
    for known in facts.of_one_record:
        if (
            all(known.has_day(day.days) for day in said.days)
            and all(time.minutes & known.times for time in said.times)
            and all(map(known.knows, words))
        ):
            return True
    return False
