"""A whole sentence by its parts: its answer taken out, its statements read one by one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pipelines.core.simulation.behavior import clauses as c
from pipelines.core.simulation.behavior.parts.answer import Answered, Part, without_answer
from pipelines.core.simulation.behavior.parts.cues import Cue
from pipelines.core.simulation.behavior.parts.effects import effects
from pipelines.core.simulation.behavior.parts.listings import listings
from pipelines.core.simulation.behavior.parts.restrictions import restrictions
from pipelines.core.simulation.behavior.parts.settings import defaults, new_things
from pipelines.core.simulation.behavior.parts.statement import Reading, Statement
from pipelines.core.simulation.behavior.parts.worked_out import (
    formulas,
    repetitions,
    uniqueness,
    unknown_things,
)
from pipelines.core.simulation.behavior.reader.cursor import TooLong
from pipelines.core.simulation.behavior.reader.vocabulary import Vocabulary
from pipelines.core.simulation.behavior.things import ToolWords
from pipelines.core.simulation.behavior.tokens import Token

MOST_TOKENS = 60
Fits = Callable[[c.Clause], bool]
_READERS: tuple[Callable[[Statement], Iterator[Reading]], ...] = (
    unknown_things, listings, formulas, defaults, new_things, uniqueness, repetitions, effects, restrictions,
)  # fmt: skip


def readings_by_parts(
    tokens: Sequence[Token],
    words: Vocabulary,
    fits: Fits,
    spoken_of: Sequence[str] = (),
    is_joined: bool = False,
) -> Iterator[tuple[c.Clause, ...]]:
    """The ways to take a sentence of which every word is accounted for.

    `is_joined`: they are two sentences, of which none only explains the other.
    """
    if len(tokens) > MOST_TOKENS:
        return
    if [token.low for token in tokens[:2]] == ["do", "not"]:
        return  # without an answer of the backend's it only tells the agent what to do
    before = tuple(words.lexicon.tools[name.lower()] for name in spoken_of)
    for is_cut in (True, False):
        try:
            found = _read(without_answer(tokens, words, is_cut), words, fits, before, is_joined)
        except TooLong:
            return
        if found:
            yield found


def _read(
    heard: Answered, words: Vocabulary, fits: Fits, before: tuple[ToolWords, ...], is_joined: bool
) -> tuple[c.Clause, ...]:
    """The rules of all statements; one that is not read must say nothing that the others do not."""
    made: list[c.Clause] = []
    read: list[Statement] = []
    unread: list[Statement] = []
    for number, part in enumerate(heard.statements):
        whole = Statement(
            tokens=part.tokens, words=words, before=before, outcome=heard.outcome,
            is_answered=part.is_answered, named=tuple(words.lexicon.tools[name] for name in heard.named),
            is_sole=any(map(_refuses_others, heard.statements[number + 1 :])),
        )  # fmt: skip
        for statement, reading in _best(whole, fits):
            if reading is None:
                unread.append(statement)
                continue
            made += reading.clauses
            read.append(statement)
            before = reading.tools
    if is_joined and any(not one.with_cue(Cue.OTHERWISE) for one in unread):
        return ()
    if not all(_adds_nothing(one, read) for one in unread) or _are_at_odds(made):
        return ()
    return tuple(made)


def _refuses_others(part: Part) -> bool:
    lows = [token.low for token in part.tokens]
    return lows[:2] in (["anyone", "else"], ["anybody", "else"], ["everyone", "else"], ["everybody", "else"])


def _are_at_odds(made: Sequence[c.Clause]) -> bool:
    """Whether one list would both refuse how many are asked for and give fewer."""
    capped = {name for clause in made if isinstance(clause, c.Cap) for name in clause.who.names}
    return any(isinstance(clause, c.Guard) and capped & set(clause.who.names) for clause in made)


def _best(whole: Statement, fits: Fits) -> list[tuple[Statement, Reading | None]]:
    """The statement as it stands; else the two that a word joins, where each of them is read."""
    reading = next(_accounted(whole, fits), None)
    if reading is not None:
        return [(whole, reading)]
    for at, low in enumerate(whole.cursor.lows):
        joint = (
            at + 1
            if low in ("and", "but")
            else at + 2
            if low == "," and whole.cursor.low(at + 1) in ("and", "but", "nor")
            else 0
        )
        if not joint or not 2 <= joint < len(whole.tokens) - 1:
            continue
        first = replace(whole, tokens=whole.tokens[:at])
        one = next(_accounted(first, fits), None)
        second = replace(whole, tokens=whole.tokens[joint:], before=one.tools if one is not None else ())
        two = next(_accounted(second, fits), None) if one is not None else None
        if one is not None and (two is not None or second.with_cue(Cue.OTHERWISE)):
            return [(first, one), (second, two)]
    return [(whole, None)]


def _accounted(statement: Statement, fits: Fits) -> Iterator[Reading]:
    for reader in _READERS:
        for reading in reader(statement):
            if not statement.leaves(reading) and all(fits(clause) for clause in reading.clauses):
                yield reading


_RULING = (
    Cue.FORBID, Cue.MUST, Cue.ONLY, Cue.UNLESS, Cue.WHEN, Cue.ABSENT, Cue.DEFAULT, Cue.MORE, Cue.LESS,
    Cue.BECOME, Cue.CLEAR, Cue.ONCE, Cue.UNIQUE,
)  # fmt: skip


def _adds_nothing(statement: Statement, read: Sequence[Statement]) -> bool:
    """Whether it only explains, or says again, what the statements that were read say."""
    told = {word for one in read for span in one.spans for word in span.words}
    for span in statement.spans:
        if statement.is_answered and not span.is_neutral and not span.stands_for_something and not span.cues:
            return False
        says = (
            span.quantity
            or span.states
            or span.fields
            or span.arguments
            or span.choices
            or span.text is not None
        )
        if says and not set(span.words) <= told and not span.kinds:
            return False
    if any(span.has(Cue.OTHERWISE) for span in statement.spans):
        return bool(read)
    own = {span.tool.name for one in read for span in one.spans if span.tool}
    own |= {deed.tool for one in read for span in one.spans for deed in span.deeds}
    is_other = any(
        span.deeds and not span.kinds and not any(deed.tool in own for deed in span.deeds)
        for span in statement.spans
    )  # fmt: skip
    is_ruling = any(span.has(*_RULING) for span in statement.spans)
    return bool(read) and not is_ruling and not is_other
