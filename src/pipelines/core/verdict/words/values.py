"""The values of a text that can be looked up: numbers, amounts, days, times and ids, as people write them.

An id is one whole token in any form (`2026-0017`, `978-3-16`, `INV/22-7`, `HAT069`), and no number.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.dates import Dated, Timed
from pipelines.core.english.mentions import mentions
from pipelines.core.english.numbers import Quantity

MOST_KEPT = 512  # texts; the policy and the tools of an agent are the same in every run of a batch
_TOKEN = re.compile(r"[a-z0-9]+(?:[-_./:#][a-z0-9]+)*", re.IGNORECASE)
_TELEPHONE = re.compile(r"\+?\(?\d{1,4}\)?(?:[\s.-]\(?\d{2,4}\)?){2,5}(?![\w-])")
# `30min`, `5kg`, `2.52/h`: a number with its unit, and no id.
_WITH_UNIT = re.compile(
    r"(?<![\w.,/:#-])(\d+(?:[.,]\d+)*)(?=/?[a-z]{1,5}(?:[\s)!?;,]|\.\s|\.?$))(?!(?:st|nd|rd|th|[ap]m|k|m|bn)\b)",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[^a-z0-9]+")


class Kind(StrEnum):
    NUMBER = "number"
    DAY = "date"
    TIME = "time"
    ID = "id"


class Value(NamedTuple):
    """One value of a text: what it is, and the words that say it."""

    kind: Kind
    phrase: str  # as written
    number: Quantity | None = None
    day: Dated | None = None
    time: Timed | None = None
    id: str = ""  # squeezed


@lru_cache(maxsize=MOST_KEPT)
def values_in(text: str) -> tuple[Value, ...]:
    """Every value of a text. Where none could be, nothing is searched."""
    spaced = _WITH_UNIT.sub(r"\1 ", text)
    ids = list(_ids(spaced))
    rest = spaced
    for start, end in (span for span, _ in ids):
        rest = rest[:start] + " " * (end - start) + rest[end:]
    found = mentions(rest)
    return (
        *(value for _, value in ids),
        *(Value(Kind.DAY, spaced[one.start : one.end].rstrip("."), day=one) for one in found.days),
        *(Value(Kind.TIME, spaced[one.start : one.end], time=one) for one in found.times),
        *(Value(Kind.NUMBER, spaced[one.start : one.end].strip(), number=one) for one in found.numbers),
    )


def normalize_id(token: str) -> str:
    """An id without its punctuation and case: `HAT-069` and `hat069` are one."""
    return _PARTS.sub("", token.lower())


@lru_cache(maxsize=4 * MOST_KEPT)  # the same ids come back in call after call
def id_tokens(text: str) -> tuple[str, ...]:
    """All that an id of another text could repeat: each token with a digit, and its parts, squeezed."""
    return tuple(_id_tokens(text))


def _id_tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text.lower()):
        token = match[0]
        if any(map(str.isdigit, token)):
            parts = [part for part in _PARTS.split(token) if any(map(str.isdigit, part))]
            yield "".join(_PARTS.split(token))
            yield from parts if len(parts) > 1 or parts != [token] else ()
    for match in _TELEPHONE.finditer(text):
        yield normalize_id(match[0])


def _ids(text: str) -> Iterator[tuple[tuple[int, int], Value]]:
    end = 0
    for match in _TELEPHONE.finditer(text):
        digits = normalize_id(match[0])
        if len(digits) >= 9:
            yield match.span(), Value(Kind.ID, match[0], id=digits)
            end = match.end()
    for match in _TOKEN.finditer(text):
        if match.start() >= end and is_id(match[0]):
            yield match.span(), Value(Kind.ID, match[0], id=normalize_id(match[0]))


_PLAIN = re.compile(r"\d+(?:[.,:/]\d+)*|\d{1,3}(?:-\d{1,3})|\d+(?:st|nd|rd|th|am|pm|k|m|bn)", re.IGNORECASE)
_TIMESTAMP = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:t[\d:.]+z?)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"
    r"|\d{1,2}[:.]\d{2}(?:-\d{1,2}[:.]\d{2})?(?:am|pm)?|\d{1,2}(?:[ap]m)?-\d{1,2}[ap]m",
    re.IGNORECASE,
)
_WORDED = re.compile(r"\d{1,3}(?:-[a-z]+)+|[a-z]+(?:-[a-z]+)*", re.IGNORECASE)  # `30-day`, `one-way`


def is_id(token: str) -> bool:
    """Whether a token is a name and no number, day, time or word: it mixes letters and digits, or has groups
    of digits that no number has."""
    if not any(map(str.isdigit, token)):
        return False
    return not any(form.fullmatch(token) for form in (_PLAIN, _TIMESTAMP, _WORDED))
