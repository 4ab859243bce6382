"""Conditions in English: what is said of a field, of a thing, and how such statements are joined."""

from collections.abc import Iterator
from typing import Any

from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import (
    Age,
    All,
    Any_,
    CallerIs,
    Compare,
    Condition,
    Exists,
    Field,
    Flagged,
    Not,
    Owns,
    Present,
    negated,
)
from pipelines.core.simulation.behavior.sayings import about, happened, in_status, said_of

# -- said of a field ---------------------------------------------------------------------------------


# -- said of a thing -----------------------------------------------------------------------------------


# -- whole statements ------------------------------------------------------------------------------------


def _of_field(field: Field, said: Condition) -> Condition:
    return said_of(said, field)  # type: ignore[no-any-return]


def _of_thing(subject: str, said: Condition) -> Condition:
    return about(said, subject)  # type: ignore[no-any-return]


_SIMPLE = table(
    ("{matching}", lambda matching: matching),
    ("{field} {be} {fieldsaid:said}", _of_field),
    ("{field} {be} not {fieldsaid:said}", lambda field, said: negated(_of_field(field, said))),
    ("{field} {be} no longer {fieldsaid:said}", lambda field, said: negated(_of_field(field, said))),
    ("{field} {fielddoes:said}", _of_field),
    ("{field} does|do not {fielddoes:said}", lambda field, said: negated(_of_field(field, said))),
    ("{field} has|have been {fieldsaid:said}", _of_field),
    ("{subject} {be} {thingsaid:said}", _of_thing),
    ("{subject} {be} not {thingsaid:said}", lambda subject, said: negated(_of_thing(subject, said))),
    ("{subject} {be} no longer {thingsaid:said}", lambda subject, said: negated(_of_thing(subject, said))),
    ("{subject} has|have|had {thinghas:said}", _of_thing),
    ("{subject} has|have|had not {thinghas:said}", lambda subject, said: negated(_of_thing(subject, said))),
    ("{subject} does|do not have {thinghas:said}", lambda subject, said: negated(_of_thing(subject, said))),
    ("{subject} {event} {age}", lambda subject, event, age: about(happened(event, age), subject)),
    (
        "{subject} {eventverb} in {agecmp} {duration}",
        lambda subject, eventverb, agecmp, duration: Age(eventverb, agecmp, duration, subject or None, True),
    ),
    ("{subject} exist~", lambda subject: Exists(subject)),
    ("{subject} does|do not exist", lambda subject: Not(Exists(subject))),
    ("({subject} {be} not found | {subject} can not be found)", lambda subject: Not(Exists(subject))),
    ("there is|are no such {noun} | no {noun} exists|matches", lambda noun: Not(Exists(noun))),
    ("no {noun} (has|with) [that|the|this|such] [a|an] [given] id", lambda noun: Not(Exists(noun))),
    ("{subject} belong~ to {caller}", lambda subject: Owns(subject)),
    ("{subject} does|do not belong to {caller}", lambda subject: Not(Owns(subject))),
    ("{subject} belong~ to {othercaller}", lambda subject: Not(Owns(subject))),
    ("{caller} own~ {thing}", lambda thing: Owns(thing.noun)),
    ("{caller} does|do not own {thing}", lambda thing: Not(Owns(thing.noun))),
    ("{caller} is {ownership}", lambda ownership: ownership),
    ("{caller} is not {ownership}", lambda ownership: Not(ownership)),
    ("{caller} is [a|an|the] {callerkind}", lambda callerkind: CallerIs(callerkind)),
    ("{caller} is not [a|an|the] {callerkind}", lambda callerkind: Not(CallerIs(callerkind))),
    (
        "no {field} {be} given|provided|supplied|specified|present|set|passed",
        lambda field: Not(Present(field)),
    ),
    ("[the] {flag} [ledger] flag {be} {flagset}", lambda flag, flagset: flagset(flag)),
    ("[the] flag {flag} {be} {flagset}", lambda flag, flagset: flagset(flag)),
    (
        "{agecmp} {duration} has|have passed|elapsed since {eventfield}",
        lambda agecmp, duration, eventfield: Age(eventfield, agecmp, duration),
    ),
    (
        "there is|are (not enough | insufficient) {field}",
        lambda field: Compare(field, "<", Field("quantity", None, True)),
    ),
    (
        "there is|are (enough|sufficient) {field}",
        lambda field: Compare(field, ">=", Field("quantity", None, True)),
    ),
)

# Without a subject: "only while pending", "unless shipped", "if older than 30 days".
_ELLIPTIC = table(
    ("{thingsaid}", lambda thingsaid: thingsaid),
    ("not {thingsaid}", lambda thingsaid: negated(thingsaid)),
    ("has|have {thinghas}", lambda thinghas: thinghas),
    ("has|have not {thinghas}", lambda thinghas: negated(thinghas)),
    ("{be} {thingsaid}", lambda thingsaid: thingsaid),
    ("{be} not {thingsaid}", lambda thingsaid: negated(thingsaid)),
    ("status|state {values}", in_status),
    ("{eventfield} {be} {age}", lambda eventfield, age: Age(eventfield, *age)),
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


def _flag_is(value: bool) -> Any:
    return (lambda name: Flagged(name)) if value else (lambda name: Not(Flagged(name)))


PIECES: dict[str, Piece] = {
    "simple": _SIMPLE,
    "elliptic": _ELLIPTIC,
    "condition": condition,
    "flag": flag,
    "flagset": table(
        ("set|raised|on|active|up|true", lambda: _flag_is(True)),
        ("not set|raised|on|active|up | off|unset|cleared|false", lambda: _flag_is(False)),
    ),
}
