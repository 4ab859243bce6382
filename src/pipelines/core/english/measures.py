"""Adjectives of degree: what "cheapest", "heavier" and "most recent" compare, and which end they mean."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.english.words import word_set

#: Which words a field has that such an adjective is about; the sign says which end is meant.
_ADJECTIVES = {
    adjective: (sign, frozenset(words.split()))
    for sign, rows in {
        "-": {
            "cheap inexpensive": "price cost fee rate fare amount",
            "light": "weight kg",
            "short quick fast": "duration length minutes time hours",
            "small": "size capacity area seats",
            "young": "age born",
            "early soon old": "",
            "low few": "",
            "near close": "distance km",
        },
        "+": {
            "dear expensive costly": "price cost fee rate fare amount",
            "heavy": "weight kg",
            "long": "duration length minutes time hours",
            "big large": "size capacity area seats amount",
            "tall": "height",
            "late recent new last": "",
            "high great good": "",
        },
    }.items()
    for adjectives, words in rows.items()
    for adjective in adjectives.split()
}
_OF_TIME = word_set("early soon old late recent new last")
_IRREGULAR = {
    "best": "good",
    "better": "good",
    "dearest": "dear",
    "latest": "late",
    "last": "last",
    "next": "soon",
    "later": "late",
    "largest": "large",
    "larger": "large",
}
_ENDINGS = re.compile(r"^(\w{3,}?)(i?e(?:st|r))$")


class Degree(NamedTuple):
    """ "most downloaded" is downloaded, the most; "latest" is a time."""

    sign: str  # "+" for the most of it, "-" for the least
    measures: tuple[str, ...]  # words for what is compared
    is_time: bool
    at: int  # the place of the last word of it


def degree_in(words: Sequence[str]) -> Degree | None:
    """The first adjective or adverb of degree among words in small letters."""
    for at, word in enumerate(words):
        if words[at - 1 : at] == ("at",) or [*words[max(0, at - 1) : at]] == ["at"]:
            continue  # "at least" is a bound
        after = words[at + 1] if at + 1 < len(words) else ""
        if word in ("most", "least", "fewest", "more", "fewer", "less"):
            if after in ("recent", "recently"):
                return Degree("+", (), True, at + 1)
            sign = "+" if word in ("most", "more") else "-"
            return Degree(sign, (*words[max(0, at - 1) : at], *words[at + 1 : at + 3]), False, at)
        base = _base(word)
        if base is not None:
            sign, measures = _ADJECTIVES[base]
            return Degree(sign, (*measures, *words[at + 1 : at + 3]), base in _OF_TIME, at)
    return None


def _base(word: str) -> str | None:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    found = _ENDINGS.match(word)
    if found is None:
        return None
    root = found[1]
    for base in (root, root + "e", root + "y" if found[2].startswith("i") else root, root[:-1]):
        if base in _ADJECTIVES:
            return base
    return None
