"""Conditions in English: what is said of a field, of a thing, and how such statements are joined."""

from collections.abc import Iterator
from dataclasses import replace

from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import (
    Age,
    All,
    Any_,
    Compare,
    Condition,
    Exists,
    Field,
    Not,
    Owns,
    Present,
    negated,
)
from pipelines.core.simulation.behavior.phrases import constant
from pipelines.core.simulation.behavior.sayings import about, happened, said_of


def _of_field(field: Field, said: Condition) -> Condition:
    return said_of(said, field)  # type: ignore[no-any-return]


def _of_thing(subject: str, said: Condition) -> Condition:
    return about(said, subject)  # type: ignore[no-any-return]


_SIMPLE = table(
    ("{matching}", lambda matching: matching),
    ("{field} {fieldverb:said}", _of_field),
    ("{subject} {thingverb:said}", _of_thing),
    ("{subject} does|do not exist", lambda subject: Not(Exists(subject))),
    ("there is|are no such {noun} | no {noun} exists|matches", lambda noun: Not(Exists(noun))),
    ("no {field} {be} {given}", lambda field: Not(Present(field))),
    (
        "{caller} filter~|ask~|search~ [by|for|on] {field}",
        lambda field: Present(replace(field, is_argument=True)),
    ),
    (
        "{agecmp} {duration} has|have passed|elapsed since {eventfield}",
        lambda agecmp, duration, eventfield: Age(eventfield, agecmp, duration),
    ),
    (
        "there is|are (not enough | insufficient) {field}",
        lambda field: Compare(field, "<", Field("quantity", None, True)),
    ),
)

# What is said of a field, and of a thing, as a whole verb phrase: the one place where it is denied.
_FIELD_VERB = table(
    ("{be} {fieldsaid}", lambda fieldsaid: fieldsaid),
    ("{be} {not} {fieldsaid}", lambda fieldsaid: negated(fieldsaid)),
    ("{fielddoes}", lambda fielddoes: fielddoes),
)

_THING_VERB = table(
    ("{be} {thingsaid}", lambda thingsaid: thingsaid),
    ("{be} {not} {thingsaid}", lambda thingsaid: negated(thingsaid)),
    ("has|have|had|owe~|hold~ {thinghas}", lambda thinghas: thinghas),
    ("has|have|had {not} {thinghas}", lambda thinghas: negated(thinghas)),
    ("{event} {age}", happened),
    ("does|do not belong to {caller}", lambda: Not(Owns(None))),
    (
        "belong~ to {field} [given|passed|named|sent] [in [the] call|request]",
        lambda field: Owns(None, field.name),
    ),
)

# Without a subject: "only while pending", "unless shipped", "if older than 30 days".
_ELLIPTIC = table(
    ("{thingsaid}", lambda thingsaid: thingsaid),
    ("{agewithout}", lambda agewithout: agewithout),
)


def condition(matcher: Matcher, at: int) -> Iterator[Found]:
    """Statements joined by and / or; `and` binds closer."""
    for end, parts in _joined(matcher, at, 0):
        yield end, _folded(parts)


def _joined(matcher: Matcher, at: int, depth: int) -> Iterator[tuple[int, list[tuple[str, Condition]]]]:
    first = matcher.piece("simple", at) or ([] if depth else matcher.piece("elliptic", at))
    if depth or matcher.piece("simple", at):
        first = [*first, *matcher.piece("elliptic", at)]
    for end, statement in first:
        after = end + (matcher.low(end) == ",")
        join = matcher.low(after)
        if join in ("and", "or", "but") and depth < 6:
            after += 1 + (matcher.low(after + 1) in ("when", "if", "that", "also"))
            for last, rest in _joined(matcher, after, depth + 1):
                yield last, [("or" if join == "or" else "and", statement), *rest]
        yield end, [("", statement)]


def _folded(parts: list[tuple[str, Condition]]) -> Condition:
    groups: list[list[Condition]] = [[]]
    for join, statement in parts:
        groups[-1].append(statement)
        if join == "or":
            groups.append([])
    ways = tuple(group[0] if len(group) == 1 else All(tuple(group)) for group in groups)
    return ways[0] if len(ways) == 1 else Any_(ways)


# -- noun phrases ---------------------------------------------------------------------------------------


def flag(matcher: Matcher, at: int) -> Iterator[Found]:
    token = matcher.at(at)
    if (
        token is not None
        and (token.is_word() or token.low == "\0text")
        and token.low not in ("the", "ledger", "flag", "is", "a")
    ):
        yield at + 1, token.text


PIECES: dict[str, Piece] = {
    "simple": _SIMPLE,
    "elliptic": _ELLIPTIC,
    "fieldverb": _FIELD_VERB,
    "thingverb": _THING_VERB,
    "not": table(("not|never | no longer | not yet", constant(""))),
    "given": table(
        (
            "given|provided|supplied|specified|present|set|passed|included|sent|named|entered|filled",
            constant(""),
        ),
    ),
    "condition": condition,
    "flag": flag,
}
