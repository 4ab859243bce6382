"""Sums and comparisons as people write them: "price per night x nights, at most the day maximum", "has at
least the minimum number of players". Words become tokens, the words of arithmetic become signs."""

import re
from collections.abc import Iterator, Sequence

from pipelines.core.english.measures import degree_in
from pipelines.core.english.words import ARTICLES, tokens, word_set

LONGEST = 600  # characters of a description: what is worked out is said at its beginning

_PARTS = re.compile(r"[.;:=()?!\n]+(?=\s|$)|[=()]")
_TOKENS = re.compile(r"[A-Za-z][\w'’-]*|\d+(?:\.\d+)?%?|[×*+/,]|[-–](?=\s)")
#: Signs, and the words that say the same; the longest first.
_SIGNS = tuple(
    (tuple(spoken.split()), sign)
    for sign, phrases in {
        "*": "multiplied by|times|x|×|*",
        "/": "divided by|/",
        "+": "plus|+|added to|in addition to",
        "-": "reduced by|minus|less|–|-",
        "*#": "for each|for every",
        "min()": "but at most|at most|up to|no more than|not more than|capped at|limited to",
        "max()": "but at least|no less than|not less than",
        ">=": "at least|no fewer than|or more|enough|that many|sufficient",
        "<=": "does not exceed|do not exceed|not exceed",
        ">": "more than|greater than|higher than|above|over|exceeds|exceed|beyond|after",
        "<": "less than|fewer than|lower than|below|under|before|short of",
        "==": "the same|same|equal to",
    }.items()
    for spoken in sorted(phrases.split("|"), key=len, reverse=True)
)
SIGNS = frozenset(sign for _, sign in _SIGNS)
ARITHMETIC = frozenset(("*", "/", "+", "-", "*#"))

_PREPOSITIONS = word_set(
    "of for in on at to by with from per within under over into against during between among off out"
)
_RELATIVES = word_set("that which who whom whose where when while")
SMALL_WORDS = (
    ARTICLES
    | _PREPOSITIONS
    | _RELATIVES
    | word_set(
        "is are was were be been being has have had having do does did can could may might must shall will "
        "would should it he she they we you i one ones them him her his my our your what how whether if and "
        "or not no so far still yet already only also just very each every all any some given many much more "
        "number amount there here then than as now today out up nothing none nobody full whole entire"
    )
)


def parts_of(description: str) -> Iterator[list[str]]:
    """Each stretch of a text that may say one thing, as tokens; those of arithmetic as signs."""
    for part in _PARTS.split(description[:LONGEST]):
        found = _TOKENS.findall(part)
        if found:
            yield [*signed(found)]


def signed(words: Sequence[str]) -> Iterator[str]:
    at = 0
    lower = [word.lower() for word in words]
    while at < len(words):
        for spoken, sign in _SIGNS:
            is_more_or_less = spoken == ("less",) and "than" in lower[at + 1 : at + 6]
            if tuple(lower[at : at + len(spoken)]) == spoken and not is_more_or_less:
                yield sign
                at += len(spoken)
                break
        else:
            degree = degree_in(lower[at : at + 1]) if lower[at + 1 : at + 2] == ["than"] else None
            yield words[at] if degree is None else ">" if degree.sign == "+" else "<"  # "longer than"
            at += 1 if degree is None else 2


def content_words(phrase: Sequence[str]) -> list[tuple[str, float]]:
    """The words of a phrase that say something, with their weight: the head before what is said of it."""
    found: list[tuple[str, float]] = []
    weight = 1.0
    for token in phrase:
        for word in tokens(token):
            is_border = word in _PREPOSITIONS or word in _RELATIVES or word in ARTICLES
            if is_border and found:
                weight = 0.6
            if (word not in SMALL_WORDS or word == "per") and token not in SIGNS and len(word) > 1:
                found.append((word, weight))
    return found


def split_at(words: Sequence[str], signs: Sequence[str]) -> tuple[list[str], str, list[str]] | None:
    """At the last of the signs, so that what is taken off twice is taken off twice."""
    for at in range(len(words) - 1, 0, -1):
        if words[at] in signs and at < len(words) - 1:
            return [*words[:at]], words[at], [*words[at + 1 :]]
    return None
