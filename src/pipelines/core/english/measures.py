"""Superlatives: what they measure, and which end of it they name. `the cheapest` is the least by price."""

import re
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.stems import stem
from pipelines.core.english.synonyms import related
from pipelines.core.english.words import tokens, word_set

_MONEY = word_set("price cost rate fee fare rent amount total premium charge salary value")
_DAY = word_set("date day opened created since start due due_date placed time departs starts")
_SIZE = word_set("size capacity seats volume area length weight quantity rooms bottles lessons places")
_SPAN = word_set("length minutes duration hours days nights")
#: Adjective -> the words of fields that it measures, and whether it names the upper end.
_ADJECTIVES = {
    word: (fields, is_most)
    for words, fields, is_most in (
        ("cheap inexpensive", _MONEY, False),
        ("expensive dear pricy costly", _MONEY, True),
        ("old early", _DAY, False),
        ("new late recent young", _DAY, True),
        ("heavy", word_set("weight"), True),
        ("light", word_set("weight"), False),
        ("long", _SPAN, True),
        ("short", _SPAN, False),
        ("big large", _SIZE, True),
        ("small", _SIZE, False),
        ("tall", word_set("height"), True),
        ("deep", word_set("depth"), True),
    )
    for word in words.split()
}
_UP, _DOWN = word_set("most highest"), word_set("fewest least lowest")
_EST = re.compile(r"\b(?P<word>[a-z]{3,12}est)\b")
_MOST = re.compile(r"\b(?P<way>most|least|fewest|highest|lowest)\s+(?P<what>[a-z]{3,20})")
_OF_TWO = re.compile(r"\bthe\s+(?P<word>[a-z]{3,10}er)\s+of\s+(?:the\s+)?(?:two|both|§)")
_NO_SUPERLATIVES = word_set(
    "request interest test guest west rest best latest honest forest contest invest suggest nearest quest "
    "protest harvest digest earnest arrest modest chest"
)


class Measure(NamedTuple):
    said: str
    following: str  # what stands behind it
    fields: frozenset[str]  # stems of words for what is measured
    is_most: bool
    words: frozenset[str]  # stems of the superlative itself
    is_of_two: bool = False  # `the heavier of the two`

    def is_of(self, field: str) -> bool:
        """Whether a field holds what is measured."""
        return any(not related(stem(word)).isdisjoint(self.fields) for word in tokens(field))


@lru_cache(maxsize=512)
def measures_in(clause: str) -> tuple[Measure, ...]:
    found = []
    for one in _EST.finditer(clause):
        base = _base(one["word"], "est")
        if one["word"] not in _NO_SUPERLATIVES and base in _ADJECTIVES:
            found.append(_measure(one, base, {one["word"]}))
    for one in _OF_TWO.finditer(clause):
        base = _base(one["word"], "er")
        if base in _ADJECTIVES:
            found.append(_measure(one, base, {one["word"]})._replace(is_of_two=True))
    for one in _MOST.finditer(clause):
        if one["what"] in _ADJECTIVES:
            fields, is_most = _ADJECTIVES[one["what"]]
            is_most = is_most == (one["way"] in _UP)
        else:
            fields, is_most = frozenset({one["what"]}), one["way"] in _UP
        words = frozenset(map(stem, (one["way"], one["what"])))
        found.append(Measure(one[0], clause[one.end() :], frozenset(map(stem, fields)), is_most, words))
    return tuple(found)


def _measure(one: re.Match[str], base: str, words: set[str]) -> Measure:
    fields, is_most = _ADJECTIVES[base]
    following = one.string[one.end() :]
    return Measure(one[0], following, frozenset(map(stem, fields)), is_most, frozenset(map(stem, words)))


def _base(word: str, ending: str) -> str:
    """`heaviest` → heavy, `biggest` → big, `largest` → large."""
    bare = word.removesuffix(ending)
    doubled = bare[:-1] if len(bare) > 2 and bare[-1] == bare[-2] else bare
    for base in (bare, bare + "e", doubled, bare[:-1] + "y"):
        if base in _ADJECTIVES:
            return base
    return ""
