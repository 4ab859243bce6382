"""Every number of a text with all that its spelling can mean: signs, percents and fractions over english.

`-20`, `($20.00)`, `15%`, `2 1/2`, `½`, `three quarters`, `two and a half`. A number in parentheses may be
negative, as in accounts, or only stand in parentheses; a percentage is itself or its hundredth: both readings
are kept. What is part of a date with a year, of a time or of a telephone number is no number.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from pipelines.core.english.dates import times
from pipelines.core.english.numbers import SMALL, Quantity, quantities
from pipelines.core.matchers.dates import written_days

Mark: TypeAlias = Literal[".", ","]

MOST_KEPT = 32  # texts: several matchers ask one answer in turn

_SIGNS = "-−–"
_PERCENT = re.compile(
    r"\s?(?:%|per\s?cent\b|pct\b|prozent\b|pour\scent\b|por\sciento\b|per\scento\b)", re.IGNORECASE
)
_NEGATIVE_WORD = re.compile(r"(?:(?P<number>\w)\s)?\b(?:minus|negative)\s$", re.IGNORECASE)
_PARTS = {"half": 2, "halves": 2}
_PARTS |= {
    form: value
    for word, value in {"third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "eighth": 8, "tenth": 10}.items()
    for form in (word, word + "s")
}
_COUNTS = {word: value for word, value in SMALL.items() if 0 < value < 10} | {"a": 1, "an": 1}
_NAMED = rf"(?P<count>{'|'.join(_COUNTS)})[\s-](?P<part>{'|'.join(_PARTS)})"
_FRACTIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w/.,])(?:(?P<whole>\d{1,6})[\s-])?(?P<over>\d{1,4})\s?[/⁄]\s?(?P<under>\d{1,4})(?![\w/])(?![.,]\d)",
        r"(?<![\w/.,])(?P<whole>\d{1,6})?\s?(?P<sign>[¼-¾⅐-⅞])(?![\w/])",
        rf"(?<!\band\s)\b{_NAMED}\b(?!\s(?:past|to)\b)",
        r"(?<!\ba\s)\b(?P<alone>half)\b(?!\s(?:a|an|past)\b)",
    )
)
_AND_A_PART = re.compile(rf"\sand\s{_NAMED}\b", re.IGNORECASE)
_POINT = re.compile(
    rf"\spoint((?:\s(?:{'|'.join(w for w, v in SMALL.items() if v < 10)})\b){{1,9}})", re.IGNORECASE
)
# English takes these for parts of ids and paths; people write them at amounts too: `$79.50/month`, `#4521`.
_AROUND = re.compile(r"(?<=\d)/(?=[a-z]{2})|#(?=\d)", re.IGNORECASE)
_BARE_POINT = re.compile(r"(?<![\w.,])[^\w.,](?=\.\d)")  # `.5`, with what stands before it
_TELEPHONE = re.compile(r"\+\d(?:[\s()/-]?\d){8,14}")


class WrittenNumber(NamedTuple):
    start: int
    end: int
    values: frozenset[Decimal]


@lru_cache(maxsize=MOST_KEPT)
def written_numbers(text: str, decimal: Mark | None = None) -> tuple[WrittenNumber, ...]:
    """In order, none overlapping another; `decimal` is the one mark that a fraction may stand behind."""
    text = f" {text}"  # so that a number that begins with its point has something before it
    spans = [(one.start, one.end) for one in written_days(text) if one.has_year]
    spans += [(one.start, one.end) for one in times(text)]
    spans += [match.span() for match in _TELEPHONE.finditer(text)]
    fractions = _without_overlaps(list(_fractions(text)), sorted(spans))
    bare = _BARE_POINT.sub("0", _AROUND.sub(" ", text))
    plain = [_extend(text, one) for one in quantities(bare, decimal)]
    free = _without_overlaps(plain, sorted([*spans, *((one.start, one.end) for one in fractions)]))
    return tuple(_with_sign(text, one) for one in sorted([*free, *fractions]))


def _without_overlaps(found: list[WrittenNumber], taken: list[tuple[int, int]]) -> list[WrittenNumber]:
    """Those that overlap nothing that is taken; `taken` is in order and may overlap itself."""
    starts = [start for start, _ in taken]
    ends: list[int] = []
    for _, end in taken:
        ends.append(max(end, ends[-1] if ends else 0))
    kept = []
    for one in found:
        before = bisect_right(starts, one.end - 1)
        if not before or ends[before - 1] <= one.start:
            kept.append(one)
    return kept


def _fractions(text: str) -> Iterator[WrittenNumber]:
    end = -1
    matches = (match for pattern in _FRACTIONS for match in pattern.finditer(text))
    for match in sorted(matches, key=lambda match: (match.start(), -match.end())):
        value = _fraction(match.groupdict()) if match.start() >= end else None
        if value is not None:
            end = match.end()
            yield WrittenNumber(match.start(), end, frozenset({value}))


def _fraction(parts: dict[str, str | None]) -> Decimal | None:
    whole = Decimal(parts.get("whole") or 0)
    if parts.get("alone"):
        return Decimal("0.5")
    if parts.get("sign"):
        return whole + Decimal(str(unicodedata.numeric(parts["sign"] or "")))
    if parts.get("count"):
        return Decimal(_COUNTS[(parts["count"] or "").lower()]) / _PARTS[(parts["part"] or "").lower()]
    divisor = Decimal(parts["under"] or 0)
    return whole + Decimal(parts["over"] or 0) / divisor if divisor else None


def _extend(text: str, one: Quantity) -> WrittenNumber:
    """`two and a half`, `three point five` and a percent sign belong to the number before them."""
    values, end = one.values, one.end
    part = _AND_A_PART.match(text, end)
    point = _POINT.match(text, end) if part is None else None
    if part is not None:
        more = _fraction(part.groupdict()) or Decimal(0)
        values, end = frozenset(value + more for value in values), part.end()
    elif point is not None:
        digits = "".join(str(SMALL[word.lower()]) for word in point[1].split())
        values, end = frozenset(value + Decimal(f"0.{digits}") for value in values), point.end()
    behind = _PERCENT.match(text, end)
    if one.unit == "%" or behind is not None:
        values |= {value / 100 for value in values}
    return WrittenNumber(one.start, end if behind is None else behind.end(), values)


def _with_sign(text: str, one: WrittenNumber) -> WrittenNumber:
    # `-.5` begins with its sign, which stands where its zero would.
    start = one.start + (text[one.start] in _SIGNS)
    before = text[start - 1 : start]
    if before in (
        "$",
        "€",
        "£",
        "¥",
        "₹",
    ):  # -R$ 20: the currency is part of an amount that english did not take
        start, before = start - 1, text[start - 2 : start - 1]
    if before and before in _SIGNS and not re.match(r"[\w)\]%]", text[start - 2 : start - 1]):
        return one._replace(values=frozenset(-value for value in one.values))
    word = _NEGATIVE_WORD.search(text[max(0, start - 12) : start])
    if word is not None and word["number"] is None:
        return one._replace(values=frozenset(-value for value in one.values))
    if before == "(" and text[one.end : one.end + 1] == ")":
        return one._replace(values=one.values | {-value for value in one.values})
    return one
