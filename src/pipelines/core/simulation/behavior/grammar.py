"""The whole grammar: clauses with a subject, without one, after an event or a condition; and sentences of
them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior import (
    callers,
    composed,
    computed,
    conditions,
    duties,
    effects,
    formulas,
    guarded,
    guards,
    listings,
    nouns,
    outcomes,
    phrases,
    sayings,
    spans,
    who,
)
from pipelines.core.simulation.behavior.clauses import Clause, Guard, Normal, Otherwise
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, TooHard, table
from pipelines.core.simulation.behavior.meaning import Any_, Condition, Fail, Outcome, Thing, Who, negated
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.tokens import Token

Clauses = tuple[Clause, ...]


def readings(tokens: Sequence[Token], lexicon: Lexicon) -> Iterator[Clauses]:
    """Every way to take the whole sentence, the likeliest first."""
    matcher = Matcher(tokens, PIECES, lexicon)
    try:
        yield from matcher.readings("said")
    except TooHard:
        return


def _several(meaning: Any) -> Clauses:
    return meaning if isinstance(meaning, tuple) else (meaning,)


def _spoken_of(who: Who, clauses: Clauses) -> Clauses | None:
    """The clauses about these tools; `refunds over $500 need …` narrows each to such refunds."""
    plain = replace(who, condition=None)
    made = []
    for clause in clauses:
        one = replace(clause, who=plain) if clause.who.is_silent else clause
        narrowed = one if who.condition is None else _narrowed(one, who.condition)
        if narrowed is None:
            return None
        made.append(narrowed)
    return tuple(made)


def _narrowed(clause: Clause, condition: Condition) -> Clause | None:
    if isinstance(clause, Guard):
        return replace(clause, need=Any_((negated(condition), clause.need)))
    return effects.conditional(clause, condition)


def _only_when(condition: Condition, clauses: Clauses) -> Clauses | None:
    made = tuple(_narrowed(clause, condition) for clause in clauses)
    return None if None in made else made  # type: ignore[return-value]


def _about_event(who: Who, clauses: Clauses) -> Clauses | None:
    return _spoken_of(who, clauses) if all(_is_effect(clause) for clause in clauses) else None


def _is_effect(clause: Clause) -> bool:
    return not isinstance(clause, (Guard, Otherwise, Normal))


def _chain(piece: str, name: str) -> Piece:
    """One or more of a piece, with commas and `and` between."""

    def chained(matcher: Matcher, at: int) -> Iterator[Found]:
        for end, first in matcher.piece(piece, at):
            for after, _ in matcher.piece("sep", end):
                start = after + (matcher.low(after) in ("then", "it", "they", "also"))
                for last, rest in matcher.piece(name, start):
                    yield last, (*_several(first), *rest)
            yield end, _several(first)

    return chained


def _first_of(*names: str) -> Piece:
    def piece(matcher: Matcher, at: int) -> Iterator[Found]:
        for name in names:
            yield from matcher.piece(name, at)

    return piece


def said(matcher: Matcher, at: int) -> Iterator[Found]:
    """A sentence: clauses one after another."""
    for end, clauses in matcher.piece("clause", at):
        yield end, clauses
        for after, _ in matcher.piece("sep", end):
            for last, rest in matcher.piece("said", after):
                yield last, (*clauses, *rest)


_NORMAL = table(
    *(
        (pattern, Normal)
        for pattern in (
            "[all|the] tools|calls|{tools} [always] "
            "succeed|succeeds|work|works|behave|behaves|respond|responds [normally] [as "
            "expected|usual|normal|documented]",
            "{tools} [always] succeed|succeeds",
            "{tools} have|has no special behavior|behaviour|rules|logic",
            "everything works|behaves [normally|fine] [as expected|usual|normal]",
            "no special|additional|extra|specific|other rules|behavior|behaviour|logic|business "
            "[rules|logic] [applies|apply]",
            "default|normal|standard|vanilla behavior|behaviour [applies | for all tools]",
            "[all] [the] responses|replies stay|are|remain consistent with [the] "
            "seed|state|initial_state|world [and prior turns|calls]",
            "none | n / a",
        )
    )
)


def _refused_for(thing: Thing, who: Who, failing: Outcome) -> Clauses | None:
    """`Reference books never leave the building: checkout_book rejects them with 403.`"""
    if thing.condition is None or not isinstance(failing, Fail):
        return None
    return (Guard(negated(thing.condition), failing, who),)


def reason(matcher: Matcher, at: int) -> Iterator[Found]:
    """Some words that end at a colon, and none of them such that a rule would hang on it."""
    for end in range(at, min(at + LONGEST_REASON, len(matcher.tokens))):
        if matcher.low(end) in (":", ";"):
            yield end, ""
            return
        if matcher.low(end) in NOT_ONLY_WHY or not matcher.tokens[end].is_word():
            return


LONGEST_REASON = 10  # words; more of them say more than why
NOT_ONLY_WHY = word_set(
    "if when while once until till unless only except but or nor otherwise before after during within "
    "than more less least most over under above below with without whose who which both either neither"
)

_CLAUSE = table(
    ("{who} {vps}", lambda who, vps: _spoken_of(who, vps)),
    ("{whole:meaning}", _several),
    ("{normal:meaning}", _several),
    ("{otherwise} [{answerer}] {failing}", lambda failing: (Otherwise(failing),)),
    ("{allothers} {failing}", lambda failing: (Otherwise(failing),)),
    ("{forwho:who} [,|:] {said:clauses}", _spoken_of),
    ("{tools:who} : {said:clauses}", _spoken_of),
    ("{thing} {reason} :|; {tools:who} {failing} [for|on it|them|those|these]", _refused_for),
    ("{onevent:who} [,] {doings:clauses}", _about_event),
    ("{doings:clauses} {onevent:who}", _about_event),
    (
        "{when} {condition} [,] [then] {who} {vps:clauses}",
        lambda condition, who, clauses: _both(condition, who, clauses),
    ),
    ("{when} {condition} [,] [then] {doings:clauses}", _only_when),
    (
        "{who} {vps:clauses} {when} {condition}",
        lambda condition, who, clauses: _both(condition, who, clauses),
    ),
    ("{doings:clauses} {when} {condition}", _only_when),
    (
        "{who} {vps:clauses} unless {condition}",
        lambda condition, who, clauses: _both(negated(condition), who, clauses),
    ),
    (
        "unless {condition} [,] {shown:clauses}",
        lambda condition, clauses: _only_when(negated(condition), _several(clauses)),
    ),
)


def _both(condition: Condition, who: Who, clauses: Clauses) -> Clauses | None:
    narrowed = _only_when(condition, clauses)
    return None if narrowed is None else _spoken_of(who, narrowed)


_HAPPENS = (
    "[is|are|gets] [called|used|invoked|made|issued|processed|performed|completed|run|succeeds|succeed|"
    "completes|runs|happens]"
)

PIECES: dict[str, Piece] = {
    **phrases.PIECES,
    **spans.PIECES,
    **sayings.PIECES,
    **nouns.PIECES,
    **conditions.PIECES,
    **callers.PIECES,
    **formulas.PIECES,
    **outcomes.PIECES,
    **who.PIECES,
    **composed.PIECES,
    **guards.PIECES,
    **guarded.PIECES,
    **duties.PIECES,
    **effects.PIECES,
    **computed.PIECES,
    **listings.PIECES,
    "vp": _first_of("guarding", "computes", "showing", "effect"),
    "vps": _chain("vp", "vps"),
    "doing_": _first_of("passive", "computed", "effect", "computes"),
    "doings": _chain("doing_", "doings"),
    "whole": _first_of(
        "composed", "quota", "default", "unknown", "guardwhole", "passive", "computed", "shown"
    ),
    "normal": _NORMAL,
    "reason": reason,
    "clause": _CLAUSE,
    "said": said,
    "allothers": table(
        ("[all|any|every] other|others [{noun}|status|statuses|state|states|value|values]", constant("")),
    ),
    "onevent": table(
        (
            "when|after|once|whenever|if {subject} is|are|was|gets [successfully] {pastverb}",
            lambda subject, pastverb: Who(verb=pastverb, noun=subject or None),
        ),
        (
            f"when|after|once|whenever|upon|on|if|during [a|an|the|every|each] [successful] {{who}} "
            f"{_HAPPENS}",
            lambda who: who,
        ),
    ),
}
