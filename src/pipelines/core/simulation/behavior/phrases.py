"""Pieces smaller than a condition: numbers, spans of time, values, names of fields, nouns, states."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import cast

from pipelines.core.english.words import word_set
from pipelines.core.json_text import Json
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import Duration, Field, Literal_, Now, Op, Unit
from pipelines.core.simulation.behavior.tokens import Kind, Token

DETERMINERS = word_set("a an the any all every each this that these those such some its their his her")
GIVEN = word_set("given requested provided supplied specified submitted passed input")
GENERIC_NOUNS = word_set(
    "record records entity entities entry entries result results row rows object objects element "
    "elements match matches item items request requests call calls ones"
)
# Words of the grammar itself: never a field, a value or a state.
STOP = DETERMINERS | word_set(
    "it they them is are was were be been being has have had do does did not no never only when if "
    "unless while once after before until because and or but nor either neither both than then "
    "otherwise else of to from for in on at by with without within into over under above below between "
    "as can could may might must shall should will would return returns returned returning reject "
    "rejects rejected fail fails failed refuse refuses refused succeed succeeds allow allows allowed "
    "require requires required set sets compute computes tool tools one two who whose which where what "
    "you your assistant please there error errors status_code other ago old older newer than more less "
    "least most greater fewer up always whole"
)
# Words of the grammar that are also states a thing may be in.
STATE_STOP = STOP - {"returned", "rejected", "failed", "refused"}
# Said of a status these would be opinions, not values.
VAGUE = word_set(
    "good bad ok okay fine appropriate right suitable reasonable normal correct proper nice acceptable "
    "weird strange eligible sensible ready possible necessary applicable relevant likely unlikely sure "
    "happy wrong special important urgent-ish consistent realistic plausible"
)
STATES = word_set(
    "pending open closed active inactive new paid unpaid sent draft final void lost overdue expired "
    "processing complete incomplete live available unavailable empty free negative positive zero public "
    "private internal premium gold silver bronze platinum vip basic standard admin frozen stale "
    "discontinued full"
)
PHRASED_STATES = (
    "out of stock",
    "in stock",
    "on hold",
    "in transit",
    "in progress",
    "past due",
    "sold out",
    "fully booked",
    "on sale",
)

_UNITS: dict[str, Unit] = {
    form: unit
    for unit in ("second", "minute", "hour", "day", "week", "month", "year")
    for form in (unit, f"{unit}s")
} | {"hr": "hour", "hrs": "hour", "min": "minute", "mins": "minute"}
_UNITS_OF_MEASURE = word_set("degrees celsius fahrenheit units kg km miles pieces")
_MONEY = word_set("dollars dollar usd eur euros euro gbp pounds cents")


def lexicon_of(matcher: Matcher) -> Lexicon:
    return cast(Lexicon, matcher.context)


def number(matcher: Matcher, at: int) -> Iterator[Found]:
    token = matcher.at(at)
    sign = 1
    if token is not None and token.low in ("-", "minus"):
        token, at, sign = matcher.at(at + 1), at + 1, -1
    if token is None or token.kind is not Kind.NUMBER or token.number is None:
        return
    if matcher.low(at + 1) in _MONEY or matcher.low(at + 1) in _UNITS_OF_MEASURE:
        yield at + 2, sign * token.number
    elif matcher.low(at + 1) in ("hundred", "thousand"):
        yield at + 2, sign * token.number * (100 if matcher.low(at + 1) == "hundred" else 1000)
    else:
        yield at + 1, sign * token.number


def percent(matcher: Matcher, at: int) -> Iterator[Found]:
    token = matcher.at(at)
    if token is not None and token.kind is Kind.PERCENT and token.number is not None:
        yield at + 1, token.number / 100


def date(matcher: Matcher, at: int) -> Iterator[Found]:
    token = matcher.at(at)
    if token is not None and token.kind is Kind.DATE:
        yield at + 1, Literal_(token.text)


def duration(matcher: Matcher, at: int) -> Iterator[Found]:
    low = matcher.low(at)
    unit = _UNITS.get(matcher.low(at + 1))
    if low in ("a", "an") and unit:
        yield at + 2, Duration(Decimal(1), unit)
    for end, amount in number(matcher, at):
        business = 1 if matcher.low(end) in ("calendar", "full") else 0
        following = _UNITS.get(matcher.low(end + business))
        if following:
            yield end + business + 1, Duration(amount, following)


def value(matcher: Matcher, at: int) -> Iterator[Found]:
    """One value of a field, as the author writes it."""
    token = matcher.at(at)
    if token is None:
        return
    if token.low in ("true", "false", "yes", "no"):
        yield at + 1, token.low in ("true", "yes")
    elif token.low in ("null", "none"):
        yield at + 1, None
    elif token.kind in (Kind.TEXT, Kind.DATE):
        yield at + 1, token.text
    elif token.kind is Kind.NUMBER:
        yield from number(matcher, at)
    elif token.kind is Kind.NAME and token.low not in lexicon_of(matcher).tools:
        yield at + 1, token.text
    elif token.kind is Kind.WORD:
        yield from _worded_value(matcher, at)


def _worded_value(matcher: Matcher, at: int) -> Iterator[Found]:
    for length in (3, 2):
        phrase = words_at(matcher, at, length)
        if phrase and lexicon_of(matcher).is_value(phrase):
            yield at + length, phrase
    word = matcher.tokens[at]
    if word.low not in STATE_STOP and word.low not in VAGUE:
        yield at + 1, word.text if word.text.isupper() else word.low


def values(matcher: Matcher, at: int) -> Iterator[Found]:
    """`pending`, `pending or processing`, `(pending, processing)`, `one of: a, b, and c`; longest first."""
    opened = matcher.low(at) == "("
    start = at + opened
    start += matcher.low(start) in ("either", "neither")
    for end, found in _listed(matcher, start, "value"):
        if not opened:
            yield end, found
        elif matcher.low(end) == ")":
            yield end + 1, found


def _listed(matcher: Matcher, at: int, piece: str, depth: int = 0) -> Iterator[tuple[int, tuple[Json, ...]]]:
    for end, first in matcher.piece(piece, at):
        after = end + (matcher.low(end) == ",")
        after += matcher.low(after) in ("or", "and", "nor", "/")
        if after > end and depth < 12:
            for last, rest in _listed(matcher, after, piece, depth + 1):
                if not isinstance(rest[0], bool):  # "verified, no account …" goes on with another clause
                    yield last, (first, *rest)
        yield end, (first,)


def fields(matcher: Matcher, at: int) -> Iterator[Found]:
    yield from _listed(matcher, at, "field")


def words_at(matcher: Matcher, at: int, length: int) -> str:
    """That many plain words, or "" when one of them is something else."""
    found: list[Token] = list(matcher.tokens[at : at + length])
    if len(found) < length or not all(token.kind is Kind.WORD for token in found):
        return ""
    return " ".join(token.low for token in found)


def field(matcher: Matcher, at: int) -> Iterator[Found]:
    """A field or argument: `status`, `the order's status`, `the total of the order`, `order.user_id`."""
    at += matcher.low(at) in DETERMINERS
    at += 2 if matcher.low(at) == "number" and matcher.low(at + 1) == "of" else 0
    is_argument = matcher.low(at) in GIVEN
    at += is_argument
    owner = None
    lexicon = lexicon_of(matcher)
    for length in (2, 1):
        noun = words_at(matcher, at, length)
        if noun and matcher.low(at + length) == "'s":
            owner, at = noun, at + length + 1
            break
    for end, name in _field_names(matcher, at, owner):
        if matcher.low(end) in lexicon.verbs and matcher.low(end).endswith(("ed", "paid", "sent")):
            yield end + 1, Field(name, owner, is_argument)  # the amount claimed
        end += matcher.low(end) in ("field", "argument", "parameter", "attribute", "value")
        if owner is None and matcher.low(end) in ("of", "on", "in"):
            after = end + 1 + (matcher.low(end + 1) in DETERMINERS)
            for last, noun in matcher.piece("noun", after):
                yield last, Field(name, noun or None, is_argument)
        yield end, Field(name, owner, is_argument)


def _field_names(matcher: Matcher, at: int, owner: str | None) -> Iterator[tuple[int, str]]:
    lexicon = lexicon_of(matcher)
    token = matcher.at(at)
    if token is None:
        return
    if token.kind is Kind.NAME and token.low not in lexicon.tools:
        yield at + 1, token.text
        return
    for length in (3, 2, 1):
        phrase = words_at(matcher, at, length)
        if phrase and not (set(phrase.split()) & STATE_STOP) and lexicon.is_field(phrase, owner):
            yield at + length, phrase


def new_field(matcher: Matcher, at: int) -> Iterator[Found]:
    """A field that may not be known yet, where something is written or computed."""
    yield from field(matcher, at)
    at += matcher.low(at) in DETERMINERS
    owner = words_at(matcher, at, 1) if matcher.low(at + 1) == "'s" else ""
    if owner and lexicon_of(matcher).kind_of(owner) is None:
        return
    at += 2 if owner else 0
    for length in (2, 1):
        phrase = words_at(matcher, at, length)
        if phrase and not (set(phrase.split()) & (STATE_STOP | VAGUE)):
            yield at + length, Field(phrase, owner or None, False, True)


def noun(matcher: Matcher, at: int) -> Iterator[Found]:
    """A kind of thing; "" stands for whatever the tool is about (`records`, `results`)."""
    lexicon = lexicon_of(matcher)
    for length in (2, 1):
        phrase = words_at(matcher, at, length) or (_thing_name(matcher, at) if length == 1 else "")
        if phrase and not (set(phrase.split()) & STOP) and lexicon.kind_of(phrase) is not None:
            yield at + length, phrase
    if matcher.low(at) in GENERIC_NOUNS:
        yield at + 1, ""


def _thing_name(matcher: Matcher, at: int) -> str:
    """A kind of thing written as a name (`order_item`), which a tool's name is not."""
    token = matcher.at(at)
    return token.text if token is not None and token.text in lexicon_of(matcher).kinds else ""


def state(matcher: Matcher, at: int) -> Iterator[Found]:
    """A word for how a thing is: `pending`, `out of stock`, `shipped`."""
    lexicon = lexicon_of(matcher)
    token = matcher.at(at)
    if token is None:
        return
    if token.kind is Kind.TEXT or (
        token.kind is Kind.NAME and token.low not in lexicon.tools and "." not in token.low
    ):
        yield at + 1, token.text
        return
    for length in (3, 2):
        phrase = words_at(matcher, at, length)
        if phrase and (phrase in PHRASED_STATES or lexicon.is_value(phrase) or lexicon.is_switch(phrase)):
            yield at + length, phrase
    if token.kind is Kind.WORD and _is_state_word(token.low, lexicon):
        tiered = matcher.low(at + 1) in ("tier", "level", "status")
        yield at + 1 + tiered, token.low
        if tiered:
            yield at + 1, token.low


def _is_state_word(word: str, lexicon: Lexicon) -> bool:
    if word in STATE_STOP or word in VAGUE:
        return False
    if word == "offline" or (word.startswith("un") and lexicon.is_switch(word[2:])):
        return True
    return (
        word in STATES
        or word.endswith(("ed", "en", "ing"))
        or lexicon.is_value(word)
        or lexicon.is_switch(word)
    )


def constant(meaning: object) -> Callable[[], object]:
    """A row of a table that always means the same."""
    return lambda: meaning


def _comparisons() -> Piece:
    rows: tuple[tuple[str, Op], ...] = (
        ("greater|more|larger|higher|bigger than", ">"),
        ("above|over|exceeding|beyond|>", ">"),
        ("at least | >= | no|not less|fewer|lower than | a minimum of", ">="),
        ("at most | <= | no|not more|greater|higher|larger than | up to | a maximum of", "<="),
        ("less|fewer|lower|smaller than", "<"),
        ("below|under|<", "<"),
        ("equal to | exactly | =", "=="),
    )
    return table(*((pattern, constant(op)) for pattern, op in rows))


_NOW = (
    "[the] run|current date|day|time|timestamp|moment",
    "[the] run 's date|time",
    "[the] date|time of the run|call|request",
    "today|now",
    "[the] present [day|date|time]",
)
_WHEN = (
    "when|if|while|whenever|where",
    "as|so long as",
    "provided [that]",
    "in case",
    "when and only when",
    "if and only if",
    "given that",
    "in the event [that]",
)
_MUST = ("must|should|shall", "has|have|needs|need to", "is|are required to")
_BE = ("is|are|was|were|remains|stays|remain",)

PIECES: dict[str, Piece] = {
    "number": number,
    "percent": percent,
    "date": date,
    "duration": duration,
    "value": value,
    "values": values,
    "field": field,
    "fields": fields,
    "new_field": new_field,
    "noun": noun,
    "state": state,
    "cmp": _comparisons(),
    "now": table(*((pattern, Now) for pattern in _NOW)),
    "be": table(*((pattern, constant("be")) for pattern in _BE)),
    "when": table(*((pattern, constant("when")) for pattern in _WHEN)),
    "must": table(*((pattern, constant("must")) for pattern in _MUST)),
}
