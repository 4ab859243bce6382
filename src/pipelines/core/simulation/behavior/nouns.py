"""Noun phrases: `any shipped order whose total exceeds 100`, `amounts over 500`."""

from collections.abc import Iterator

from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import (
    SOLE,
    Compare,
    Condition,
    Field,
    HasSome,
    Not,
    OneOf,
    Thing,
    Unique,
    both,
)
from pipelines.core.simulation.behavior.phrases import constant, lexicon_of
from pipelines.core.simulation.behavior.sayings import ZERO, about, any_state, in_status, said_of


def _thing(noun: str, adjectives: Condition | None = None, clause: Condition | None = None) -> Thing:
    said = both(adjectives, clause)
    return Thing(noun, None if said is None else about(said, noun))


def _not_any(states: tuple[str, ...]) -> Condition:
    return Not(any_state(states))


_ADJECTIVES = table(
    ("{states}", any_state),
    ("non|not|un {states}", _not_any),
)

_RELATIVE = table(
    ("that|which|who {thingverb}", lambda thingverb: thingverb),
    (
        "on|in|of|with|at|from [a|an|the] {knownvalue:value} {field}",
        lambda value, field: OneOf(field, (value,)),
    ),
    ("born (after|since) {moment}", lambda moment: Compare(Field("birth date"), ">", moment)),
    ("whose {condition}", lambda condition: condition),
    ("in status|state|stage {values}", lambda values: in_status(values)),
    ("with|having {thinghas}", lambda thinghas: thinghas),
    ("without [a|an|any] {field}", lambda field: Not(HasSome(field))),
    ("{thingsaid}", lambda thingsaid: thingsaid),
)

_THING = table(
    ("{a} {adjectives} {noun}", lambda adjectives, noun: _thing(noun, adjectives)),
    ("{a} {noun}", lambda noun: _thing(noun)),
    ("{a} {noun} {relative:clause}", lambda noun, clause: _thing(noun, None, clause)),
    # An argument as a thing: "amounts over 500", "a negative quantity".
    ("{a} negative {field}", lambda field: Thing("", Compare(field, "<", ZERO))),
    ("{a} value|values {fieldsaid}", lambda fieldsaid: Thing("", said_of(fieldsaid, Field(SOLE)))),
    ("{a} {field} {fieldsaid}", lambda field, fieldsaid: Thing("", said_of(fieldsaid, field))),
    ("{a} duplicate {field}", lambda field: Thing("", Not(Unique(field)))),
)

_SUBJECT = table(
    ("{a} {noun}", lambda noun: noun),
    ("it|they|that", lambda: ""),
)


def known_value(matcher: Matcher, at: int) -> Iterator[Found]:
    """A value that some field of the world has: `child` before `tier`."""
    for end, value in matcher.piece("value", at):
        if isinstance(value, str) and lexicon_of(matcher).is_value(value):
            yield end, value


def states(matcher: Matcher, at: int, depth: int = 0) -> Iterator[Found]:
    for end, first in matcher.piece("state", at):
        after = end + (matcher.low(end) == ",")
        after += matcher.low(after) in ("or", "nor", "and")
        if after > end and depth < 8:
            is_comma_only = matcher.low(after - 1) == ","
            for last, rest in states(matcher, after, depth + 1):
                if len(rest) > 1 or not is_comma_only:  # "is cancelled, booking it …" is no list
                    yield last, (first, *rest)
        yield end, (first,)


PIECES: dict[str, Piece] = {
    "a": table(("[a|an|the|any|all|every|each|this|that|these|those|such|its|their|some]", constant("a"))),
    "adjectives": _ADJECTIVES,
    "relative": _RELATIVE,
    "thing": _THING,
    "subject": _SUBJECT,
    "knownvalue": known_value,
    "states": states,
}
