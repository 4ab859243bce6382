"""The distance of two free texts, without a model: contradicted sentences, and different words.

max(contradiction, 0.45 × content): other words alone can be amber, never red, unless the texts have no word
in common, which is 1. What is read of a text is bounded: all its words count up to LONGEST_READ characters,
and of its sentences the first MOST_SENTENCES.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from pipelines.core.english.numbers import SMALL
from pipelines.core.english.stems import stem

CONTENT_WEIGHT = 0.45
LONGEST_READ = 50_000  # characters: 10 ms; the rest of a longer text is not compared
MOST_SENTENCES = 80  # every one is held against every other, both ways: some 5 ms
ALIGNED = 0.5  # share of content words in common (Dice) from which two sentences speak of one thing

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
# Chinese and Japanese put no spaces between words: each of their letters is compared by itself.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\W\d_{_UNSPACED}]+"
_TOKEN = re.compile(rf"\d[\d.,:/%-]*\d%?|\d%?|[{_UNSPACED}]|{_LETTERS}(?:['’]{_LETTERS})*")
_STOP_WORDS = """
    a an and or but the this that these those it its is are was were be been being am do does did
    has have had will would should could can may might must shall to of in on at by for from with as
    so then there here i we you he she they them our your their his her my me us if than too also
    very just please which who what when where how because since about into over under again once
    only own same such both each few more most other some any all
"""
_NEGATION_WORDS = "not no never cannot without neither nor none nobody nothing"
# Decision verbs by the way they point. "Escalate" is a way of not going on alone.
_GO_WORDS = """
    approve accept allow proceed continue deploy release ship grant enable pay confirm merge authorize permit
    publish execute activate agree endorse recommend start resume
"""
_STOP_VERB_WORDS = """
    reject deny decline refuse block halt stop abort cancel hold wait pause escalate suspend disable revoke
    rollback withhold postpone delay defer disagree oppose forbid prohibit disapprove prevent
"""
_STOP = frozenset(_STOP_WORDS.split())
_NEGATIONS = frozenset(_NEGATION_WORDS.split())
_GO, _STOP_VERBS = (frozenset(map(stem, words.split())) for words in (_GO_WORDS, _STOP_VERB_WORDS))


class Sentence(NamedTuple):
    words: frozenset[str]  # stems of what it speaks of, without the three below
    is_negated: bool
    numbers: frozenset[str]
    points: frozenset[str]  # "go", "stop": where its decision verbs point


class TextProfile(NamedTuple):
    """What is compared of a text; made once for each."""

    words: Counter[str]
    sentences: tuple[Sentence, ...]


class TextDistance(NamedTuple):
    contradiction: float
    content: float

    @property
    def total(self) -> float:
        if self.content == 1:
            return 1.0
        return min(1.0, max(self.contradiction, CONTENT_WEIGHT * self.content))


@lru_cache(maxsize=64)  # the texts of a row are compared with each other; a profile has a megabyte at most
def text_profile(text: str) -> TextProfile:
    text = unicodedata.normalize("NFC", text[:LONGEST_READ]).casefold()
    pieces = _SENTENCE_END.split(text)
    sentences = (_sentence(piece) for piece in pieces[:MOST_SENTENCES])
    words = Counter(stem(word) for word in _TOKEN.findall(text) if word not in _STOP)
    return TextProfile(words, tuple(each for each in sentences if any(each)))


def text_distance(left: TextProfile, right: TextProfile) -> TextDistance:
    if left == right:
        return TextDistance(0.0, 0.0)
    total = left.words.total() + right.words.total()
    content = 1 - 2 * (left.words & right.words).total() / total if total else 0.0
    contradiction = max(
        _contradicted_share(left.sentences, right.sentences),
        _contradicted_share(right.sentences, left.sentences),
    )
    return TextDistance(contradiction, content)


def _sentence(piece: str) -> Sentence:
    tokens = _TOKEN.findall(piece)
    negations = sum(token in _NEGATIONS or token.endswith(("n't", "n’t")) for token in tokens)
    numbers = frozenset(
        number for token in tokens if (number := str(SMALL.get(token, token)).rstrip(".,:"))[:1].isdigit()
    )
    stems = {
        stem(token)
        for token in tokens
        if token not in _STOP and token not in _NEGATIONS and not token.endswith(("n't", "n’t"))
    }
    points = {name for name, verbs in (("go", _GO), ("stop", _STOP_VERBS)) if stems & verbs}
    words = frozenset(
        each for each in stems - _GO - _STOP_VERBS if each not in SMALL and not each[0].isdigit()
    )
    return Sentence(words, negations % 2 == 1, numbers, frozenset(points))


def _contradicted_share(from_: Sequence[Sentence], others: Sequence[Sentence]) -> float:
    """The share of the sentences that have a counterpart whose counterpart says otherwise."""
    aligned = contradicted = 0
    for sentence in from_:
        best, differs = 0.0, False
        for other in others:
            overlap = _overlap(sentence.words, other.words)
            if overlap < ALIGNED or overlap < best:
                continue
            # Of two that fit equally well the one that agrees is meant.
            differs_here = _differ(sentence, other)
            differs = differs_here if overlap > best else differs and differs_here
            best = overlap
        if best:
            aligned += 1
            contradicted += differs
    return contradicted / aligned if aligned else 0.0


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    total = len(left) + len(right)
    return 2 * len(left & right) / total if total else 1.0  # "Approve." and "Reject."


def _differ(left: Sentence, right: Sentence) -> bool:
    if left.is_negated != right.is_negated:
        # "Do not approve" and "reject" say the same; one negation turns a verb round.
        return not _points_opposite(left, right)
    if left.numbers and right.numbers and left.numbers != right.numbers:
        return True
    return bool(left.points and right.points and left.points != right.points)


def _points_opposite(left: Sentence, right: Sentence) -> bool:
    return len(left.points) == 1 == len(right.points) and left.points != right.points
