"""Amounts: numbers, fields, and sums of them in signs or in words."""

from collections.abc import Iterator
from decimal import Decimal

from pipelines.core.english.words import word_set
from pipelines.core.simulation.behavior.matching import Found, Matcher, Piece, table
from pipelines.core.simulation.behavior.meaning import Amount, Literal_, Percent, Sum, Total
from pipelines.core.simulation.behavior.tokens import Kind

_PLUS = {"+": "+", "plus": "+", "-": "-", "minus": "-", "less": "-"}
_TIMES = {"*": "*", "x": "*", "times": "*", "/": "/", "over": "/"}
_FUNCTIONS = word_set("max min round abs sum floor ceil")
# What a percentage may be called without changing the sum: "plus 8% tax".
_LABEL = "[sales|service|handling|processing|restocking|delivery|late|cancellation|import|luxury]"
_CHARGE = "tax|vat|gst|fee|surcharge|charge|tip|commission|discount|deduction|markup|penalty|interest"


def share(base: Amount, part: Decimal, sign: str) -> Amount:
    """The amount with a part of itself added or taken away."""
    factor = 1 + part if sign == "+" else 1 - part
    return Sum("*", (base, Literal_(factor)))


def formula(matcher: Matcher, at: int) -> Iterator[Found]:
    for end, first in _term(matcher, at):
        yield from _more(matcher, end, first)


def _more(matcher: Matcher, at: int, sofar: Amount) -> Iterator[Found]:
    for end, (sign, part) in matcher.piece("percentage", at):
        yield from _more(matcher, end, share(sofar, part, sign))
    sign = _PLUS.get(matcher.low(at))
    if sign:
        for end, right in _term(matcher, at + 1 + (matcher.low(at + 1) in ("the", "a", "an"))):
            yield from _more(matcher, end, Sum(sign, (sofar, right)))
    yield at, sofar


def _term(matcher: Matcher, at: int) -> Iterator[Found]:
    for end, first in _factor(matcher, at):
        yield from _more_factors(matcher, end, first)


def _more_factors(matcher: Matcher, at: int, sofar: Amount) -> Iterator[Found]:
    sign, after = _TIMES.get(matcher.low(at)), at + 1
    if matcher.low(at) in ("multiplied", "divided") and matcher.low(at + 1) == "by":
        sign, after = "*" if matcher.low(at) == "multiplied" else "/", at + 2
    if sign:
        for end, right in _factor(matcher, after):
            yield from _more_factors(matcher, end, Sum(sign, (sofar, right)))
    yield at, sofar


def _factor(matcher: Matcher, at: int) -> Iterator[Found]:
    if matcher.low(at) == "(":
        for end, inner in matcher.piece("formula", at + 1):
            if matcher.low(end) == ")":
                yield end + 1, inner
        return
    if matcher.low(at) in _FUNCTIONS and matcher.low(at + 1) == "(":
        yield from _function(matcher, at)
        return
    yield from matcher.piece("total", at)
    yield from matcher.piece("operand", at)
    token = matcher.at(at)
    if token is not None and token.kind is Kind.WORD:
        yield from (found for found in matcher.piece("new_field", at) if found[0] == at + 1)


def _function(matcher: Matcher, at: int) -> Iterator[Found]:
    """`max(0, balance)`, `round(x, 2)`: up to four arguments."""

    def arguments(place: int, found: tuple[Amount, ...]) -> Iterator[Found]:
        for end, part in matcher.piece("formula", place):
            if matcher.low(end) == ")":
                yield end + 1, Sum(matcher.low(at), (*found, part))
            elif matcher.low(end) == "," and len(found) < 3:
                yield from arguments(end + 1, (*found, part))

    yield from arguments(at + 2, ())


def _percentage_rows() -> Piece:
    return table(
        (f"plus [a|an] {{percent}} [{_LABEL} {_CHARGE}]", lambda percent: ("+", percent)),
    )


PIECES: dict[str, Piece] = {
    "formula": formula,
    "percentage": _percentage_rows(),
    "operand": table(
        ("{percent} of {operand}", lambda percent, operand: Sum("*", (operand, Literal_(percent)))),
        (
            "{number} (per | for each|every) {field}",
            lambda number, field: Sum("*", (Literal_(number), field)),
        ),
        ("{number}", lambda number: Literal_(number)),
        ("{date}", lambda date: date),
        ("{now}", lambda now: now),
        ("{field}", lambda field: field),
        ("{percent}", lambda percent: Percent(percent)),
    ),
    "total": table(
        (
            "[the] sum|total of [all] [of] [the|its|their] {formula:each} over|across|for|of|in "
            "[all] [each] [of] [the|its] {field:over}",
            Total,
        ),
    ),
    "rounding": table(
        ("{number} decimals|digits | {number} decimal places|place|digits", lambda number: int(number)),
    ),
}
