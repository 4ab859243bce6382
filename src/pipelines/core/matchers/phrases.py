"""A phrase as a whole in a text, and not denied: in any case, with spaces, hyphens and underscores alike.

`in_transit` stands in "It is in transit.", not in "It is not yet in transit."
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from pipelines.core.matchers.texts import folded

_JOINTS = str.maketrans("-_\n", "   ")  # one for one: a place in what comes of it is a place in the text
_IN_NUMBERS = tuple(".,:/-")
_EDGES = " .,:;!?#'\"()[]*`"
# What denies stands right before it on its line, at most a word of its verb between them: "has not yet been
# refunded". What a dash or a colon parts is another statement: "Delayed: no - shipped".
_DENIAL = re.compile(
    r"(?:(?<![^\W_])(?P<word>not|never|no|non|cannot)|n't)[ _-](?:(?:yet|be|been|being|longer) )*[*\"'(]*$"
)
_LONGEST_DENIAL = 40  # characters before a phrase that are looked at


def mentions_of(phrase: str, text: str) -> Iterator[bool]:
    """For each place where the phrase stands, whether it is said there, and not denied."""
    phrase_text, plain = " ".join(_words(phrase)), _lines(text)
    loose, at = plain.translate(_JOINTS), -1
    while phrase_text and (at := loose.find(phrase_text, at + 1)) >= 0:
        if _is_whole(plain, at, at + len(phrase_text)):
            before = _DENIAL.search(plain[max(0, at - _LONGEST_DENIAL) : at])
            # "order no 4521" gives its number
            yield before is None or (before["word"] == "no" and plain[at].isdigit())


def has_words(phrase: str) -> bool:
    """Whether there is anything in it but marks, so that it can be looked for."""
    return bool(_words(phrase))


def same_words(left: str, right: str) -> bool:
    """Whether two texts are one phrase, whatever marks stand around it."""
    return _words(left) == _words(right)


def _is_whole(plain: str, start: int, end: int) -> bool:
    """Not inside of a word, a number or a date: 4521 is neither in 45210 nor in 4521.50."""
    before, after = plain[max(0, start - 2) : start], plain[end : end + 2]
    if before[-1:].isalnum() or after[:1].isalnum():
        return False
    is_joined = before[:1].isdigit() and before[1:] in _IN_NUMBERS
    return not is_joined and not (after[1:].isdigit() and after[0] in _IN_NUMBERS)


def _words(text: str) -> list[str]:
    return folded(text).strip(_EDGES).translate(_JOINTS).split()


@lru_cache(maxsize=32)  # several phrases are looked for in one answer
def _lines(text: str) -> str:
    return "\n".join(map(folded, text.splitlines()))
