"""Adjectives of degree: what `cheapest`, `heavier`, `most recent` compare, and which end of it they name."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pipelines.core.english.words import word_set

_MONEY = word_set("price cost rate fee fare rent amount total premium charge salary value")
_DAY = word_set("date day opened created since start due due_date placed time departs starts")
_SIZE = word_set("size capacity seats volume area length weight quantity rooms bottles lessons places")
_SPAN = word_set("length minutes duration hours days nights")
_NOTHING_YET: frozenset[str] = frozenset()  # what they measure is said by the noun behind them
#: Adjective -> the words of fields that it measures, and whether it names the upper end.
_ADJECTIVES = {
    word: (fields, is_most)
    for words, fields, is_most in (
        ("cheap inexpensive", _MONEY, False),
        ("expensive dear pricy costly", _MONEY, True),
        ("old early soon", _DAY, False),
        ("new late recent last", _DAY, True),
        ("young", _DAY | {"age", "born"}, True),
        ("heavy", word_set("weight kg"), True),
        ("light", word_set("weight kg"), False),
        ("long", _SPAN, True),
        ("short quick fast", _SPAN, False),
        ("big large", _SIZE, True),
        ("small", _SIZE, False),
        ("near close", word_set("distance km"), False),
        ("tall", word_set("height"), True),
        ("deep", word_set("depth"), True),
        ("high great good", _NOTHING_YET, True),
        ("low few", _NOTHING_YET, False),
    )
    for word in words.split()
}
_OF_TIME = word_set("early soon old late recent new last")
_IRREGULAR = {"best": "good", "better": "good", "last": "last", "next": "soon"}
_COMPARED = re.compile(r"(?P<root>[a-z]{2,10}?)(?P<ending>i?e(?:st|r))")


class Degree(NamedTuple):
    """ "most downloaded" is downloaded, the most; "latest" is a time."""

    sign: str  # "+" for the most of it, "-" for the least
    measures: tuple[str, ...]  # words for what is compared
    is_time: bool
    at: int  # the place of the last word of it


def degree_in(words: Sequence[str]) -> Degree | None:
    """The first adjective or adverb of degree among words in small letters."""
    for at, word in enumerate(words):
        if [*words[max(0, at - 1) : at]] == ["at"]:
            continue  # "at least" is a bound
        after = words[at + 1] if at + 1 < len(words) else ""
        if word in ("most", "least", "fewest", "more", "fewer", "less"):
            if after in ("recent", "recently"):
                return Degree("+", (), True, at + 1)
            sign = "+" if word in ("most", "more") else "-"
            return Degree(sign, (*words[max(0, at - 1) : at], *words[at + 1 : at + 3]), False, at)
        base = _IRREGULAR.get(word) or _base(word)
        if base is not None:
            fields, is_most = _ADJECTIVES[base]
            is_time = base in _OF_TIME
            measures = () if is_time else sorted(fields)
            return Degree("+" if is_most else "-", (*measures, *words[at + 1 : at + 3]), is_time, at)
    return None


def _base(word: str) -> str | None:
    """`heaviest` → heavy, `bigger` → big, `largest` → large."""
    found = _COMPARED.fullmatch(word)
    if found is None:
        return None
    root = found["root"]
    doubled = root[:-1] if len(root) > 2 and root[-1] == root[-2] else root
    spelled = (root + "y",) if found["ending"].startswith("i") else (root, root + "e", doubled)
    return next((base for base in spelled if base in _ADJECTIVES), None)
